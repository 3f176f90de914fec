"""Functions that forge model files from the bytes of a valid one."""

from __future__ import annotations

import io
import json
import struct
import tracemalloc
import zipfile

import numpy as np
import pytest

from covmetric import load_model


def check_refused(path, message):
    """Check that a file is refused with a reason, that nothing ran or was unpacked, and that little was allocated."""
    tracemalloc.start()
    try:
        with pytest.raises(ValueError, match=message) as caught:
            load_model(path)
        peak = tracemalloc.get_traced_memory()[1]
    finally:
        tracemalloc.stop()
    assert str(path) in str(caught.value)
    assert list(path.parent.iterdir()) == [path]
    assert peak < 2**20 + 4 * min(path.stat().st_size, 2**22)


def unpack(content):
    """Return the members of an archive, by name."""
    with zipfile.ZipFile(io.BytesIO(content)) as archive:
        return {info.filename: archive.read(info) for info in archive.infolist()}


def pack(members, compression=zipfile.ZIP_STORED):
    """Return the bytes of an archive with these members."""
    out = io.BytesIO()
    with zipfile.ZipFile(out, "w", compression) as archive:
        for name, data in members.items() if isinstance(members, dict) else members:
            archive.writestr(zipfile.ZipInfo(name), data, compression)
    return out.getvalue()


def npy(array, allow_pickle=False):
    """Return the bytes of an .npy file."""
    out = io.BytesIO()
    np.lib.format.write_array(out, array, version=(1, 0), allow_pickle=allow_pickle)
    return out.getvalue()


def with_manifest(content, change):
    """Return the file after a change of its manifest."""
    members = unpack(content)
    manifest = json.loads(members["manifest.json"])
    manifest = change(manifest) or manifest
    members["manifest.json"] = json.dumps(manifest).encode()
    return pack(members)


def with_array(content, name, array, describe=True, allow_pickle=False):
    """Return the file with an array replaced, with or without a change of the manifest."""
    members = unpack(content)
    members[f"{name}.npy"] = npy(array, allow_pickle)
    if describe:
        manifest = json.loads(members["manifest.json"])
        manifest["arrays"][name] = {"dtype": array.dtype.str, "shape": list(array.shape)}
        members["manifest.json"] = json.dumps(manifest).encode()
    return pack(members)


def set_at(path, value):
    """Return a change of the manifest that sets the entry at a path of keys."""

    def change(manifest):
        node = manifest
        *steps, last = path.split("/")
        for step in steps:
            node = node[int(step) if isinstance(node, list) else step]
        node[int(last) if isinstance(node, list) else last] = value

    return change


def drop(name):
    """Return a change of the manifest that drops an entry of the estimator."""

    def change(manifest):
        del manifest["model"]["state"][name]

    return change


class Payload:
    """An object that creates a file when it is unpickled."""

    def __init__(self, path):
        self.path = path

    def __reduce__(self):
        return open, (self.path, "w")


W = "learner_.metric_.W"
STATE = "model/state"
LEARNER = "model/state/learner_/state"


def renamed(content, name):
    members = unpack(content)
    return pack({(name if k == f"{W}.npy" else k): v for k, v in members.items()})


def bomb(content):
    members = unpack(content)
    members[f"{W}.npy"] = bytes(50_000_000)
    return pack(members, zipfile.ZIP_DEFLATED)


def huge_header(content, shape):
    """Return a file with an array whose header and manifest claim more than the file holds."""
    members = unpack(content)
    out = io.BytesIO()
    np.lib.format.write_array_header_1_0(out, {"descr": "<f8", "fortran_order": False, "shape": shape})
    members[f"{W}.npy"] = out.getvalue() + bytes(72)
    manifest = json.loads(members["manifest.json"])
    manifest["arrays"][W]["shape"] = list(shape)
    members["manifest.json"] = json.dumps(manifest).encode()
    return pack(members)


def long_header(content):
    members = unpack(content)
    members[f"{W}.npy"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", 65535) + b" " * 65535
    return pack(members)


def lying_sizes(content):
    """Return a file whose directory says that a member is a gigabyte long."""
    at = content.index(b"PK\x01\x02")
    size = struct.pack("<L", 2**30)
    return content[: at + 20] + size + size + content[at + 28 :]


def choking_header(content):
    """Return a file with a header so deeply nested that Python's parser fails with MemoryError."""
    members = unpack(content)
    header = b"-" * 9900 + b"1" + b" " * 10 + b"\n"
    members[f"{W}.npy"] = b"\x93NUMPY\x01\x00" + struct.pack("<H", len(header)) + header + bytes(72)
    return pack(members)


def zip64(content):
    """Return a file with a 64-bit end record, which the zip library prefers to the other one."""
    end = content[-22:]
    entries, length, start = struct.unpack("<H", end[10:12])[0], *struct.unpack("<2L", end[12:20])
    record = struct.pack("<4sQ2H2L4Q", b"PK\x06\x06", 44, 45, 45, 0, 0, entries, entries, length, start)
    locator = struct.pack("<4sLQL", b"PK\x06\x07", 0, len(content) - 22, 1)
    grown = end[:12] + struct.pack("<2L", length + len(record) + len(locator), start) + end[20:]
    return content[:-22] + record + locator + grown


def read_array(content, name):
    return np.lib.format.read_array(io.BytesIO(unpack(content)[f"{name}.npy"]))


def without_pairs(content):
    """Return a file without the pairs that the metric was learned from, so that its certificate cannot be checked."""
    members = {name: data for name, data in unpack(content).items() if not name.startswith("_constraints")}
    manifest = json.loads(members["manifest.json"])
    manifest["model"]["state"]["_constraints"] = None
    manifest["arrays"] = {k: v for k, v in manifest["arrays"].items() if not k.startswith("_constraints")}
    members["manifest.json"] = json.dumps(manifest).encode()
    return pack(members)


def repeated_pairs(content):
    pairs = read_array(content, "_constraints.pairs")
    pairs[1] = pairs[0]
    return with_array(content, "_constraints.pairs", pairs)


def claim_more(manifest):
    """Change the certificate into a better one that is consistent in itself."""
    claims = manifest["model"]["state"]["learner_"]["state"]["result_"]["state"]["certificate"]["state"]
    claims.update(dual=claims["primal"] - 1e-3, gap=1e-3, relative_gap=1e-3 / max(1.0, abs(claims["primal"])))
    claims.update(rounding=0.0)


def many_members(content):
    return pack([*unpack(content).items(), *((f"x{i}.npy", b"") for i in range(20_000))])


def twice(content):
    members = list(unpack(content).items())
    with pytest.warns(UserWarning, match="Duplicate name"):
        return pack([*members, members[-1]])


def encrypted(content):
    at = content.index(b"PK\x01\x02")
    return content[: at + 8] + b"\x01\x00" + content[at + 10 :]


def wrong_checksum(content):
    at = content.index(unpack(content)[f"{W}.npy"])
    return content[: at + 130] + bytes([content[at + 130] ^ 1]) + content[at + 131 :]
