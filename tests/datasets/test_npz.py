"""Labelled examples in .npz files."""

from __future__ import annotations

import numpy as np
import pytest

from covmetric.datasets.npz import read_labelled_npz

X, Y = np.arange(6 * 3 * 4.0).reshape(6, 3, 4), np.array(list("aabbcc"))


@pytest.fixture
def save(tmp_path):
    """A function that writes arrays to a file and returns its path."""

    def write(**arrays):
        np.savez(tmp_path / "mine.npz", **arrays)
        return tmp_path / "mine.npz"

    return write


def test_examples_labels_and_groups_are_read(save):
    arrays = read_labelled_npz(save(X=X, y=Y, groups=np.arange(6), other=np.ones(3)))
    np.testing.assert_array_equal(arrays.X, X)
    np.testing.assert_array_equal(arrays.y, Y)
    np.testing.assert_array_equal(arrays.groups, np.arange(6))
    assert arrays.train is None
    assert read_labelled_npz(save(X=X, y=Y)).groups is None
    np.testing.assert_array_equal(read_labelled_npz(save(X=X, y=Y, group=np.arange(6))).groups, np.arange(6))


def test_training_and_test_part_are_concatenated(save):
    arrays = read_labelled_npz(save(X_train=X[:4], y_train=Y[:4], X_test=X[4:], y_test=Y[4:], groups=np.arange(6)))
    np.testing.assert_array_equal(arrays.X, X)
    np.testing.assert_array_equal(arrays.y, Y)
    assert arrays.train.tolist() == [True] * 4 + [False] * 2
    np.testing.assert_array_equal(arrays.groups, np.arange(6))


@pytest.mark.parametrize(
    ("arrays", "message"),
    [
        ({"Z": X}, r"has no array 'X'; it holds \['Z'\], but must hold X and y, or X_train"),
        ({"X": X}, "has no array 'y'"),
        ({"X_train": X, "y_train": Y, "X_test": X}, "has no array 'y_test'"),
        ({"X": X[0], "y": Y}, r"X has shape \(3, 4\), but must have shape \(l, n, n\)"),
        (
            {"X_train": X, "y_train": Y, "X_test": X[:, :2], "y_test": Y},
            r"X has shape \(6, 3, 4\) and \(6, 2, 4\), but must have shape",
        ),
        ({"X": X, "y": Y[:5]}, r"y must have one entry per example, shape \(6,\); got shape \(5,\)"),
        ({"X": X, "y": Y.reshape(3, 2)}, r"y must have one entry per example, shape \(6,\); got shape \(3, 2\)"),
        ({"X": X, "y": np.array(1)}, r"y must have one entry per example"),
        ({"X": X, "y": Y, "groups": Y[:5]}, r"groups must have one entry per example, shape \(6,\); got shape \(5,\)"),
        ({"X": np.array([{}, {}], dtype=object), "y": Y}, r"cannot read .*allow_pickle=False"),
    ],
)
def test_wrong_content_raises(save, arrays, message):
    path = save(**arrays)
    with pytest.raises(ValueError, match=message) as caught:
        read_labelled_npz(path)
    assert str(path) in str(caught.value)


def test_other_files_raise(tmp_path, save):
    (tmp_path / "text.npz").write_text("hello")
    with pytest.raises(ValueError, match=r"text\.npz is not an \.npz file"):
        read_labelled_npz(tmp_path / "text.npz")
    content = bytearray(save(X=X, y=Y).read_bytes())
    content[200] ^= 255  # inside the data of X
    (tmp_path / "damaged.npz").write_bytes(content)
    with pytest.raises(ValueError, match=r"cannot read .*damaged\.npz"):
        read_labelled_npz(tmp_path / "damaged.npz")
