"""How a result was made: parameters, versions, and the command that repeats it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from covmetric._version import __version__
from covmetric.experiments.provenance import code_version
from covmetric.report.content import Code, Facts, Section
from covmetric.tasks import setting_in_words


def origin_sections(
    parameters: Mapping[str, Any],
    versions: Mapping[str, Any],
    command: str,
    commit: str | None = None,
    title: str = "How to repeat this",
) -> list[Section]:
    """Return the sections on parameters, versions and the command.

    Parameters
    ----------
    parameters, versions : mappings
        Values by name.
    command : str
        The command that repeats the result.
    commit : str or None, default=None
        The version of the code. None means that of this code.
    title : str, default="How to repeat this"
        The title of the section with the command.

    Returns
    -------
    list of Section
        The sections.

    Examples
    --------
    >>> [section.title for section in origin_sections({"lam": 0.01}, {}, "covmetric demo")]
    ['Parameters', 'How to repeat this']
    """
    return [
        Section(
            "Parameters",
            [Facts([(str(name), setting_in_words(name, plain(value))) for name, value in parameters.items()])],
        ),
        Section(
            title,
            [
                Code(command),
                Facts(
                    [*((str(name), str(value)) for name, value in versions.items()), ("code", commit or code_version())]
                ),
            ],
        ),
    ]


def made_by() -> str:
    """Return the line at the end of a page.

    Returns
    -------
    str
        The version.

    Examples
    --------
    >>> made_by().startswith("Made by covmetric ")
    True
    """
    return f"Made by covmetric {__version__}. This page is one file, and loads nothing from elsewhere."


def plain(value: Any) -> str:
    """Return a value as text for people.

    Parameters
    ----------
    value : object
        The value.

    Returns
    -------
    str
        Numbers with at most six digits; "none" for None; lists and dicts without brackets and quotes.

    Examples
    --------
    >>> plain(None), plain(0.1 + 0.2), plain({"rule": "svm", "C": 1.0}), plain(["a", 2])
    ('none', '0.3', 'rule svm, C 1', 'a, 2')
    """
    if value is None:
        return "none"
    if isinstance(value, float):
        return f"{value:g}"
    if isinstance(value, Mapping):
        return ", ".join(f"{key} {plain(one)}" for key, one in value.items())
    if isinstance(value, list | tuple):
        return ", ".join(map(plain, value))
    return str(value)
