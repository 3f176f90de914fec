"""List the files in docs/results that do not carry the last commit that changed src/.

``python tools/results.py`` exits with 1 if there are any. It is not a part of CI, because results are made anew only
before a release: ``make results``.
"""

from __future__ import annotations

import csv
import json
import re
import sys
from pathlib import Path

from covmetric.experiments.provenance import code_version

ROOT = Path(__file__).resolve().parents[1]
RESULTS = ROOT / "docs" / "results"
_COMMIT = re.compile(r"at commit ([0-9a-f]+(?:\+changes)?)")


def commits(path: Path) -> set[str]:
    """Return the commits that a page, a picture or a file with rows or verdicts carries."""
    if path.suffix == ".csv":
        with path.open(newline="") as file:
            return {line["code"] for line in csv.DictReader(file) if "code" in line}
    if path.suffix == ".json":
        return {json.loads(path.read_text(encoding="utf-8")).get("code", "")} - {""}
    if path.suffix == ".png":
        from PIL import Image

        with Image.open(path) as picture:
            text = str(picture.info.get("Description", ""))
    else:
        text = "\n".join(path.read_text(encoding="utf-8").splitlines()[:3])
    return set(_COMMIT.findall(text))


def outdated(folder: Path, commit: str) -> dict[str, set[str]]:
    """Return the files that carry no commit or another one, with what they carry."""
    found = {path.name: commits(path) for path in sorted(folder.iterdir())}
    return {name: carried for name, carried in found.items() if carried != {commit}}


def main() -> int:
    """Print the files; return the exit code."""
    commit = code_version()
    found = outdated(RESULTS, commit)
    for name, carried in found.items():
        print(f"{name}: {', '.join(sorted(carried)) or 'no commit'}")
    print(
        f"{len(found)} files in {RESULTS.relative_to(ROOT)} do not carry {commit}, the last commit that changed src/."
    )
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
