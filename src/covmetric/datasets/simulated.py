"""Simulated classes of covariance matrices and of images."""

from __future__ import annotations

import numpy as np
from sklearn.utils import Bunch

from covmetric._utils.validation import check_counts, generator, is_number


def make_spd_classes(
    n_classes: int = 3,
    n_per_class: int = 40,
    n: int = 6,
    n_informative: int = 2,
    separation: float = 1.0,
    nuisance: float = 0.7,
    samples: int = 100,
    random_state: int | None = 0,
) -> Bunch:
    """Simulate classes of sample covariance matrices that differ in the power of a few channels.

    The power of the other channels varies from example to example, and an orthogonal matrix mixes all channels. A fixed
    metric weights all directions equally, whereas a learned metric can ignore directions that do not depend on the
    class.

    Parameters
    ----------
    n_classes : int, default=3
        The number of classes.
    n_per_class : int, default=40
        The number of examples per class.
    n : int, default=6
        The number of channels, which is the size of the matrices.
    n_informative : int, default=2
        The number of channels whose power depends on the class; at most n.
    separation : float, default=1.0
        The standard deviation over the classes of the logarithm of the power of these channels.
    nuisance : float, default=0.7
        The standard deviation over the examples of the logarithm of the power of the other channels.
    samples : int, default=100
        The number of samples of each covariance matrix; at least n.
    random_state : None, int, Generator or RandomState, default=0
        The seed of the random numbers.

    Returns
    -------
    Bunch
        With the fields, where l = n_classes * n_per_class,

        - ``X``, array of shape (l, n, n): the covariance matrices;
        - ``y``, array of int of shape (l,): the class, from 0;
        - ``groups``: None, because there are no groups.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> data = make_spd_classes(n_classes=2, n_per_class=10, n=4)
    >>> data.X.shape, data.y.shape
    ((20, 4, 4), (20,))
    """
    check_counts(n_classes=n_classes, n_per_class=n_per_class, n=n, n_informative=n_informative, samples=samples)
    if n_informative > n or samples < n:
        raise ValueError(f"n_informative <= n <= samples is required; got {n_informative}, {n} and {samples}")
    for name, value in (("separation", separation), ("nuisance", nuisance)):
        if not (is_number(value) and value >= 0):
            raise ValueError(f"{name} must be a number >= 0, got {value!r}")
    rng = generator(random_state)
    y = np.repeat(np.arange(n_classes), n_per_class)
    log_power = np.zeros((len(y), n))
    log_power[:, :n_informative] = separation * rng.standard_normal((n_classes, n_informative))[y]
    log_power[:, n_informative:] = nuisance * rng.standard_normal((len(y), n - n_informative))
    mixing = np.linalg.qr(rng.standard_normal((n, n)))[0]
    series = rng.standard_normal((len(y), n, samples)) * np.exp(0.5 * log_power)[:, :, None]
    series = mixing @ series
    return Bunch(X=series @ np.swapaxes(series, 1, 2) / samples, y=y, groups=None)


def make_textures(
    n_classes: int = 4, n_per_class: int = 5, size: int = 64, noise: float = 0.2, random_state: int | None = 0
) -> Bunch:
    """Simulate classes of textures: grey images of band-limited noise with a preferred direction.

    Each class has a different direction, wavelength and bandwidth.

    Parameters
    ----------
    n_classes : int, default=4
        The number of classes.
    n_per_class : int, default=5
        The number of images per class.
    size : int, default=64
        The height and width of the images, in pixels.
    noise : float, default=0.2
        The weight of white noise, from 0 to 1.
    random_state : None, int, Generator or RandomState, default=0
        The seed of the random numbers.

    Returns
    -------
    Bunch
        With the fields, where l = n_classes * n_per_class,

        - ``images``, array of shape (l, size, size): the images, in float64, with values from 0 to 255;
        - ``y``, array of int of shape (l,): the class, from 0;
        - ``groups``: None, because there are no groups.

    Raises
    ------
    ValueError
        If an argument is out of range.

    Examples
    --------
    >>> make_textures(n_classes=2, n_per_class=3, size=32).images.shape
    (6, 32, 32)
    """
    check_counts(n_classes=n_classes, n_per_class=n_per_class, size=size)
    if not (is_number(noise) and 0 <= noise <= 1):
        raise ValueError(f"noise must be a number from 0 to 1, got {noise!r}")
    rng = generator(random_state)
    angle, wavelength = np.pi * rng.random(n_classes), rng.uniform(4.0, 12.0, n_classes)
    bandwidth = rng.uniform(0.3, 1.0, n_classes)
    fy, fx = np.meshgrid(np.fft.fftfreq(size), np.fft.fftfreq(size), indexing="ij")
    images, y = [], np.repeat(np.arange(n_classes), n_per_class)
    for c in y:
        along = fx * np.cos(angle[c]) + fy * np.sin(angle[c])
        across = -fx * np.sin(angle[c]) + fy * np.cos(angle[c])
        width = bandwidth[c] / wavelength[c]
        response = np.exp(-0.5 * (((np.abs(along) - 1.0 / wavelength[c]) / width) ** 2 + (across / width) ** 2))
        wave = np.fft.ifft2(np.fft.fft2(rng.standard_normal((size, size))) * response).real
        mixed = (1.0 - noise) * wave / wave.std() + noise * rng.standard_normal((size, size))
        images.append(np.clip(128.0 + 40.0 * mixed, 0.0, 255.0))
    return Bunch(images=np.stack(images), y=y, groups=None)
