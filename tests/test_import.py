"""The package loads lazily, and exports the names in __all__."""

from __future__ import annotations

import ast
import subprocess
import sys
from pathlib import Path

import pytest

import covmetric


def modules_after(code: str) -> set[str]:
    out = subprocess.run(
        [sys.executable, "-c", f"{code}\nimport sys; print(' '.join(sys.modules))"],
        capture_output=True, text=True, check=True,
    )  # fmt: skip
    return set(out.stdout.split())


def test_import_loads_nothing_heavier_than_numpy():
    heavy = {"scipy", "sklearn", "numba", "pyriemann", "matplotlib", "tqdm", "threadpoolctl"}
    assert not heavy & modules_after("import covmetric; covmetric.__version__; dir(covmetric)")


def test_stating_a_problem_does_not_load_the_compiler():
    assert not {"sklearn", "numba", "pyriemann"} & modules_after("from covmetric import MetricProblem, solve, Dykstra")


@pytest.mark.parametrize("name", covmetric.__all__)
def test_every_public_name_is_there(name):
    assert getattr(covmetric, name) is not None
    assert name in dir(covmetric)


def test_unknown_names():
    with pytest.raises(AttributeError, match="module 'covmetric' has no attribute 'Nothing'"):
        covmetric.Nothing  # noqa: B018


def test_type_checkers_see_every_public_name_in_its_package():
    tree = ast.parse(Path(covmetric.__file__).read_text(encoding="utf-8"))
    (block,) = [node for node in tree.body if isinstance(node, ast.If)]
    seen = {alias.name: node.module for node in block.body for alias in node.names}
    assert seen == {name: f"covmetric.{home}" for name, home in covmetric._HOMES.items()}
