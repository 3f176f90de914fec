"""What was measured about the accuracy of a model while it was fitted."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from covmetric._utils.validation import IntArray
from covmetric.estimators import ImagePatchClassifier
from covmetric.experiments.estimates import mean_and_standard_error
from covmetric.tasks.model_view import ModelView


@dataclass(frozen=True)
class Measured:
    """An accuracy that was measured in cross-validation on the training data.

    Attributes
    ----------
    accuracy : float
        The fraction of correct predictions.
    n_right, n_tested : int or None
        The numbers of correct predictions and of predictions. None if only the mean over the folds is known.
    standard_error : float or None
        The standard error over the folds. None if it is not known.
    """

    accuracy: float
    n_right: int | None = None
    n_tested: int | None = None
    standard_error: float | None = None

    @classmethod
    def from_counts(cls, counts: IntArray | None) -> Measured | None:
        """Return the accuracy of counts by fold.

        Parameters
        ----------
        counts : array of int of shape (n_folds, 2) or None
            The numbers of correct predictions and of predictions in each fold.

        Returns
        -------
        Measured or None
            None if there are no counts.
        """
        if counts is None:
            return None
        right, total = (int(column.sum()) for column in counts.T)
        error = mean_and_standard_error((counts[:, 0] / counts[:, 1]).tolist()).standard_error
        return cls(right / total, right, total, error)

    def text(self, what: str) -> str:
        """Return the accuracy in words.

        Parameters
        ----------
        what : str
            What was predicted, such as "images".

        Returns
        -------
        str
            The accuracy in percent, with the standard error and the counts, if they are known.

        Examples
        --------
        >>> Measured(0.75, 3, 4).text("images")
        '75.0 percent (3 of 4 images)'
        """
        error = "" if self.standard_error is None else f" ± {100 * self.standard_error:.1f}"
        counts = "" if self.n_right is None else f" ({self.n_right} of {self.n_tested} {what})"
        return f"{100 * self.accuracy:.1f}{error} percent{counts}"


@dataclass(frozen=True)
class Accuracies:
    """What was measured about the accuracy of a model.

    Attributes
    ----------
    whole : Measured or None
        The accuracy of what predicts: the combined rules, or the chosen rule; for patches, the vote about images.
    patches : Measured or None
        For a model that describes images by patches, the accuracy of single patches.
    of : str
        What `whole` is about: "images", "series", "matrices" or "vectors".
    chosen : str
        What was chosen on the same folds.
    """

    whole: Measured | None
    patches: Measured | None
    of: str
    chosen: str = "phi and lambda"

    def sentences(self) -> list[str]:
        """Return the accuracies in words, with what they do not say.

        Returns
        -------
        list of str
            Sentences.

        Examples
        --------
        >>> Accuracies(Measured(0.9, 9, 10), Measured(0.5, 20, 40), "images").sentences()[1]
        'Accuracy of single patches: 50.0 percent (20 of 40 patches).'
        """
        if self.whole is None and self.patches is None:
            return ["No accuracy was measured while the model was fitted."]
        how = "outside the training folds, in cross-validation on these data"
        optimistic = f"The accuracy is slightly optimistic, because {self.chosen} were chosen on the same folds."
        found = []
        if self.whole is not None:
            by = " by the vote of their patches" if self.patches is not None else ""
            found.append(f"Accuracy of {self.of}{by}, {how}: {self.whole.text(self.of)}.")
        else:
            found.append(f"The accuracy of {self.of} was not measured, only that of single patches, {how}.")
        if self.patches is not None:
            found.append(f"Accuracy of single patches: {self.patches.text('patches')}.")
        if any(one is not None and one.standard_error is not None for one in (self.whole, self.patches)):
            found.append("± is the standard error over the folds.")
        return [*found, optimistic]


def measured_accuracies(view: ModelView) -> Accuracies:
    """Return what was measured about the accuracy of a model while it was fitted.

    Parameters
    ----------
    view : ModelView
        The model.

    Returns
    -------
    Accuracies
        The accuracies.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> from covmetric.datasets import make_spd_classes
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=3)
    >>> measured_accuracies(ModelView(CovMetricClassifier(random_state=0).fit(data.X, data.y))).sentences()
    ['No accuracy was measured while the model was fitted.']
    """
    single = None if view.classifier is None else _of_classifier(view.classifier)
    last = view.last_step
    if isinstance(last, ImagePatchClassifier):
        return Accuracies(Measured.from_counts(last.out_of_fold_counts_), single, view.kind)
    chosen = "phi and lambda" if view.classifier is None or view.classifier.rule == "auto" else "the settings"
    return Accuracies(single, None, view.kind, chosen)


def _of_classifier(classifier: Any) -> Measured | None:
    """Return the accuracy of the combined rules, or of the search if it scored the rule that is used."""
    if classifier.rule == "auto":
        return Measured.from_counts(classifier.out_of_fold_counts_)
    learner = classifier.learner_
    score = getattr(learner, "best_score_", None)
    if score is None or getattr(learner, "best_rule_", None) != classifier.rule_ or not np.isfinite(score):
        return None
    return Measured(float(score))
