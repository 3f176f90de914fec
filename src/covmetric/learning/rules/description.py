"""Decision rules as text."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any


def describe_rule(rule: Mapping[str, Any]) -> str:
    """Return a decision rule as text for people.

    Parameters
    ----------
    rule : mapping
        The rule as in `CovMetricClassifier.rule_`: its name and parameters, or a list 'rules' of combined rules with
        their weights.

    Returns
    -------
    str
        The name with the parameters in parentheses; for combined rules a sum.

    Examples
    --------
    >>> describe_rule({"rule": "svm", "C": 10.0})
    'svm (C 10)'
    >>> combined = [{"rule": "svm", "C": 1.0, "weight": 0.7}, {"rule": "lda", "weight": 0.3}]
    >>> describe_rule({"rule": "blend", "rules": combined})
    '0.70 svm (C 1) + 0.30 lda'
    """
    if "rules" in rule:
        return " + ".join(f"{one['weight']:.2f} {describe_rule(one)}" for one in rule["rules"])
    values = {name: value for name, value in rule.items() if name not in ("rule", "weight") and value is not None}
    texts = [f"{name} {value:g}" if isinstance(value, float) else f"{name} {value}" for name, value in values.items()]
    return f"{rule['rule']} ({', '.join(texts)})" if texts else str(rule["rule"])
