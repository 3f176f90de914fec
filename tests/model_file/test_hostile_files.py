"""Hostile and damaged files are refused with a reason, without running code and without reading much."""

from __future__ import annotations

import json
import pickle

import numpy as np
import pytest

from covmetric import CovMetricClassifier, load_model
from tests.model_file.forging import (
    LEARNER,
    STATE,
    Payload,
    W,
    bomb,
    check_refused,
    choking_header,
    claim_more,
    drop,
    encrypted,
    huge_header,
    long_header,
    lying_sizes,
    many_members,
    pack,
    read_array,
    renamed,
    repeated_pairs,
    set_at,
    twice,
    unpack,
    with_array,
    with_manifest,
    without_pairs,
    wrong_checksum,
    zip64,
)  # fmt: skip

HOSTILE = {
    "empty": (lambda _: b"", "not a zip file"),
    "text": (lambda _: b"hello, world, this is not a model" * 10, "not a zip file"),
    "truncated": (lambda g: g[:-100], "cut short"),
    "cut in half": (lambda g: g[: len(g) // 2], "cut short"),
    "something behind it": (lambda g: g + b"x" * 100, "cut short"),
    "wrong checksum": (wrong_checksum, "Bad CRC-32"),
    "no manifest": (lambda g: pack({k: v for k, v in unpack(g).items() if ".json" not in k}), "has no manifest"),
    "manifest is not JSON": (
        lambda g: pack({**unpack(g), "manifest.json": b"{"}),
        "its manifest is not JSON: Expecting",
    ),
    "manifest is not text": (
        lambda g: pack({**unpack(g), "manifest.json": b"\xff\xfe"}),
        "its manifest is not JSON: .utf-8",
    ),
    "manifest is a list": (lambda g: pack({**unpack(g), "manifest.json": b"[]"}), "does not say that it is"),
    "manifest is deep": (
        lambda g: pack({**unpack(g), "manifest.json": b"[" * 10**6 + b"]" * 10**6}),
        "nested too deeply|does not say",
    ),
    "deep tree": (lambda g: with_manifest(g, set_at("model", json.loads("[" * 200 + "]" * 200))), "too deeply"),
    "manifest with NaN": (lambda g: pack({**unpack(g), "manifest.json": b'{"a": NaN}'}), "NaN, which is not JSON"),
    "manifest is huge": (
        lambda g: pack({**unpack(g), "manifest.json": b" " * (2**24 + 1)}),
        "bytes long, more than",
    ),
    "another format": (lambda g: with_manifest(g, set_at("format", "keras")), "does not say that it is"),
    "newer version": (
        lambda g: with_manifest(g, set_at("format_version", 2)),
        "needs a newer version of covmetric: it has format version 2, but covmetric .* wrote it; run pip install",
    ),
    "no version": (lambda g: with_manifest(g, set_at("format_version", None)), "format version None"),
    "wrong class": (
        lambda g: with_manifest(g, set_at("class", "CovMetric")),
        "says that it holds a fitted 'CovMetric', but it does not",
    ),
    "unknown class": (lambda g: with_manifest(g, set_at("model/$class", "os.system")), "it holds a 'os.system'"),
    "class that is not a model": (
        lambda g: with_manifest(g, set_at("class", "Newton")),
        "holds a Newton, not a LearnedMetric or a CovMetric or",
    ),
    "class with control characters": (
        lambda g: with_manifest(g, set_at("class", "\x1b[2J")),
        r"holds a '\\x1b\[2J', which is not the name of a class",
    ),
    "class is not text": (
        lambda g: with_manifest(g, set_at("class", ["CovMetric"])),
        r"holds a \['CovMetric'\], which is not the name of a class",
    ),
    "no class": (
        lambda g: with_manifest(g, lambda m: {k: v for k, v in m.items() if k != "class"}),
        "holds a None, which is not the name of a class",
    ),
    "class within": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/metric_/$class", "Popen")),
        "it holds a 'Popen', which is not a class",
    ),
    "unknown entry": (
        lambda g: with_manifest(g, set_at("model", {"$eval": "1+1"})),
        "an entry with the unknown tag '\\$eval'",
    ),
    "not a model": (lambda g: with_manifest(g, set_at("model", 3)), "does not use the arrays"),
    "status": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/result_/state/status", {"$status": "PERFECT"})),
        "the entry 'PERFECT' under the tag",
    ),
    "object array": (
        lambda g: with_array(g, W, np.array([[Payload("pwned"), 1], [1, 1]], dtype=object), allow_pickle=True),
        r"dtype '\|O', which model files do not hold",
    ),
    "object array in secret": (
        lambda g: with_array(g, W, np.array([Payload("pwned")] * 9, dtype=object), False, allow_pickle=True),
        "does not match its shape|the header of",
    ),
    "pickle as a member": (
        lambda g: pack({**unpack(g), "x.npy": pickle.dumps(Payload("pwned"))}),
        r"its manifest and its members disagree about \['x.npy'\]",
    ),
    "pickle as an array": (
        lambda g: pack({**unpack(g), f"{W}.npy": pickle.dumps(Payload("pwned")) + bytes(72)}),
        "is not an array of version 1.0",
    ),
    "single precision": (lambda g: with_array(g, W, np.eye(3, dtype=np.float32)), "W must be an array of float64"),
    "integers": (lambda g: with_array(g, W, np.eye(3, dtype=np.int64)), "W must be an array of float64"),
    "text for numbers": (lambda g: with_array(g, W, np.array([["a"] * 3] * 3)), "W must be an array of float64"),
    "big endian": (lambda g: with_array(g, W, np.eye(3, dtype=">f8")), "which model files do not hold"),
    "dates": (lambda g: with_array(g, W, np.zeros((3, 3), "<M8[s]")), "which model files do not hold"),
    "header unlike the manifest": (lambda g: with_array(g, W, np.eye(3, dtype=np.int64), False), "the header of"),
    "column order": (lambda g: with_array(g, W, np.asfortranarray(np.ones((3, 3)))), "the header of"),
    "huge shape": (lambda g: huge_header(g, (10**6, 10**6)), "does not match its shape"),
    "absurd shape": (lambda g: huge_header(g, (2**62, 2**62)), "does not match its shape"),
    "negative shape": (lambda g: with_manifest(g, set_at(f"arrays/{W}/shape", [-3, -3])), r"has shape \[-3, -3\]"),
    "shape of floats": (lambda g: with_manifest(g, set_at(f"arrays/{W}/shape", [3.0, 3])), r"has shape \[3.0, 3\]"),
    "long header": (long_header, "does not match its shape|the header of"),
    "NaN": (lambda g: with_array(g, W, np.full((3, 3), np.nan)), r"W\[0, 0\] is nan"),
    "infinity": (lambda g: with_array(g, W, np.full((3, 3), np.inf)), r"W\[0, 0\] is inf"),
    "indefinite": (lambda g: with_array(g, W, np.diag([1.0, 1.0, -1.0])), "must be positive semi-definite"),
    "not symmetric": (lambda g: with_array(g, W, np.tri(3)), "W is not symmetric"),
    "another size": (lambda g: with_array(g, W, np.eye(4)), "with the shape of W|W must have shape"),
    "another metric": (lambda g: with_array(g, W, np.eye(3)), "components is not the square root of W"),
    "references of another size": (lambda g: with_array(g, "_embedded", np.ones((40, 2, 2))), "the references must"),
    "references with NaN": (lambda g: with_array(g, "_embedded", np.full((40, 3, 3), np.nan)), "the references"),
    "classes out of range": (
        lambda g: with_array(g, "_codes", np.full(40, 7, dtype=np.int64)),
        "the references must belong to the classes",
    ),
    "negative classes": (lambda g: with_array(g, "_codes", np.full(40, -1, dtype=np.int64)), "belong to the classes"),
    "classes of another length": (lambda g: with_array(g, "_codes", np.zeros(3, dtype=np.int64)), "one class each"),
    "pairs out of range": (
        lambda g: with_array(g, "_constraints.pairs", np.full((100, 2), 10**9)),
        "pairs|one entry per pair",
    ),
    "other multipliers": (
        lambda g: with_array(g, "learner_.result_.multipliers", np.zeros(286)),
        "its gap is .*but it claims",
    ),
    "other references": (
        lambda g: with_array(g, "_embedded", np.random.default_rng(0).standard_normal((40, 3, 3))),
        "its gap is .*but it claims",
    ),
    "sizes that lie": (lying_sizes, "compressed|exceed the size of the file|does not fit"),
    "zip bomb": (bomb, "is compressed or encrypted"),
    "encrypted": (encrypted, "is compressed or encrypted"),
    "many members": (many_members, r"it has too many members \(200..\)"),
    "a member twice": (twice, "occurs twice"),
    "path upwards": (lambda g: renamed(g, "../../evil.npy"), r"a member is called '\.\./\.\./evil.npy'"),
    "absolute path": (lambda g: renamed(g, "/etc/passwd"), "a member is called '/etc/passwd'"),
    "path of Windows": (lambda g: renamed(g, "C:\\evil.npy"), "a member is called 'C:"),
    "unknown attribute": (
        lambda g: with_manifest(g, set_at(f"{STATE}/predict", "me")),
        r"\['predict'\] of CovMetricClassifier are missing or unexpected",
    ),
    "missing attribute": (lambda g: with_manifest(g, drop("classes_")), "are missing or unexpected"),
    "missing setting": (lambda g: with_manifest(g, drop("rule")), "the CovMetricClassifier in it has no entry 'rule'"),
    "huge matrices": (
        lambda g: with_manifest(
            g, set_at(f"{LEARNER}/metric_/state/embedding/state/shape_in_", {"$tuple": [10**9, 10**9]})
        ),
        "whitener_ must have shape",
    ),
    "unknown rule": (lambda g: with_manifest(g, set_at(f"{STATE}/_rule_name", "oracle")), "rule must be one of"),
    "header that Python would choke on": (choking_header, "is not in the form that NumPy writes"),
    "a second directory": (zip64, "zip64"),
    "unknown entries": (lambda g: with_manifest(g, set_at("junk", [[]] * 1000)), r"unknown entries \['junk'\]"),
    "no pairs": (without_pairs, "do not belong together"),
    "the same pair again": (repeated_pairs, "its pairs are not all different"),
    "pairs that contradict the labels": (
        lambda g: with_array(g, "_codes", np.concatenate([read_array(g, "_codes")[:1], read_array(g, "_codes")[:-1]])),
        "its pairs contradict its labels",
    ),
    "a claim that contradicts itself": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/result_/state/certificate/state/relative_gap", -7.0)),
        "contradicts itself",
    ),
    "a status that claims too much": (
        lambda g: with_manifest(g, claim_more),
        "contradicts itself|its gap is|its primal is",
    ),
    "no certificate": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/result_/state/certificate", None)),
        "SolveResult.certificate must be Certificate",
    ),
    "status as text": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/result_/state/status", "SOLVED")),
        "SolveResult.status must be Status",
    ),
    "no selection": (
        lambda g: with_manifest(g, set_at(f"{STATE}/_recipe/state/selection", None)),
        "its selection of pairs is missing",
    ),
    "classes out of order": (
        lambda g: with_array(g, "classes_", read_array(g, "classes_")[::-1].copy()),
        "classes_ of CovMetricClassifier is invalid",
    ),
    "another scale": (lambda g: with_manifest(g, set_at(f"{LEARNER}/scale_", 1e9)), "its scale_ is"),
    "bad setting": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/metric_/state/embedding/state/reg", "lots")),
        "reg must be a number",
    ),
}


@pytest.mark.parametrize("name", HOSTILE)
def test_hostile_files_are_refused(name, valid_file, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a payload would show
    make, message = HOSTILE[name]
    content = make(valid_file)
    assert content != valid_file
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    del content
    check_refused(path, message)


def test_valid_file_loads_after_repacking(valid_file, tmp_path):
    """The hostile files differ from a valid one only in the forged part."""
    (tmp_path / "model.npz").write_bytes(pack(unpack(valid_file)))
    assert isinstance(load_model(tmp_path / "model.npz"), CovMetricClassifier)


def test_missing_file_is_reported_as_missing(tmp_path):
    with pytest.raises(FileNotFoundError):
        load_model(tmp_path / "model.npz")
