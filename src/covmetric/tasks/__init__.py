"""What the commands do, as functions: fit a model to examples, predict, evaluate, search, describe the model."""

from __future__ import annotations

from covmetric.tasks.card import model_card, pairs_in_words, setting_in_words, summary
from covmetric.tasks.describing import DescribedInputs, choose_features, describe_inputs, without_broken_images
from covmetric.tasks.evaluation import Evaluation, Prediction, evaluate, predict, wilson_interval
from covmetric.tasks.explaining import QueryExplanation, explain
from covmetric.tasks.fitting import FitResult, FitSettings, fit_model, make_classifier
from covmetric.tasks.measured import Accuracies, Measured, measured_accuracies
from covmetric.tasks.model_view import ModelView, Neighbor
from covmetric.tasks.naming import example_names
from covmetric.tasks.records import data_record, origin, package_versions
from covmetric.tasks.sessions import groups_mix_classes
from covmetric.tasks.training_names import count_training_names, training_names_in_words

__all__ = [
    "Accuracies",
    "DescribedInputs",
    "Evaluation",
    "FitResult",
    "FitSettings",
    "Measured",
    "ModelView",
    "Neighbor",
    "Prediction",
    "QueryExplanation",
    "choose_features",
    "count_training_names",
    "data_record",
    "describe_inputs",
    "evaluate",
    "example_names",
    "explain",
    "fit_model",
    "groups_mix_classes",
    "make_classifier",
    "measured_accuracies",
    "model_card",
    "origin",
    "package_versions",
    "pairs_in_words",
    "predict",
    "setting_in_words",
    "summary",
    "training_names_in_words",
    "wilson_interval",
    "without_broken_images",
]
