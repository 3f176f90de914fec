"""The register of classes, and the check of values against declared types."""

from __future__ import annotations

import enum
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal
from unittest import mock

import numpy as np
import pytest

from covmetric import Certificate, LearnedMetric, Status
from covmetric._utils.validation import FloatArray, IntArray, Matrices, TextArray
from covmetric.model_file import (
    constructor_defaults,
    for_any_machine,
    kinds,
    register_components,
    register_enum,
    register_record,
    register_stateful,
)
from covmetric.model_file.codec import NotStorable, Reader, Writer
from covmetric.model_file.kinds import fits
from covmetric.neighbors import SEARCHES
from covmetric.solvers import Newton, Solver


@pytest.fixture(autouse=True)
def _registers():
    """Forget the classes that a test registers."""
    with (
        mock.patch.dict(kinds.KINDS),
        mock.patch.dict(kinds.KINDS_BY_CLASS),
        mock.patch.dict(kinds.ENUMS),
    ):
        yield


def round_trip(value):
    writer = Writer()
    tree = writer.encode(value, "value")
    reader = Reader(writer.arrays)
    back = reader.decode(tree)
    reader.finish()
    return back


FITTING = [
    (Any, None),
    (Any, object()),
    (float, 1.5),
    (float, 3),
    (float, -2.0),
    (float, 2**70),
    (int, 0),
    (int, 2**70),
    (bool, True),
    (str, "median"),
    (float | None, None),
    (float | None, 0.5),
    (int | str, "three"),
    (tuple[float, float], (0.0, 1)),
    (tuple[int, str], (1, "a")),
    (FloatArray, np.zeros(2)),
    (FloatArray, np.full(2, np.nan)),  # the history of a solve starts with an infinite gap
    (IntArray, np.zeros((2, 2), dtype=np.int64)),
    (Matrices, np.zeros(2, dtype=np.complex128)),
    (TextArray, np.array(["newton", "dykstra"])),
    (TextArray, np.empty(0, dtype=np.str_)),
    (Callable[[int], int] | None, None),
    (Status, Status.SOLVED),
    (Solver[Any], Newton()),
    (str | Solver[Any], "auto"),
    (dict, {"any": 1}),
]
NOT_FITTING = [
    (float, True),
    (float, np.True_),
    (float, np.nan),
    (float, np.inf),
    (float, -np.inf),
    pytest.param(float, 10**400, id="float-beyond-the-range"),
    (float, "1.5"),
    (float, None),
    (float, 1j),
    (float, np.zeros(())),
    (int, True),
    (int, -1),
    (int, 1.0),
    (int, "1"),
    (int, None),
    (bool, 1),
    (str, None),
    (float | None, "1.5"),
    (float | None, np.nan),
    (int | str, -1),
    (tuple[float, float], (0.0,)),
    (tuple[float, float], (0.0, 1.0, 2.0)),
    (tuple[float, float], [0.0, 1.0]),
    (tuple[float, float], (0.0, np.nan)),
    (tuple[float, float], (0.0, True)),
    (FloatArray, np.zeros(2, dtype=np.float32)),
    (FloatArray, np.zeros(2, dtype=np.int64)),
    (FloatArray, np.zeros(2, dtype=np.complex128)),
    (FloatArray, np.array([0.0], dtype=object)),
    (FloatArray, [0.0, 1.0]),
    (FloatArray, 0.0),
    (IntArray, np.zeros(2, dtype=np.int32)),
    (IntArray, np.zeros(2)),
    (IntArray, np.zeros(2, dtype=bool)),
    (Matrices, [[1.0]]),
    (TextArray, np.zeros(2)),
    (TextArray, np.array([b"newton"])),
    (TextArray, np.array(["newton"], dtype=object)),
    (TextArray, ["newton"]),
    (Callable[[int], int], abs),
    (Callable[[int], int] | None, abs),
    (Status, "SOLVED"),
    (Certificate, None),
    (Solver[Any], "auto"),
]


@pytest.mark.parametrize(("hint", "value"), FITTING)
def test_fits_accepts_values_of_the_declared_type(hint, value):
    assert fits(hint, value) is True


@pytest.mark.parametrize(("hint", "value"), NOT_FITTING)
def test_fits_rejects_values_of_other_types(hint, value):
    assert fits(hint, value) is False


@pytest.mark.parametrize(
    "hint", [list[int], dict[str, float], set[int], Sequence[int], tuple[float, ...], Literal["a", "b"]]
)
def test_fits_refuses_hints_that_it_cannot_check(hint):
    with pytest.raises(TypeError, match="cannot be checked"):
        fits(hint, [])


class Toy:
    """A component: its constructor keeps the arguments, and nothing else."""

    def __init__(self, size: int = 3, n_jobs: int | None = None) -> None:
        self.size = size
        self.n_jobs = n_jobs


def test_registered_component_comes_back_without_its_jobs():
    register_components([Toy])
    back = round_trip(Toy(size=5, n_jobs=64))
    assert type(back) is Toy and (back.size, back.n_jobs) == (5, None)


def test_object_of_a_class_that_is_not_registered_is_refused():
    with pytest.raises(NotStorable, match="value is a Toy, which a model file cannot hold"):
        round_trip(Toy())


def test_subclass_of_a_registered_class_is_refused():
    class SpecialToy(Toy):
        pass

    register_components([Toy])
    with pytest.raises(NotStorable, match="value is a SpecialToy, which a model file cannot hold"):
        round_trip(SpecialToy())


def test_two_classes_of_the_same_name_are_refused():
    impostor = type("LearnedMetric", (LearnedMetric,), {"__module__": __name__})
    with pytest.raises(ValueError, match=r"two classes are called 'LearnedMetric' in model files: .*learned_metric"):
        register_stateful(impostor)
    assert kinds.KINDS["LearnedMetric"].cls is LearnedMetric
    assert impostor not in kinds.KINDS_BY_CLASS
    register_stateful(LearnedMetric)  # the same class again


def test_class_that_a_reloaded_module_defines_again_replaces_the_first():
    def define():
        @dataclass(frozen=True)
        class Reloaded:
            value: int

        return Reloaded

    first, second = define(), define()
    register_record(first)
    register_record(second)
    assert type(round_trip(second(3))) is second


def test_two_names_of_the_same_class_are_refused():
    with pytest.raises(ValueError, match="Certificate'> is already called 'Certificate' in model files, not 'Proof'"):
        register_record(Certificate, name="Proof")
    assert "Proof" not in kinds.KINDS


class Colour(enum.Enum):
    RED = "red"


@pytest.mark.parametrize("tag", ["$status", "$array", "$class", "$dict", "$float", "$objects", "$tuple"])
def test_tags_in_use_are_refused(tag):
    with pytest.raises(ValueError, match=f"tag '\\{tag}' is already in use in model files"):
        register_enum(tag, Colour)


def test_tag_without_a_dollar_sign_is_refused():
    with pytest.raises(ValueError, match="tag must start with a dollar sign, got 'colour'"):
        register_enum("colour", Colour)


def test_registered_enumeration_comes_back():
    with pytest.raises(NotStorable, match="value is a Colour"):
        round_trip(Colour.RED)
    register_enum("$colour", Colour)
    assert round_trip([Colour.RED, Status.SOLVED]) == [Colour.RED, Status.SOLVED]


@dataclass(frozen=True)
class Record:
    ratio: float
    count: int | None = None


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"ratio": "a lot", "count": None}, "Record.ratio must be float, got 'a lot'"),
        ({"ratio": 0.5, "count": -3}, r"Record.count must be int \| None, got -3"),
        ({"ratio": 0.5}, "Record.count is missing"),
        ({"ratio": 0.5, "count": None, "more": 1}, "the Ratio in it cannot be restored: .*more"),
    ],
)
def test_record_with_invalid_parts_is_refused(state, message):
    register_record(Record, name="Ratio")
    assert round_trip(Record(0.5)) == Record(0.5)
    with pytest.raises(ValueError, match=message):
        Reader({}).decode({"$class": "Ratio", "state": state})


@dataclass(frozen=True)
class Grown:
    """A record with a field that older versions did not have."""

    ratio: float
    names: TextArray = field(default_factory=lambda: np.empty(0, dtype=np.str_))


def test_optional_part_of_a_record_is_left_out_of_files_if_it_has_its_default():
    register_record(Grown)
    assert Writer().encode(Grown(0.5), "value")["state"] == {"ratio": 0.5}
    back = round_trip(Grown(0.5))
    assert back.ratio == 0.5 and back.names.shape == (0,)
    assert round_trip(Grown(0.5, np.array(["a", "bc"]))).names.tolist() == ["a", "bc"]


@pytest.mark.parametrize(
    ("state", "message"),
    [
        ({"ratio": 0.5, "names": "a"}, "Grown.names must be TextArray, got 'a'"),
        ({"ratio": 0.5, "names": None}, "Grown.names must be TextArray, got None"),
        ({"ratio": "a lot"}, "Grown.ratio must be float, got 'a lot'"),
        ({}, "Grown.ratio is missing"),
    ],
)
def test_optional_parts_of_records_are_checked_if_they_are_present(state, message):
    register_record(Grown)
    with pytest.raises(ValueError, match=message):
        Reader({}).decode({"$class": "Grown", "state": state})


def test_every_search_is_registered():
    """A registry that is saved with a model registers all of its entries."""
    for cls in SEARCHES.values():
        assert kinds.KINDS_BY_CLASS[cls].name == cls.__name__


def test_constructor_defaults_are_those_of_the_signature():
    assert constructor_defaults(Toy) == {"size": 3, "n_jobs": None}


def test_settings_for_any_machine_have_no_jobs():
    settings = {"lam": 1.0, "n_jobs": 4}
    assert for_any_machine(settings) == {"lam": 1.0, "n_jobs": None}
    assert settings["n_jobs"] == 4
    assert for_any_machine({"lam": 1.0}) == {"lam": 1.0}
