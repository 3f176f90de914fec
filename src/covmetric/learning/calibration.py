"""Calibration of probabilities on examples that were not used for training."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Self

import numpy as np
from scipy.optimize import minimize

from covmetric._utils.validation import FloatArray, IntArray

# The ranges of the logarithms of the smoothing and of the sharpness.
_RANGES = ((-14.0, 1.0), (-3.0, 3.0))
_STARTS = ((-7.0, 0.0), (-2.0, 0.0), (-4.0, 1.0))


@dataclass(frozen=True)
class Calibration:
    """The map p -> (p + smoothing)^sharpness, scaled to sum to 1, which keeps the order of the classes.

    Attributes
    ----------
    smoothing : float
        What is added to every probability, so that none is 0.
    sharpness : float
        The exponent. Below 1, the probabilities were too close to 0 and 1.
    """

    smoothing: float
    sharpness: float

    @classmethod
    def neutral(cls) -> Self:
        """Return a calibration that hardly changes probabilities.

        Returns
        -------
        Calibration
            The smallest smoothing, so that no probability is 0, and a sharpness of 1.
        """
        return cls(float(np.exp(_RANGES[0][0])), 1.0)

    @classmethod
    def fit(cls, probabilities: FloatArray, codes: IntArray) -> Self:
        """Return the calibration with the smallest log loss.

        Parameters
        ----------
        probabilities : array of shape (l, n_classes)
            Predicted probabilities of examples that were not used for training.
        codes : array of int of shape (l,)
            Their classes, 0..n_classes-1.

        Returns
        -------
        Calibration
            The calibration.

        Examples
        --------
        >>> import numpy as np
        >>> right, wrong = [[1.0, 0.0]] * 3, [[1.0, 0.0]]
        >>> calibration = Calibration.fit(np.array(right + wrong), np.array([0, 0, 0, 1]))
        >>> calibration.apply(np.array([[1.0, 0.0]])).round(2).tolist()
        [[0.75, 0.25]]
        """
        rows = np.arange(len(codes))

        def log_loss(x: FloatArray) -> tuple[float, list[float]]:
            smoothing, sharpness = np.exp(x).tolist()
            log_p = cls(smoothing, sharpness)._log_probabilities(probabilities)
            # The derivatives of sharpness * log(p + smoothing) with respect to the logarithms of the two parameters.
            parts = sharpness * smoothing / (probabilities + smoothing), sharpness * np.log(probabilities + smoothing)
            p = np.exp(log_p)
            gradient = [float(((p * part).sum(axis=1) - part[rows, codes]).mean()) for part in parts]
            return float(-log_p[rows, codes].mean()), gradient

        results = [minimize(log_loss, start, jac=True, method="L-BFGS-B", bounds=_RANGES) for start in _STARTS]
        best = min(results, key=lambda result: float(result.fun))
        smoothing, sharpness = np.exp(best.x).tolist()
        return cls(smoothing, sharpness)

    def apply(self, probabilities: FloatArray) -> FloatArray:
        """Return calibrated probabilities.

        Parameters
        ----------
        probabilities : array of shape (l, n_classes)
            The probabilities.

        Returns
        -------
        array of shape (l, n_classes)
            The calibrated probabilities. Each row sums to 1.
        """
        return np.asarray(np.exp(self._log_probabilities(probabilities)))

    def _log_probabilities(self, probabilities: FloatArray) -> FloatArray:
        powers = self.sharpness * np.log(probabilities + self.smoothing)
        powers -= powers.max(axis=1, keepdims=True)
        return np.asarray(powers - np.log(np.exp(powers).sum(axis=1, keepdims=True)))
