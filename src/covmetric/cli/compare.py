"""`covmetric compare DATA`: fixed and learned metrics on one's own data."""

from __future__ import annotations

import argparse
import csv
import json
import sys
import zipfile
from pathlib import Path
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from sklearn.utils import Bunch

    from covmetric.experiments.fold_results import ComparisonTable

_CONTENT = (
    "an .npz file with X, matrices (l, n, n) or series (l, channels, times), y and perhaps groups (or X_train, "
    "y_train, X_test, y_test), or a folder with a folder of images for each class"
)


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """The options of the command."""
    parser.add_argument("data", type=Path, metavar="DATA", help=_CONTENT)
    parser.add_argument("--kind", choices=("matrices", "series", "images"), help="of DATA (default: found out)")
    parser.add_argument("--features", choices=("grey", "colour"), help="of images (default: colour where they have it)")
    parser.add_argument("--folds", type=int, metavar="N", help="(default 5)")
    parser.add_argument("--repeats", type=int, default=1, metavar="N", help="new folds, so many times (default 1)")
    parser.add_argument("--methods", metavar="A,B,...", help="only these; a wrong name lists all")
    parser.add_argument("--quick", action="store_true", help="3 folds, without what is slow")
    parser.add_argument("--reg", type=float, default=1e-6, help="share of the mean eigenvalue to add (default 1e-6)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--jobs", type=int, default=None, metavar="N", help="processes that share the work")
    parser.add_argument("--json", action="store_true", help="print the result as JSON, and nothing else")
    parser.add_argument("--csv", type=Path, metavar="FILE", help="write the table there")
    parser.add_argument("--out", type=Path, metavar="FILE", help="the picture")


def run(options: argparse.Namespace) -> None:
    """Read, compare, print, write, draw."""
    for name in ("csv", "out"):
        path = getattr(options, name)
        if path is not None and not path.parent.is_dir():
            raise ValueError(f"--{name}: there is no folder {path.parent}")
    data = read_data(options.data, options.kind, options.features, options.jobs)

    from covmetric.experiments import compare as experiment  # scikit-learn and pyRiemann take seconds to load
    from covmetric.experiments.methods import available_methods

    methods = None if options.methods is None else [name for name in options.methods.split(",") if name]
    if methods is None and options.quick:
        methods = [name for name, method in available_methods().items() if not method.slow]
    table = experiment.compare(
        data.X,
        data.y,
        data.groups,
        methods,
        options.folds if options.folds is not None else 3 if options.quick else 5,
        repeats=options.repeats,
        reg=options.reg,
        seed=options.seed,
        n_jobs=options.jobs,
        progress=not options.json,
    )
    if options.json:
        print(json.dumps({"data": str(options.data), "what": data.what, **table.as_dict()}, indent=1, allow_nan=False))
    else:
        print_table(table, data.what)
    if options.csv is not None:
        write_csv(table, options.csv)
    if options.out is not None:
        draw(table, options.out, options.data.stem)
    if table.interrupted:
        raise KeyboardInterrupt


def read_data(path: Path, kind: str | None = None, features: str | None = None, n_jobs: int | None = None) -> Bunch:
    """The matrices X, y and groups of a file or folder, and in words `what` they are."""
    if path.is_dir():
        if kind not in (None, "images"):
            raise ValueError(f"--kind {kind}: {path} is a folder, and {kind} come from an .npz file")
        return _read_images(path, features, n_jobs)
    if not path.exists():
        raise FileNotFoundError(f"there is no file or folder {path}: DATA is {_CONTENT}")
    if kind == "images" or features is not None:
        raise ValueError(f"{path} is a file: images come from a folder with a folder for each class")
    if path.suffix != ".npz" or not zipfile.is_zipfile(path):
        raise ValueError(f"{path} is no .npz file: DATA is {_CONTENT}")
    return _read_npz(path, kind)


def _read_images(path: Path, features: str | None, n_jobs: int | None) -> Bunch:
    from covmetric.datasets import load_image_folder
    from covmetric.descriptors import ImageCovariances
    from covmetric.descriptors.reading import UnreadableImage

    chosen = features or "colour"
    try:
        data = load_image_folder(path, ImageCovariances(chosen, n_jobs=n_jobs))
    except UnreadableImage:
        raise
    except ValueError:  # a grey image has no colours
        if features is not None:
            raise
        chosen = "grey"
        data = load_image_folder(path, ImageCovariances(chosen, n_jobs=n_jobs))
    data.what = f"covariances of {chosen} features of images"
    return data


def _read_npz(path: Path, kind: str | None) -> Bunch:
    import numpy as np
    from sklearn.utils import Bunch

    from covmetric.datasets import load_series

    try:
        with np.load(path, allow_pickle=False) as file:
            arrays = {name: file[name] for name in file}
    except (ValueError, zipfile.BadZipFile) as error:  # objects, which only pickle could read, or a broken file
        raise ValueError(f"cannot read {path}: {error}") from None
    names = ("X_train", "y_train", "X_test", "y_test") if "X_train" in arrays else ("X", "y")
    missing = [name for name in names if name not in arrays]
    if missing:
        raise ValueError(f"{path} has no array {missing[0]}, but {sorted(arrays)}: DATA is {_CONTENT}")
    parts = {name: [arrays[one] for one in names if one.startswith(name)] for name in ("X", "y")}
    if any(X.ndim != 3 or X.shape[1:] != parts["X"][0].shape[1:] for X in parts["X"]):
        shapes = " and ".join(str(X.shape) for X in parts["X"])
        raise ValueError(f"{path}: X has shape {shapes}; matrices (l, n, n) or series (l, channels, times) are needed")
    X, y = np.concatenate(parts["X"]), np.concatenate(parts["y"])
    if (kind or ("matrices" if _hold_matrices(X) else "series")) == "matrices":
        return Bunch(X=X, y=y, groups=arrays.get("groups"), what="matrices")
    data = load_series(path)
    data.what = "shrunk covariances (OAS) of series"
    return data


def _hold_matrices(X: Any) -> bool:
    """Whether most are square and symmetric; of those that are not, the comparison then says which."""
    import numpy as np

    if X.shape[1] != X.shape[2]:
        return False
    difference = np.abs(X - np.swapaxes(X.conj(), 1, 2)).max(axis=(1, 2))
    return bool(np.mean(difference <= 1e-4 * np.abs(X).max(axis=(1, 2))) > 0.5)


def print_table(table: ComparisonTable, what: str) -> None:
    """Accuracies, differences, times and choices as text."""
    grouped = "" if table.groups is None else f" that keep {table.groups} groups together"
    times = f", {table.repeats} times" if table.repeats > 1 else ""
    print(f"{table.examples} matrices, {table.size} x {table.size}, {table.classes} classes ({what}).")
    print(f"{table.folds} folds{grouped}{times}, the same for all methods.")
    print("Accuracy: percent, mean and standard error over the folds.")
    best = table.best_fixed
    if best is not None:
        print(f"Difference: to {best.method}, the best fixed metric on these folds, paired by fold.")
    print("Fit and predict: seconds, the median. Chosen: on the training part (how often), of how many candidates.\n")
    width = max(len(row.method) for row in table.rows)
    print(f"{'':>9} {'':<{width}} {'accuracy':>13} {'difference':>13} {'fit':>8} {'predict':>8}  chosen")
    for record in table.summary():
        start = f"{record['kind']:>9} {record['method']:<{width}}"
        if record["failure"]:
            print(f"{start} failed: {record['failure']}")
            continue
        accuracy = _percent(record["accuracy"], record["standard_error"])
        difference = _percent(record["difference"], record["difference_error"], "+")
        seconds = "".join(f" {record[f'{name}_seconds']:>8.3f}" for name in ("fit", "predict"))
        partly = f"[{record['folds']} of {table.folds * table.repeats} folds] " if table.interrupted else ""
        chosen = f"{_shortened(record['chosen'])}; of {record['candidates']}" if record["chosen"] else ""
        print(f"{start} {accuracy:>13} {difference:>13}{seconds}  {partly}{chosen}".rstrip())


def _percent(value: float | None, error: float | None, sign: str = "") -> str:
    if value is None:
        return ""
    return f"{100 * value:{sign}.1f}" + ("" if error is None else f" +- {100 * error:.1f}")


def _shortened(chosen: str, most: int = 2) -> str:
    several = chosen.split(", ")
    return ", ".join([*several[:most], *(["..."] if len(several) > most else [])])


def write_csv(table: ComparisonTable, path: Path) -> None:
    """One line per method."""
    records = table.summary()
    with path.open("w", newline="") as file:
        writer = csv.DictWriter(file, list(records[0]))
        writer.writeheader()
        writer.writerows(records)


def draw(table: ComparisonTable, path: Path, title: str) -> None:
    """Accuracies as bars, with their standard errors and a dot for each fold."""
    from covmetric.plotting import plot_accuracies, save_figure
    from covmetric.plotting.figures import new_figure

    rows = [row for row in table.rows if not row.failure]
    if not rows:
        print("no picture: every method failed", file=sys.stderr)
        return
    height = 1.6 + 0.27 * len(rows)
    figure, (axes,) = new_figure(8, height, 1)
    values = [list(row.accuracies.values()) for row in rows]
    plot_accuracies(axes, [row.method for row in rows], values, [row.kind for row in rows], "one fold each")
    errors = [100 * (row.standard_error or 0.0) for row in rows]
    means = [100 * (row.accuracy or 0.0) for row in rows]
    axes.errorbar(means, range(len(rows)), xerr=errors, fmt="none", ecolor="black", capsize=3, elinewidth=1)
    words = f"{title}: {table.folds} folds; whiskers: standard error"
    best = table.best_fixed
    if best is not None and best.accuracy is not None:
        axes.axvline(100 * best.accuracy, color="#666666", linewidth=0.8, linestyle="--")
        words += f"; dashed: {best.method}, the best fixed"
    axes.set_title(words, fontsize=9)
    axes.set_ylim(len(rows) - 0.4, -0.6)
    axes.get_legend().set_bbox_to_anchor((0.5, -0.5 / (height - 1.3)), axes.transAxes)  # half an inch below
    save_figure(figure, path)
