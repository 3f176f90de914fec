"""The container of a model: a zip archive of a JSON manifest and plain .npy arrays.

NumPy opens it like any .npz file. The reader assumes that the file is hostile: it never executes, unpickles or
decompresses anything, writes nothing to disk, and reads a member only after the headers have confirmed its size.
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
# The header that NumPy writes in front of an array. It is not parsed as Python, which would accept much more.
_HEADER = re.compile(
    rb"\{'descr': '([<|A-Za-z0-9]{2,8})', 'fortran_order': False, 'shape': \(([0-9, ]{0,180})\), \} *\n"
)
_END = struct.Struct("<4s4H2LH")
_ZIP64_LOCATOR_SIZE = 20


class NewerFormat(ValueError):
    """Error for a file that a newer version of covmetric wrote."""


def write_archive(
    path: Path, manifest: dict[str, Any], arrays: dict[str, npt.NDArray[Any]], check: Callable[[Path], object]
) -> None:
    """Write a model file. If anything fails, an existing file is left unchanged.

    The archive is written under a temporary name, checked, and then moved to its place.

    Parameters
    ----------
    path : Path
        The file. An existing file is replaced.
    manifest : dict
        The entries "class" and "model" of the manifest.
    arrays : dict
        The arrays by name.
    check : callable
        A function that reads the file at a path, and raises an error if it cannot.

    Raises
    ------
    ValueError
        If the model is too large for a file.
    OSError
        If the file cannot be written.
    """
    described = {name: {"dtype": array.dtype.str, "shape": list(array.shape)} for name, array in arrays.items()}
    stamp = {"format": FORMAT, "format_version": FORMAT_VERSION, "covmetric": __version__}
    text = json.dumps({**stamp, **manifest, "arrays": described}, indent=1, allow_nan=False).encode()
    if len(text) > _MAX_MANIFEST or len(arrays) >= _MAX_MEMBERS:
        raise ValueError(
            f"the model is too large for a file: it has {len(arrays)} arrays and {len(text)} bytes of settings"
        )
    if path.is_dir():
        raise IsADirectoryError(f"{path} is a folder: give the name of a file")
    target = path.resolve()  # replaces the target of a link, not the link
    if not target.parent.is_dir():
        raise FileNotFoundError(f"cannot save {path.name}: the folder {target.parent} does not exist; create it first")
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
    """Return a member that is readable when unpacked, and without a date, so that equal models give equal files."""
    info = zipfile.ZipInfo(name)
    info.external_attr = 0o644 << 16
    return info


def read_archive(path: Path) -> tuple[dict[str, Any], dict[str, npt.NDArray[Any]]]:
    """Read a model file, which may be hostile.

    Parameters
    ----------
    path : Path
        The file.

    Returns
    -------
    manifest : dict
        The manifest.
    arrays : dict
        The arrays by name.

    Raises
    ------
    ValueError, zipfile.BadZipFile, KeyError, TypeError or struct.error
        If the file is not a model file.
    OSError
        If the file cannot be read.
    """
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        _check_directory(file, size)
        with zipfile.ZipFile(file) as archive:
            members = _checked_members(archive, size)
            manifest = _read_manifest(archive, members)
            described = _described_arrays(manifest)
            expected = {MANIFEST, *(f"{name}.npy" for name in described)}
            if set(members) != expected:
                raise ValueError(f"its manifest and its members disagree about {sorted(set(members) ^ expected)[:5]}")
            arrays = {
                name: _read_array(archive, members[f"{name}.npy"], dtype, shape)
                for name, (dtype, shape) in described.items()
            }
    return manifest, arrays


def _check_directory(file: BinaryIO, size: int) -> None:
    """Check the end of the archive first, because the zip library would read a directory of any length."""
    if size < _END.size:
        raise ValueError("it is not a zip file")
    file.seek(size - _END.size)
    signature, disk, first_disk, here, total, length, start, comment = _END.unpack(file.read(_END.size))
    if signature != b"PK\x05\x06" or comment or disk or first_disk or here != total:
        raise ValueError("it is not a zip file, or it was cut short")
    if total > _MAX_MEMBERS or start + length + _END.size != size:
        raise ValueError(f"it has too many members ({total}), or its directory does not fit the file")
    file.seek(max(0, size - _END.size - _ZIP64_LOCATOR_SIZE))
    if file.read(4) == b"PK\x06\x07":  # a second directory, whose length has not been checked
        raise ValueError("it is a zip64 file, which model files are not")
    file.seek(0)


def _checked_members(archive: zipfile.ZipFile, size: int) -> dict[str, zipfile.ZipInfo]:
    members: dict[str, zipfile.ZipInfo] = {}
    for info in archive.infolist():
        name = info.filename
        if not _MEMBER.fullmatch(name) or ".." in name:
            raise ValueError(f"a member is called {name[:80]!r}, which is not the name of an array")
        if name in members:
            raise ValueError(f"the member {name!r} occurs twice")
        if info.compress_type != zipfile.ZIP_STORED or info.compress_size != info.file_size or info.flag_bits & 0x1:
            raise ValueError(f"the member {name!r} is compressed or encrypted; members of model files are neither")
        members[name] = info
    if sum(info.file_size for info in members.values()) > size:
        raise ValueError("the sizes of its members exceed the size of the file")
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
        message = (
            f"it has format version {version!r:.20}, but covmetric {__version__} reads version "
            f"{FORMAT_VERSION}; its manifest says that covmetric {manifest.get('covmetric')!r:.40} wrote it"
        )
        is_newer = type(version) is int and version > FORMAT_VERSION
        raise NewerFormat(f"{message}; run pip install --upgrade covmetric") if is_newer else ValueError(message)
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
        if not (isinstance(entry, dict) and set(entry) == {"dtype", "shape"}):
            raise ValueError(f"the array {name[:80]!r} must be described by its dtype and its shape")
        dtype, shape = entry["dtype"], entry["shape"]
        if not (isinstance(dtype, str) and _DTYPE.fullmatch(dtype)):
            raise ValueError(f"the array {name!r} has dtype {dtype!r:.40}, which model files do not hold")
        if not (isinstance(shape, list) and len(shape) <= 8 and all(type(s) is int and s >= 0 for s in shape)):
            raise ValueError(f"the array {name!r} has shape {shape!r:.80}, which is not valid")
        found[name] = (np.dtype(dtype), tuple(shape))
    return found


def _read_array(
    archive: zipfile.ZipFile, info: zipfile.ZipInfo, dtype: np.dtype[Any], shape: tuple[int, ...]
) -> npt.NDArray[Any]:
    """Return an array after checking its header against the manifest, and its data against the header."""
    length = math.prod(shape) * dtype.itemsize
    if not length < info.file_size <= length + 2**16:
        raise ValueError(f"the member {info.filename!r} has {info.file_size} bytes, which does not match its shape")
    with archive.open(info) as member:
        if member.read(8) != b"\x93NUMPY\x01\x00":
            raise ValueError(f"the member {info.filename!r} is not an array of version 1.0")
        (header_size,) = struct.unpack("<H", member.read(2))
        header = _HEADER.fullmatch(member.read(header_size))
        if header is None:
            raise ValueError(
                f"the header of {info.filename!r} is not in the form that NumPy writes, or in column order"
            )
        sizes = tuple(int(size) for size in header[2].decode().replace(" ", "").split(",") if size)
        if sizes != shape or header[1].decode() != dtype.str:
            raise ValueError(
                f"the header of {info.filename!r} has shape {sizes} and dtype {header[1].decode()}, "
                f"but the manifest has shape {shape} and dtype {dtype.str}"
            )
        data = member.read(length)
        if len(data) != length or member.read(1):  # reading the end compares the checksum
            raise ValueError(f"the member {info.filename!r} does not have {length} bytes of data")
    return np.frombuffer(data, dtype=dtype).reshape(shape).copy()


def is_storable(dtype: np.dtype[Any]) -> bool:
    """Return whether a model file can hold arrays of a type.

    Parameters
    ----------
    dtype : dtype
        The type, little-endian.

    Returns
    -------
    bool
        True for booleans, numbers and text of fixed length.
    """
    return _DTYPE.fullmatch(dtype.str) is not None
