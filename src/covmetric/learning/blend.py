"""The weighted mean of the calibrated probabilities of several decision rules."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, dataclass
from typing import Any, ClassVar, Self

import numpy as np

from covmetric._utils.validation import FloatArray, IntArray, as_floats
from covmetric.learning.calibration import Calibration
from covmetric.learning.rules import Rule, get_rule
from covmetric.learning.scoring import Scoring

_ITERATIONS = 1000
_SMALLEST_CHANGE = 1e-7
# p -> p. It is applied only to probabilities that are calibrated already, none of which is 0.
_UNCHANGED = Calibration(0.0, 1.0)


@dataclass(frozen=True)
class Blend:
    """Decision rules with the weights of their calibrated probabilities.

    Attributes
    ----------
    scorings : tuple of Scoring
        The rules.
    weights : tuple of float
        The weight of each rule. They sum to 1.
    calibrations : tuple of Calibration
        The calibration of each rule.
    final : Calibration
        The calibration of the weighted mean, which otherwise is less sharp than the probabilities of the rules.
    """

    #: The names of the parts that `get_state` may return.
    STATE: ClassVar = ("_calibration", "_rules", "_blend")

    scorings: tuple[Scoring, ...]
    weights: tuple[float, ...]
    calibrations: tuple[Calibration, ...]
    final: Calibration

    @classmethod
    def single(cls, scoring: Scoring, calibration: Calibration) -> Self:
        """Return one calibrated rule.

        Parameters
        ----------
        scoring : Scoring
            The rule.
        calibration : Calibration
            The calibration of its probabilities.

        Returns
        -------
        Blend
            The rule with the weight 1.
        """
        return cls((scoring,), (1.0,), (calibration,), _UNCHANGED)

    @classmethod
    def fit(cls, scorings: Sequence[Scoring], probabilities: Sequence[FloatArray], codes: IntArray) -> Self:
        """Return the blend of rules that suits examples which were not used for training.

        The rules are calibrated one by one. The weights maximise the likelihood of the classes times the product of
        the weights, a Dirichlet prior that is worth one example for each rule and keeps all rules.

        Parameters
        ----------
        scorings : sequence of Scoring
            The rules.
        probabilities : sequence of arrays of shape (l, n_classes)
            The probabilities that each rule predicts.
        codes : array of int of shape (l,)
            The classes, 0..n_classes-1.

        Returns
        -------
        Blend
            The blend.

        Examples
        --------
        >>> codes = np.array([0, 1, 0, 1])
        >>> good, bad = np.eye(2)[codes], np.eye(2)[[0, 0, 1, 1]]
        >>> blend = Blend.fit([Scoring("svm"), Scoring("mean")], [good, bad], codes)
        >>> blend.weights[0] > blend.weights[1]
        True
        """
        calibrations = tuple(Calibration.fit(one, codes) for one in probabilities)
        if len(calibrations) == 1:
            return cls.single(scorings[0], calibrations[0])
        calibrated = [c.apply(one) for c, one in zip(calibrations, probabilities, strict=True)]
        weights = _likely_weights(np.stack([one[np.arange(len(codes)), codes] for one in calibrated]))
        mean = np.tensordot(weights, calibrated, axes=1)
        return cls(tuple(scorings), tuple(weights.tolist()), calibrations, Calibration.fit(mean, codes))

    @classmethod
    def from_parts(cls, params: Any, numbers: Any) -> Self:
        """Return the blend in a model file.

        Parameters
        ----------
        params : list of dict
            The rules, as in `Scoring.params`.
        numbers : array of shape (n_rules + 1, 3)
            The numbers, as in `numbers`.

        Returns
        -------
        Blend
            The blend.

        Raises
        ------
        ValueError
            If the parts are invalid.
        """
        array = as_floats("the blend", numbers)
        if not (isinstance(params, list) and params and all(isinstance(one, dict) for one in params)):
            raise ValueError("the rules of the blend must be a list of dictionaries")
        if array.shape != (len(params) + 1, 3) or not (array > 0.0).all():
            raise ValueError(f"the blend must consist of {len(params) + 1} x 3 positive numbers")
        try:
            scorings = tuple(Scoring(**one) for one in params)
        except TypeError:
            raise ValueError(f"the rules of the blend have unknown parameters: {params!r}") from None
        *calibrations, final = (Calibration(*row.tolist()) for row in array[:, 1:])
        return cls(scorings, tuple(array[:-1, 0].tolist()), tuple(calibrations), final)

    @classmethod
    def from_state(cls, state: dict[str, Any], best_rule: dict[str, Any] | None) -> Self:
        """Return the blend in a model file.

        Parameters
        ----------
        state : dict
            The parts as returned by `get_state`. They may come from a hostile file.
        best_rule : dict or None
            The rule that the search chose, as in `Scoring.params`. None if there was no search.

        Returns
        -------
        Blend
            The blend.

        Raises
        ------
        ValueError
            If the parts are invalid.
        """
        if "_blend" in state:
            return cls.from_parts(state.get("_rules"), state["_blend"])
        array = as_floats("the calibration", state.get("_calibration"))
        if array.shape != (2,) or not (array > 0.0).all():
            raise ValueError("the calibration must consist of two positive numbers")
        if best_rule is None:
            raise ValueError("the calibration needs a rule that a search chose")
        return cls.single(Scoring(**best_rule), Calibration(*array.tolist()))

    def get_state(self) -> dict[str, Any]:
        """Return the parts of the blend, for a model file.

        Returns
        -------
        dict
            The rules and numbers. A single rule has only a calibration, because the search names the rule.
        """
        if len(self.scorings) == 1:
            return {"_calibration": np.array(astuple(self.calibrations[0]))}
        return {"_rules": [scoring.params for scoring in self.scorings], "_blend": self.numbers}

    @property
    def params(self) -> dict[str, Any]:
        """A single rule with its parameter, or the name 'blend' and the list of the rules with their weights."""
        if len(self.scorings) == 1:
            return self.scorings[0].params
        rules = [{**one.params, "weight": weight} for one, weight in zip(self.scorings, self.weights, strict=True)]
        return {"rule": BlendedRule.name, "rules": rules}

    @property
    def numbers(self) -> FloatArray:
        """The weight, smoothing and sharpness of each rule; the last row has 1 and the final calibration."""
        rows = zip((*self.weights, 1.0), (*self.calibrations, self.final), strict=True)
        return np.array([(weight, c.smoothing, c.sharpness) for weight, c in rows])

    def combine(self, probabilities: Sequence[FloatArray]) -> FloatArray:
        """Return the calibrated weighted mean.

        Parameters
        ----------
        probabilities : sequence of arrays of shape (l, n_classes)
            The probabilities that each rule predicts.

        Returns
        -------
        array of shape (l, n_classes)
            The probabilities. Each row sums to 1.
        """
        calibrated = [c.apply(one) for c, one in zip(self.calibrations, probabilities, strict=True)]
        return self.final.apply(np.tensordot(self.weights, calibrated, axes=1))


class BlendedRule(Rule):
    """The rules of a `Blend`, fitted on the same vectors. It is not in `RULES`, because it needs a `Blend`.

    Parameters
    ----------
    blend : Blend
        The rules and their weights.
    n_classes : int
        The number of classes.
    n_jobs : int or None, default=None
        The number of threads that search for neighbours.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        The search for neighbours.
    """

    name = "blend"

    def __init__(self, blend: Blend, n_classes: int, n_jobs: int | None = None, algorithm: Any = "auto") -> None:
        super().__init__(n_classes, n_jobs=n_jobs, algorithm=algorithm)
        self.blend = blend

    @classmethod
    def short_name(cls, n_neighbors: int) -> str:
        return cls.name

    def fit(self, vectors: FloatArray, codes: IntArray) -> Self:
        self._rules = [
            get_rule(one.rule, self.n_classes, one.n_neighbors, self.n_jobs, self.algorithm, one.C).fit(vectors, codes)
            for one in self.blend.scorings
        ]
        return self

    def probabilities(self, vectors: FloatArray) -> FloatArray:
        return self.blend.combine([rule.probabilities(vectors) for rule in self._rules])


def _likely_weights(likelihoods: FloatArray) -> FloatArray:
    """Return the most probable weights of a mixture, given the likelihood of each example under each component.

    The algorithm is expectation maximisation; the prior is a Dirichlet distribution with all parameters 2.
    """
    weights = np.full(len(likelihoods), 1.0 / len(likelihoods))
    for _ in range(_ITERATIONS):
        shares = weights[:, None] * likelihoods
        new = (shares / shares.sum(axis=0)).sum(axis=1) + 1.0
        new /= new.sum()
        converged = bool(np.abs(new - weights).max() < _SMALLEST_CHANGE)
        weights = new
        if converged:
            break
    return weights
