"""Checks of command-line arguments."""

from __future__ import annotations

import argparse

import pytest

from covmetric.cli import fit
from covmetric.cli.arguments import check_folder_of, check_picture, integer_at_least, positive_number
from covmetric.estimators.learner_choice import AUTO
from covmetric.learning.rules import RULES


def test_rules_of_fit_are_those_of_the_classifier():
    """The command repeats the names, because its help imports nothing heavy."""
    assert (*fit._RULES,) == (AUTO, *RULES)


def test_integer_is_converted_and_bounded():
    assert integer_at_least(3)("3") == 3
    for text in ("2", "3.0", "many", ""):
        with pytest.raises(argparse.ArgumentTypeError, match=rf"'{text}' is not an integer >= 3"):
            integer_at_least(3)(text)


def test_number_is_positive_and_finite():
    assert positive_number("1e-3") == 1e-3
    for text in ("0", "-1", "inf", "nan", "much"):
        with pytest.raises(argparse.ArgumentTypeError, match=f"'{text}' is not a positive number"):
            positive_number(text)


def test_missing_folder_raises(tmp_path):
    check_folder_of("--csv", tmp_path / "a.csv")
    with pytest.raises(ValueError, match=r"--csv: there is no folder .*missing"):
        check_folder_of("--csv", tmp_path / "missing" / "a.csv")


def test_picture_needs_a_folder_and_a_known_ending(tmp_path):
    for name in ("a.png", "a.SVG", "a.pdf"):
        check_picture("--out", tmp_path / name)
    with pytest.raises(ValueError, match="--out: there is no folder"):
        check_picture("--out", tmp_path / "missing" / "a.png")
    for wrong in (tmp_path, tmp_path / "a.xyz", tmp_path / "a"):
        with pytest.raises(ValueError, match=r"--out: .* must be a file that ends in one of .*\.png"):
            check_picture("--out", wrong)
