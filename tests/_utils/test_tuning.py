"""Every tuned constant is used, and belongs to a group that names an existing benchmark."""

from __future__ import annotations

import ast
import importlib
import re
from pathlib import Path

import numpy as np
import pytest

from benchmarks import blocks, solvers
from covmetric._utils import tuning

ROOT = Path(__file__).parents[2]
SOURCE = Path(tuning.__file__).read_text()
CONSTANTS = [name for name in vars(tuning) if name.isupper()]


def names_used_in_the_package():
    package = Path(tuning.__file__).parents[1]
    trees = (ast.parse(path.read_text()) for path in package.rglob("*.py") if path.name != "tuning.py")
    used = {node.id for tree in trees for node in ast.walk(tree) if isinstance(node, ast.Name)}
    # The models use constants and other models.
    models = [node for node in ast.parse(SOURCE).body if isinstance(node, ast.FunctionDef)]
    return used | {node.id for model in models for node in ast.walk(model) if isinstance(node, ast.Name)}


def test_every_constant_and_model_is_used():
    functions = [name for name, value in vars(tuning).items() if callable(value)]
    assert len(CONSTANTS) > 40 and len(functions) >= 2
    assert {*CONSTANTS, *functions} - names_used_in_the_package() == set()


def test_every_group_names_a_benchmark_that_exists():
    groups = re.split(r"^# --- ", SOURCE, flags=re.MULTILINE)[1:]
    for group in groups:
        heading = group.splitlines()[0]
        commands = re.findall(r"python -m benchmarks\.(\w+)((?: \w+)*)", heading)
        assert commands, heading
        for module, sections in commands:
            assert (ROOT / "benchmarks" / f"{module}.py").is_file(), heading
            assert all(hasattr(solvers, section) for section in sections.split()), heading
    # The constants before the first heading would have no benchmark.
    assert not re.search(r"^[A-Z_]{4,}.* = ", SOURCE.split("# --- ")[0], flags=re.MULTILINE)


def test_constants_are_positive():
    assert all(np.min(getattr(tuning, name)) > 0 for name in CONSTANTS)


@pytest.mark.parametrize(
    "group",
    [blocks.embedding_work, blocks.series_work, blocks.distance_work, blocks.invariant_work, blocks.problem_work],
)
def test_blocks_benchmark_patches_the_module_that_uses_the_constant(group):
    for module, name, work in group(10):
        user = importlib.import_module(module)
        assert getattr(user, name) == getattr(tuning, name)
        if group is not blocks.series_work:  # which starts processes
            assert all(seconds > 0.0 for seconds in blocks.timings(module, name, work, 1))
        assert getattr(user, name) == getattr(tuning, name)


def test_models_of_cost_grow_with_the_work():
    assert tuning.sweep_seconds(10, 2, 5, 5) < tuning.sweep_seconds(10, 2, 50, 5) < tuning.sweep_seconds(40, 2, 50, 5)
    assert tuning.sweep_seconds(10, 2, 5, 5) < tuning.sweep_seconds(10, 2, 5, 50)
    # Beyond m = n, the kernel works with n columns.
    assert tuning.sweep_seconds(10, 40, 5, 5) == tuning.sweep_seconds(10, 10, 5, 5)
    for kept in (True, False):
        few, many = (tuning.certificate_seconds(10, 10, n_pairs, kept) for n_pairs in (10, 10_000))
        assert 0.0 < few < many
    assert tuning.certificate_seconds(10, 10, 1000, True) < tuning.certificate_seconds(10, 10, 1000, False)


@pytest.mark.parametrize("model", [tuning.newton_seconds, tuning.interior_seconds])
@pytest.mark.parametrize("m", [1, 2, 20])
def test_models_of_steps_grow_with_the_size_and_the_pairs(model, m):
    assert 0.0 < model(20, m, 10, 50) < model(20, m, 1000, 50) < model(20, m, 100_000, 50)
    assert model(20, m, 1000, 50) < model(40, m, 1000, 50) < model(400, m, 1000, 50)
    assert model(100, m, 20_000, 10) < model(100, m, 20_000, 500) <= model(100, m, 20_000, 40_000)
    assert model(100, m, 20_000, 40_000) == model(100, m, 20_000, 80_000), "then the pairs are transformed"
    assert tuning.newton_seconds(50, m, 1000, 50) < tuning.interior_seconds(50, m, 1000, 50)
