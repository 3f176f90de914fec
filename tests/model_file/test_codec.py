"""Objects as a tree of JSON values, and back."""

from __future__ import annotations

import json

import numpy as np
import pytest

from covmetric import CovMetric
from covmetric.embeddings import EMBEDDINGS, get_embedding
from covmetric.model_file.codec import NotStorable, Reader, Writer
from tests.data import spd

PLAIN = [
    None,
    True,
    "text",
    3,
    2**70,
    1.5,
    -np.inf,
    np.inf,
    [1, [2.0, None]],
    (1, (2, "a")),
    {"a": [1], "b.c": {"$array": "not a tag here"}},
]


def encode_and_decode(value):
    writer = Writer()
    tree = json.loads(json.dumps(writer.encode(value, "value"), allow_nan=False))
    reader = Reader(writer.arrays)
    back = reader.decode(tree)
    reader.finish()
    return back


@pytest.mark.parametrize("value", PLAIN, ids=repr)
def test_plain_values_come_back(value):
    back = encode_and_decode(value)
    assert back == value and type(back) is type(value)


def test_nan_comes_back():
    assert np.isnan(encode_and_decode(np.nan))


@pytest.mark.parametrize("value", [np.float64(0.1), np.int64(7), np.bool_(True), np.str_("a")])
def test_numpy_scalars_come_back_as_python_values(value):
    back = encode_and_decode(value)
    assert back == value and type(back) is type(value.item())


@pytest.mark.parametrize(
    "array",
    [
        np.arange(6.0).reshape(2, 3).T,
        np.zeros((0, 3)),
        np.array(1.5),
        np.array([1 + 2j]),
        np.array([True, False]),
        np.array(["a", "bé"]),
        np.arange(3, dtype=">i4"),
    ],
)
def test_arrays_come_back(array):
    back = encode_and_decode(array)
    np.testing.assert_array_equal(back, array)
    assert back.shape == array.shape and back.dtype == array.dtype.newbyteorder("<")


def test_array_of_objects_comes_back():
    array = np.array(["a", None, 3], dtype=object)
    back = encode_and_decode(array)
    assert back.dtype == object and back.tolist() == array.tolist()


@pytest.mark.parametrize(
    ("value", "message"),
    [
        (lambda: 0, "value is a function"),
        ({1: "a"}, "value is a dict"),
        ([0, {1, 2}], r"value\.1 is a set"),
        (1j, "value is a complex"),
        (np.zeros(1, dtype="M8[s]"), "value is an array of dtype datetime64"),
        ({"a": {"b": np.zeros(1)}, "a.b": np.zeros(1)}, r"value\.a\.b is the name of two arrays"),
    ],
)
def test_values_that_a_file_cannot_hold_are_refused(value, message):
    with pytest.raises(NotStorable, match=message):
        Writer().encode(value, "value")


def test_replaced_part_leaves_none_of_its_arrays_behind():
    """The first embedding of the list can be stored; the second cannot, so that the whole list is replaced."""

    class Custom(EMBEDDINGS["id"]):
        pass

    writer = Writer()
    tree = writer.encode(CovMetric(phi=[get_embedding("relog").fit(spd(5, 3)), Custom()]), "")
    assert tree["state"]["phi"] == CovMetric().phi
    assert writer.arrays == {}
    assert [message.split(":")[0] for message in writer.replaced] == [
        "phi.1 is a Custom, which a model file cannot hold"
    ]


@pytest.mark.parametrize(
    ("tree", "message"),
    [
        ({"$eval": "1"}, r"unknown tag '\$eval'"),
        ({"$class": "os", "state": {}}, "it holds a 'os', which is not a class that model files may hold"),
        ({"$array": "other"}, "uses the array 'other', which is missing"),
        ([{"$array": "W"}, {"$array": "W"}], "the array 'W', which is missing, or uses it twice"),
        ({"$float": "1e3"}, r"the entry '1e3' under the tag '\$float'"),
        ({"$status": "PERFECT"}, r"the entry 'PERFECT' under the tag '\$status', which has no such value"),
        ({}, "which must have one key"),
        ({"$tuple": [], "$dict": {}}, r"the keys \['\$dict', '\$tuple'\], which must have one key"),
        ({"$tuple": "ab"}, r"'ab' under '\$tuple', which is not a list"),
        ({"$dict": [1]}, r"\[1\] under '\$dict', which is not a dict"),
        ({"$objects": 3}, r"3 under '\$objects', which is not a list"),
        ({"$class": "Newton", "state": 3}, "3 under 'state', which is not a dict"),
        ({"$class": "CovMetric", "state": {}}, "the CovMetric in it has no entry 'phi'"),
    ],
)
def test_invalid_trees_are_refused(tree, message):
    with pytest.raises(ValueError, match=message):
        Reader({"W": np.eye(2)}).decode(tree)


def test_array_that_the_tree_does_not_use_is_refused():
    reader = Reader({"W": np.eye(2)})
    reader.decode(3)
    with pytest.raises(ValueError, match=r"its manifest does not use the arrays \['W'\]"):
        reader.finish()
