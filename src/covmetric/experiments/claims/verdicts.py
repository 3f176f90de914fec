"""The verdict on a claim, with the evidence and the numbers that it rests on."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

HOLDS = "holds"
IN_PART = "holds in part"
DEPENDS = "depends on the reading"
RECONSTRUCTION = "holds for a reconstruction"
PROVED = "proved"
NO_DIFFERENCE = "no difference"
NOT_REPRODUCED = "not reproduced"
#: What each verdict means.
VERDICTS: dict[str, str] = {
    HOLDS: "the numbers show what the claim says",
    IN_PART: "the numbers show a part of what the claim says",
    DEPENDS: "the numbers show what the claim says with some of the choices that the paper leaves open, and not with "
    "others",
    RECONSTRUCTION: "the numbers show what the claim says, for our reconstruction of a method",
    PROVED: "a mathematical statement that needs no numbers",
    NO_DIFFERENCE: "the numbers show no difference where the claim says that there is one",
    NOT_REPRODUCED: "the numbers do not show what the claim says",
}


@dataclass(frozen=True)
class ClaimVerdict:
    """The verdict on a claim.

    Attributes
    ----------
    id : str
        A short name.
    claim : str
        What is claimed.
    source : str
        Who claims it and where, for example "paper, section 5.1".
    verdict : str
        A key of `VERDICTS`.
    evidence : str
        Sentences with the numbers.
    caveat : str
        What the verdict depends on.
    rule : str
        How the verdict follows from the numbers.
    experiments : tuple of str
        The experiments whose rows are the evidence.
    numbers : dict
        All numbers that the verdict rests on; JSON can represent them.
    """

    id: str
    claim: str
    source: str
    verdict: str
    evidence: str
    caveat: str
    rule: str
    experiments: tuple[str, ...]
    numbers: dict[str, Any]


@dataclass(frozen=True)
class Remark:
    """A finding that is not a verdict on a claim.

    Attributes
    ----------
    id : str
        A short name.
    title : str
        The heading.
    text : str
        Sentences with the numbers.
    experiments : tuple of str
        The experiments whose rows are the evidence.
    numbers : dict
        The numbers in the text; JSON can represent them.
    """

    id: str
    title: str
    text: str
    experiments: tuple[str, ...]
    numbers: dict[str, Any]
