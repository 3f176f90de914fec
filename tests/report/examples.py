"""Models and results for the tests of pages, with names that are dangerous in HTML."""

from __future__ import annotations

from functools import cache

import numpy as np

from covmetric import CovMetricClassifier, CovMetricCV
from covmetric.datasets import make_spd_classes
from covmetric.experiments.compare import compare

#: Ends a script or an attribute and starts another element, if it is not escaped; a formula for matplotlib.
DANGER = "a</script><script>window.harmed=1</script>\"'&lt;<img src=x onerror=window.harmed=1>--> $x$"
DATA = make_spd_classes(n_classes=3, n_per_class=14, n=4, random_state=0)
CLASSES = np.array(["rest", "left <b>", DANGER])
LABELS = CLASSES[DATA.y]
TRAIN = np.arange(len(LABELS)) % 7 != 0


@cache
def classifier():
    """A classifier that searched, with names and thumbnails of its references."""
    search = CovMetricCV(["log", "sqrt"], lambdas=[1e-1, 1e-2], cv=3, random_state=0)
    names = [f"set/{DANGER}-{i}" for i in range(int(TRAIN.sum()))]
    rng = np.random.default_rng(0)
    pictures = [rng.integers(256, size=(8, 10, 3)).astype(np.uint8) for _ in names]
    fitted = CovMetricClassifier(search)
    return fitted.fit(DATA.X[TRAIN], LABELS[TRAIN], names=names, thumbnails=pictures)


@cache
def comparison():
    """What `compare --json` prints, as a dict."""
    names = [f"set/{DANGER}-{i}" for i in range(len(LABELS))]
    table = compare(DATA.X, LABELS, methods=["log-3nn", "id-3nn", "covmetric-3nn"], folds=3, names=names)
    data = {
        "name": DANGER,
        "path": DANGER,
        "content": "matrices",
        "classes": CLASSES.tolist(),
        "class_counts": [14] * 3,
    }
    return {
        "command": f"covmetric compare '{DANGER}'",
        "version": "0",
        "commit": "abc",
        "versions": {"python": "3"},
        "data": {
            **data,
            "n_examples": 42,
            "n_features": 4,
            "n_groups": None,
            "skipped": [[DANGER, "the file is empty"]],
        },
        "methods": ["log-3nn", "id-3nn", "covmetric-3nn"],
        "parameters": {"folds": 3, "repeats": 1, "seed": 0, "reg": 1e-6},
        **table.as_dict(),
    }
