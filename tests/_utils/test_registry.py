"""The resolution of names into components."""

from __future__ import annotations

import pytest

from covmetric._utils.registry import resolve


class Shape:
    def __init__(self, size=1):
        self.size = size


class Circle(Shape):
    pass


SHAPES = {"circle": Circle}


def test_a_name_becomes_an_instance_with_the_settings():
    found = resolve("shape", "circle", SHAPES, Shape, settings={"size": 3})
    assert type(found) is Circle and found.size == 3
    assert resolve("shape", "circle", SHAPES, Shape).size == 1


def test_an_object_is_returned_unchanged_and_takes_no_settings():
    shape = Shape()
    assert resolve("shape", shape, SHAPES, Shape, settings={}) is shape
    with pytest.raises(ValueError, match=r"settings \(size\) require shape to be a name, but it is an object"):
        resolve("shape", shape, SHAPES, Shape, settings={"size": 3})


def test_unknown_settings_are_refused():
    with pytest.raises(ValueError, match=r"shape 'circle' does not take these settings: .*'colour'"):
        resolve("shape", "circle", SHAPES, Shape, settings={"colour": "red"})


@pytest.mark.parametrize("value", ["square", 3, None, Circle, ["circle"]])
def test_other_values_are_refused(value):
    with pytest.raises(
        ValueError, match=r"shape must be one of 'auto', 'circle', or an object of the class Shape; got"
    ):
        resolve("shape", value, SHAPES, Shape, also="auto")
