"""One view of every kind of model."""

from __future__ import annotations

import numpy as np
import pytest
from sklearn.linear_model import LogisticRegression
from sklearn.pipeline import make_pipeline

from covmetric import (
    CovMetric,
    CovMetricClassifier,
    CovMetricCV,
    ImagePatchClassifier,
    Recentre,
    load_model,
    save_model,
)
from covmetric.datasets import make_spd_classes, make_textures
from covmetric.descriptors import GridPatches, ImageCovariances, SeriesCovariances, feature_names
from covmetric.plotting.fitted import find_names
from covmetric.tasks import ModelView, explain, model_card, summary
from covmetric.tasks.measured import Accuracies, Measured, measured_accuracies


def fixed():
    return CovMetricClassifier(CovMetric("log", lam=np.inf), n_neighbors=1)


@pytest.fixture(scope="module")
def data():
    return make_spd_classes(n_classes=2, n_per_class=10, n=3)


@pytest.fixture(scope="module")
def textures():
    return make_textures(n_classes=2, n_per_class=6, size=32)


@pytest.fixture(scope="module")
def models(data, textures):
    """A model of each kind, with examples for it."""
    series = list(np.random.default_rng(0).standard_normal((20, 3, 30)) * (1 + data.y[:, None, None]))
    patches = ImagePatchClassifier(ImageCovariances(regions=GridPatches(16)), fixed())
    return {
        "matrices": (fixed().fit(data.X, data.y), data.X),
        "vectors": (CovMetricClassifier(random_state=0).fit(data.X[:, 0], data.y), data.X[:, 0]),
        "series": (make_pipeline(SeriesCovariances(), fixed()).fit(series, data.y), series),
        "images": (make_pipeline(ImageCovariances(), fixed()).fit(textures.images, textures.y), textures.images),
        "patches": (patches.fit(textures.images, textures.y), textures.images),
    }


@pytest.mark.parametrize("name", ["matrices", "vectors", "series", "images", "patches"])
def test_every_kind_of_model_is_used_in_the_same_way(name, models):
    model, examples = models[name]
    view = ModelView(model)
    assert view.kind == ("images" if name == "patches" else name) and view.classes == ["0", "1"]
    assert view.n_references == len(examples) == len(view.labels)
    np.testing.assert_array_equal(view.predict_proba(examples), model.predict_proba(examples))
    near = view.neighbors(examples[:2], 3)
    assert [one[0].index for one in near] == [0, 1] and near[0][0].name == "example 0" and near[0][0].distance < 1e-6
    assert summary(view)["class_counts"] == {"0": len(examples) // 2, "1": len(examples) // 2}
    assert "# Model card: mine" in model_card(view, "mine")
    assert explain(view, "query", examples[3]).label in view.classes
    assert len(view.features) == view.metric.embedding.shape_in_[0]


@pytest.mark.parametrize("descriptor", [None, ImageCovariances("grey", regions=GridPatches(32))])
def test_models_of_patches_name_the_features_of_pixels(descriptor):
    textures = make_textures(n_classes=2, n_per_class=4, size=64)
    model = ImagePatchClassifier(descriptor, fixed()).fit(textures.images, textures.y)
    assert ModelView(model).features == find_names(model) == feature_names("grey")


@pytest.mark.parametrize("name", ["matrices", "patches"])
def test_neighbours_of_references_leave_the_reference_out(name, models):
    model, examples = models[name]
    view = ModelView(model)
    for i, found in zip((0, 5), view.neighbors_of_references([0, 5], 4), strict=True):
        expected = [one for one in view.neighbors(examples[i : i + 1], 5)[0] if one.index != i][:4]
        assert [one.index for one in found] == [one.index for one in expected]
        np.testing.assert_allclose([one.distance for one in found], [one.distance for one in expected], atol=1e-6)


def test_models_without_a_classifier_say_so(data):
    transformer = ModelView(CovMetric(random_state=0).fit(data.X, data.y))
    assert transformer.kind == "matrices" and transformer.certificate()["status"] == "SOLVED"
    with pytest.raises(ValueError, match="ends with a CovMetric, which does not classify"):
        transformer.predict_proba(data.X)
    with pytest.raises(ValueError, match="holds no examples to search"):
        transformer.neighbors(data.X, 1)
    with pytest.raises(ValueError, match="whose decisions covmetric cannot explain"):
        explain(transformer, "x", data.X[0])
    assert "No accuracy was measured" in model_card(transformer, "x")
    other = ModelView(make_pipeline(CovMetric(random_state=0), LogisticRegression()).fit(data.X, data.y))
    assert other.kind == "matrices" and other.rule == {"rule": "LogisticRegression"} and other.n_references == 0
    assert other.predict_proba(data.X).shape == (20, 2) and other.certificate() is not None


def test_certificate_and_parameters_are_those_of_the_search(data):
    classifier = CovMetricClassifier(CovMetricCV(["log", "chol"], random_state=0)).fit(data.X, data.y)
    view = ModelView(classifier)
    search = classifier.learner_
    assert (
        view.parameters()["phi"] == search.best_params_["phi"]
        and view.parameters()["lam"] == search.best_params_["lam"]
    )
    if search.result_ is not None:
        assert view.certificate()["gap"] == search.result_.certificate.gap
    assert summary(view)["score"] == search.best_score_


def test_fixed_metric_has_no_certificate(data):
    view = ModelView(CovMetricClassifier(CovMetric(lam=np.inf)).fit(data.X, data.y))
    assert view.certificate() is None and "nothing to certify" in model_card(view, "x")


def test_recentred_model_takes_what_recentre_takes(data):
    assert ModelView(make_pipeline(Recentre(), fixed()).fit(data.X, data.y)).kind == "matrices"
    vectors = make_pipeline(Recentre(), CovMetricClassifier(random_state=0)).fit(data.X[:, 0], data.y)
    assert ModelView(vectors).kind == "vectors"
    series = list(np.random.default_rng(0).standard_normal((20, 3, 30)))
    assert ModelView(make_pipeline(SeriesCovariances(), Recentre(), fixed()).fit(series, data.y)).kind == "series"


@pytest.mark.parametrize("name", ["matrices", "vectors", "series", "images", "patches"])
def test_names_of_rows_are_those_of_plots(name, models):
    assert ModelView(models[name][0]).features == find_names(models[name][0])


def test_names_of_data_frames_are_kept(data, tmp_path):
    pd = pytest.importorskip("pandas")
    names = ["height", "width", "depth"]
    frame = pd.DataFrame(data.X[:, 0], columns=names)
    classifier = CovMetricClassifier(CovMetric(random_state=0)).fit(frame, data.y)
    save_model(classifier, tmp_path / "boxes.model")
    for model in (classifier, load_model(tmp_path / "boxes.model")):
        assert ModelView(model).features == find_names(model) == names
    with pytest.warns(UserWarning, match="does not have valid feature names"):
        assert "height" in str(explain(ModelView(classifier), "query", frame.to_numpy()[0]))
    other = make_pipeline(CovMetric(random_state=0), LogisticRegression()).fit(frame, data.y)
    assert ModelView(other).features == find_names(other) == names


def test_grey_pictures_whose_null_space_is_left_out(textures):
    """Recentre leaves out the null space of R = G = B, so that rows of W no longer are features."""
    pictures = [np.repeat(image[:, :, None], 3, axis=2) for image in textures.images]
    classifier = CovMetricClassifier(CovMetric(random_state=0))
    model = make_pipeline(ImageCovariances(["x", "y", "R", "G", "B"]), Recentre(), classifier)
    with pytest.warns(UserWarning, match="projects out 2 of 5 dimensions"):
        model.fit(pictures, textures.y)
    assert model[1].basis_.shape == (5, 3)
    view = ModelView(model)
    assert view.features == find_names(model) == ["x0", "x1", "x2"]
    assert "x0" in str(explain(view, "query", pictures[0], matrix=view.matrices(pictures)[0]))


@pytest.mark.parametrize("nothing", [None, "passthrough"])
def test_steps_that_do_nothing_are_skipped(nothing, data, textures):
    images = make_pipeline(nothing, ImageCovariances(), fixed()).fit(textures.images, textures.y)
    assert ModelView(images).steps == ["ImageCovariances", "CovMetricClassifier"]
    assert ModelView(images).kind == "images" and ModelView(images).features == ModelView(images[1:]).features
    assert ModelView(make_pipeline(nothing, fixed()).fit(data.X, data.y)).kind == "matrices"


@pytest.mark.parametrize(
    "classifier",
    [
        CovMetricClassifier(CovMetricCV(["log"], cv="classes", random_state=0), rule="neighbors"),
        CovMetricClassifier(CovMetricCV(["log"], n_neighbors=1, random_state=0), rule="neighbors", n_neighbors=5),
        CovMetricClassifier(CovMetricCV(["log"], rule="svm", C=(10.0,), random_state=0), rule="svm", C=0.01),
    ],
    ids=["distances", "other neighbours", "other C"],
)
def test_scores_of_other_rules_are_no_accuracy(classifier):
    data = make_spd_classes(n_classes=4, n_per_class=10, n=3)
    view = ModelView(classifier.fit(data.X, data.y))
    assert measured_accuracies(view).whole is None


def test_score_of_the_rule_is_the_accuracy(data):
    learner = CovMetricCV(["log"], n_neighbors=5, random_state=0)
    view = ModelView(CovMetricClassifier(learner, n_neighbors=5).fit(data.X, data.y))
    assert measured_accuracies(view).whole.accuracy == view.classifier.learner_.best_score_


def test_metrics_alone_are_not_measured_by_the_command(data):
    view = ModelView(CovMetric(random_state=0).fit(data.X, data.y))
    assert "CovMetricClassifier" in view.how_to_measure and "covmetric evaluate" not in model_card(view, "m")
    assert "rule" not in view.parameters()


def test_the_accuracy_is_called_optimistic_and_not_its_standard_error():
    sentences = Accuracies(Measured(0.9, 9, 10, 0.1), None, "images").sentences()
    assert sentences[-2:] == [
        "± is the standard error over the folds.",
        "The accuracy is slightly optimistic, because phi and lambda were chosen on the same folds.",
    ]
