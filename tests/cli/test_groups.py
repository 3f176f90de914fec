"""Groups of new examples reach a step `Recentre` of the model."""

from __future__ import annotations

import json

import numpy as np
import pytest
import sklearn
from sklearn.pipeline import make_pipeline

from covmetric import CovMetric, CovMetricClassifier, Recentre, save_model
from covmetric.cli import main
from covmetric.datasets import make_spd_classes

DATA = make_spd_classes(n_classes=2, n_per_class=20, n=3, random_state=0)
SESSION = np.array(["a", "b"])[np.arange(40) // 5 % 2]
X = DATA.X * np.where(SESSION == "a", 1.0, 50.0)[:, None, None]  # the sessions differ in scale


@pytest.fixture
def home(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    np.savez("grouped.npz", X=X, y=DATA.y, groups=SESSION)
    np.savez("new.npz", X=X, y=DATA.y, groups=np.char.add("new ", SESSION))
    np.savez("plain.npz", X=X, y=DATA.y)
    return tmp_path


def fit(groups=SESSION, **settings):
    """Write a pipeline to a file; return its steps."""
    with sklearn.config_context(enable_metadata_routing=True):
        recentre = Recentre(**settings).set_fit_request(groups=True).set_transform_request(groups=True)
        classifier = CovMetricClassifier(CovMetric("log", lam=np.inf), n_neighbors=1).set_fit_request(groups=False)
        model = make_pipeline(recentre, classifier)
        model.fit(X, DATA.y, **({} if groups is None else {"groups": groups}))
    save_model(model, "model")
    return model[0], model[1]


def printed(capsys, *arguments):
    assert main([*arguments, "--json"]) == 0
    return json.loads(capsys.readouterr().out)


def test_groups_of_known_sessions_are_used(home, capsys):
    recentre, classifier = fit()
    expected = classifier.predict_proba(recentre.transform(X, groups=SESSION))
    found = printed(capsys, "predict", "model", "grouped.npz")["predictions"]
    np.testing.assert_array_equal([list(one["probabilities"].values()) for one in found], expected)
    assert printed(capsys, "evaluate", "model", "grouped.npz", "--report", "page.html")["accuracy"] == 1.0
    near = printed(capsys, "search", "model", "grouped.npz", "-k", "1")["queries"]
    assert [one["neighbors"][0]["name"] for one in near] == [f"example {i}" for i in range(40)]
    assert main(["explain", "model", "grouped.npz", "--number", "7"]) == 0
    assert main(["report", "model", "-o", "model.html"]) == 0
    assert "routing" not in capsys.readouterr().err  # commands do not need it
    assert main(["predict", "model", "plain.npz"]) == 2
    assert "groups is None" in capsys.readouterr().err


def test_new_sessions_get_their_own_means(home, capsys):
    fit(new_groups="transductive")
    alone = printed(capsys, "evaluate", "model", "plain.npz")["accuracy"]
    assert printed(capsys, "evaluate", "model", "new.npz")["accuracy"] == 1.0 > alone
    assert main(["explain", "model", "new.npz", "--number", "7"]) == 0
    row = capsys.readouterr().out.partition("nearest references\n")[2].splitlines()[1].split()
    assert float(row[0]) < 1e-6 and row[-1] == "7"  # the same matrix among the references
    both = printed(capsys, "predict", "model", "new.npz", "grouped.npz")["predictions"]
    assert [one["predicted"] for one in both] == [str(label) for label in [*DATA.y, *DATA.y]]


def test_model_that_was_fitted_without_groups_ignores_them(home, capsys):
    recentre, classifier = fit(groups=None)
    expected = classifier.predict(recentre.transform(X))
    found = printed(capsys, "predict", "model", "grouped.npz")["predictions"]
    assert [one["predicted"] for one in found] == [str(label) for label in expected]


def test_a_model_that_saw_no_groups_says_how_to_fit_one_that_does(home, capsys):
    fit(groups=None, new_groups="transductive")
    capsys.readouterr()
    assert main(["predict", "model", "plain.npz"]) == 0
    warning = " ".join(capsys.readouterr().err.split())
    assert "as before: fit the model with groups, for example covmetric fit --recentre" in warning
    assert "Pass groups" not in warning and "params=" not in warning


def test_groups_of_another_length_are_refused(home, capsys):
    fit()
    np.savez("short.npz", X=X, groups=SESSION[:5])
    assert main(["predict", "model", "short.npz"]) == 2
    assert "groups has shape (5,), but X has 40 examples" in capsys.readouterr().err


def test_fit_says_how_many_groups_there_are(home, capsys):
    arguments = ["fit", "grouped.npz", "-o", "m", "--rule", "mean", "--phi", "log", "--lam", "0.1"]
    assert main(arguments) == 0
    assert "They form 2 groups, used for folds and pairs only; --recentre" in capsys.readouterr().out
    assert printed(capsys, *arguments)["n_groups"] == 2
    assert main([*arguments[:1], "plain.npz", *arguments[2:]]) == 0
    assert "groups" not in capsys.readouterr().out
