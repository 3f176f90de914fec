"""Every descriptor of the registry satisfies the contract, and the contract detects descriptors that do not."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.descriptors import DESCRIPTORS, FEATURES, Descriptor
from covmetric.descriptors.series import check_series
from tests.descriptors import contract

#: Settings besides the defaults, with which the checks are applied as well.
FURTHER_SETTINGS = {
    "images": [{"features": [name for name in FEATURES if name not in "RGB"]}],
    "image sets": [{"size": (3, 2), "reg": 0.0}],
    "series": [{"estimator": name} for name in ("lwf", "cov", "scm")],
}
CASES = [
    pytest.param(cls, settings, id="-".join([name, *map(str, settings.values())]))
    for name, cls in DESCRIPTORS.items()
    for settings in [{}, *FURTHER_SETTINGS.get(name, [])]
]


@pytest.mark.parametrize("check", contract.CHECKS)
@pytest.mark.parametrize(("cls", "settings"), CASES)
def test_descriptors_keep_the_contract(cls, settings, check):
    check(cls(**settings))


def test_every_check_is_listed():
    assert set(contract.CHECKS) == {value for name, value in vars(contract).items() if name.startswith("check_")}


class ChannelCovariances(Descriptor):
    """A minimal descriptor that satisfies the contract. Each descriptor below breaks it in one way."""

    input_kind = "series"

    def __init__(self, n_jobs=None):
        self.n_jobs = n_jobs

    @property
    def matrix_size_(self):
        return self.n_channels_

    def fit(self, X, y=None):
        self.n_channels_ = len(check_series(X)[0])
        return self

    def transform(self, X):
        return np.stack([np.cov(one) for one in check_series(X)])


class ReturnsNaN(ChannelCovariances):
    def transform(self, X):
        return np.nan * super().transform(X)


class ReturnsWrongShape(ChannelCovariances):
    def transform(self, X):
        return super().transform(X)[:, :2, :2]


class ReturnsVectors(ChannelCovariances):
    def transform(self, X):
        return super().transform(X).reshape(len(X), -1)


class ReturnsOneMatrixLess(ChannelCovariances):
    def transform(self, X):
        return super().transform(X)[:-1]


class ReturnsSinglePrecision(ChannelCovariances):
    def transform(self, X):
        return super().transform(X).astype(np.float32)


class HasWrongSign(ChannelCovariances):
    def transform(self, X):
        return -super().transform(X)


class IsIndefinite(ChannelCovariances):
    def transform(self, X):
        matrices = super().transform(X)
        return matrices - np.trace(matrices, axis1=1, axis2=2)[:, None, None] / 3.0 * np.eye(3)


class IsAsymmetric(ChannelCovariances):
    def transform(self, X):
        return np.tril(super().transform(X))


class IsConstant(ChannelCovariances):
    def transform(self, X):
        return np.stack([np.eye(self.n_channels_)] * len(super().transform(X)))


class UnderflowsForSmallInput(ChannelCovariances):
    def transform(self, X):
        return super().transform(X).round(6)


class ReversesTheOrder(ChannelCovariances):
    def transform(self, X):
        return super().transform(X)[::-1]


class SortsTheMatrices(ChannelCovariances):
    def transform(self, X):
        matrices = super().transform(X)
        return matrices[np.argsort(np.trace(matrices, axis1=1, axis2=2))]


class CentresOverTheExamples(ChannelCovariances):
    def transform(self, X):
        matrices = super().transform(X)
        return matrices + np.trace(matrices.mean(axis=0)) * np.eye(3)


class DependsOnTheNumberOfJobs(ChannelCovariances):
    def transform(self, X):
        return super().transform(X) * (1.0 if self.n_jobs in (None, 1) else 1.0 + 1e-15)


class ChangesItsInput(ChannelCovariances):
    def transform(self, X):
        matrices = super().transform(X)
        if isinstance(X[0], np.ndarray) and X[0].flags.writeable:
            X[0][:] = 0.0
        return matrices


class ComputesInTheDtypeOfItsInput(ChannelCovariances):
    def transform(self, X):
        matrices = super().transform(X)
        return matrices.astype(np.asarray(X[0]).dtype).astype(np.float64)


class ChangesItsParameters(ChannelCovariances):
    def fit(self, X, y=None):
        self.n_jobs = 1
        return super().fit(X)


class RemembersTheFirstCall(ChannelCovariances):
    def transform(self, X):
        matrices = super().transform(X)
        self.calls_ = getattr(self, "calls_", 0) + 1
        return matrices * self.calls_


class NeedsFit(ChannelCovariances):
    def transform(self, X):
        assert self.n_channels_
        return super().transform(X)


class CannotBePickled(ChannelCovariances):
    def fit(self, X, y=None):
        self.function_ = lambda: None
        return super().fit(X)


class AcceptsNaN(ChannelCovariances):
    def transform(self, X):
        return super().transform([np.nan_to_num(one) for one in X])

    def fit(self, X, y=None):
        return super().fit([np.nan_to_num(one) for one in X])


class HidesTheIndex(ChannelCovariances):
    def fit(self, X, y=None):
        try:
            return super().fit(X)
        except ValueError:
            raise ValueError("some series is invalid") from None


class AcceptsNoExamples(ChannelCovariances):
    def fit(self, X, y=None):
        return super().fit(X) if len(X) else self

    def transform(self, X):
        return super().transform(X) if len(X) else np.empty((0, 3, 3))


class ReturnsNaNForConstantExamples(ChannelCovariances):
    def transform(self, X):
        matrices = super().transform(X)
        with np.errstate(invalid="ignore"):
            return matrices / np.trace(matrices, axis1=1, axis2=2)[:, None, None]


class RefusesConstantExamplesWithoutTheIndex(ChannelCovariances):
    def transform(self, X):
        matrices = super().transform(X)
        if (np.trace(matrices, axis1=1, axis2=2) == 0.0).any():
            raise ValueError("a series is constant")
        return matrices


class HasNoKind(ChannelCovariances):
    input_kind = None


BROKEN = {
    ReturnsNaN: contract.check_matrices,
    ReturnsWrongShape: contract.check_matrices,
    ReturnsVectors: contract.check_matrices,
    ReturnsOneMatrixLess: contract.check_matrices,
    ReturnsSinglePrecision: contract.check_matrices,
    HasWrongSign: contract.check_matrices,
    IsIndefinite: contract.check_matrices,
    IsAsymmetric: contract.check_matrices,
    IsConstant: contract.check_matrices,
    UnderflowsForSmallInput: contract.check_matrices,
    ReversesTheOrder: contract.check_order,
    SortsTheMatrices: contract.check_order,
    CentresOverTheExamples: contract.check_order,
    DependsOnTheNumberOfJobs: contract.check_jobs,
    ChangesItsInput: contract.check_input_is_kept,
    ComputesInTheDtypeOfItsInput: contract.check_containers,
    ChangesItsParameters: contract.check_parameters,
    RemembersTheFirstCall: contract.check_repeated_calls,
    NeedsFit: contract.check_repeated_calls,
    CannotBePickled: contract.check_repeated_calls,
    AcceptsNaN: contract.check_not_finite_is_refused,
    HidesTheIndex: contract.check_not_finite_is_refused,
    AcceptsNoExamples: contract.check_empty_is_refused,
    ReturnsNaNForConstantExamples: contract.check_constant_examples,
    RefusesConstantExamplesWithoutTheIndex: contract.check_constant_examples,
    HasNoKind: contract.check_class,
}


@pytest.mark.parametrize("check", contract.CHECKS)
def test_a_minimal_descriptor_keeps_the_contract(check):
    check(ChannelCovariances())


@pytest.mark.parametrize("broken", BROKEN, ids=lambda broken: broken.__name__)
def test_the_contract_notices_broken_descriptors(broken):
    with pytest.raises((AssertionError, AttributeError, pytest.fail.Exception)):
        BROKEN[broken](broken())


def test_a_subclass_must_define_every_method():
    class Incomplete(Descriptor):
        input_kind = "series"

    with pytest.raises(TypeError, match=r"fit.*matrix_size_.*transform"):
        Incomplete()


def test_a_kind_without_samples_is_reported():
    class OfText(ChannelCovariances):
        input_kind = "texts"

    with pytest.raises(AssertionError, match="no samples of the kind 'texts'"):
        contract.check_matrices(OfText())
