"""The recognition experiments, on small stand-ins for the paper's data."""

from __future__ import annotations

from dataclasses import replace

import numpy as np
import pytest

from covmetric.constraints import QuantileBounds
from covmetric.experiments import recognition as module
from covmetric.experiments.evaluation import TOL, Outcome
from covmetric.experiments.recognition import (
    BALANCED,
    LAMBDAS,
    LOOSE_SEARCH,
    PAGES,
    VARIANTS,
    RecognitionRow,
    recognition,
)
from covmetric.experiments.rows import RowFile
from tests.images import write_objects

pytest.importorskip("PIL.Image")


@pytest.fixture(scope="module")
def objects(tmp_path_factory):
    return write_objects(tmp_path_factory.mktemp("objects"))


SMALL = {"seeds": 2, "phis": ["log"], "slacks": ["is"], "lambdas": [1.0, 1e-2]}


def keys(rows):
    return [(row.protocol, row.seed, row.phi, row.variant, row.W) for row in rows]


def without_seconds(rows):
    return [replace(row, seconds=0.0) for row in rows]


def test_learned_and_fixed_metrics_recognise_objects(objects):
    rows = recognition(["eth80 by image", "eth80 by object"], objects, **SMALL)
    assert keys(rows) == [
        (protocol, seed, "log", variant, W)
        for protocol in ("eth80 by image", "eth80 by object")
        for seed in (0, 1)
        for variant, W in (("", "eye"), (BALANCED, "is"))
    ]
    assert all(row.accuracy >= 0.5 and row.relative_gap <= 1e-6 for row in rows)
    assert all((row.lam == np.inf) == (row.W == "eye") == (row.lambdas == "") == (row.n_tuning == 0) for row in rows)
    assert {row.lambdas for row in rows if row.variant} == {"1.0 0.01"}
    assert {(row.protocol, row.n_train, row.n_test) for row in rows} == {
        ("eth80 by image", 240, 24),
        ("eth80 by object", 220, 44),
    }
    assert {row.n_tuning for row in rows if row.variant} == {240, 220} and {row.region for row in rows} == {"12 x 12"}


def test_rows_do_not_depend_on_the_number_of_processes(objects):
    one = recognition(["eth80 by image"], objects, **SMALL)
    two = recognition(["eth80 by image"], objects, n_jobs=2, **SMALL)
    assert without_seconds(one) == without_seconds(two)


def test_loose_search_has_one_slack_and_the_others_have_all(objects):
    settings = {**SMALL, "seeds": 1, "slacks": ["l2", "is"], "variants": [BALANCED, LOOSE_SEARCH]}
    rows = recognition(["eth80 by image"], objects, **settings)
    assert [(row.variant, row.W) for row in rows] == [
        ("", "eye"), (BALANCED, "l2"), (BALANCED, "is"), (LOOSE_SEARCH, "l2")
    ]  # fmt: skip


def test_each_row_is_learned_with_its_variant_and_slack(objects, monkeypatch):
    learners = []

    def remember(X, y, split, phi, learner, lambdas, seed):
        learners.append(learner)
        return Outcome(1.0, 0.5, 0.0, 1.0)

    monkeypatch.setattr(module, "evaluate", remember)
    rows = recognition(["eth80 by image"], objects, 1, ["log"], ["l2", "re"], ["uniform pairs", "neighbour pairs"])
    assert [row.W for row in rows] == ["eye", "l2", "re", "l2", "re"] and learners[0] is None
    assert learners[1:] == [replace(VARIANTS[row.variant], slack=row.W) for row in rows[1:]]


def test_experiment_resumes_with_the_missing_rows(objects, tmp_path, monkeypatch):
    whole = recognition(["eth80 by image"], objects, **SMALL)
    file = RowFile(tmp_path / "rows.csv", RecognitionRow)
    real, computed = module.evaluate, []

    def counted(X, y, split, phi, learner, lambdas, seed):
        computed.append((seed, learner is not None))
        if len(computed) == 3:
            raise KeyboardInterrupt
        return real(X, y, split, phi, learner, lambdas, seed)

    monkeypatch.setattr(module, "evaluate", counted)
    with pytest.raises(KeyboardInterrupt):
        recognition(["eth80 by image"], objects, **SMALL, file=file)
    assert keys(file.read()) == keys(whole)[:2]
    rows = recognition(["eth80 by image"], objects, **SMALL, file=file)
    assert computed[3:] == [(1, False), (1, True)]
    assert without_seconds(rows) == without_seconds(whole) and file.read() == rows
    monkeypatch.setattr(module, "LOADERS", {})  # nothing is missing, so that no images are read
    assert recognition(["eth80 by image"], objects, **SMALL, file=file) == rows


@pytest.mark.parametrize("change", [{"lambdas": [1.0, 1e-1]}, {"slacks": ["l2"]}, {"variants": ["uniform pairs"]}])
def test_rows_of_other_settings_are_not_reused(objects, tmp_path, change):
    file = RowFile(tmp_path / "rows.csv", RecognitionRow)
    settings = {**SMALL, "seeds": 1}
    recognition(["eth80 by image"], objects, **settings, file=file)
    with pytest.warns(UserWarning, match="holds rows of other settings"):
        rows = recognition(["eth80 by image"], objects, **{**settings, **change}, file=file)
    assert without_seconds(rows) == without_seconds(recognition(["eth80 by image"], objects, **{**settings, **change}))


def test_unknown_names_raise(tmp_path):
    with pytest.raises(ValueError, match=r"protocol must be one of 'brodatz 3/1'.*, got 'mnist'"):
        recognition(["mnist"], tmp_path)
    with pytest.raises(ValueError, match=r"variant must be one of 'balanced pairs'.*, got 'paper'"):
        recognition(["brodatz 3/1"], tmp_path, variants=["paper"])
    with pytest.raises(ValueError, match="protocols must use one data set, got 'brodatz 3/1', 'eth80 by image'"):
        recognition(["brodatz 3/1", "eth80 by image"], tmp_path)


def test_lambda_grid_has_seven_powers_of_ten():
    np.testing.assert_allclose(np.log10(LAMBDAS), [2, 1, 0, -1, -2, -3, -4])


def test_variants_differ_from_balanced_pairs_in_what_they_say():
    balanced = VARIANTS[BALANCED]
    assert balanced.pairs.balance == 0.5 and balanced.bounds == (0.05, 0.95) and balanced.scale == "median"
    assert balanced.search_tol == TOL
    assert VARIANTS["uniform pairs"].pairs.balance is None
    assert isinstance(VARIANTS["quantile bounds"].bounds, QuantileBounds)
    assert VARIANTS["neighbour pairs"].pairs.name == "neighbors"
    assert VARIANTS[LOOSE_SEARCH].search_tol == 1e-3
    for learner in VARIANTS.values():
        assert learner.pairs.budget in (100, None) and learner.scale == "median"
    assert all(set(page["variants"]) <= set(VARIANTS) for page in PAGES.values())
