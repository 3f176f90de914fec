"""List the placeholders that the maintainers fill in before the first release, or fill them in.

``python tools/placeholders.py`` prints where each is used and exits with 1 if there are any.
``python tools/placeholders.py fill`` replaces them by the values in ``tools/placeholders.toml``, all or none.
"""

from __future__ import annotations

import re
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
VALUES = "tools/placeholders.toml"
PLACEHOLDER = re.compile(r"FILL-IN-[A-Z]+(?:@example\.org)?")
#: Folders that are made by programs.
GENERATED = {"_build", "gallery", "generated", "__pycache__"}
#: The places that may have placeholders. The table of values, this tool and its tests name them all.
SEARCHED = ("*.md", "*.toml", "*.cff", "*.bib", ".github/**/*", "docs/**/*.md", "docs/**/*.py", "src/**/*.py")


def files(root: Path) -> Iterator[Path]:
    """Yield the files that may have placeholders."""
    for pattern in SEARCHED:
        yield from sorted(path for path in root.glob(pattern) if path.is_file() and GENERATED.isdisjoint(path.parts))


def uses(root: Path) -> list[tuple[str, int, str]]:
    """Return all uses of placeholders."""
    return [
        (path.relative_to(root).as_posix(), number, name)
        for path in files(root)
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        for name in PLACEHOLDER.findall(line)
    ]


def fill(root: Path) -> int:
    """Replace all placeholders by their values."""
    values: dict[str, str] = tomllib.loads((root / VALUES).read_text(encoding="utf-8"))
    used = {name for _, _, name in uses(root)}
    missing = sorted(name for name in used if not values.get(name))
    if missing:
        raise SystemExit(f"{VALUES} has no value for {', '.join(missing)}; nothing was changed")
    changed = {path for path in files(root) if PLACEHOLDER.search(path.read_text(encoding="utf-8"))}
    for path in changed:
        text = path.read_text(encoding="utf-8")
        path.write_text(PLACEHOLDER.sub(lambda found: values[found.group()], text), encoding="utf-8")
    return len(changed)


def main() -> int:
    """List or fill in the placeholders; return the exit code."""
    if sys.argv[1:] == ["fill"]:
        print(f"{fill(ROOT)} files changed")
        return 0
    found = uses(ROOT)
    for path, line, name in found:
        print(f"{path}:{line}: {name}")
    return 1 if found else 0


if __name__ == "__main__":
    sys.exit(main())
