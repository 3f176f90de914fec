"""The methods of a comparison."""

from __future__ import annotations

import re
from pathlib import Path

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier
from covmetric.estimators.default_search import default_search
from covmetric.experiments.compare import compare
from covmetric.experiments.methods import CS, PHIS, Method, Training, available_methods
from covmetric.learning.rules import RULES, MeanRule
from covmetric.peers import FIXED_DISTANCES, PEER_CLASSIFIERS, PEERS

TUNED = {
    "mdm": 2,
    "fgmdm": 2,
    "tangent-logreg": 40,
    "tangent-svm": 40,
    "riemann-knn": 10,
    "covmetric-logreg": 40,
    "tangent-lda": 2,
}


def test_names_are_those_of_the_registries():
    short = [rule.short_name(3) for rule in RULES.values()]
    assert set(short) >= {"3nn", "mean"}
    assert list(available_methods()) == [
        *(f"{phi}-{rule}" for rule in short for phi in PHIS),
        *(f"distance:{name}" for name in ("riemann", "stein", "jdiv")),
        "mdm",
        "fgmdm",
        "tangent-logreg",
        "tangent-svm",
        "riemann-knn",
        *PEER_CLASSIFIERS,
        *(f"peer:{name}" for name in PEERS),
        *(f"covmetric-{rule}" for rule in short),
        *(f"covmetriccv-{rule}" for rule in short),
        "covmetric-logreg",
        "covmetric-auto",
    ]


def test_page_lists_every_method_and_whether_it_is_quick():
    docs = Path(__file__).parents[2] / "docs"
    methods = (docs / "guide" / "compare.md").read_text().split("## Methods")[1].split("## How to read")[0]
    example = (docs / "measurements" / "compare.md").read_text()
    rows = [line.split(" | ") for line in methods.splitlines() if line.startswith("|")][2:]
    listed = {name: row[-1] for row in rows for name in re.findall("`(.+?)`", row[1])}
    assert listed == {name: f"{'no' if method.slow else 'yes'} |" for name, method in available_methods().items()}
    starts = [line.split(" | ")[0] for line in example.splitlines() if line.startswith("| `")]
    names = [name for start in starts for name in re.findall("`(.+?)`", start)]
    assert "covmetric-auto" in names and set(names) <= set(listed)


def test_all_methods_but_peers_classify_well(data):
    names = [name for name in available_methods() if not name.startswith("peer:")]  # tests/peers has the peers
    table = compare(data.X, data.names, data.groups, names, folds=2)
    assert [row.method for row in table.rows] == names
    assert [row.failure for row in table.rows if row.failure] == []
    assert all(0.5 < row.accuracy <= 1.0 and len(row.folds) == 2 for row in table.rows)
    candidates = {row.method: row.candidates for row in table.rows if row.candidates}
    assert len(CS) == 20
    per_rule = {name: 2 if rule.tuned == "C" else 1 for name, rule in RULES.items()}  # the default values of C
    searches = {f"covmetriccv-{rule.short_name(3)}": 20 * per_rule[name] for name, rule in RULES.items()}
    default = CovMetricClassifier(rule="auto", random_state=0).fit(data.X, data.y).learner_
    assert candidates == {**TUNED, **searches, "covmetric-auto": len(default.cv_results_["params"])}
    knn = next(row for row in table.rows if row.method == "riemann-knn")
    assert sum(knn.chosen.values()) == 2 and all("n_neighbors=" in words for words in knn.chosen)


def test_gmml_is_tuned_and_the_other_peers_are_not(data):
    table = compare(data.X, data.y, methods=["peer:gmml", "peer:vemulapalli"], folds=2)
    assert [row.candidates for row in table.rows] == [10, 0]
    assert all("t=" in words and "metric=" in words for words in table.rows[0].chosen)


def test_peers_are_tuned_on_the_inner_folds():
    inner = [(np.arange(4), np.arange(4, 8))]
    training = Training(1e-6, 3, lambda: inner, "folder")
    for name in ("peer:gmml", *PEER_CLASSIFIERS):
        search = available_methods()[name].make(training)
        assert search.cv is inner
    gmml = available_methods()["peer:gmml"].make(training).estimator
    assert (gmml["metric"].reg, gmml["metric"].random_state, gmml["neighbors"].n_neighbors) == (1e-6, 3, 3)


def test_auto_is_the_default_search_on_the_inner_folds():
    inner = [(np.arange(4), np.arange(4, 8))]
    classifier = available_methods()["covmetric-auto"].make(Training(1e-6, 3, lambda: inner, ""))
    assert classifier.rule == "auto"
    found = classifier.learner.get_params()
    assert found == {**default_search().get_params(), "cv": inner, "reg": 1e-6, "random_state": 3}


def test_our_learners_get_the_groups_of_the_training_part(data, add_methods):
    seen = []

    class Spy(CovMetricClassifier):
        def fit(self, X, y, groups=None):
            seen.append(groups)
            return super().fit(X, y, groups)

    add_methods(spy=Method("learned", lambda training: Spy(), takes_groups=True))
    compare(data.X, data.y, data.groups, methods=["spy"], folds=2)
    assert sorted(np.concatenate(seen).tolist()) == sorted(data.groups.tolist())
    compare(data.X, data.y, methods=["spy"], folds=2)
    assert seen[2:] == [None, None]
    ours = [name for name, method in available_methods().items() if method.takes_groups]
    assert ours == [
        name for name, method in available_methods().items() if method.kind == "learned" and name != "covmetric-logreg"
    ]


def test_auto_regularises_matrices_and_its_choice_has_short_names(data):
    """Matrices with different null spaces need the regularisation of `compare`."""
    singular = data.X.copy()
    for i, matrix in enumerate(singular):
        matrix[i % 4] = matrix[:, i % 4] = 0.0
    (row,) = compare(singular, data.y, methods=["covmetric-auto"], folds=2, reg=0).rows
    assert "set reg" in row.failure
    (row,) = compare(singular, data.y, methods=["covmetric-auto"], folds=2, reg=1e-3).rows
    assert row.failure == "" and sum(row.chosen.values()) == 2
    for words in row.chosen:
        assert re.fullmatch(r"phi=[a-z-]+ lam=(inf|[\de.-]+)", words), words
        assert "(" not in words and "," not in words


def test_registered_rule_takes_part(data, monkeypatch):
    class FarRule(MeanRule):
        """The most distant class mean."""

        name = "far"

        def probabilities(self, vectors):
            return 1.0 - super().probabilities(vectors)

    monkeypatch.setitem(RULES, "far", FarRule)
    names = [name for name in available_methods() if name.endswith("-far")]
    assert names == [*(f"{phi}-far" for phi in PHIS), "covmetric-far", "covmetriccv-far"]
    table = compare(data.X, data.y, methods=["log-mean", "log-far", "covmetric-far"], folds=2)
    assert [row.failure for row in table.rows] == ["", "", ""]
    assert table.rows[0].accuracy > 0.5 > table.rows[1].accuracy


@pytest.mark.parametrize("name", [name for name, distance in FIXED_DISTANCES.items() if distance.phi in PHIS])
def test_distances_left_out_equal_W_I(name, data):
    """With W = I and its Phi, the same method is already there."""
    assert f"distance:{name}" not in available_methods()
    ours = CovMetric(FIXED_DISTANCES[name].phi, lam=np.inf).fit(data.X, data.y).pairwise(data.X)
    other = FIXED_DISTANCES[name]().fit(data.X).pairwise(data.X)
    ratios = other[~np.eye(36, dtype=bool)] / ours[~np.eye(36, dtype=bool)]
    np.testing.assert_allclose(ratios, ratios[0], rtol=1e-6)
