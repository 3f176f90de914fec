"""Covariance matrices of images, image sets and series. `DESCRIPTORS` lists the descriptors by name."""

from __future__ import annotations

from covmetric.descriptors.base import Descriptor
from covmetric.descriptors.features import FEATURE_SETS, FEATURES, feature_names, pixel_features
from covmetric.descriptors.image_sets import ImageSetCovariances
from covmetric.descriptors.images import ImageCovariances
from covmetric.descriptors.integral import box_covariances
from covmetric.descriptors.reading import (
    UnreadableImage,
    has_colours,
    make_thumbnail,
    read_image,
    read_image_and_mask,
)
from covmetric.descriptors.regions import REGIONS, Boxes, GridPatches, RandomPatches, Regions, Whole, get_regions
from covmetric.descriptors.series import FilterBank, SeriesCovariances, sliding_windows
from covmetric.model_file import register_components, register_stateful

DESCRIPTORS: dict[str, type[Descriptor]] = {
    "images": ImageCovariances,
    "image sets": ImageSetCovariances,
    "series": SeriesCovariances,
}

for _cls in (*DESCRIPTORS.values(), FilterBank):
    register_stateful(_cls)
register_components(REGIONS.values())

__all__ = [
    "DESCRIPTORS",
    "FEATURES",
    "FEATURE_SETS",
    "REGIONS",
    "Boxes",
    "Descriptor",
    "FilterBank",
    "GridPatches",
    "ImageCovariances",
    "ImageSetCovariances",
    "RandomPatches",
    "Regions",
    "SeriesCovariances",
    "UnreadableImage",
    "Whole",
    "box_covariances",
    "feature_names",
    "get_regions",
    "has_colours",
    "make_thumbnail",
    "pixel_features",
    "read_image",
    "read_image_and_mask",
    "sliding_windows",
]
