"""Reading examples from folders of images and from files of arrays."""

from __future__ import annotations

import sys

import numpy as np
import pytest

from covmetric.datasets.class_folders import images_by_class
from covmetric.datasets.epochs import read_epochs
from covmetric.datasets.inputs import read_inputs
from covmetric.datasets.label_files import read_labels
from covmetric.datasets.several_files import read_labelled_files
from tests.data import spd


@pytest.fixture
def folder(tmp_path):
    """Two classes, one of them with nested groups, and hidden files. The files need not be images to be listed."""
    for name in ("cat/1.png", "cat/2.png", "dog/rex/1.png", "dog/rex/old/2.png", "dog/3.png", "cat/.hidden", ".git/x"):
        (tmp_path / "pets" / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / "pets" / name).write_text("")
    return tmp_path / "pets"


def write(path, text):
    path.write_text(text, encoding="utf-8")
    return path


def test_folders_are_classes_and_folders_below_are_groups(folder):
    inputs = read_inputs(folder)
    assert inputs.kind == "images" and len(inputs) == 5
    names = ["cat/1.png", "cat/2.png", "dog/3.png", "dog/rex/1.png", "dog/rex/old/2.png"]
    assert inputs.names.tolist() == [f"{folder}/{name}" for name in names]
    assert inputs.y.tolist() == ["cat"] * 2 + ["dog"] * 3
    assert inputs.groups.tolist() == ["cat", "cat", "dog", "dog/rex", "dog/rex/old"]
    assert [path.is_file() for path in inputs.examples] == [True] * 5


def test_images_beside_the_class_folders_are_named(folder):
    for name in ("labels.csv", "README.md", ".hidden.png"):  # which may lie there
        write(folder / name, "")
    before = read_inputs(folder).names.tolist()
    write(folder / "cow.JPG", "")
    with pytest.warns(UserWarning, match=r"pets.cow\.JPG lies beside the class folders .*: move each image into the"):
        assert read_inputs(folder).names.tolist() == before
    write(folder / "ape.png", "")
    with pytest.warns(UserWarning, match=r"^2 images \(the first is .*pets.ape\.png\) lie beside the class folders"):
        assert len(images_by_class(folder)[0]) == len(before)


def test_flat_folder_takes_labels_from_a_csv_file(folder, tmp_path):
    labels = write(tmp_path / "labels.csv", "﻿Label,name,group\nkitten,cat/2.png,b\npuppy,dog/3.png,a\n")
    inputs = read_inputs(folder, labels=labels)
    assert inputs.names.tolist() == [f"{folder}/cat/2.png", f"{folder}/dog/3.png"]
    assert inputs.y.tolist() == ["kitten", "puppy"]
    assert inputs.groups.tolist() == ["b", "a"]
    write(labels, "name,label\ncow.png,cow\n")
    with pytest.raises(
        FileNotFoundError,
        match=r"the labels name 'cow\.png', but .*pets has no such file; names are paths in this folder",
    ):
        read_inputs(folder, labels=labels)


def test_flat_folder_without_labels_asks_for_class_folders(tmp_path):
    write(tmp_path / "1.png", "")
    with pytest.raises(FileNotFoundError, match=r"holds 1 file, but no class folders .* of its own$"):
        read_inputs(tmp_path)
    for path in (tmp_path, tmp_path / "1.png"):
        inputs = read_inputs(path, labelled=False)
        assert inputs.examples == [tmp_path / "1.png"] and inputs.names.tolist() == [f"{tmp_path}/1.png"]
    (tmp_path / "empty").mkdir()
    with pytest.raises(FileNotFoundError, match=r"empty holds no images$"):
        read_inputs(tmp_path / "empty", labelled=False)


def test_arrays_come_with_labels_groups_and_names(tmp_path, monkeypatch):
    X, y = spd(4, 3), [0, 1, 0, 1]
    np.savez(tmp_path / "a.npz", X=X, y=y, groups=[5, 5, 6, 6], names=["p", "q", "r", "s"])
    inputs = read_inputs(tmp_path / "a.npz")
    assert inputs.kind == "matrices" and inputs.names.tolist() == [f"{tmp_path}/a.npz[{name}]" for name in "pqrs"]
    assert inputs.y.tolist() == y and inputs.groups.tolist() == [5, 5, 6, 6]
    assert read_inputs(tmp_path / "a.npz", "series").kind == "series"
    with monkeypatch.context() as patch:
        files = []
        patch.setattr(np, "load", lambda path, load=np.load, **options: files.append(path) or load(path, **options))
        read_inputs(tmp_path / "a.npz")
        assert files == [tmp_path / "a.npz"]  # large files are decompressed once
    np.savez(tmp_path / "b.npz", X=X, y=y, names=["p"])
    with pytest.raises(ValueError, match=r"names must have one entry per example, shape \(4,\); got shape \(1,\)"):
        read_inputs(tmp_path / "b.npz")
    np.savez(tmp_path / "c.npz", X=X)
    assert read_inputs(tmp_path / "c.npz", labelled=False).y is None
    np.savez(tmp_path / "d.npz", Y=X)
    with pytest.raises(ValueError, match=r"d\.npz has no array 'X'; it holds \['Y'\]"):
        read_inputs(tmp_path / "d.npz", labelled=False)


def test_npy_takes_labels_from_a_csv_file(tmp_path):
    path, labels = tmp_path / "a.npy", write(tmp_path / "labels.csv", "label,group\n" + "rest,1\nmove,2\n" * 2)
    np.save(path, np.random.default_rng(0).standard_normal((4, 3, 20)))
    inputs = read_inputs(path, labels=labels)
    assert inputs.kind == "series" and inputs.y.tolist() == ["rest", "move"] * 2
    assert inputs.names.tolist() == [f"{path}[{i}]" for i in range(4)]
    assert inputs.groups.tolist() == ["1", "2"] * 2 and inputs.examples[0].shape == (3, 20)
    with pytest.raises(
        ValueError, match=r"a\.npy has no labels: pass a CSV file with one row per example \(--labels\)"
    ):
        read_inputs(path)
    with pytest.raises(ValueError, match="has 4 examples, but there are 1 labels"):
        read_inputs(path, labels=write(tmp_path / "few.csv", "label\nrest\n"))
    np.save(path, np.array([{}]), allow_pickle=True)
    with pytest.raises(ValueError, match=r"cannot read .*a\.npy: Object arrays cannot be loaded"):
        read_inputs(path, labels=labels)
    np.save(path, np.ones(4))
    with pytest.raises(ValueError, match=r"X has shape \(4,\) and dtype float64, but must hold numbers of shape"):
        read_inputs(path, labels=labels)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", r"has no column 'label': its first line must name the columns label \(and optionally group\)"),
        ("class\na\n", r"has no column 'label'.*it has \['class'\]"),
        ("label,name\na\n", "line 2 has 1 cells, but the header has 2"),
        ("label\n", "has a header, but no rows"),
        ("label,name\na,1\n\n,2\n", "line 4 has no label"),
        ("label,name\na,1\nb,1\n", "has several rows for '1'"),
    ],
)
def test_invalid_labels_are_refused(text, message, tmp_path):
    with pytest.raises(ValueError, match=message):
        read_labels(write(tmp_path / "labels.csv", text))


def test_labels_that_are_not_text_are_refused(tmp_path):
    (tmp_path / "labels.csv").write_bytes(b"label\n\xff\xfe\n")
    with pytest.raises(ValueError, match=r"cannot read the labels in .*labels\.csv"):
        read_labels(tmp_path / "labels.csv")


def test_names_are_required_for_folders(folder, tmp_path):
    with pytest.raises(ValueError, match="has no column 'name'"):
        read_inputs(folder, labels=write(tmp_path / "labels.csv", "label\na\n"))


@pytest.fixture(scope="module")
def epochs(tmp_path_factory):
    """Epochs with three EEG channels, of which one is bad, and a stimulus channel."""
    mne = pytest.importorskip("mne")
    path = tmp_path_factory.mktemp("mne") / "trials-epo.fif"
    info = mne.create_info(["Fz", "Cz", "Pz", "STI"], 100.0, ["eeg"] * 3 + ["stim"])
    info["bads"] = ["Pz"]
    data = np.random.default_rng(0).standard_normal((6, 4, 50)) * 1e-6
    events = np.column_stack([np.arange(6), np.zeros(6, int), [1, 2, 1, 2, 1, 2]])
    mne.EpochsArray(data, info, events, event_id={"left": 1, "right": 2}, verbose="ERROR").save(path, verbose="ERROR")
    return path, data


def test_epochs_without_mne_or_without_trials_are_refused(epochs, tmp_path, monkeypatch):
    import mne

    path, _ = epochs
    empty = tmp_path / "empty-epo.fif"
    none = mne.read_epochs(path, verbose="ERROR")
    monkeypatch.setattr(mne, "read_epochs", lambda *arguments, **options: none[:0])
    with pytest.raises(ValueError, match=r"empty-epo\.fif holds no epochs"):
        read_epochs(empty)
    monkeypatch.setitem(sys.modules, "mne", None)
    with pytest.raises(ImportError, match=r"reading \.fif files needs the package mne: pip install mne"):
        read_epochs(path)


def test_epochs_of_mne_are_series_with_channels(epochs, tmp_path):
    path, data = epochs
    inputs = read_inputs(path)
    assert inputs.kind == "series" and inputs.y.tolist() == ["left", "right"] * 3 and inputs.channels == ["Fz", "Cz"]
    np.testing.assert_allclose(np.stack(inputs.examples), data[:, :2], rtol=1e-6)
    labels = write(tmp_path / "labels.csv", "label,group\n" + "a,1\nb,2\n" * 3)
    relabelled = read_inputs(path, labels=labels)
    assert relabelled.y.tolist() == ["a", "b"] * 3 and relabelled.groups.tolist() == ["1", "2"] * 3
    with pytest.raises(ValueError, match=r"epo.fif holds epochs, which are series, but matrices are expected"):
        read_inputs(path, "matrices")


def test_files_of_epochs_are_sessions_with_the_same_channels(epochs, tmp_path):
    import mne

    path, data = epochs
    other = tmp_path / "tuesday-epo.fif"
    mne.read_epochs(path, verbose="ERROR")[2:].save(other, verbose="ERROR")
    inputs = read_labelled_files([path, other])
    assert inputs.channels == ["Fz", "Cz"] and inputs.y.tolist() == ["left", "right"] * 5
    assert inputs.groups.tolist() == [path.as_posix()] * 6 + [other.as_posix()] * 4
    assert inputs.names[-1] == f"{other.as_posix()}[3]"
    np.testing.assert_allclose(np.stack(inputs.examples), np.concatenate([data, data[2:]])[:, :2], rtol=1e-6)
    mne.read_epochs(path, verbose="ERROR").rename_channels({"Cz": "C3"}).save(other, overwrite=True, verbose="ERROR")
    with pytest.raises(ValueError, match=r"the channels in .*tuesday-epo\.fif have other names"):
        read_labelled_files([path, other])
    repaired = mne.read_epochs(path, verbose="ERROR")
    repaired.info["bads"] = []
    repaired.save(other, overwrite=True, verbose="ERROR")
    with pytest.raises(ValueError, match=r"tuesday-epo\.fif have other names.* epochs\.interpolate_bads repairs them$"):
        read_labelled_files([path, other])


def epochs_of_type(kind, path):
    mne = pytest.importorskip("mne")
    data = np.random.default_rng(0).standard_normal((4, 2, 50))
    mne.EpochsArray(data, mne.create_info(2, 100.0, kind), verbose="ERROR").save(path, fmt="double", verbose="ERROR")
    return path, data


def test_epochs_without_data_channels_hold_their_other_signals(tmp_path):
    path, data = epochs_of_type("emg", tmp_path / "arm-epo.fif")
    inputs = read_inputs(path)
    assert inputs.channels == ["0", "1"]
    np.testing.assert_allclose(np.stack(inputs.examples), data)
    path, _ = epochs_of_type("stim", tmp_path / "no-epo.fif")
    with pytest.raises(ValueError, match=r"cannot describe the epochs in .*no-epo\.fif: the 2 channels .* types stim,"):
        read_inputs(path)


def test_other_fif_files_are_refused(tmp_path):
    pytest.importorskip("mne")
    with pytest.raises(ValueError, match=r"cannot read the epochs in .*bad-epo\.fif"):
        read_inputs(write(tmp_path / "bad-epo.fif", "no epochs"))


def test_kind_must_be_known_and_fit(tmp_path):
    with pytest.raises(ValueError, match="kind must be one of 'images', 'series', 'matrices', 'vectors', got 'sound'"):
        read_inputs(tmp_path, "sound")
    with pytest.raises(ValueError, match=r"kind 'series': .* is a folder"):
        read_inputs(tmp_path, "series")


def test_complex_series_are_refused(tmp_path):
    path = tmp_path / "series.npz"
    np.savez(path, X=np.ones((4, 2, 30)) * 1j, y=[0, 1, 0, 1])
    with pytest.raises(ValueError, match="X holds complex series, but series must be real"):
        read_inputs(path)
