"""The references of a classifier: its training examples, with names and small pictures for people."""

from __future__ import annotations

import os
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from covmetric._utils.validation import FloatArray
from covmetric.model_file import register_record

Picture = npt.NDArray[np.uint8]

#: The largest height and width of a thumbnail, in pixels.
MAX_THUMBNAIL = 64
_MAX_NAME = 4096  # the longest path of most systems


@dataclass(frozen=True, eq=False)
class References:
    """The training examples of a classifier.

    Attributes
    ----------
    labels : array of shape (l,)
        The class of each reference.
    embedded : array of shape (l, n, m)
        Phi of each reference. ``clf.metric_.map(embedded)`` are the vectors whose Euclidean distances are the learned
        distances.
    names : array of str of shape (l,), or None
        The name of each reference, such as a path; "" for a reference without one. None if no names were given.
    thumbnails : list of l arrays of uint8 of shape (rows_i, columns_i, 3), or None
        A small picture of each reference; None for a reference without one. None if no pictures were given.

    Examples
    --------
    >>> from covmetric import CovMetricClassifier
    >>> clf = CovMetricClassifier(random_state=0, n_neighbors=1)
    >>> clf = clf.fit([[0.0], [1.0], [7.0], [9.0]], [0, 0, 1, 1], names=["a", "b", "c", "d"])
    >>> clf.references_.names.tolist(), clf.references_.labels.tolist()
    (['a', 'b', 'c', 'd'], [0, 0, 1, 1])
    >>> clf.kneighbors([[8.5]], return_names=True)[-1].tolist()
    [['d']]
    """

    labels: npt.NDArray[Any]
    embedded: FloatArray
    names: npt.NDArray[np.str_] | None
    thumbnails: list[Picture | None] | None

    def __len__(self) -> int:
        return len(self.labels)

    @property
    def shown_names(self) -> list[str]:
        """The name of each reference as people see it: its number in words if it has none."""
        names = [None] * len(self) if self.names is None else self.names.tolist()
        return [shown_name(name, i) for i, name in enumerate(names)]


def shown_name(name: str | None, index: int) -> str:
    """Return the name of an example as people see it.

    Parameters
    ----------
    name : str or None
        The name; None or "" if it has none.
    index : int
        The index of the example.

    Returns
    -------
    str
        The name, or the number in words.

    Examples
    --------
    >>> shown_name("session2.npz[7]", 3), shown_name(None, 3)
    ('session2.npz[7]', 'example 3')
    """
    return name or f"example {index}"


@dataclass(frozen=True, eq=False)
class Captions:
    """The names and the thumbnails of references.

    Attributes
    ----------
    names : array of str of shape (l,), or None
        The names, "" where one is missing. None if there are none.
    pixels : array of uint8 of shape (total, 3), or None
        The pixels of all thumbnails, one after the other. None if there are none.
    sizes : array of int of shape (l, 2), or None
        The rows and columns of each thumbnail; zeros where one is missing.
    """

    names: npt.NDArray[np.str_] | None = None
    pixels: Picture | None = None
    sizes: npt.NDArray[np.int64] | None = None

    @classmethod
    def from_user(cls, names: Any, thumbnails: Any, count: int) -> Self:
        """Return the captions that a user passed.

        Parameters
        ----------
        names : sequence of str or path-like, or None
            One name for each reference.
        thumbnails : sequence of arrays of uint8 of shape (rows, columns, 3) or None, or None
            One picture for each reference, of at most 64 x 64 pixels.
        count : int
            The number of references.

        Returns
        -------
        Captions
            The captions.

        Raises
        ------
        ValueError
            If a length, a name or a thumbnail is invalid. The message names the index.
        """
        checked_names = None if names is None else _check_names(names, count)
        if thumbnails is None:
            return cls(checked_names)
        pictures = _check_thumbnails(thumbnails, count)
        sizes = np.array([(0, 0) if one is None else one.shape[:2] for one in pictures], dtype=np.int64)
        pixels = [one.reshape(-1, 3) for one in pictures if one is not None]
        return cls(checked_names, np.concatenate([np.empty((0, 3), np.uint8), *pixels]), sizes)

    @property
    def is_empty(self) -> bool:
        """Whether there are neither names nor thumbnails."""
        return self.names is None and self.sizes is None

    def extended(self, more: Captions, count: int, count_more: int) -> Captions:
        """Return the captions of these references followed by others.

        Parameters
        ----------
        more : Captions
            The captions of the others.
        count, count_more : int
            The numbers of these references and of the others.

        Returns
        -------
        Captions
            Captions in which missing names are "" and missing thumbnails are empty; None where both have none.
        """
        names = [_or_empty(self.names, (count,), "<U1"), _or_empty(more.names, (count_more,), "<U1")]
        pixels = [_or_empty(self.pixels, (0, 3), np.uint8), _or_empty(more.pixels, (0, 3), np.uint8)]
        sizes = [_or_empty(self.sizes, (count, 2), np.int64), _or_empty(more.sizes, (count_more, 2), np.int64)]
        no_names, no_pictures = self.names is more.names is None, self.sizes is more.sizes is None
        return Captions(
            None if no_names else np.concatenate(names),
            None if no_pictures else np.concatenate(pixels),
            None if no_pictures else np.concatenate(sizes),
        )

    def thumbnails(self) -> list[Picture | None] | None:
        """Return the thumbnails.

        Returns
        -------
        list of arrays of shape (rows_i, columns_i, 3) or None, or None
            Views of the pixels.
        """
        if self.pixels is None or self.sizes is None:
            return None
        ends = np.cumsum(self.sizes.prod(axis=1))
        return [
            self.pixels[end - rows * columns : end].reshape(rows, columns, 3) if rows else None
            for (rows, columns), end in zip(self.sizes.tolist(), ends.tolist(), strict=True)
        ]

    def check(self, count: int) -> None:
        """Raise ValueError unless the captions, which may come from a hostile file, belong to `count` references.

        Parameters
        ----------
        count : int
            The number of references.
        """
        if self.names is not None and (self.names.dtype.kind != "U" or self.names.shape != (count,)):
            raise ValueError(f"the names of the references must be {count} texts, got shape {self.names.shape}")
        if (self.pixels is None) != (self.sizes is None):
            raise ValueError("the thumbnails of the references need both their pixels and their sizes")
        if self.pixels is None or self.sizes is None:
            return
        if self.sizes.shape != (count, 2) or self.pixels.ndim != 2 or self.pixels.shape[1] != 3:
            raise ValueError(f"the thumbnails of the references must be {count} pictures in colour")
        valid = (self.sizes >= 0) & (self.sizes <= MAX_THUMBNAIL)
        if not valid.all() or ((self.sizes == 0).any(axis=1) & (self.sizes != 0).any(axis=1)).any():
            raise ValueError(f"a thumbnail of a reference must have 1 to {MAX_THUMBNAIL} rows and columns")
        if self.sizes.prod(axis=1).sum() != len(self.pixels):
            raise ValueError("the sizes of the thumbnails of the references do not match their pixels")


def _or_empty(array: npt.NDArray[Any] | None, shape: tuple[int, ...], dtype: Any) -> npt.NDArray[Any]:
    return np.zeros(shape, dtype) if array is None else array


def _check_names(names: Any, count: int) -> npt.NDArray[np.str_]:
    _check_length("names", names, count)
    texts = [_as_text(i, name) for i, name in enumerate(names)]
    return np.array(texts, dtype=np.str_)


def _as_text(i: int, name: Any) -> str:
    if isinstance(name, bytes) or not isinstance(name, str | os.PathLike | int | np.integer):
        raise ValueError(f"names[{i}] must be text, a path or a whole number, got {name!r:.60}")
    text = os.fspath(name) if isinstance(name, os.PathLike) else str(name)
    if not isinstance(text, str) or not text or "\0" in text or len(text) > _MAX_NAME:
        raise ValueError(f"names[{i}] must have 1 to {_MAX_NAME} characters, none of them NUL; got {text!r:.60}")
    return text


def _check_thumbnails(thumbnails: Any, count: int) -> list[Picture | None]:
    _check_length("thumbnails", thumbnails, count)
    pictures: list[Picture | None] = []
    for i, one in enumerate(thumbnails):
        picture = None if one is None else np.asarray(one)
        if picture is not None and not _is_thumbnail(picture):
            raise ValueError(
                f"thumbnails[{i}] must be an array of uint8 of shape (rows, columns, 3) with at most {MAX_THUMBNAIL} "
                f"rows and columns, got {picture.dtype} of shape {picture.shape}; "
                "covmetric.descriptors.make_thumbnail makes one"
            )
        pictures.append(picture)
    return pictures


def _is_thumbnail(picture: npt.NDArray[Any]) -> bool:
    has_size = picture.ndim == 3 and picture.shape[2] == 3 and min(picture.shape) >= 1 and picture.dtype == np.uint8
    return has_size and max(picture.shape[:2]) <= MAX_THUMBNAIL


def _check_length(name: str, value: Any, count: int) -> None:
    is_list = isinstance(value, Sequence | np.ndarray) or hasattr(value, "__len__")
    if isinstance(value, str | bytes) or not is_list or len(value) != count:
        length = f"has length {len(value)}" if is_list and not isinstance(value, str | bytes) else f"is {value!r:.60}"
        raise ValueError(f"{name} must be a list with one entry for each of the {count} examples, but it {length}")


register_record(Captions)
