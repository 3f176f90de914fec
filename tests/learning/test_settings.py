"""The settings of a learner, and the check of lambda."""

from __future__ import annotations

import dataclasses

import numpy as np
import pytest

from covmetric.constraints import AbsoluteBounds, NeighborPairs, QuantileBounds
from covmetric.learning.settings import LearningSettings, check_lam
from covmetric.model_file.kinds import KINDS

VALID = LearningSettings(NeighborPairs(), AbsoluteBounds())


def test_defaults_are_the_documented_ones():
    assert dataclasses.asdict(dataclasses.replace(VALID, selection=None, bounds=None)) == {
        "selection": None, "bounds": None, "scale": "median", "slack": "is", "prior": "identity", "solver": "auto",
        "tol": 1e-6, "max_iter": None, "callback": None, "prior_t": 0.5, "shrinkage": "auto",
    }  # fmt: skip


@pytest.mark.parametrize(
    "settings",
    [VALID, LearningSettings(None, QuantileBounds(), scale=2.0, slack="re", solver="newton", tol=0.0)],
    ids=["defaults", "others"],
)
def test_valid_settings_pass_the_check_unchanged(settings):
    before = dataclasses.replace(settings)
    assert settings.check() is None
    assert settings == before


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"selection": NeighborPairs(0)}, "budget must be None or an integer >= 1"),
        ({"bounds": AbsoluteBounds(-1.0)}, "near must be a positive number"),
        ({"scale": -1.0}, "scale must be 'median'"),
        ({"slack": "hinge"}, "slack must be one of"),
        ({"solver": "simplex"}, "solver must be one of"),
        ({"tol": -1.0}, "tol must be a number >= 0"),
        ({"prior": "wishart"}, "prior must be 'identity'"),
        ({"prior_t": 1.5}, "prior_t must be a number from 0 to 1, got 1.5"),
        ({"shrinkage": -1.0}, "shrinkage must be 'auto' or a number from 0 to 1, got -1.0"),
    ],
)
def test_each_invalid_setting_raises_value_error(change, message):
    with pytest.raises(ValueError, match=message):
        dataclasses.replace(VALID, **change).check()


@pytest.mark.parametrize(
    ("change", "written"),
    [({}, set()), ({"prior_t": 0.25}, {"prior_t"}), ({"shrinkage": 0.1}, {"shrinkage"})],
)
def test_settings_that_old_files_lack_are_written_only_if_they_differ_from_their_default(change, written):
    kind, settings = KINDS["Recipe"], dataclasses.replace(VALID, **change)
    state = kind.get_state(settings)
    assert {"prior_t", "shrinkage"} & set(state) == written
    assert kind.from_state(state) == settings


def test_settings_have_their_old_name_in_model_files():
    assert KINDS["Recipe"].cls is LearningSettings


@pytest.mark.parametrize("lam", [1e-300, 1e-2, 1, 1e9, np.inf, np.float32(0.5), np.float64("inf")])
def test_positive_lambda_is_valid(lam):
    check_lam(lam)


@pytest.mark.parametrize("lam", [0, 0.0, -1.0, -np.inf, np.nan, "small", True, None])
def test_other_lambda_raises_value_error(lam):
    with pytest.raises(ValueError, match="lam must be a positive number or infinity, got "):
        check_lam(lam)
