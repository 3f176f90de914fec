"""The packages follow the architecture: they use no private names of other packages, and all are documented."""

from __future__ import annotations

import ast
import re
from pathlib import Path

import pytest

import covmetric

ROOT = Path(__file__).parents[1]
SOURCE = Path(covmetric.__file__).parent
FILES = sorted(SOURCE.rglob("*.py"))
PACKAGES = sorted(
    path.name + ("/" if path.is_dir() else "")
    for path in SOURCE.iterdir()
    if (path.is_dir() and (path / "__init__.py").is_file()) or (path.suffix == ".py" and not path.stem.startswith("__"))
)


def package_of(module: str) -> str:
    """Return the package directly below covmetric that a module belongs to."""
    return [*module.split("."), ""][1]


def foreign_private_imports(source: str, package: str) -> list[str]:
    """Return the imports of private modules or names of another package, anywhere in the code."""
    found = []
    for node in ast.walk(ast.parse(source)):
        if isinstance(node, ast.ImportFrom) and (node.module or "").split(".")[0] == "covmetric":
            targets = [f"{node.module}.{alias.name}" for alias in node.names]
        elif isinstance(node, ast.Import):
            targets = [alias.name for alias in node.names if alias.name.split(".")[0] == "covmetric"]
        else:
            continue
        for target in targets:
            parts = target.split(".")
            private = any(part.startswith("_") and not part.startswith("__") for part in parts[2:])
            if private and package_of(target) != package:
                found.append(f"line {node.lineno}: {target}")
    return found


@pytest.mark.parametrize("path", FILES, ids=lambda path: str(path.relative_to(SOURCE)))
def test_no_private_names_of_other_packages(path):
    package = path.relative_to(SOURCE).parts[0].removesuffix(".py")
    assert foreign_private_imports(path.read_text(), package) == []


@pytest.mark.parametrize(
    ("source", "found"),
    [
        ("from covmetric.learning._fit import solve", True),
        ("from covmetric.learning.fit import _solve", True),
        ("def f():\n    from covmetric.learning.fit import _solve", True),
        ("import covmetric.learning._fit", True),
        ("from covmetric._utils.validation import as_floats", False),
        ("from covmetric.estimators._private import name", False),
        ("from covmetric import __version__", False),
    ],
)
def test_the_check_finds_private_names(source, found):
    assert bool(foreign_private_imports(source, "estimators")) is found


@pytest.mark.parametrize("package", PACKAGES)
def test_every_package_is_documented(package):
    architecture = (ROOT / "docs" / "development" / "architecture.md").read_text()
    assert re.search(rf"^\| `{re.escape(package)}` \| \S", architecture, flags=re.MULTILINE), f"{package} is missing"


def test_no_package_is_documented_that_does_not_exist():
    architecture = (ROOT / "docs" / "development" / "architecture.md").read_text()
    assert sorted(re.findall(r"^\| `([a-z_]+(?:/|\.py))` \|", architecture, flags=re.MULTILINE)) == PACKAGES


def test_the_tests_mirror_the_tree():
    tested = {path.name for path in (ROOT / "tests").iterdir() if path.is_dir()}
    assert {package.removesuffix("/") for package in PACKAGES if package.endswith("/")} <= tested
