"""The command speaks of its options, not of parameters in Python."""

from __future__ import annotations

import re

import numpy as np
import pytest

from covmetric.cli import main
from covmetric.cli.messages import in_words_of_the_command
from covmetric.datasets import make_spd_classes

DATA = make_spd_classes(n_classes=2, n_per_class=6, n=4)
ONE_OF_A_CLASS = np.array([0] * 11 + [1])


def zero(X):
    X = X.copy()
    X[3] = 0.0
    return X


def rank_one():
    vectors = np.random.default_rng(0).standard_normal((12, 4))
    return vectors[:, :, None] * vectors[:, None, :]


FILES = {
    "matrices": {"X": DATA.X, "y": DATA.y},
    "lone": {"X": DATA.X, "y": ONE_OF_A_CLASS},
    "each": {"X": DATA.X[:4], "y": np.arange(4)},
    "coarse": {"X": DATA.X, "y": DATA.y, "groups": DATA.y},
    "single": {"X": DATA.X, "y": DATA.y, "groups": np.zeros(12)},
    "zero": {"X": zero(DATA.X), "y": DATA.y},
    "constant": {"X": np.zeros((12, 3, 50)), "y": DATA.y},
    "singular": {"X": rank_one(), "y": DATA.y},
    "times first": {"X": np.random.default_rng(0).standard_normal((12, 9, 4)), "y": DATA.y},
    "vectors": {"X": DATA.X[:, 0], "y": DATA.y},
    "four": {"X": DATA.X, "y": np.arange(12) % 4},
}
FIT = ("fit", "-o", "a.model")
COMPARE = ("compare", "--methods", "log-3nn")
UNSEEN = ("compare", "--unseen", "--methods", "log")


@pytest.mark.parametrize(
    ("file", "arguments", "message"),
    [
        ("lone", FIT, "has only one class: pass more examples per class$"),
        ("coarse", FIT, "pass finer groups, if one group holds all examples of a class$"),
        (
            "single",
            FIT,
            r"only one group, .*; remove the groups \(the array groups of the .npz file, or the column group",
        ),
        ("lone", COMPARE, "has only one class: pass more examples per class$"),
        ("zero", FIT, r"^covmetric fit: example data\.npz\[3\] is all zeros: leave it out$"),
        ("zero", COMPARE, r"^covmetric compare: example data\.npz\[3\] is all zeros: leave it out$"),
        ("constant", FIT, r"^covmetric fit: example data\.npz\[0\] has the same value everywhere, .*: leave it out$"),
        ("singular", (*FIT, "--reg", "0"), "use --reg, for example --reg 1e-06$"),
        ("matrices", (*FIT, "--phi", "magic"), "--phi must be one of 'id', .*'vector'; got 'magic'$"),
        ("matrices", (*FIT, "--phi", "vector"), "; leave out --phi$"),
        ("vectors", (*FIT, "--reg", "0.1"), "reg applies to matrices, but X holds vectors, .*; leave out --reg$"),
        ("vectors", (*FIT, "--phi", "log"), "'log' does not take vectors, .*; leave out --phi$"),
        ("vectors", (*FIT, "--kind", "series"), r"must hold numbers of shape \(l, channels, times\) for series$"),
        ("vectors", (*FIT, "--features", "grey"), "features are for images, but the examples are vectors$"),
        ("vectors", (*FIT, "--patches", "8"), "patches are for images, but the examples are vectors$"),
        ("vectors", COMPARE, "holds vectors of 4 entries, but the methods to compare take matrices, series or images"),
        ("vectors", UNSEEN, "holds vectors of 4 entries, but the methods to compare take"),
        ("matrices", UNSEEN, "--test-classes 0.25 holds out 2 of 2 classes"),
        ("four", (*UNSEEN, "--test-classes", "2", "--folds", "90"), "--folds 90 is too large: there are only 6 ways"),
    ],
)
def test_errors_name_options(file, arguments, message, tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", **FILES[file])
    assert main([arguments[0], "data.npz", *arguments[1:]]) == 2
    captured = capsys.readouterr()
    assert re.search(message, captured.err.rstrip("\n")) and captured.err.count("\n") == 1 and captured.out == ""
    assert not re.search(r"\b(cv|learner|n_jobs|random_state|n_splits|test_size)\b|\w=", captured.err)


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (("--folds", "1"), "argument --folds: '1' is not an integer >= 2"),
        (("--repeats", "0"), "argument --repeats: '0' is not an integer >= 1"),
        (("--reg", "-1"), "argument --reg: '-1' is not a number >= 0"),
        (("--reg", "nan"), "argument --reg: 'nan' is not a number >= 0"),
        (("--seed", "-1"), "argument --seed: '-1' is not an integer >= 0"),
        (("--jobs", "0"), "argument --jobs: '0' is not a number of processes"),
        (("--jobs", "many"), "argument --jobs: 'many' is not a number of processes"),
    ],
)
def test_impossible_numbers_are_errors_of_usage(arguments, message, capsys):
    with pytest.raises(SystemExit) as ended:
        main(["compare", "data.npz", *arguments])
    assert ended.value.code == 2 and message in capsys.readouterr().err


def test_warnings_name_options(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    np.savez("data.npz", **FILES["each"])
    assert main(["fit", "data.npz", "-o", "a.model", "--rule", "neighbors"]) == 0
    assert "pass more examples, or use --lam inf for a fixed metric" in capsys.readouterr().err
    np.savez("data.npz", **FILES["times first"])
    assert main(["fit", "data.npz", "-o", "a.model", "--rule", "mean"]) == 0
    assert "if the times come first, save X.transpose(0, 2, 1) in the file\n" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("message", "words"),
    [
        ("MAX_ITER: first; raise max_iter or tol, or lower the weights (raise lambda)", "first; choose a larger --lam"),
        ("n_neighbors is 9, but there are only 4", "-k is 9, but there are only 4"),
        ("no split; to choose a metric for new classes, pass scoring='mean_average_precision'", "compare --unseen"),
        ("raise reg (now 1e-06), or shrink the estimate", "raise --reg (now 1e-06)"),
        ("two\nlines", "two lines"),
    ],
)
def test_other_messages_of_the_library(message, words):
    assert words in in_words_of_the_command(message, "search")


def test_a_group_of_one_example_gets_the_remedy_of_the_command():
    message = "zero; leave the group out, join it with another one, or use new_groups='running' for new groups"
    expected = "zero; leave it out, or give it the group of other examples of its session"
    assert in_words_of_the_command(message, "fit") == expected
    expected = "zero; leave it out, or put it into one file with other examples of its session"
    assert in_words_of_the_command(message, "predict") == expected
