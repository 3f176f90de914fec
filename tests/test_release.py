"""What a release states about itself in several places agrees, and nothing is left open but the listed placeholders."""

from __future__ import annotations

import importlib.util
import json
import re
import tomllib
import zipfile
from collections import Counter
from pathlib import Path

import pytest
import yaml

from covmetric import __version__

ROOT = Path(__file__).parents[1]
PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text())["project"]
WORKFLOWS = sorted((ROOT / ".github" / "workflows").glob("*.yml"))
PYTHONS = [name.rpartition(" ")[2] for name in PROJECT["classifiers"] if re.search(r":: 3\.\d+$", name)]


def load_tool(name):
    spec = importlib.util.spec_from_file_location(name, ROOT / "tools" / f"{name}.py")
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


placeholders, wheel_tests = load_tool("placeholders"), load_tool("wheel_tests")


def test_version_and_date_agree():
    version, date = re.search(r"^## (\S+) - (\S+)$", (ROOT / "CHANGELOG.md").read_text(), re.MULTILINE).groups()
    citation = yaml.safe_load((ROOT / "CITATION.cff").read_text())
    assert version == citation["version"] == __version__
    assert date == str(citation["date-released"])


def test_supported_versions_of_python_agree():
    assert PYTHONS[0] == PROJECT["requires-python"].removeprefix(">=") == "3.11"
    span = f"Python 3.11 to {PYTHONS[-1]}"
    assert span in (ROOT / "README.md").read_text()
    assert f"| Python | {span.removeprefix('Python ')}." in (ROOT / "SUPPORT.md").read_text()
    jobs = yaml.safe_load((ROOT / ".github" / "workflows" / "tests.yml").read_text())["jobs"]
    assert jobs["tests"]["strategy"]["matrix"]["python"] == PYTHONS


@pytest.mark.parametrize("path", WORKFLOWS, ids=lambda path: path.stem)
def test_workflows_are_pinned_and_may_only_read(path):
    workflow = yaml.safe_load(path.read_text())
    assert workflow["permissions"] == {"contents": "read"}
    for name, job in workflow["jobs"].items():
        assert job["timeout-minutes"] <= 60
        assert job.get("permissions", {}) == ({"id-token": "write"} if name == "publish" else {})
        for step in job["steps"]:
            assert re.fullmatch(r"[\w./-]+@[0-9a-f]{40}", step.get("uses", "a@" + "0" * 40)), step
    assert not re.search(r"https?://|index.url", path.read_text())


def test_workflows_run_what_contributors_run():
    commands = {
        step["run"]
        for path in WORKFLOWS
        for job in yaml.safe_load(path.read_text())["jobs"].values()
        for step in job["steps"]
        if "run" in step
    }
    assert commands >= {".ci/run", "make coverage", "make docs", "make review", "make test-wheel"}
    assert "make test" in (ROOT / ".ci" / "run").read_text().splitlines()


def test_every_placeholder_is_listed_and_every_listed_one_is_used():
    used = {name for _, _, name in placeholders.uses(ROOT)}
    assert used == set(tomllib.loads((ROOT / placeholders.VALUES).read_text()))
    table = (ROOT / "CONTRIBUTING.md").read_text().partition("### Before the first release")[2]
    for path, _, name in placeholders.uses(ROOT):
        short = re.search("[A-Z]+", name.removeprefix("FILL-IN-")).group()
        assert any(short in line and f"`{path}`" in line for line in table.splitlines()), (path, name)


def test_every_page_that_installs_from_a_clone_is_listed():
    listed = (ROOT / "CONTRIBUTING.md").read_text().partition("### Before the first release")[2]
    clone = re.compile(r"pip install \"?\.(?!\w)|no release on PyPI")
    pages = [path for path in placeholders.files(ROOT) if path.suffix == ".md" and path.name != "CONTRIBUTING.md"]
    found = {path.relative_to(ROOT).as_posix() for path in pages if clone.search(path.read_text())}
    assert {"README.md", "docs/index.md"} <= found
    assert [name for name in found if f"`{name}`" not in listed] == []


def test_there_are_no_other_kinds_of_placeholders():
    other = re.compile(
        r"\b(TODO|FIXME|XXX|TBD)\b|your[-_ ]?(name|email|org)\b|(?<!FILL-IN-EMAIL@)\bexample\.(com|org)\b", re.I
    )
    found = [
        (path.name, match.group()) for path in placeholders.files(ROOT) for match in other.finditer(path.read_text())
    ]
    assert found == []


def test_no_file_names_a_folder_of_a_machine():
    machine = re.compile(r"(?<![\w.:/-])/(?:work|root|home|Users|mnt|opt)/\w")
    kinds = {".md", ".py", ".toml", ".yml", ".csv", ".json", ".txt", ".cff", ".bib", ".html", ".js", ".css"}
    folders = ("benchmarks", "docs", "examples", "src", "tests", "tools", ".github")
    paths = [*ROOT.glob("*"), *(path for name in folders for path in (ROOT / name).rglob("*"))]
    paths = [path for path in paths if path.suffix in kinds and placeholders.GENERATED.isdisjoint(path.parts)]
    texts = {path: path.read_text(encoding="utf-8") for path in paths if path.is_file()}
    assert len(texts) > 300
    assert [str(path) for path, text in texts.items() if machine.search(text)] == []


def planted(tmp_path, values):
    (tmp_path / "tools").mkdir()
    (tmp_path / "tools" / "placeholders.toml").write_text(values)
    (tmp_path / "README.md").write_text("https://FILL-IN-REPOSITORY/issues, FILL-IN-EMAIL@example.org\n")
    (tmp_path / "SUPPORT.md").write_text("nothing\n")
    return tmp_path


def test_placeholders_are_filled_in(tmp_path):
    root = planted(tmp_path, '"FILL-IN-REPOSITORY" = "host/name"\n"FILL-IN-EMAIL@example.org" = "a@b.org"\n')
    assert placeholders.uses(root) == [
        ("README.md", 1, "FILL-IN-REPOSITORY"),
        ("README.md", 1, "FILL-IN-EMAIL@example.org"),
    ]
    assert placeholders.fill(root) == 1
    assert (root / "README.md").read_text() == "https://host/name/issues, a@b.org\n"
    assert placeholders.uses(root) == []


def test_placeholders_are_filled_in_together_or_not_at_all(tmp_path):
    root = planted(tmp_path, '"FILL-IN-REPOSITORY" = "host/name"\n"FILL-IN-EMAIL@example.org" = ""\n')
    before = (root / "README.md").read_text()
    with pytest.raises(SystemExit, match=r"no value for FILL-IN-EMAIL@example\.org"):
        placeholders.fill(root)
    assert (root / "README.md").read_text() == before


def test_missing_and_added_files_of_a_wheel_are_found(tmp_path):
    package = tmp_path / "src" / "covmetric"
    (package / "__pycache__").mkdir(parents=True)
    for name in ("__init__.py", "py.typed", "__pycache__/cache.pyc"):
        (package / name).write_text("")
    wheel = tmp_path / "covmetric-1.0-py3-none-any.whl"
    metadata = [f"covmetric-1.0.dist-info/{name}" for name in wheel_tests.METADATA]

    def wrong(*names):
        with zipfile.ZipFile(wheel, "w") as archive:
            for name in (*names, *metadata):
                archive.writestr(name, "")
        return wheel_tests.wrong_files(wheel, tmp_path / "src")

    assert wrong("covmetric/__init__.py", "covmetric/py.typed") == (set(), set())
    assert wrong("covmetric/__init__.py", "tests/a.py") == ({"covmetric/py.typed"}, {"tests/a.py"})


def test_the_oldest_versions_are_the_lower_bounds_of_what_users_install(tmp_path):
    project = tmp_path / "pyproject.toml"

    def oldest(report):
        project.write_text(
            '[project]\ndependencies = ["numpy>=2.2", "scipy<2,>=1.13"]\n[project.optional-dependencies]\n'
            f'dask = ["dask[array]>=2025.1"]\nreport = ["{report}"]\ndev = ["pytest>=8.3"]\n'
        )
        return wheel_tests.oldest_versions(project)

    assert oldest("jinja2>=3.1") == ["numpy==2.2", "scipy==1.13", "dask==2025.1", "jinja2==3.1"]
    with pytest.raises(SystemExit, match="several lower bounds of numpy"):
        oldest("numpy>=2.3")


def test_the_paper_counts_the_verdicts_of_the_results():
    claims = json.loads((ROOT / "docs" / "results" / "claims.json").read_text())["claims"]
    verdicts = Counter(claim["verdict"] for claim in claims)
    counts = {
        "holds": "hold",
        "proved": "is proved",
        "holds for a reconstruction": "holds for a reconstruction of a method",
        "holds in part": "hold in part",
        "depends on the reading": "depend on choices that the paper leaves open",
    }
    expected = ", ".join(f"{verdicts.pop(verdict)} {text}" for verdict, text in counts.items())
    assert f"The verdicts: {expected}." in " ".join((ROOT / "paper.md").read_text().split())
    assert not verdicts


def test_the_paper_cites_what_its_bibliography_has():
    cited = set(re.findall(r"(?<![\w.])@([A-Za-z]+\d{4}|pyRiemann)", (ROOT / "paper.md").read_text()))
    listed = re.findall(r"^@\w+\{(\w+),", (ROOT / "paper.bib").read_text(), re.MULTILINE)
    assert cited == set(listed) and len(listed) == len(cited)


def test_the_paper_has_the_sections_and_the_figure_of_its_journal():
    text = (ROOT / "paper.md").read_text()
    header = yaml.safe_load(text.split("---")[1])
    assert set(header) == {"title", "tags", "authors", "affiliations", "date", "bibliography"}
    assert re.findall(r"^# (.*)$", text, re.MULTILINE)[:5] == [
        "Summary",
        "Statement of need",
        "State of the field",
        "Software design",
        "Research impact statement",
    ]
    assert all((ROOT / path).is_file() for path in re.findall(r"\]\((docs/[^)]*)\)", text))
    assert 750 <= len(text.split()) <= 1750
