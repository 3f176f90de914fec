"""The classes in model files: files of another class, new processes, and users' subclasses."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, LearnedMetric, get_embedding, load_model, save_model
from covmetric.embeddings import EMBEDDINGS, Embedding
from covmetric.model_file import write_model
from covmetric.models import MODELS
from tests.data import two_classes

FIXTURES = Path(__file__).parent / "fixtures"
FILES = {
    "LearnedMetric": "metric.npz",
    "CovMetric": "cov-metric.npz",
    "CovMetricCV": "cov-metric-cv.npz",
    "CovMetricClassifier": "classifier.npz",
    "CovMetricPairs": "pairs.npz",
    "ImagePatchClassifier": "image-patches.npz",
}


# Pipelines have no method `load`; see test_pipelines.py.
OWN_MODELS = [cls for cls in MODELS if cls.__module__.startswith("covmetric.")]


def run(code, *arguments):
    """Run code in a new process and return the lines that it prints."""
    done = subprocess.run([sys.executable, "-c", code, *map(str, arguments)], capture_output=True, text=True)
    assert done.returncode == 0, done.stderr
    return done.stdout.splitlines()


def test_there_is_a_file_of_each_class():
    assert list(FILES) == [cls.__name__ for cls in OWN_MODELS]


@pytest.mark.parametrize("cls", OWN_MODELS)
@pytest.mark.parametrize("held", FILES)
def test_load_accepts_files_of_its_class_only(cls, held):
    path = FIXTURES / FILES[held]
    if held == cls.__name__:
        assert type(cls.load(path)) is cls
    else:
        with pytest.raises(ValueError, match=f"{FILES[held]} holds a {held}, not a {cls.__name__}$"):
            cls.load(path)


def test_load_of_another_class_gives_the_same_message_in_a_new_process():
    """The metric is imported there, but the estimators are not, so that their classes are not registered."""
    code = """
import sys
from covmetric.metric import LearnedMetric
for path in sys.argv[1:]:
    try:
        LearnedMetric.load(path)
    except ValueError as error:
        print(error)
assert "covmetric.estimators" not in sys.modules
"""
    others = {held: FIXTURES / name for held, name in FILES.items() if held != "LearnedMetric"}
    assert run(code, *others.values()) == [
        f"{path} holds a {held}, not a LearnedMetric" for held, path in others.items()
    ]


def test_load_model_imports_every_class_in_a_new_process():
    """covmetric is imported again for each file, as in a process that has not used any of its classes."""
    code = """
import sys
for path in sys.argv[1:]:
    for name in [name for name in sys.modules if name.split(".")[0] == "covmetric"]:
        del sys.modules[name]
    import covmetric
    assert "covmetric.model_file" not in sys.modules
    print(type(covmetric.load_model(path)).__name__)
"""
    assert run(code, *(FIXTURES / name for name in FILES.values())) == list(FILES)


class MyMetric(LearnedMetric):
    pass


class MyLearner(CovMetric):
    pass


class MyPhi(EMBEDDINGS["id"]):
    pass


def metric_on(phi, cls=LearnedMetric):
    return cls(phi.fit(np.eye(2)[None]), np.eye(2))


@pytest.mark.parametrize("save", [save_model, write_model])
def test_objects_of_other_classes_are_not_saved(save, tmp_path):
    X, y = two_classes()
    for model in (
        {},
        metric_on(get_embedding("id"), MyMetric),
        MyLearner(random_state=0).fit(X, y),
        get_embedding("id"),
    ):
        with pytest.raises(
            ValueError,
            match=f"a LearnedMetric, an estimator of covmetric or a Pipeline, got a {type(model).__name__}$",
        ):
            save(model, tmp_path / "model.npz")
    assert list(tmp_path.iterdir()) == []


def test_models_that_hold_objects_of_users_classes_are_not_saved(tmp_path):
    X, y = two_classes()
    path = tmp_path / "model.npz"
    with pytest.raises(ValueError, match=r"^embedding is a MyPhi, which a model file cannot hold"):
        metric_on(MyPhi()).save(path)
    with pytest.raises(ValueError, match=r"^metric_.embedding is a MyPhi, which a model file cannot hold"):
        CovMetric(MyPhi(), random_state=0).fit(X, y).save(path)
    with pytest.raises(ValueError, match=r"^learner_ is a MyLearner, which a model file cannot hold"):
        CovMetricClassifier(MyLearner(random_state=0)).fit(X, y).save(path)
    assert list(tmp_path.iterdir()) == []


def test_subclass_of_a_user_does_not_load_a_file_of_the_base_class():
    with pytest.raises(ValueError, match="holds a LearnedMetric, not a MyMetric"):
        MyMetric.load(FIXTURES / "metric.npz")


def subclasses(cls):
    """Return the class and all classes below it."""
    return [cls, *(below for child in cls.__subclasses__() for below in subclasses(child))]


def embedding_classes():
    """Return the classes of covmetric.embeddings that have a name, whether they are in the registry of names or not."""
    return [
        cls
        for cls in subclasses(Embedding)
        if cls.__module__.startswith("covmetric.embeddings.") and hasattr(cls, "name")
    ]


@pytest.mark.parametrize("cls", embedding_classes())
def test_metric_on_every_embedding_is_saved(cls, tmp_path):
    """VectorisedIdentity has no name in the registry, but a peer learns metrics on it."""
    example = np.ones(2) if cls.takes_vectors else np.eye(2)
    phi = cls().fit(example[None])
    LearnedMetric(phi, np.eye(phi.shape_out_[0])).save(tmp_path / "metric.npz")
    assert type(load_model(tmp_path / "metric.npz").embedding) is cls
