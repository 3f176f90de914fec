"""The container of a model: a zip of a JSON manifest and plain .npy arrays, read as if it came from an enemy.

NumPy opens it as any .npz file. Nothing in it is ever executed, unpickled, decompressed or written to disk, and nothing
is read before the headers say that it has the size that it should have.
"""

from __future__ import annotations

import json
import math
import os
import re
import stat
import struct
import uuid
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import Any, BinaryIO

import numpy as np
import numpy.typing as npt

from covmetric._version import __version__

FORMAT = "covmetric model"
FORMAT_VERSION = 1
MANIFEST = "manifest.json"

_MAX_MANIFEST = 2**22
_MAX_MEMBERS = 2**14
_KEYS = {"format", "format_version", "covmetric", "class", "model", "arrays"}
_MEMBER = re.compile(r"[A-Za-z0-9_][A-Za-z0-9_.-]{0,199}")
_DTYPE = re.compile(r"<f[248]|<c8|<c16|\|[iub]1|<[iu][248]|<U[1-9][0-9]{0,3}")
# What NumPy writes in front of an array, and nothing else that Python could read.
_HEADER = re.compile(
    rb"\{'descr': '([<|A-Za-z0-9]{2,8})', 'fortran_order': False, 'shape': \(([0-9, ]{0,180})\), \} *\n"
)
_END = struct.Struct("<4s4H2LH")
_ZIP64_LOCATOR_SIZE = 20


def write_archive(
    path: Path, manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], check: Callable[[Path], object]
) -> None:
    """Write the file whole or not at all: under another name first, then, once `check` has read it, in its place."""
    described = {name: {"dtype": array.dtype.str, "shape": list(array.shape)} for name, array in arrays.items()}
    stamp = {"format": FORMAT, "format_version": FORMAT_VERSION, "covmetric": __version__}
    text = json.dumps({**stamp, **manifest, "arrays": described}, indent=1, allow_nan=False).encode()
    if len(text) > _MAX_MANIFEST or len(arrays) >= _MAX_MEMBERS:
        raise ValueError(f"the model has {len(arrays)} arrays and {len(text)} bytes of settings: too many for a file")
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    target = path.resolve()  # a link stays a link
    draft = target.with_name(f".{uuid.uuid4().hex}.tmp")
    try:
        with draft.open("xb") as file:
            if target.exists():
                draft.chmod(stat.S_IMODE(target.stat().st_mode))
            _write_members(file, text, arrays)
            file.flush()
            os.fsync(file.fileno())
        check(draft)
        draft.replace(target)
    finally:
        draft.unlink(missing_ok=True)


def _write_members(file: BinaryIO, manifest: bytes, arrays: dict[str, npt.NDArray[Any]]) -> None:
    try:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED, allowZip64=False) as archive:
            archive.writestr(_member(MANIFEST), manifest)
            for name, array in arrays.items():
                with archive.open(_member(f"{name}.npy"), "w") as member:
                    np.lib.format.write_array(member, np.ascontiguousarray(array), version=(1, 0), allow_pickle=False)
    except (zipfile.LargeZipFile, RuntimeError, struct.error) as error:
        raise ValueError(f"the model is too large for a file of at most 4 GB: {error}") from None


def _member(name: str) -> zipfile.ZipInfo:
    """A member without a date, so that equal models are equal files, and readable where it is unpacked."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o644 << 16
    return info


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """The manifest and the arrays of a model file. Raises ValueError for anything else."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        _check_directory(file, size)
        with zipfile.ZipFile(file) as archive:
            members = _checked_members(archive, size)
            manifest = _read_manifest(archive, members)
            described = _described_arrays(manifest)
            expected = {MANIFEST, *(f"{name}.npy" for name in described)}
            if set(members) != expected:
                raise ValueError(f"the manifest does not belong to the members {sorted(set(members) ^ expected)}")
            arrays = {
                name: _read_array(archive, members[f"{name}.npy"], dtype, shape)
                for name, (dtype, shape) in described.items()
            }
    return manifest, arrays


def _check_directory(file: BinaryIO, size: int) -> None:
    """Look at the end of the zip before the library does, which would read a directory of any length."""
    if size < _END.size:
        raise ValueError("it is not a zip file")
    file.seek(size - _END.size)
    signature, disk, first_disk, here, total, length, start, comment = _END.unpack(file.read(_END.size))
    if signature != b"PK\x05\x06" or comment or disk or first_disk or here != total:
        raise ValueError("it is not a zip file, or was cut short")
    if total > _MAX_MEMBERS or start + length + _END.size != size:
        raise ValueError(f"it has {total} members, or a directory that does not fit the file")
    file.seek(max(0, size - _END.size - _ZIP64_LOCATOR_SIZE))
    if file.read(4) == b"PK\x06\x07":  # a second directory, whose length nobody has looked at
        raise ValueError("it is a zip64 file, which models are not")
    file.seek(0)


def _checked_members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        if not _MEMBER.fullmatch(name) or ".." in name:
            raise ValueError(f"a member is called {name[:80]!r}, which is not a name of an array")
        if name in members:
            raise ValueError(f"the member {name!r} occurs twice")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 0x1:
            raise ValueError(f"the member {name!r} is compressed or encrypted; model files are stored as they are")
        members[name] = info
    if sum(info.file_size for info in members.values()) > size:
        raise ValueError("its members claim to be larger than the file")
    return members


def _read_manifest(archive: zipfile.ZipFile, members: dict[str, zipfile.ZipInfo]) -> dict[str, Any]:
    info = members.get(MANIFEST)
    if info is None:
        raise ValueError(f"it has no {MANIFEST}")
    if info.file_size > _MAX_MANIFEST:
        raise ValueError(f"its {MANIFEST} is {info.file_size} bytes long, more than {_MAX_MANIFEST}")
    manifest = json.loads(archive.read(info).decode(), parse_constant=_refuse_constant)
    if not isinstance(manifest, dict) or manifest.get("format") != FORMAT:
        raise ValueError(f"its {MANIFEST} does not say that it is a {FORMAT!r}")
    unknown = set(manifest) - _KEYS
    version = manifest.get("format_version")
    if version != FORMAT_VERSION or isinstance(version, bool):
        raise ValueError(
            f"it has format version {version!r}, and covmetric {__version__} reads {FORMAT_VERSION}; it says "
            f"that it was written by covmetric {manifest.get('covmetric')!r}"
        )
    if unknown:
        raise ValueError(f"its {MANIFEST} has the unknown entries {sorted(unknown)[:5]}")
    return manifest


def _refuse_constant(name: str) -> None:
    raise ValueError(f"its {MANIFEST} holds {name}, which is not JSON")


def _described_arrays(manifest: dict[str, Any]) -> dict[str, tuple[np.dtype[Any], tuple[int, ...]]]:
    described = manifest.get("arrays")
    if not isinstance(described, dict):
        raise ValueError(f"its {MANIFEST} does not describe the arrays")
    found = {}
    for name, entry in described.items():
        dtype, shape = entry["dtype"], entry["shape"]
        if not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype)):
            raise ValueError(f"the array {name!r} has dtype {dtype!r}, which a model does not hold")
        if not (isinstance(shape, list) and len(shape) <= 8 and all(type(s) is int and s >= 0 for s in shape)):
            raise ValueError(f"the array {name!r} has shape {shape!r}")
        found[name] = (np.dtype(dtype), tuple(shape))
    return found


def _read_array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """An array whose header agrees with the manifest, and whose data with the header."""
    length = math.prod(shape) * dtype.itemsize
    if not length < info.file_size <= length + 2**16:
        raise ValueError(f"the member {info.filename!r} has {info.file_size} bytes, which its shape does not fit")
    with archive.open(info) as member:
        if member.read(8) != b"\x93NUMPY\x01\x00":
            raise ValueError(f"the member {info.filename!r} is not an array of version 1.0")
        (header_size,) = struct.unpack("<H", member.read(2))
        header = _HEADER.fullmatch(member.read(header_size))
        if header is None:
            raise ValueError(f"the header of {info.filename!r} is not one that NumPy writes, or is in column order")
        sizes = tuple(int(size) for size in header[2].decode().replace(" ", "").split(",") if size)
        if sizes != shape or header[1].decode() != dtype.str:
            raise ValueError(f"the header of {info.filename!r} says {sizes} {header[1].decode()}, the manifest {shape}")
        data = member.read(length)
        if len(data) != length or member.read(1):  # the end of the member is where its checksum is compared
            raise ValueError(f"the member {info.filename!r} does not have {length} bytes of data")
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


def is_storable(dtype: np.dtype[Any]) -> bool:
    """Whether a model file takes arrays of this type."""
    return _DTYPE.fullmatch(dtype.str) is not None
