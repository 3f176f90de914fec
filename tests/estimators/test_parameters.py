"""The settings that estimators make of their parameters."""

from __future__ import annotations

import pytest

from covmetric import CovMetric, CovMetricPairs, Dykstra, NeighborPairs, Newton
from covmetric.constraints import AbsoluteBounds
from covmetric.estimators.parameters import settings_from_parameters, solver_with_order


@pytest.mark.parametrize("cls", [CovMetric, CovMetricPairs])
def test_settings_have_the_parameters_of_the_estimator(cls):
    parameters = {"scale": 2.0, "slack": "l2", "prior": "gmml", "solver": "newton", "tol": 1e-3, "max_iter": 9}
    parameters |= {"prior_t": 0.25, "shrinkage": 0.1}
    selection, callback = NeighborPairs(2), print
    settings = settings_from_parameters(cls(bounds=(0.1, 0.8), **parameters), selection, callback)
    assert {name: getattr(settings, name) for name in parameters} == parameters
    assert isinstance(settings.bounds, AbsoluteBounds)
    assert (settings.bounds.near, settings.bounds.far) == (0.1, 0.8)
    assert settings.selection is selection
    assert settings.callback is callback
    assert settings_from_parameters(cls(), None).callback is None


def test_order_is_used_by_the_solver_dykstra_only():
    solver = solver_with_order("dykstra", "cyclic")
    assert isinstance(solver, Dykstra)
    assert solver.order == "cyclic"
    newton, rand = Newton(), Dykstra("rand")
    assert solver_with_order("auto", "cyclic") == "auto"
    assert solver_with_order(newton, "cyclic") is newton
    assert solver_with_order(rand, "cyclic") is rand
    with pytest.raises(ValueError, match="order must be one of"):
        solver_with_order("newton", "sorted")
