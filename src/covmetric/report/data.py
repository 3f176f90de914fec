"""The section on the data of a result."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from covmetric.report.content import Facts, Part, Section, Table

# The largest number of examples that were left out and are named.
_MAX_SKIPPED = 20


def data_section(data: Mapping[str, Any], facts: Sequence[tuple[str, str]] = ()) -> Section:
    """Return the section on the data.

    Parameters
    ----------
    data : mapping
        The entry `data` of a result; docs/guide/cli.md lists its entries. Entries may be missing.
    facts : sequence of (str, str), default=()
        More names and values.

    Returns
    -------
    Section
        The section.

    Examples
    --------
    >>> data_section({"name": "textures", "classes": ["a", "b"], "class_counts": [3, 4]}).parts[0].rows
    [('name', 'textures'), ('examples by class', 'a: 3, b: 4')]
    """
    names = {"name": "name", "path": "path", "content": "examples are", "n_groups": "groups"}
    rows_of_data = [(title, str(data[name])) for name, title in names.items() if data.get(name) not in (None, "")]
    if data.get("n_examples") is not None and not any(title == "matrices" for title, _ in facts):
        rows_of_data.append(("examples", str(data["n_examples"])))
        if data.get("n_features") is not None:
            size = "entries of a vector" if data.get("content") == "vectors" else "rows of a matrix"
            rows_of_data.append((size, str(data["n_features"])))
    if data.get("classes") and data.get("class_counts"):
        counts = zip(data["classes"], data["class_counts"], strict=False)
        rows_of_data.append(("examples by class", ", ".join(f"{label}: {count}" for label, count in counts)))
    parts: list[Part] = [Facts([*rows_of_data, *facts])]
    skipped = data.get("skipped") or []
    if skipped:
        rows = [[str(name), str(reason)] for name, reason in skipped[:_MAX_SKIPPED]]
        more = len(skipped) - len(rows)
        parts.append(
            Table(
                f"{len(skipped)} examples were left out", ("name", "reason"), rows, f"and {more} more" if more else ""
            )
        )
    return Section("Data", parts)
