"""The method of Vemulapalli and Jacobs."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import PAPER_SETTINGS, CovMetric, RandomPairs
from covmetric.peers import VemulapalliMetric


def test_problem_is_solved_to_the_tolerance(data):
    peer = VemulapalliMetric(random_state=0, tol=1e-9).fit(*data)
    assert peer.certificate_.solved
    assert (peer.problem_.n, peer.problem_.m) == (10, 1)
    assert peer.history_.gap[-1] <= 1e-9 * max(1.0, peer.certificate_.primal)


def test_metric_equals_cov_metric_on_vectorised_logs(data):
    ours = CovMetric("veclog", random_state=0, lam=1e-3, tol=1e-9, **{**PAPER_SETTINGS, "solver": "auto"}).fit(*data)
    peer = VemulapalliMetric(1e-3, pairs=RandomPairs(100), random_state=0, tol=1e-9).fit(*data)
    np.testing.assert_allclose(peer.W_, ours.W_, rtol=1e-6, atol=1e-9)


@pytest.mark.parametrize(("lam", "message"), [(0.0, "lam must be a positive number"), (np.inf, "lam must be finite")])
def test_fit_raises_for_invalid_lam(lam, message, data):
    with pytest.raises(ValueError, match=message):
        VemulapalliMetric(lam).fit(*data)
