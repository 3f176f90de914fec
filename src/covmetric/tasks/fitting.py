"""From labelled examples to a model that takes new examples as they are."""

from __future__ import annotations

import warnings
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
from sklearn import config_context
from sklearn.pipeline import make_pipeline

from covmetric._utils.warning import warn
from covmetric.datasets.inputs import Inputs
from covmetric.descriptors import GridPatches, ImageCovariances, make_thumbnail
from covmetric.estimators import CovMetric, CovMetricClassifier, ImagePatchClassifier, Recentre
from covmetric.estimators.default_search import default_search
from covmetric.solvers import Status
from covmetric.tasks.describing import DescribedInputs, choose_features, describe_inputs
from covmetric.tasks.naming import example_names
from covmetric.tasks.sessions import check_sessions

# The regularisation of matrices, so that singular ones have a logarithm.
_REG = 1e-6


@dataclass(frozen=True)
class FitSettings:
    """What to fit.

    Attributes
    ----------
    rule : {'auto', 'neighbors', 'mean', 'lda', 'logistic', 'svm'}, default='auto'
        The decision rule. 'auto' chooses the metric and combines rules in it.
    phi : str or None, default=None
        The embedding. None means that 'auto' chooses it, and the default of `CovMetric` for other rules.
    lam : float or None, default=None
        Lambda. None means that 'auto' chooses it, and the default of `CovMetric` for other rules.
    n_neighbors : int or None, default=None
        The number of neighbours that vote, for the rules 'neighbors' and 'auto'. None means the default of
        `CovMetricClassifier` and `CovMetricCV`.
    reg : float or None, default=None
        The fraction of its mean eigenvalue that is added to the diagonal of each matrix. None means 1e-6; vectors have
        none. With `recentre` it is added before the means are computed, and None means 0, as in `Recentre`.
    recentre : bool, default=False
        Whether every group, such as a session, is moved to its own mean, and so is every new group that the model
        predicts.
    features : str or None, default=None
        The features of images; see `choose_features`.
    patches : int or None, default=None
        The size of square patches that images are described by, in pixels. None means that an image has one matrix.
    decision : {'vote', 'nearest-set'}, default='vote'
        How the patches decide; see `ImagePatchClassifier`.
    thumbnails : bool, default=True
        Whether the model holds small pictures of the training images.
    skip_broken : bool, default=False
        Whether files that are not images are left out, instead of raising an error.
    seed : int, default=0
        The seed of folds and pairs.
    n_jobs : int or None, default=None
        The number of processes.
    progress : bool, default=False
        Whether to show progress bars.
    """

    rule: str = "auto"
    phi: str | None = None
    lam: float | None = None
    n_neighbors: int | None = None
    reg: float | None = None
    recentre: bool = False
    features: str | None = None
    patches: int | None = None
    decision: str = "vote"
    thumbnails: bool = True
    skip_broken: bool = False
    seed: int = 0
    n_jobs: int | None = None
    progress: bool = False


@dataclass(frozen=True)
class FitResult:
    """A fitted model.

    Attributes
    ----------
    model : CovMetricClassifier, Pipeline or ImagePatchClassifier
        The model. It takes matrices, series or images, as the training examples were.
    n_examples : int
        The number of examples that the model was fitted on.
    skipped : tuple of (str, str)
        The name of each example that was left out, and the reason.
    interrupted : bool
        Whether Ctrl-C ended the fit early, so that the model is the best so far.
    n_groups : int or None
        The number of groups of these examples; None if they have no groups.
    """

    model: Any
    n_examples: int
    skipped: tuple[tuple[str, str], ...]
    interrupted: bool
    n_groups: int | None = None


def fit_model(inputs: Inputs, settings: FitSettings | None = None) -> FitResult:
    """Fit a classifier on labelled examples.

    Parameters
    ----------
    inputs : Inputs
        The examples, with labels.
    settings : FitSettings or None, default=None
        The settings. None means the defaults.

    Returns
    -------
    FitResult
        The model, with the names of the examples and, for images, thumbnails.

    Raises
    ------
    ValueError
        If the examples or the settings are invalid.

    Examples
    --------
    >>> from covmetric.datasets import make_spd_classes
    >>> from covmetric.datasets.inputs import Inputs
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> inputs = Inputs("matrices", data.X, np.array([f"trial {i}" for i in range(20)]), data.y)
    >>> fit_model(inputs, FitSettings(rule="mean")).model.references_.names[0]
    np.str_('trial 0')
    """
    settings = settings or FitSettings()
    if inputs.y is None:
        raise ValueError("the examples have no labels")
    if settings.patches is not None and inputs.kind != "images":
        raise ValueError(f"patches are for images, but the examples are {inputs.kind}")
    if settings.recentre:
        if settings.patches is not None:
            raise ValueError("--recentre needs one matrix per image: leave out --patches")
        check_sessions(inputs)
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        fit = _fit_whole if settings.patches is None else _fit_patches
        result = fit(inputs, settings)
    for message, category in dict.fromkeys((str(one.message), one.category) for one in caught):
        if not message.startswith("left out "):  # of images, which the caller reports as `skipped`
            warn(message, category)
    return replace(result, interrupted=any(_tells_of_ctrl_c(str(one.message)) for one in caught))


def make_classifier(settings: FitSettings, vectors: bool = False) -> CovMetricClassifier:
    """Return the classifier that the settings ask for, which is not fitted.

    Parameters
    ----------
    settings : FitSettings
        The settings.
    vectors : bool, default=False
        Whether the examples are vectors instead of matrices.

    Returns
    -------
    CovMetricClassifier
        The classifier.

    Examples
    --------
    >>> make_classifier(FitSettings(rule="mean", lam=0.1, phi="log")).learner.lam
    0.1
    """
    common: dict[str, Any] = {"random_state": settings.seed, "n_jobs": settings.n_jobs}
    reg = (0.0 if vectors else _REG) if settings.reg is None else settings.reg
    chosen = {"phi": settings.phi, "reg": reg, "verbose": int(settings.progress), **common}
    if settings.rule == "auto":
        learner: Any = default_search(vectors, **{name: value for name, value in chosen.items() if name != "phi"})
        if settings.phi is not None:
            learner.set_params(phi=settings.phi)
        if settings.lam is not None:
            learner.set_params(lambdas=(settings.lam,))
        if settings.n_neighbors is not None:
            learner.set_params(n_neighbors=settings.n_neighbors)
    else:
        given = {**chosen, "lam": settings.lam}
        learner = CovMetric(**{name: value for name, value in given.items() if value is not None})
    neighbors = {} if settings.n_neighbors is None else {"n_neighbors": settings.n_neighbors}
    return CovMetricClassifier(learner, rule=settings.rule, **neighbors, **common)


def _fit_whole(inputs: Inputs, settings: FitSettings) -> FitResult:
    """Fit a classifier of matrices, one per example, behind the descriptor of the examples."""
    data = describe_inputs(
        inputs,
        settings.features,
        skip_broken=settings.skip_broken,
        n_jobs=settings.n_jobs,
        progress=settings.progress,
    )
    thumbnails = _thumbnails(inputs, data.kept, settings)
    with example_names(data.names):
        if settings.recentre:
            steps = _fit_recentred(data, settings, thumbnails)
        else:
            steps = [make_classifier(settings, inputs.kind == "vectors")]
            steps[0].fit(data.X, data.y, data.groups, names=data.names, thumbnails=thumbnails)
    _forget_progress(steps[-1])
    steps = steps if data.descriptor is None else [data.descriptor, *steps]
    model = make_pipeline(*steps) if len(steps) > 1 else steps[0]
    return FitResult(model, len(data.X), data.skipped, interrupted=False, n_groups=_count(data.groups))


def _fit_recentred(data: DescribedInputs, settings: FitSettings, thumbnails: list[Any] | None) -> list[Any]:
    """Fit the steps that move every group to its own mean and classify.

    The whole classifier, with the cross-validation inside it, is fitted on recentred matrices. That is no leak into the
    test part of a fold: recentring uses no labels, and of each session only its own mean. A fold has whole sessions,
    which are recentred as the model will recentre a new session (`new_groups="transductive"`).
    """
    assert data.groups is not None
    # A single session cannot be kept apart from others: folds and pairs are then made of examples.
    several = len(set(data.groups.tolist())) > 1
    # Recentre takes no singular matrices, so that what it returns needs no regularisation.
    classifier = make_classifier(replace(settings, reg=0.0))
    with config_context(enable_metadata_routing=True):  # without it, scikit-learn refuses requests
        recentre = Recentre("transductive", reg=settings.reg or 0.0)
        recentre.set_fit_request(groups=True).set_transform_request(groups=True)
        classifier.set_fit_request(groups=several)
    X = recentre.fit_transform(data.X, groups=data.groups)
    classifier.fit(X, data.y, data.groups if several else None, names=data.names, thumbnails=thumbnails)
    return [recentre, classifier]


def _fit_patches(inputs: Inputs, settings: FitSettings) -> FitResult:
    """Fit a classifier of images by patches."""
    assert settings.patches is not None
    features = choose_features(inputs.examples, settings.features)
    regions = GridPatches(settings.patches)
    reader = ImageCovariances(
        features,
        regions=regions,
        errors="skip" if settings.skip_broken else "raise",
        n_jobs=settings.n_jobs,
        verbose=int(settings.progress),
    )
    described = reader.describe(inputs.examples)
    if len(np.unique(described.image)) == len(described.image):
        warn(
            f"every image has a single patch of {settings.patches} x {settings.patches} pixels; choose a smaller size "
            "(--patches), or describe images as a whole"
        )
    reasons = dict(described.skipped)
    kept = np.unique(described.image[np.trace(described.X, axis1=1, axis2=2) > 0.0])
    constant = "all its patches have the same value everywhere"
    skipped = tuple(
        (str(inputs.names[i]), reasons.get(i, constant)) for i in np.setdiff1d(np.arange(len(inputs)), kept).tolist()
    )
    thumbnails = _thumbnails(
        inputs, np.arange(len(inputs)), settings, skip=set(range(len(inputs))) - set(kept.tolist())
    )
    model = ImagePatchClassifier(
        ImageCovariances(features, regions=regions), make_classifier(settings), decision=settings.decision
    )
    model.fit_described(described, inputs.y, inputs.groups, names=inputs.names, thumbnails=thumbnails)
    _forget_progress(model.classifier_)
    model.set_params(classifier=make_classifier(replace(settings, progress=False)))
    n_groups = None if inputs.groups is None else _count(inputs.groups[kept])
    return FitResult(model, len(kept), skipped, interrupted=False, n_groups=n_groups)


def _count(groups: Any) -> int | None:
    return None if groups is None else len(set(groups.tolist()))


def _thumbnails(inputs: Inputs, kept: Any, settings: FitSettings, skip: Any = ()) -> list[Any] | None:
    if inputs.kind != "images" or not settings.thumbnails:
        return None
    return [None if i in skip else make_thumbnail(inputs.examples[i]) for i in np.asarray(kept).tolist()]


def _forget_progress(classifier: CovMetricClassifier) -> None:
    """Progress bars belong to this process, and not to the model."""
    for estimator in (classifier.learner, classifier.learner_, getattr(classifier.learner_, "best_estimator_", None)):
        if estimator is not None:
            estimator.verbose = 0


def _tells_of_ctrl_c(message: str) -> bool:
    return "(Ctrl-C)" in message or message.startswith(Status.INTERRUPTED.name)
