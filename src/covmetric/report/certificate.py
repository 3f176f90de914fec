"""The certificate in words: what it proves, and what it does not."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import Any

from covmetric._utils.rounding import describe_factors, rounded_down, rounded_up
from covmetric.report.content import Bullets, Facts, Paragraphs, Section
from covmetric.solvers import Status

_NOT_PROVEN = (
    "that the metric classifies new examples well: that is measured on examples that were not used for learning",
    "that the embedding, the pairs, the bounds, lambda or the decision rule are good choices",
    "that the labels are right, or that the training examples are like the examples to come",
    "more digits than stated: the bound on the rounding errors, which is included, is of first order",
)


def certificate_section(entries: Mapping[str, Any] | None) -> Section:
    """Return the section on the certificate.

    Parameters
    ----------
    entries : mapping or None
        The certificate as `evaluate --json` writes it, with infinity as "inf"; None if nothing was solved.

    Returns
    -------
    Section
        The section.

    Examples
    --------
    >>> certificate_section(None).parts[0].texts
    ['The metric is fixed (lambda = inf). Nothing was optimised, so there is nothing to certify.']
    """
    if entries is None:
        text = "The metric is fixed (lambda = inf). Nothing was optimised, so there is nothing to certify."
        return Section("Certificate", [Paragraphs([text])])
    numbers = {name: float(entries[name]) for name in ("primal", "dual", "gap", "bound", "rounding", "tol")}
    low, high = (float(value) for value in entries["distance_factor"])
    status = str(entries["status"])
    message = Status[status].message if status in Status.__members__ else ""
    proof = (
        f"The learned metric has an objective of {numbers['primal']:.10g}. Weak duality proves, from the data, that "
        f"the optimum is at least {rounded_down(numbers['primal'] - numbers['bound'], 10):.10g}: the metric is at most "
        f"{rounded_up(numbers['bound'], 2):.1e} above the best one possible. {_factor(low, high)}"
    )
    texts = [f"{status}: {message}." if message else f"{status}.", proof]
    facts = [
        ("objective P(W)", f"{numbers['primal']:.10g}"),
        ("dual objective", f"{numbers['dual']:.10g}"),
        ("duality gap", f"{numbers['gap']:.2e}"),
        ("rounding error of the gap", f"at most {rounded_up(numbers['rounding'], 3):.2e}"),
        ("proven distance from the optimum", f"at most {rounded_up(numbers['bound'], 3):.2e}"),
        ("tolerance on the relative gap", f"{numbers['tol']:.1e}"),
    ]
    return Section(
        "Certificate",
        [Paragraphs(texts), Facts(facts), Paragraphs(["The certificate does not prove"]), Bullets(_NOT_PROVEN)],
    )


def _factor(low: float, high: float) -> str:
    if not math.isfinite(high):
        return "It proves nothing about single distances."
    return f"Every squared distance is {describe_factors(low, high)} times that of the optimal metric."
