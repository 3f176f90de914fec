"""The choice of the decision rule together with the metric."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, CovMetricCV, load_model, save_model
from covmetric.datasets import make_spd_classes
from covmetric.learning.blend import Blend
from covmetric.learning.calibration import Calibration
from covmetric.learning.rules import RULES, get_rule
from covmetric.learning.scoring import Scoring
from covmetric.learning.splits import make_splits
from tests.data import classes_of_matrices, quoted
from tests.model_file.forging import with_array

X, Y = classes_of_matrices(count=42)
NEW = classes_of_matrices(count=30, seed=1)[0]
SEARCH = CovMetricCV(["log", "relog"], lambdas=[1e-1, 1e-2], cv=3, random_state=0)


def search(**params):
    return CovMetricCV(["log", "relog"], lambdas=[1e-1, 1e-2], cv=3, random_state=0, **params).fit(X, Y)


def test_scores_of_several_rules_are_those_of_separate_searches():
    together = search(rule="auto", n_neighbors=[1, 5], C=[0.5, 7.0])
    apart = [
        search(rule="svm", C=0.5), search(rule="svm", C=7.0), search(rule="lda"), search(rule="logistic", C=0.5),
        search(rule="logistic", C=7.0), search(rule="mean"), search(rule="neighbors", n_neighbors=1),
        search(rule="neighbors", n_neighbors=5),
    ]  # fmt: skip
    for fold in range(3):
        scores = together.cv_results_[f"split{fold}_test_score"].reshape(-1, len(apart))
        np.testing.assert_array_equal(scores.T, [one.cv_results_[f"split{fold}_test_score"] for one in apart])
    best = search(rule="auto", n_neighbors=[1, 5], C=[0.5, 7.0], n_std_errors=0.0)
    assert best.best_score_ == max(one.cv_results_["mean_test_score"].max() for one in apart)
    assert together.best_params_ == {**together.cv_results_["params"][together.best_index_]}
    assert together.best_rule_.items() <= together.best_params_.items()
    rules = together.cv_results_["param_rule"].tolist()
    assert rules[:8] == ["svm", "svm", "lda", "logistic", "logistic", "mean", "neighbors", "neighbors"]


def test_a_single_rule_is_not_among_the_parameters_of_candidates():
    one = search(rule="svm", C=3.0)
    assert one.best_rule_ == {"rule": "svm", "C": 3.0}
    assert set(one.best_params_) <= {"phi", "pairs", "slack", "lam"}
    assert "param_rule" not in one.cv_results_


@pytest.fixture(scope="module")
def chosen():
    return CovMetricClassifier(SEARCH, rule="auto").fit(X, Y)


COMBINED = [
    {"rule": "svm", "C": 1.0},
    {"rule": "svm", "C": 10.0},
    {"rule": "lda"},
    {"rule": "neighbors", "n_neighbors": 3},
]


def make_rule(params, n_classes=2):
    return get_rule(params["rule"], n_classes, params.get("n_neighbors", 3), C=params.get("C", 1.0))


def test_the_classifier_combines_the_rules_in_the_metric_that_the_search_chose(chosen):
    learner = search(rule=["svm", "lda", "neighbors"])
    np.testing.assert_array_equal(chosen.learner_.W_, learner.W_)
    assert chosen.learner_.best_params_ == learner.best_params_
    assert chosen.rule_["rule"] == "blend"
    parts = [{name: value for name, value in one.items() if name != "weight"} for one in chosen.rule_["rules"]]
    assert parts == COMBINED
    assert sum(one["weight"] for one in chosen.rule_["rules"]) == pytest.approx(1.0)
    vectors, new = learner.transform(X), learner.transform(NEW)
    numbers = chosen._blend.numbers
    mean = 0.0
    for params, (weight, smoothing, sharpness) in zip(COMBINED, numbers[:-1], strict=True):
        power = (make_rule(params).fit(vectors, Y).probabilities(new) + smoothing) ** sharpness
        mean = mean + weight * power / power.sum(axis=1, keepdims=True)
    power = (mean + numbers[-1, 1]) ** numbers[-1, 2]
    expected = power / power.sum(axis=1, keepdims=True)
    np.testing.assert_allclose(chosen.predict_proba(NEW), expected, rtol=1e-9)
    np.testing.assert_array_equal(chosen.predict(NEW), expected.argmax(axis=1))


def literal_out_of_fold(learner, rules):
    """Return the probabilities of each rule in the folds of the search, solved fold by fold, and the classes."""
    of_metric = {
        name: value for name, value in learner.best_params_.items() if name in ("phi", "pairs", "slack", "lam")
    }
    seed = learner.best_estimator_.random_state
    probabilities, classes = [[] for _ in rules], []
    for fold, split in enumerate(make_splits(3, X, Y, None, seed)):
        metric = CovMetric(**of_metric, tol=1e-3, random_state=np.random.default_rng([seed, fold]))
        metric.fit(X[split.train], Y[split.train])
        for params, parts in zip(rules, probabilities, strict=True):
            rule = make_rule(params).fit(metric.transform(X[split.train]), Y[split.train])
            parts.append(rule.probabilities(metric.transform(X[split.test])))
        classes.append(Y[split.test])
    return [np.concatenate(parts) for parts in probabilities], np.concatenate(classes)


def test_weights_and_calibrations_are_fitted_on_the_folds_of_the_search(chosen):
    probabilities, classes = literal_out_of_fold(chosen.learner_, COMBINED)
    expected = Blend.fit([Scoring(**params) for params in COMBINED], probabilities, classes)
    np.testing.assert_allclose(chosen._blend.numbers, expected.numbers, rtol=0.05)
    assert chosen._blend.scorings == expected.scorings
    np.testing.assert_array_equal(chosen.predict(NEW), chosen.classes_[chosen.predict_proba(NEW).argmax(axis=1)])


def test_a_single_rule_is_calibrated_on_the_folds_of_the_search():
    learner = CovMetricCV(["log", "relog"], lambdas=[1e-1, 1e-2], rule=["svm"], C=2.0, cv=3, random_state=0)
    classifier = CovMetricClassifier(learner, rule="auto").fit(X, Y)
    assert classifier.rule_ == {"rule": "svm", "C": 2.0}
    (probabilities,), classes = literal_out_of_fold(classifier.learner_, [classifier.rule_])
    expected = Calibration.fit(probabilities, classes)
    (got,) = classifier._blend.calibrations
    assert (got.smoothing, got.sharpness) == pytest.approx((expected.smoothing, expected.sharpness), rel=0.05)
    uncalibrated = make_rule(classifier.rule_).fit(classifier.learner_.transform(X), Y)
    expected = got.apply(uncalibrated.probabilities(classifier.learner_.transform(NEW)))
    np.testing.assert_allclose(classifier.predict_proba(NEW), expected, rtol=1e-12)


@pytest.mark.parametrize("rules", [["svm", "lda", "neighbors"], ["mean"]])
def test_combined_rules_survive_a_file(rules, tmp_path):
    fitted = CovMetricClassifier(CovMetricCV("log", lambdas=[0.1], rule=rules, random_state=0), rule="auto").fit(X, Y)
    save_model(fitted, tmp_path / "model")
    loaded = load_model(tmp_path / "model")
    np.testing.assert_array_equal(loaded.predict_proba(NEW), fitted.predict_proba(NEW))
    assert loaded.rule_ == fitted.rule_
    save_model(loaded, tmp_path / "again")
    assert (tmp_path / "again").read_bytes() == (tmp_path / "model").read_bytes()


def test_the_default_search_takes_matrices_groups_and_vectors():
    groups = np.arange(42) // 2
    for examples in (X, X[:, 0]):
        classifier = CovMetricClassifier(rule="auto", random_state=0).fit(examples, Y, groups=groups)
        assert isinstance(classifier.learner_, CovMetricCV)
        assert classifier.score(examples, Y) > 0.6
        again = CovMetricClassifier(rule="auto", random_state=0).fit(examples, Y, groups=groups)
        np.testing.assert_array_equal(classifier.predict_proba(examples), again.predict_proba(examples))


def test_the_user_lists_the_rules_that_are_combined():
    learner = CovMetricCV("log", lambdas=[1e-1], rule=["mean", "logistic"], C=4.0, random_state=0)
    classifier = CovMetricClassifier(learner, rule="auto").fit(X, Y)
    assert set(classifier.learner_.cv_results_["param_rule"]) == {"mean", "logistic"}
    assert [one["rule"] for one in classifier.rule_["rules"]] == ["mean", "logistic"]
    assert classifier.rule_["rules"][1]["C"] == 4.0


def test_more_examples_keep_the_rule():
    classifier = CovMetricClassifier(SEARCH, rule="auto").fit(X[:30], Y[:30])
    rule = classifier.rule_
    classifier.partial_fit(X[30:], Y[30:])
    assert classifier.rule_ == rule
    assert len(classifier._codes) == 42
    np.testing.assert_allclose(classifier.predict_proba(NEW).sum(axis=1), 1.0)


@pytest.mark.parametrize("rule", RULES)
def test_a_fixed_rule_is_named(rule):
    classifier = CovMetricClassifier(rule=rule, n_neighbors=5, C=2.0, random_state=0).fit(X, Y)
    expected = {"neighbors": {"n_neighbors": 5}, "logistic": {"C": 2.0}, "svm": {"C": 2.0}}
    assert classifier.rule_ == {"rule": rule, **expected.get(rule, {})}


@pytest.mark.parametrize(
    ("estimator", "message"),
    [
        (CovMetricClassifier(CovMetric(), rule="auto"), "rule='auto' needs a CovMetricCV or None as learner, got "),
        (CovMetricCV(rule="auto", cv="loo"), "cv='loo' needs rule='neighbors', got rule='svm'; use a number of folds"),
        (CovMetricCV(rule=[]), "rule is empty: at least one value is needed"),
        (CovMetricCV(rule=["mean", "tree"]), f"rule must be one of {quoted(RULES)}, got 'tree'"),
        (CovMetricCV(rule="svm", C=[]), "C is empty: at least one value is needed"),
        (CovMetricCV(rule="svm", C=[1.0, -1.0]), "C must be a positive number, got -1.0"),
        (CovMetricCV(n_neighbors=[3, 0]), "n_neighbors must be "),
        (CovMetricCV(n_neighbors=[]), "n_neighbors is empty: at least one value is needed"),
    ],
)
def test_invalid_choices_are_refused(estimator, message):
    with pytest.raises(ValueError, match=message):
        estimator.fit(X, Y)


def test_the_first_batch_needs_a_search_for_the_rule():
    with pytest.raises(
        ValueError, match=r"rule='auto' needs a CovMetricCV or None .*; write CovMetricClassifier\(rule='auto'\)"
    ):
        CovMetricClassifier(CovMetric(), rule="auto").partial_fit(X, Y)


def test_ctrl_c_during_the_calibration_keeps_the_model(monkeypatch):
    def interrupted(*arguments):
        raise KeyboardInterrupt

    monkeypatch.setattr(CovMetricCV, "_out_of_fold", interrupted)
    with pytest.warns(UserWarning, match=r"the calibration was cut short \(Ctrl-C\)"):
        classifier = CovMetricClassifier(SEARCH, rule="auto").fit(X, Y)
    assert classifier.rule_ == classifier.learner_.best_rule_
    rule = make_rule(classifier.rule_).fit(classifier.learner_.transform(X), Y)
    uncalibrated = rule.probabilities(classifier.learner_.transform(NEW))
    np.testing.assert_allclose(classifier.predict_proba(NEW), uncalibrated, atol=1e-5)
    assert (classifier.predict_proba(NEW) > 0.0).all()


def test_accuracy_outside_the_folds_is_that_of_the_combination(tmp_path):
    """The literal twin: fit each fold's metric and rules, and combine them with weights of the other folds."""
    data = make_spd_classes(n_classes=3, n_per_class=12, n=4, random_state=0)
    search = CovMetricCV("log", lambdas=[0.1], rule=["svm", "neighbors"], C=1.0, cv=3, random_state=0)
    classifier = CovMetricClassifier(search, rule="auto").fit(data.X, data.y)
    splits = make_splits(3, data.X, data.y, None, classifier.learner_.best_estimator_.random_state)
    outputs = []
    for split in splits:
        fold = [CovMetric("log", lam=0.1, tol=search.search_tol, random_state=0) for _ in range(2)]
        rules = [
            CovMetricClassifier(learner, rule=rule).fit(data.X[split.train], data.y[split.train])
            for learner, rule in zip(fold, ("svm", "neighbors"), strict=True)
        ]
        outputs.append([rule.predict_proba(data.X[split.test]) for rule in rules])
    right = 0
    for fold, split in enumerate(splits):
        rest = [i for i in range(3) if i != fold]
        codes = np.concatenate([data.y[splits[i].test] for i in rest])
        parts = [np.concatenate([outputs[i][rule] for i in rest]) for rule in range(2)]
        blend = Blend.fit([Scoring("svm"), Scoring("neighbors")], parts, codes)
        right += int((blend.combine(outputs[fold]).argmax(axis=1) == data.y[split.test]).sum())
    assert classifier.out_of_fold_accuracy_ == pytest.approx(right / 36, abs=1.5 / 36)
    assert classifier.out_of_fold_counts_[:, 1].tolist() == [12, 12, 12]
    save_model(classifier, tmp_path / "model.npz")
    again = load_model(tmp_path / "model.npz")
    np.testing.assert_array_equal(again.out_of_fold_counts_, classifier.out_of_fold_counts_)
    again.partial_fit(data.X[:3], data.y[:3])
    assert again.out_of_fold_accuracy_ is None
    assert CovMetricClassifier(random_state=0).fit(data.X, data.y).out_of_fold_accuracy_ is None


def test_forged_accuracy_in_a_file_is_refused(tmp_path):
    data = make_spd_classes(n_classes=2, n_per_class=8, n=3, random_state=0)
    path = tmp_path / "model.npz"
    save_model(CovMetricClassifier(rule="auto", random_state=0).fit(data.X, data.y), path)
    path.write_bytes(with_array(path.read_bytes(), "out_of_fold_counts_", np.array([[9, 8], [8, 8]])))
    with pytest.raises(ValueError, match="the accuracy outside the training folds has impossible counts"):
        load_model(path)
