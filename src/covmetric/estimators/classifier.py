"""CovMetricClassifier: a learned metric with a decision rule."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import astuple, replace
from typing import Any, Self

import numpy as np
import numpy.typing as npt
from sklearn.base import BaseEstimator, ClassifierMixin
from sklearn.utils.validation import check_is_fitted

from covmetric._utils.validation import FloatArray, IntArray, Matrices, as_floats
from covmetric._utils.warning import warn
from covmetric.estimators.cov_metric import CovMetric
from covmetric.estimators.cov_metric_cv import CovMetricCV
from covmetric.estimators.explanation import Decision, DecisionExplanation, explain_decision
from covmetric.estimators.learner_choice import AUTO, choose_learner
from covmetric.estimators.references import Captions, References
from covmetric.estimators.restoring import restored_on_failure
from covmetric.estimators.saving import SavedEstimator
from covmetric.learning.blend import Blend, BlendedRule
from covmetric.learning.calibration import Calibration
from covmetric.learning.examples import check_examples, check_labelled, require_classes
from covmetric.learning.fit import FittedProblem
from covmetric.learning.group_labels import group_labels, group_numbers
from covmetric.learning.incremental import extend
from covmetric.learning.mean_blend import MeanBlend
from covmetric.learning.out_of_fold import OutOfFold, check_counts_by_fold, total_accuracy
from covmetric.learning.restore import restore_fitted
from covmetric.learning.rules import MeanRule, NeighborsRule, Rule, get_rule
from covmetric.learning.scoring import Scoring
from covmetric.metric import LearnedMetric
from covmetric.neighbors.votes import available_neighbors, check_n_neighbors
from covmetric.solvers import solving_with


class CovMetricClassifier(SavedEstimator, ClassifierMixin, BaseEstimator):
    """Classifier of covariance matrices, or vectors, by a decision rule in a learned metric.

    ``make_pipeline(CovMetric(), KNeighborsClassifier(3))`` makes the same predictions with the default rule. This class
    adds other rules, `kneighbors` on matrices, exact searches for many examples, and `partial_fit`.

    Parameters
    ----------
    learner : CovMetric, CovMetricCV or None, default=None
        The estimator that learns the metric. None means ``CovMetric(random_state=random_state, n_jobs=n_jobs)`` or, if
        `rule` is 'auto', a `CovMetricCV` that chooses among 'relog' and 'tangent-pca', with lambda 1e-2, 1e-1 and
        inf, by five folds.
    rule : {'neighbors', 'mean', 'lda', 'logistic', 'svm', 'auto'}, default='neighbors'
        The decision rule: the vote of the nearest training examples, the nearest class mean, linear discriminant
        analysis or logistic regression on the vectors of the metric, or a support vector machine with its Gaussian
        kernel. 'auto' chooses the metric by cross-validation and combines rules in it: the probabilities of 'svm',
        'lda' and 'neighbors' are calibrated on the test parts of the folds, and their weights are the most likely ones
        there. The learner must be a `CovMetricCV` or None. If the `rule` of the learner is a list, these rules are
        combined, each with all its values of `C` or `n_neighbors`.
    n_neighbors : int, default=3
        The number of neighbours. It is used by `kneighbors` and if `rule` is 'neighbors'.
    algorithm : {'auto', 'brute', 'pruned', 'faiss'} or Search, default='auto'
        The search for neighbours. All searches are exact. 'auto' chooses 'pruned' for many large examples, otherwise
        'brute'. 'faiss' requires the optional dependency of that name.
    C : float, default=1.0
        The inverse strength of the regularisation, if `rule` is 'logistic' or 'svm'. Its unit does not depend on the
        scale of the data: the mean squared distance of the training examples from their mean is 1.
    mean_strength : 'auto', float or None, default=None
        The weight kappa of the examples of `fit` in the class means, as a number of examples, if `rule` is 'mean': the
        mean of class c is (kappa m_c + sum of the vectors of c that `partial_fit` added) / (kappa + their number),
        where m_c is the mean of the vectors of c in `fit`. So a few labelled examples of a new session or person
        correct what the others say. 'auto' estimates kappa from how far they contradict the examples of `fit`, as James
        and Stein do. None gives all examples the same weight.
    random_state : int, RandomState, Generator or None, default=None
        The random state of the learner, if `learner` is None.
    n_jobs : int or None, default=None
        The number of threads that embed matrices and search for neighbours. The result does not depend on it.

    Attributes
    ----------
    learner_ : CovMetric or CovMetricCV
        The fitted learner; `learner_.result_` is the solution with its certificate.
    metric_ : LearnedMetric
        The learned metric.
    rule_ : dict
        The decision rule: its name 'rule', and 'n_neighbors' or 'C'. If several rules are combined, the name is
        'blend', and 'rules' lists them with their weights.
    mean_strength_ : float or None
        The weight kappa of the examples of `fit` in the class means; None if `mean_strength` is None. It is inf if
        `partial_fit` has added nothing that contradicts them: all examples then have the same weight.
    classes_ : array of shape (n_classes,)
        The distinct labels.
    n_features_in_ : int
        The number of rows n of a matrix, or of entries d of a vector.
    out_of_fold_accuracy_ : float or None
        If `rule` is 'auto', the accuracy of the combined rules on the test parts of the folds of the search, where the
        weights and calibrations of the rules suit the other folds. It is slightly optimistic, because Phi and lambda
        were chosen on these folds. None for other rules, for a single fold, and after `partial_fit` added examples.
    out_of_fold_counts_ : array of int of shape (n_folds, 2) or None
        The number of correct predictions and of predictions in each of these test parts.
    references_ : References
        The training examples: labels, names, thumbnails and embedded examples.
    class_means_ : array of shape (n_classes, q)
        The mean of the references of each class, in the coordinates of the metric, in which the learned distance is
        Euclidean; NaN for a class without references.
    class_mean_matrices_ : array of shape (n_classes, n, n), or (n_classes, d) for vectors
        The same means as examples. Only if the embedding can be inverted.

    See Also
    --------
    CovMetric : Learns a metric with given parameters.
    CovMetricCV : Chooses the parameters by cross-validation.

    Examples
    --------
    >>> from sklearn.datasets import load_iris
    >>> from covmetric import CovMetricClassifier
    >>> X, y = load_iris(return_X_y=True)
    >>> CovMetricClassifier(random_state=0).fit(X[::2], y[::2]).score(X[1::2], y[1::2]) > 0.9
    True
    """

    _parts = ("learner_", "classes_", "n_features_in_", "_embedded", "_codes")
    # For models that an older version pickled.
    _captions = Captions()
    _folds: tuple[Any, ...] | None = None
    _counts: IntArray | None = None
    # The rest of the fitted state.
    _fitted: FittedProblem
    _embedded: FloatArray
    _codes: IntArray
    _group_labels: list[Any] | None
    _blend: Blend | None
    _mean_blend: MeanBlend | None
    _rule: Rule

    def __init__(
        self,
        learner: Any = None,
        *,
        rule: str = "neighbors",
        n_neighbors: int = 3,
        algorithm: Any = "auto",
        C: float = 1.0,
        mean_strength: Any = None,
        random_state: Any = None,
        n_jobs: int | None = None,
    ) -> None:
        self.learner = learner
        self.rule = rule
        self.n_neighbors = n_neighbors
        self.algorithm = algorithm
        self.C = C
        self.mean_strength = mean_strength
        self.random_state = random_state
        self.n_jobs = n_jobs

    def __sklearn_tags__(self) -> Any:
        tags = super().__sklearn_tags__()
        tags.input_tags.three_d_array = True
        return tags

    def set_params(self, **params: Any) -> Self:
        """Set parameters of the classifier, and of its learner by names such as ``learner__phi``.

        Parameters
        ----------
        **params : object
            The parameters.

        Returns
        -------
        CovMetricClassifier
            The classifier itself.

        Raises
        ------
        ValueError
            If a parameter of the learner is set and the learner is None, or if a name is unknown.
        """
        nested = [name for name in params if name.startswith("learner__")]
        if nested and params.get("learner", self.learner) is None:
            raise ValueError(
                f"{nested[0]} cannot be set, because learner is None: pass a learner that has this parameter, "
                "CovMetricClassifier(learner=CovMetric())"
            )
        super().set_params(**params)
        return self

    @property
    def metric_(self) -> LearnedMetric:  # type: ignore[override]
        """The learned metric."""
        metric: LearnedMetric = self.learner_.metric_
        return metric

    @property
    def rule_(self) -> dict[str, Any]:
        """The decision rule: its name 'rule', and 'n_neighbors' or 'C'; for 'blend', the list 'rules' with weights."""
        check_is_fitted(self)
        if self._blend is not None:
            return self._blend.params
        return Scoring(self._rule.name, self.n_neighbors, self.C).params

    @property
    def mean_strength_(self) -> float | None:
        """The weight kappa of the examples of `fit` in the class means; None if `mean_strength` is None."""
        check_is_fitted(self)
        if self._mean_blend is None:
            return None
        return self._mean_blend.kappa(self.metric_.map(self._embedded), self._codes)

    @property
    def out_of_fold_accuracy_(self) -> float | None:
        """The accuracy of the combined rules outside their training folds, if `rule` is 'auto'."""
        return total_accuracy(self.out_of_fold_counts_)

    @property
    def out_of_fold_counts_(self) -> IntArray | None:
        """The number of correct predictions and of predictions in the test part of each fold, if `rule` is 'auto'."""
        check_is_fitted(self)
        if self._counts is None:
            predicted = self._out_of_fold()
            self._counts = None if predicted is None else predicted.count_right(self._codes)
        return self._counts

    def _out_of_fold(self) -> OutOfFold | None:
        """Return what the combined rules predict outside their training folds; computed only if it is asked for."""
        if self._blend is None or self._folds is None:
            return None
        return OutOfFold.cross_fit(self._blend, *self._folds)

    @property
    def references_(self) -> References:
        """The training examples: labels, names, thumbnails and embedded examples."""
        check_is_fitted(self)
        captions = self._captions
        return References(self.classes_[self._codes], self._embedded, captions.names, captions.thumbnails())

    @property
    def class_means_(self) -> FloatArray:
        """The mean of the references of each class, in the coordinates of the metric."""
        check_is_fitted(self)
        return self.metric_.map(self._mean_embedded())

    @property
    def class_mean_matrices_(self) -> Matrices:
        """The mean of the references of each class, as an example; available if the embedding can be inverted."""
        check_is_fitted(self)
        means = self._mean_embedded()
        present = ~np.isnan(means).any(axis=(1, 2))
        try:
            found = self.metric_.embedding.inverse_transform(means[present])
        except ValueError as error:
            raise AttributeError(f"the class means are no examples: {error}") from None
        examples = np.full((len(means), *found.shape[1:]), np.nan, dtype=found.dtype)
        examples[present] = found
        return examples

    def _mean_embedded(self) -> FloatArray:
        """Return the mean of the embedded references of each class; NaN for a class without references."""
        empty = np.full(self._embedded.shape[1:], np.nan)
        weights = self._mean_weights(self.metric_.map(self._embedded))
        members = [np.flatnonzero(self._codes == c) for c in range(len(self.classes_))]
        return np.stack(
            [np.average(self._embedded[k], axis=0, weights=weights[k]) if len(k) else empty for k in members]
        )

    def _mean_weights(self, vectors: FloatArray) -> FloatArray:
        """Return the weight of each reference, given as a vector of the metric, in the mean of its class."""
        return np.ones(len(vectors)) if self._mean_blend is None else self._mean_blend.weights(vectors, self._codes)

    def fit(self, X: Any, y: Any, groups: Any = None, *, names: Any = None, thumbnails: Any = None) -> Self:
        """Learn the metric, and store the training examples as references.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Symmetric or Hermitian matrices, or vectors.
        y : array of shape (l,)
            The class of each example, of any type.
        groups : array of shape (l,) or None, default=None
            The group of each example, for the folds and the pairs of the learner, as in `CovMetricCV` and `CovMetric`.
        names : sequence of l str or path-like, or None, default=None
            The name of each example, which `references_`, `kneighbors` and `explain` return. In a pipeline:
            ``pipe.fit(X, y, covmetricclassifier__names=names)``.
        thumbnails : sequence of l arrays of uint8 of shape (rows, columns, 3), or None, default=None
            A small picture of each example, of at most 64 x 64 pixels, which `references_` returns. An entry may be
            None. `covmetric.descriptors.make_thumbnail` makes one from an image.

        Returns
        -------
        CovMetricClassifier
            The fitted classifier.

        Raises
        ------
        ValueError
            If X, y, groups, names, thumbnails or a parameter is invalid.
        """
        with restored_on_failure(self):
            array, classes, codes = check_labelled(self, X, y)
            require_classes(classes)
            captions = Captions.from_user(names, thumbnails, len(codes))
            return self._fit_learner(array, classes, codes, groups, captions)

    def _fit_learner(
        self, X: npt.NDArray[Any], classes: npt.NDArray[Any], codes: IntArray, groups: Any, captions: Captions
    ) -> Self:
        """Learn the metric from checked examples, and fit the rule."""
        check_n_neighbors(self.n_neighbors)
        learner = choose_learner(self.learner, self.rule, X.ndim == 2, self.random_state, self.n_jobs)
        if self.mean_strength is not None and self.rule != "mean":
            raise ValueError(f"mean_strength={self.mean_strength!r} needs rule='mean', got rule={self.rule!r}")
        fitted, embedded = learner._learn(X, classes, codes, groups)
        blend, folds = _fit_blend(learner, X, codes, groups) if self.rule == AUTO else (None, None)
        if hasattr(self, "feature_names_in_"):
            learner.feature_names_in_ = self.feature_names_in_
        self.learner_, self.classes_, self._captions = learner, classes, captions
        self._fitted, self._embedded = fitted, embedded
        self._blend, self._folds, self._counts = blend, folds, None
        self._group_labels = None if groups is None else group_labels(groups, len(codes))
        strength = self.mean_strength
        self._mean_blend = None if strength is None else MeanBlend.create(strength, len(codes))
        self._fit_rule(codes)
        return self

    def _fit_rule(self, codes: IntArray, name: str | None = None) -> None:
        """Fit the decision rule on the references; a model file may name a rule that differs from the parameter."""
        self._codes = codes
        n_classes, vectors = len(self.classes_), self.metric_.map(self._embedded)
        if self._blend is not None:
            self._rule = BlendedRule(self._blend, n_classes, self.n_jobs, self.algorithm)
        else:
            used = self.rule if name is None else name
            self._rule = get_rule(used, n_classes, self.n_neighbors, self.n_jobs, self.algorithm, self.C)
        if self._mean_blend is not None and isinstance(self._rule, MeanRule):
            self._rule.fit(vectors, codes, self._mean_weights(vectors))
        else:
            self._rule.fit(vectors, codes)

    def partial_fit(
        self,
        X: Any,
        y: Any,
        classes: Any = None,
        groups: Any = None,
        *,
        names: Any = None,
        thumbnails: Any = None,
    ) -> Self:
        """Learn from more labelled examples, starting from the current metric.

        The first call is a fit. Later calls add pairs with the new examples to the old pairs, and solve the larger
        problem from the old multipliers. The embedding, the prior, the scale and lambda do not change. If lambda is
        inf, the new examples only become references.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Symmetric or Hermitian matrices, or vectors.
        y : array of shape (l,)
            The class of each example.
        classes : array of shape (n_classes,) or None, default=None
            All classes that may occur in any call. Only the first call uses them. None means the classes in its y.
        groups : array of shape (l,), str, int or None, default=None
            The group of each example, or one group for all of them, for the new pairs: by default, similar pairs are
            then taken from different groups. Earlier examples without groups count as one group. None ignores groups.
        names, thumbnails : sequences of length l, or None, default=None
            The name and a small picture of each example, as in `fit`.

        Returns
        -------
        CovMetricClassifier
            The fitted classifier.

        Raises
        ------
        ValueError
            If X or y is invalid, or if y has a class that is not among the classes.
        """
        first_call = not hasattr(self, "learner_")
        with restored_on_failure(self, *([] if first_call else self._trained_learners())):
            array, labels, codes = check_labelled(self, X, y, reset=first_call)
            declared = labels if classes is None else np.unique(classes)
            expected = declared if first_call else self.classes_
            unexpected = ~np.isin(labels, expected)
            if unexpected.any():
                raise ValueError(
                    f"y has the class {labels[unexpected].tolist()[0]!r}, which is not among the classes "
                    f"{expected.tolist()}; pass all classes in the first call"
                )
            require_classes(expected)
            codes = np.searchsorted(expected, labels)[codes]
            captions = Captions.from_user(names, thumbnails, len(codes))
            if first_call:
                first_groups = None if groups is None else group_labels(groups, len(array))
                return self._fit_learner(array, expected, codes, first_groups, captions)
            return self._extend(array, codes, groups, captions)

    def _trained_learners(self) -> list[Any]:
        """Return the fitted learner and, if it is a search, the learner that it chose last."""
        learner = self.learner_
        return [learner, learner.best_estimator_] if isinstance(learner, CovMetricCV) else [learner]

    def _extend(self, X: npt.NDArray[Any], codes: IntArray, groups: Any, captions: Captions) -> Self:
        """Add checked examples to the references, and their pairs to the problem."""
        *_, trained = self._trained_learners()
        learner, embedding = self.learner_, self.metric_.embedding
        embedded = embedding.transform(X, n_jobs=learner.n_jobs)
        all_groups = self._groups_with(groups, len(X))
        numbers = None if all_groups is None else group_numbers(all_groups)
        with solving_with(trained.n_jobs, trained.executor):
            fitted = extend(self._fitted, embedded, codes, learner.random_state, numbers)
        if fitted.result is not None:
            learner._set_fitted(fitted.learned_metric(embedding), fitted)
        self._captions = self._captions.extended(captions, len(self._codes), len(codes))
        # Without a prior, the examples of the problem are the references: one copy serves both.
        all_embedded = fitted.examples if fitted.root is None else np.concatenate([self._embedded, embedded])
        self._fitted, self._embedded = fitted, all_embedded
        self._group_labels, self._folds, self._counts = all_groups, None, None
        self._fit_rule(fitted.codes)
        return self

    def _groups_with(self, groups: Any, n_new: int) -> list[Any] | None:
        """Return the groups of the references, followed by those of new examples; None if the latter have none."""
        if groups is None:
            return None
        old = [None] * len(self._codes) if self._group_labels is None else self._group_labels
        return [*old, *group_labels(groups, n_new)]

    def _fitted_parts(self) -> dict[str, Any]:
        fitted = self._fitted
        return {
            **super()._fitted_parts(),
            "_recipe": replace(fitted.settings, prior="identity"),  # the root holds the prior
            "_root": fitted.root,
            "_lam": fitted.lam,
            "_constraints": fitted.constraints,
            "_rule_name": self.rule_["rule"],
            **({} if self._blend is None else self._blend.get_state()),
            **({} if self._mean_blend is None else {"_mean_blend": astuple(self._mean_blend)}),
            **({} if self._captions.is_empty else {"_captions": self._captions}),
            **({} if self.out_of_fold_counts_ is None else {"out_of_fold_counts_": self.out_of_fold_counts_}),
        }

    def _restore(self, state: dict[str, Any]) -> None:
        parts = [state.pop(name) for name in ("_recipe", "_root", "_lam", "_constraints")]
        rule_name = state.pop("_rule_name")
        blend_state = {name: state.pop(name) for name in Blend.STATE if name in state}
        mean_blend, self._group_labels = state.pop("_mean_blend", None), None
        captions, counts = state.pop("_captions", Captions()), state.pop("out_of_fold_counts_", None)
        self._folds, self._counts = None, check_counts_by_fold(counts)
        super()._restore(state)
        self._mean_blend = MeanBlend.from_state(mean_blend, len(self._codes))
        if not isinstance(captions, Captions):
            raise ValueError("the names and thumbnails of the references are invalid")
        captions.check(len(self._codes))
        self._captions = captions
        learner = self.learner_
        self._blend = Blend.from_state(blend_state, getattr(learner, "best_rule_", None)) if blend_state else None
        self._fitted = restore_fitted(
            learner.metric_, learner.result_, learner.scale_, self._embedded, self._codes, *parts
        )
        self._fit_rule(self._codes, rule_name)

    def _check_restored(self) -> None:
        if not isinstance(self.learner_, CovMetric | CovMetricCV):
            raise ValueError("learner_ must be a CovMetric or a CovMetricCV")
        if not np.array_equal(self.learner_.classes_, self.classes_):
            raise ValueError("classes_ differ from the classes_ of learner_")
        super()._check_restored()
        self._embedded = as_floats("the references", self._embedded)
        shape, codes = self.metric_.embedding.shape_out_, self._codes
        if self._embedded.ndim != 3 or self._embedded.shape[1:] != shape:
            raise ValueError(f"the references must have shape (l, {shape}), got {self._embedded.shape}")
        if not (isinstance(codes, np.ndarray) and codes.dtype == np.int64 and codes.shape == self._embedded.shape[:1]):
            raise ValueError("the references must have one class each")
        if len(codes) == 0 or codes.min() < 0 or codes.max() >= len(self.classes_):
            raise ValueError("the references must belong to the classes")

    def predict(self, X: Any) -> npt.NDArray[Any]:
        """Return the predicted class of each example.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Matrices or vectors, as in `fit`.

        Returns
        -------
        array of shape (l,)
            Entries of `classes_`. If several classes tie, the first one is returned.
        """
        winners = self.predict_proba(X).argmax(axis=1)
        return np.asarray(self.classes_[winners])

    def predict_proba(self, X: Any) -> FloatArray:
        """Return the estimated probability of each class.

        For rule='neighbors', it is the fraction of the votes. For rule='mean', it is the softmax of the negative
        squared distances from the class means, in units of the mean squared distance within the classes. For
        rule='lda', it is the same after whitening by the scatter within the classes. For rule='logistic', it is the
        model's probability. For rule='svm', it couples logistic functions of the decision values of all pairs of
        classes. For rule='auto', it is the weighted mean of the probabilities of several rules, calibrated on the test
        parts of the folds of the search.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d)
            Matrices or vectors, as in `fit`.

        Returns
        -------
        array of shape (l, n_classes)
            The probabilities, in the order of `classes_`. Each row sums to 1.
        """
        return self._probabilities(self._vectors(X))

    def _probabilities(self, vectors: FloatArray) -> FloatArray:
        check_n_neighbors(self.n_neighbors)
        self._rule.n_neighbors = self.n_neighbors  # as in scikit-learn, it may change after fit
        return self._rule.probabilities(vectors)

    def kneighbors(
        self,
        X: Any = None,
        n_neighbors: int | None = None,
        return_distance: bool = True,
        *,
        return_names: bool = False,
    ) -> Any:
        """Return the nearest training examples for each example.

        Parameters
        ----------
        X : array of shape (l, n, n) or (l, d), or None, default=None
            Matrices or vectors, as in `fit`. None means the training examples, which are then not their own neighbours.
        n_neighbors : int or None, default=None
            The number of neighbours k. None means the parameter of the classifier.
        return_distance : bool, default=True
            Whether to return the distances.
        return_names : bool, default=False
            Whether to return the names that were passed to `fit`, after the indices.

        Returns
        -------
        distances : array of shape (l, k)
            The distances sqrt(D), in ascending order. They are returned only if `return_distance` is True.
        indices : array of int of shape (l, k)
            The indices of the training examples, in the order in which they were passed.
        names : array of str of shape (l, k)
            The names of the training examples. They are returned only if `return_names` is True.

        Raises
        ------
        ValueError
            If there are fewer than k training examples, or if they have no names.
        """
        check_is_fitted(self)
        k = available_neighbors(
            self.n_neighbors if n_neighbors is None else n_neighbors, len(self._codes) - (X is None)
        )
        distances, indices = self._nearest(None if X is None else self._vectors(X), k)
        answer = (distances, indices) if return_distance else (indices,)
        if return_names:
            names = self._captions.names
            if names is None:
                raise ValueError("the training examples have no names: pass names=... to fit")
            answer = (*answer, names[indices])
        return answer if len(answer) > 1 else answer[0]

    def _nearest(self, vectors: FloatArray | None, k: int) -> tuple[FloatArray, IntArray]:
        rule = self._rule
        if not isinstance(rule, NeighborsRule):
            rule = NeighborsRule(len(self.classes_), k, self.n_jobs, self.algorithm)
            rule.fit(self.metric_.map(self._embedded), self._codes)
        return rule.nearest(vectors, k)

    def explain(
        self, X: Any, channel_names: Sequence[str] | None = None, n_neighbors: int | None = None
    ) -> DecisionExplanation:
        """Explain the decision about one example.

        Parameters
        ----------
        X : array of shape (n, n) or (1, n, n), or of shape (d,) or (1, d) for vectors
            The example.
        channel_names : sequence of str or None, default=None
            The names of the channels. None means `feature_names_in_`, if X was a DataFrame in `fit`, or numbers.
        n_neighbors : int or None, default=None
            The number of nearest references to list. None means those that vote if `rule` is 'neighbors', and
            otherwise the parameter of the classifier.

        Returns
        -------
        DecisionExplanation
            The class with its probability, the references or class means that decided, and the patterns and channels
            that separate the example from the class that came second. It prints as text; `to_dict` is for JSON.

        Raises
        ------
        ValueError
            If X is not one example.
        """
        check_is_fitted(self)
        example = check_examples(self, [X] if np.shape(X) == self.metric_.embedding.shape_in_ else X)
        if len(example) != 1:
            raise ValueError(f"X must be one example, but it has {len(example)}; explain them one by one")
        rule, vectors, count = self.rule_, self.metric_.transform(example), len(self._codes)
        voters = min(rule.get("n_neighbors", self.n_neighbors), count)
        listed = voters if n_neighbors is None else available_neighbors(n_neighbors, count)
        distances, indices = self._nearest(vectors, listed)
        decision = Decision(
            embedded=self.metric_.embedding.transform(example)[0],
            classes=self.classes_,
            probabilities=self._probabilities(vectors)[0],
            rule=rule,
            decided_by=self._rule.decides_by,
            distances=distances[0],
            indices=indices[0],
        )
        names = getattr(self, "feature_names_in_", None) if channel_names is None else channel_names
        return explain_decision(decision, self.metric_, self.references_, self._mean_embedded(), names)

    def _vectors(self, X: Any) -> FloatArray:
        check_is_fitted(self)
        return self.metric_.transform(check_examples(self, X), n_jobs=self.n_jobs)


def _fit_blend(
    learner: CovMetricCV, X: npt.NDArray[Any], codes: IntArray, groups: Any
) -> tuple[Blend, tuple[Any, ...] | None]:
    """Return the blend of all rules of the search, fitted on its folds, and what the rules predict there.

    After Ctrl-C, warn and return the best rule.
    """
    try:
        scorings, probabilities, tested, tests = learner._out_of_fold(X, codes, groups)
        return Blend.fit(scorings, probabilities, tested), (probabilities, tested, tests)
    except KeyboardInterrupt:
        warn("the calibration was cut short (Ctrl-C); the best rule is used alone, and is not calibrated")
        return Blend.single(Scoring(**learner.best_rule_), Calibration.neutral()), None
