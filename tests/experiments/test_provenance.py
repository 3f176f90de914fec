"""The version of the code: the last commit that changed the sources, or the release."""

from __future__ import annotations

import shutil
import subprocess

import pytest

from covmetric import __version__
from covmetric.experiments import provenance
from covmetric.experiments.provenance import code_version

pytestmark = pytest.mark.skipif(shutil.which("git") is None, reason="git is not installed")


def git(folder, *arguments):
    identity = ["-c", "user.name=t", "-c", "user.email=t@example.org"]
    done = subprocess.run(["git", *identity, *arguments], cwd=folder, capture_output=True, text=True, check=True)
    return done.stdout.strip()


@pytest.fixture
def sources(tmp_path, monkeypatch):
    folder = tmp_path / "src" / "package"
    folder.mkdir(parents=True)
    (folder / "__init__.py").write_text("one = 1\n")
    monkeypatch.setattr(provenance, "_SOURCES", folder)
    code_version.cache_clear()
    yield folder
    code_version.cache_clear()


def commit(folder, path, text):
    path.write_text(text)
    git(folder, "add", ".")
    git(folder, "commit", "-m", "Change")
    code_version.cache_clear()
    return git(folder, "rev-parse", "HEAD")


def test_version_is_the_last_commit_that_changed_the_sources(sources, tmp_path):
    git(tmp_path, "init", "-q")
    first = commit(tmp_path, sources / "__init__.py", "one = 2\n")
    assert first.startswith(code_version())
    commit(tmp_path, tmp_path / "README.md", "text\n")
    assert first.startswith(code_version())
    second = commit(tmp_path, sources / "__init__.py", "one = 3\n")
    assert second.startswith(code_version()) and len(code_version()) == 10


def test_uncommitted_changes_are_marked(sources, tmp_path):
    git(tmp_path, "init", "-q")
    commit(tmp_path, sources / "__init__.py", "one = 2\n")
    (sources / "__init__.py").write_text("one = 3\n")
    code_version.cache_clear()
    assert code_version().endswith("+changes")


def test_sources_outside_of_a_repository_have_the_release(sources, tmp_path):
    assert code_version() == f"v{__version__}"
    git(tmp_path, "init", "-q")  # the folder of an environment inside of somebody else's repository
    code_version.cache_clear()
    assert code_version() == f"v{__version__}"


def test_machine_without_git_has_the_release(sources, monkeypatch):
    monkeypatch.setenv("PATH", "")
    assert code_version() == f"v{__version__}"
