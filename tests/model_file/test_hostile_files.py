"""Model files from an enemy, or broken: refused with a reason, without running or reading much of anything."""

from __future__ import annotations

import copy
import io
import json
import pickle
import struct
import tempfile
import tracemalloc
import zipfile
import zlib

import numpy as np
import pytest

from covmetric import CovMetric, CovMetricClassifier, LearnedMetric, load_model
from covmetric.model_file.kinds import KINDS
from tests.data import two_classes


@pytest.fixture(scope="module")
def good():
    """The bytes of a good file."""
    X, y = two_classes()
    folder = io.BytesIO()
    model = CovMetricClassifier(CovMetric(random_state=0, prior="covariance")).fit(X, y)
    with tempfile.TemporaryDirectory() as name:
        model.save(f"{name}/model.npz")
        with open(f"{name}/model.npz", "rb") as file:
            folder.write(file.read())
    return folder.getvalue()


def unpacked(content):
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def packed(members, compression=zipfile.ZIP_STORED):
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return out.getvalue()


def npy(array, allow_pickle=False):
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=(1, 0), allow_pickle=allow_pickle)
    return out.getvalue()


def with_manifest(content, change):
    members = unpacked(content)
    manifest = json.loads(members["manifest.json"])
    manifest = change(manifest) or manifest
    members["manifest.json"] = json.dumps(manifest).encode()
    return packed(members)


def with_array(content, name, array, describe=True, allow_pickle=False):
    """The file with another array, which the manifest describes or not."""
    members = unpacked(content)
    members[f"{name}.npy"] = npy(array, allow_pickle)
    if describe:
        manifest = json.loads(members["manifest.json"])
        manifest["arrays"][name] = {"dtype": array.dtype.str, "shape": list(array.shape)}
        members["manifest.json"] = json.dumps(manifest).encode()
    return packed(members)


def set_at(path, value):
    """A change of the manifest: the entry at a path of keys."""

    def change(manifest):
        node = manifest
        *steps, last = path.split("/")
        for step in steps:
            node = node[step]
        node[last] = value

    return change


def drop(name):
    """A change of the manifest: without an entry of the estimator."""

    def change(manifest):
        del manifest["model"]["state"][name]

    return change


class Payload:
    """Writes a file where it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


W = "learner_.metric_.W"
STATE = "model/state"
LEARNER = "model/state/learner_/state"


def renamed(content, name):
    members = unpacked(content)
    return packed({(name if k == f"{W}.npy" else k): v for k, v in members.items()})


def bomb(content):
    members = unpacked(content)
    members[f"{W}.npy"] = bytes(50_000_000)
    return packed(members, zipfile.ZIP_DEFLATED)


def huge_header(content, shape):
    """An array whose own header and manifest claim more than the file holds."""
    members = unpacked(content)
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    members[f"{W}.npy"] = out.getvalue() + bytes(72)
    manifest = json.loads(members["manifest.json"])
    manifest["arrays"][W]["shape"] = list(shape)
    members["manifest.json"] = json.dumps(manifest).encode()
    return packed(members)


def long_header(content):
    members = unpacked(content)
    members[f"{W}.npy"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", 65535) + b" " * 65535
    return packed(members)


def lying_sizes(content):
    """A directory that says a member is a gigabyte long."""
    at = content.index(b"PK\x01\x02")
    size = struct.pack("<L", 2**30)
    return content[: at + 20] + size + size + content[at + 28 :]


def choking_header(content):
    """Nested so deeply that Python's parser gives up with MemoryError."""
    members = unpacked(content)
    header = b"-" * 9900 + b"1" + b" " * 10 + b"\n"
    members[f"{W}.npy"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(72)
    return packed(members)


def zip64(content):
    """With a 64-bit end record, which the library would prefer to the other."""
    end = content[-22:]
    entries, length, start = struct.unpack("<H", end[10:12])[0], *struct.unpack("<2L", end[12:20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, length, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(content) - 22, 1)
    grown = end[:12] + struct.pack("<2L", length + len(record) + len(locator), start) + end[20:]
    return content[:-22] + record + locator + grown


def arrays_of(content, name):
    return np.lib.format.read_array(io.BytesIO(unpacked(content)[f"{name}.npy"]))


def without_pairs(content):
    """A metric without the pairs that it was learned from, whose claims nobody could check."""
    members = {name: data for name, data in unpacked(content).items() if not name.startswith("_constraints")}
    manifest = json.loads(members["manifest.json"])
    manifest["model"]["state"]["_constraints"] = None
    manifest["arrays"] = {k: v for k, v in manifest["arrays"].items() if not k.startswith("_constraints")}
    members["manifest.json"] = json.dumps(manifest).encode()
    return packed(members)


def repeated_pairs(content):
    pairs = arrays_of(content, "_constraints.pairs")
    pairs[1] = pairs[0]
    return with_array(content, "_constraints.pairs", pairs)


def claim_more(manifest):
    """A certificate of zero, consistent in itself."""
    claims = manifest["model"]["state"]["learner_"]["state"]["result_"]["state"]["certificate"]["state"]
    claims.update(dual=claims["primal"] - 1e-3, gap=1e-3, relative_gap=1e-3 / max(1.0, abs(claims["primal"])))
    claims.update(rounding=0.0)


def many_members(content):
    return packed([*unpacked(content).items(), *((f"x{i}.npy", b"") for i in range(20_000))])


def twice(content):
    members = list(unpacked(content).items())
    with pytest.warns(UserWarning, match="Duplicate name"):
        return packed([*members, members[-1]])


def encrypted(content):
    at = content.index(b"PK\x01\x02")
    return content[: at + 8] + b"\x01\x00" + content[at + 10 :]


def wrong_checksum(content):
    at = content.index(unpacked(content)[f"{W}.npy"])
    return content[: at + 130] + bytes([content[at + 130] ^ 1]) + content[at + 131 :]


ENEMIES = {
    "empty": (lambda _: b"", "not a zip file"),
    "text": (lambda _: b"hello, world, this is not a model" * 10, "not a zip file"),
    "truncated": (lambda good: good[:-100], "cut short"),
    "cut in half": (lambda good: good[: len(good) // 2], "cut short"),
    "something behind it": (lambda good: good + b"x" * 100, "cut short"),
    "wrong checksum": (wrong_checksum, "Bad CRC-32"),
    "no manifest": (lambda g: packed({k: v for k, v in unpacked(g).items() if ".json" not in k}), "has no manifest"),
    "manifest is not JSON": (lambda g: packed({**unpacked(g), "manifest.json": b"{"}), "JSONDecodeError"),
    "manifest is not text": (lambda g: packed({**unpacked(g), "manifest.json": b"\xff\xfe"}), "UnicodeDecodeError"),
    "manifest is a list": (lambda g: packed({**unpacked(g), "manifest.json": b"[]"}), "does not say that it is"),
    "manifest is deep": (
        lambda g: packed({**unpacked(g), "manifest.json": b"[" * 10**6 + b"]" * 10**6}),
        "RecursionError|does not say",
    ),
    "deep tree": (lambda g: with_manifest(g, set_at("model", json.loads("[" * 200 + "]" * 200))), "too deeply"),
    "manifest with NaN": (lambda g: packed({**unpacked(g), "manifest.json": b'{"a": NaN}'}), "NaN, which is not JSON"),
    "manifest is huge": (
        lambda g: packed({**unpacked(g), "manifest.json": b" " * (2**24 + 1)}),
        "bytes long, more than",
    ),
    "another format": (lambda g: with_manifest(g, set_at("format", "keras")), "does not say that it is"),
    "newer version": (lambda g: with_manifest(g, set_at("format_version", 2)), "format version 2, and covmetric"),
    "no version": (lambda g: with_manifest(g, set_at("format_version", None)), "format version None"),
    "wrong class": (lambda g: with_manifest(g, set_at("class", "CovMetric")), "it holds a fitted 'CovMetric'"),
    "unknown class": (lambda g: with_manifest(g, set_at("model/$class", "os.system")), "it holds a 'os.system'"),
    "class within": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/metric_/$class", "Popen")),
        "it holds a 'Popen', which is not a class",
    ),
    "unknown entry": (lambda g: with_manifest(g, set_at("model", {"$eval": "1+1"})), "unknown entry '\\$eval'"),
    "not a model": (lambda g: with_manifest(g, set_at("model", 3)), "belong to nothing"),
    "status": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/result_/state/status", {"$status": "PERFECT"})),
        "KeyError: 'PERFECT'",
    ),
    "object array": (
        lambda g: with_array(g, W, np.array([[Payload("pwned"), 1], [1, 1]], dtype=object), allow_pickle=True),
        r"dtype '\|O', which a model does not hold",
    ),
    "object array in secret": (
        lambda g: with_array(g, W, np.array([Payload("pwned")] * 9, dtype=object), False, allow_pickle=True),
        "which its shape does not fit|the header of",
    ),
    "pickle as a member": (
        lambda g: packed({**unpacked(g), "x.npy": pickle.dumps(Payload("pwned"))}),
        "does not belong to the members",
    ),
    "pickle as an array": (
        lambda g: packed({**unpacked(g), f"{W}.npy": pickle.dumps(Payload("pwned")) + bytes(72)}),
        "is not an array of version 1.0",
    ),
    "single precision": (lambda g: with_array(g, W, np.eye(3, dtype=np.float32)), "W must be an array of float64"),
    "integers": (lambda g: with_array(g, W, np.eye(3, dtype=np.int64)), "W must be an array of float64"),
    "text for numbers": (lambda g: with_array(g, W, np.array([["a"] * 3] * 3)), "W must be an array of float64"),
    "big endian": (lambda g: with_array(g, W, np.eye(3, dtype=">f8")), "which a model does not hold"),
    "dates": (lambda g: with_array(g, W, np.zeros((3, 3), "<M8[s]")), "which a model does not hold"),
    "header unlike the manifest": (lambda g: with_array(g, W, np.eye(3, dtype=np.int64), False), "the header of"),
    "column order": (lambda g: with_array(g, W, np.asfortranarray(np.ones((3, 3)))), "the header of"),
    "huge shape": (lambda g: huge_header(g, (10**6, 10**6)), "which its shape does not fit"),
    "absurd shape": (lambda g: huge_header(g, (2**62, 2**62)), "which its shape does not fit"),
    "negative shape": (lambda g: with_manifest(g, set_at(f"arrays/{W}/shape", [-3, -3])), r"has shape \[-3, -3\]"),
    "shape of floats": (lambda g: with_manifest(g, set_at(f"arrays/{W}/shape", [3.0, 3])), r"has shape \[3.0, 3\]"),
    "long header": (long_header, "shape does not fit|eader"),
    "NaN": (lambda g: with_array(g, W, np.full((3, 3), np.nan)), r"W\[0, 0\] is nan"),
    "infinity": (lambda g: with_array(g, W, np.full((3, 3), np.inf)), r"W\[0, 0\] is inf"),
    "indefinite": (lambda g: with_array(g, W, np.diag([1.0, 1.0, -1.0])), "must be positive semi-definite"),
    "not symmetric": (lambda g: with_array(g, W, np.tri(3)), "W is not symmetric"),
    "another size": (lambda g: with_array(g, W, np.eye(4)), "of the shape of W|W must have shape"),
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
        "its gap is .*and it claims",
    ),
    "other references": (
        lambda g: with_array(g, "_embedded", np.random.default_rng(0).standard_normal((40, 3, 3))),
        "its gap is .*and it claims",
    ),
    "sizes that lie": (lying_sizes, "compressed|larger than the file|does not fit"),
    "zip bomb": (bomb, "is compressed or encrypted"),
    "encrypted": (encrypted, "is compressed or encrypted"),
    "many members": (many_members, "it has 200.. members"),
    "a member twice": (twice, "occurs twice"),
    "path upwards": (lambda g: renamed(g, "../../evil.npy"), r"a member is called '\.\./\.\./evil.npy'"),
    "absolute path": (lambda g: renamed(g, "/etc/passwd"), "a member is called '/etc/passwd'"),
    "path of Windows": (lambda g: renamed(g, "C:\\evil.npy"), "a member is called 'C:"),
    "unknown attribute": (
        lambda g: with_manifest(g, set_at(f"{STATE}/predict", "me")),
        "CovMetricClassifier lacks, or does not have",
    ),
    "missing attribute": (lambda g: with_manifest(g, drop("classes_")), "lacks, or does not have"),
    "missing setting": (lambda g: with_manifest(g, drop("rule")), "KeyError: 'rule'"),
    "huge matrices": (
        lambda g: with_manifest(
            g, set_at(f"{LEARNER}/metric_/state/embedding/state/shape_in_", {"$tuple": [10**9, 10**9]})
        ),
        "whitener_ must have shape",
    ),
    "unknown rule": (lambda g: with_manifest(g, set_at(f"{STATE}/_rule_name", "oracle")), "rule must be one of"),
    "header that Python would choke on": (choking_header, "is not one that NumPy writes"),
    "a second directory": (zip64, "zip64"),
    "unknown entries": (lambda g: with_manifest(g, set_at("junk", [[]] * 1000)), r"unknown entries \['junk'\]"),
    "no pairs": (without_pairs, "do not belong together"),
    "the same pair again": (repeated_pairs, "its pairs are not all different"),
    "pairs that contradict the labels": (
        lambda g: with_array(g, "_codes", np.concatenate([arrays_of(g, "_codes")[:1], arrays_of(g, "_codes")[:-1]])),
        "its pairs contradict its labels",
    ),
    "a claim that contradicts itself": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/result_/state/certificate/state/relative_gap", -7.0)),
        "contradicts itself",
    ),
    "solved, it says": (lambda g: with_manifest(g, claim_more), "contradicts itself|its gap is|its primal is"),
    "no certificate": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/result_/state/certificate", None)),
        "SolveResult.certificate must be Certificate",
    ),
    "status in words": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/result_/state/status", "SOLVED")),
        "SolveResult.status must be Status",
    ),
    "no selection": (
        lambda g: with_manifest(g, set_at(f"{STATE}/_recipe/state/selection", None)),
        "its selection of pairs is missing",
    ),
    "classes out of order": (
        lambda g: with_array(g, "classes_", arrays_of(g, "classes_")[::-1].copy()),
        "classes_ of CovMetricClassifier does not make sense",
    ),
    "another scale": (lambda g: with_manifest(g, set_at(f"{LEARNER}/scale_", 1e9)), "its scale_ is"),
    "bad setting": (
        lambda g: with_manifest(g, set_at(f"{LEARNER}/metric_/state/embedding/state/reg", "lots")),
        "reg must be a number",
    ),
}


@pytest.mark.parametrize("name", ENEMIES)
def test_enemies(name, good, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)  # where a payload would show
    make, message = ENEMIES[name]
    content = make(good)
    assert content != good
    path = tmp_path / "model.npz"
    path.write_bytes(content)
    del content
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message) as caught:
            load_model(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert list(tmp_path.iterdir()) == [path]  # nothing ran, nothing was unpacked
    assert peak < 2**20 + 4 * min(path.stat().st_size, 2**22)


def test_a_good_file_survives_the_enemies_workshop(good, tmp_path):
    (tmp_path / "model.npz").write_bytes(packed(unpacked(good)))
    assert isinstance(load_model(tmp_path / "model.npz"), CovMetricClassifier)


def test_wrong_class_and_no_file(good, tmp_path):
    path = tmp_path / "model.npz"
    with pytest.raises(FileNotFoundError):
        load_model(path)
    path.write_bytes(good)
    with pytest.raises(ValueError, match="holds a CovMetricClassifier, not a LearnedMetric"):
        LearnedMetric.load(path)


def mutated_bytes(content, rng):
    data = bytearray(content)
    for _ in range(rng.integers(1, 6)):
        at, kind = int(rng.integers(len(data))), rng.integers(5)
        span = int(rng.integers(1, 40))
        if kind == 0:
            data[at] ^= 1 << int(rng.integers(8))
        elif kind == 1:
            data[at : at + span] = rng.bytes(span)
        elif kind == 2:
            del data[at : at + span]
        elif kind == 3:
            other = int(rng.integers(len(data)))
            data[at:at] = data[other : other + span]
        else:
            del data[at:]
            data += b"\0"
    return bytes(data)


JUNK = [
    *(None, True, -1, 0, 3, 2**70, 1e308, -0.5, "", "is", "log", [], [1, 2], {}),
    *({"$array": "_codes"}, {"$float": "nan"}, {"$tuple": [2, 2]}, {"$objects": ["a"]}, {"$status": "SOLVED"}),
    {"$class": "Newton", "state": {"memory": 1}},
]


def mutated_tree(content, rng):
    """Entries of the manifest replaced by other plausible ones, in a file that is otherwise right."""
    members = unpacked(content)
    manifest = json.loads(members["manifest.json"])
    for _ in range(rng.integers(1, 3)):
        node, parent, key = manifest, None, None
        while isinstance(node, dict | list) and len(node) and (parent is None or rng.random() < 0.9):
            keys = list(node) if isinstance(node, dict) else range(len(node))
            parent, key = node, keys[rng.integers(len(keys))]
            node = node[key]
        if parent is not None:
            kind = rng.integers(3)
            if kind == 0 and isinstance(parent, dict):
                del parent[key]
            else:
                parent[key] = copy.deepcopy(JUNK[rng.integers(len(JUNK))])
    members["manifest.json"] = json.dumps(manifest).encode()
    return packed(members)


def mutated_array(content, rng):
    members = unpacked(content)
    names = [name for name in members if name.endswith(".npy")]
    name = names[rng.integers(len(names))]
    array = np.lib.format.read_array(io.BytesIO(members[name]))
    kind = rng.integers(5)
    if kind == 0:
        array = array[: len(array) // 2]
    elif kind == 1:
        array = array.reshape(-1)
    elif kind == 2 and array.dtype.kind == "f" and array.size:
        array = array.copy()
        array.flat[rng.integers(array.size)] = [np.nan, np.inf, -1e300, 1e300, 0.0, -1.0][rng.integers(6)]
    elif kind == 3 and array.dtype.kind in "fi":
        array = array.astype([np.float64, np.int64, np.float32, np.uint8][rng.integers(4)])
    else:
        array = np.zeros(tuple(rng.integers(0, 4, rng.integers(0, 4))))
    return with_array(content, name[:-4], np.ascontiguousarray(array))


@pytest.mark.filterwarnings("ignore::RuntimeWarning")
@pytest.mark.parametrize("seed", range(4))
@pytest.mark.parametrize("mutate", [mutated_bytes, mutated_tree, mutated_array])
def test_ten_thousand_mutants(mutate, seed, good, tmp_path):
    """A mutant loads, or is refused with ValueError: never another error, never much memory."""
    rng = np.random.default_rng(seed)
    path = tmp_path / "model.npz"
    refused = 0
    for _ in range(834):
        path.write_bytes(mutate(good, rng))
        try:
            assert type(load_model(path)).__name__ in KINDS
        except ValueError:
            refused += 1
    assert refused > 200


def test_checksums_are_not_what_saves_us(good):
    """The mutants of trees and arrays have right checksums."""
    rng = np.random.default_rng(0)
    with zipfile.ZipFile(io.BytesIO(mutated_array(good, rng))) as archive:
        assert archive.testzip() is None
        assert all(zlib.crc32(archive.read(info)) == info.CRC for info in archive.infolist())
