"""The base class of descriptors."""

from __future__ import annotations

from abc import ABC, abstractmethod
from typing import Any, ClassVar, Self

from sklearn.base import BaseEstimator, TransformerMixin

from covmetric._utils.validation import FloatArray
from covmetric.descriptors.saving import SavedDescriptor


class Descriptor(SavedDescriptor, TransformerMixin, BaseEstimator, ABC):
    """Base class of transformers that compute one covariance matrix per example.

    A descriptor does not learn from the data: `fit` checks the settings and the input, and `transform` can be called
    without `fit`. It returns finite, symmetric, positive semi-definite matrices of float64, in the order of the
    examples, never changes its input, and raises ValueError for input that it cannot describe.

    A subclass defines `input_kind`, `matrix_size_`, `fit` and `transform`. Once `DESCRIPTORS` lists it, the tests in
    ``tests/descriptors/test_contract.py`` check all of the above.

    Attributes
    ----------
    input_kind : str
        The kind of the examples: "images", "image sets" or "series". The tests choose their inputs by this attribute.

    Examples
    --------
    >>> import numpy as np
    >>> class ChannelVariances(Descriptor):
    ...     input_kind = "series"
    ...
    ...     @property
    ...     def matrix_size_(self):
    ...         return self.n_channels_
    ...
    ...     def fit(self, X, y=None):
    ...         self.n_channels_ = len(X[0])
    ...         return self
    ...
    ...     def transform(self, X):
    ...         return np.stack([np.diag(np.var(x, axis=1)) for x in X])
    >>> ChannelVariances().fit_transform([[[0.0, 2.0], [0.0, 4.0]]])
    array([[[1., 0.],
            [0., 4.]]])
    """

    input_kind: ClassVar[str]

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.two_d_array = False
        tags.requires_fit = False
        return tags

    @property
    @abstractmethod
    def matrix_size_(self) -> int:
        """Number of rows and columns of each matrix; available after `fit`."""

    def check_blocks(self) -> None:
        """Raise ValueError if the examples cannot be described in blocks, each without knowledge of the others.

        Raises
        ------
        ValueError
            If a setting refers to the positions of the examples in the whole list.
        """

    @abstractmethod
    def fit(self, X: Any, y: Any = None) -> Self:
        """Check the settings and the examples.

        Parameters
        ----------
        X : sequence of length l
            The examples.
        y : ignored
            Not used; present for scikit-learn's API.

        Returns
        -------
        self
            The descriptor.

        Raises
        ------
        ValueError
            If a setting is invalid, or if the examples are not of the kind that the descriptor accepts.
        """

    @abstractmethod
    def transform(self, X: Any) -> FloatArray:
        """Compute the covariance matrix of each example.

        Parameters
        ----------
        X : sequence of length l
            The examples.

        Returns
        -------
        array of shape (l, n, n)
            The covariance matrices, in the order of the examples.

        Raises
        ------
        ValueError
            If an example contains NaN or infinity or cannot be described; the message names its index.
        """
