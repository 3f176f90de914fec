"""Distances on classes that were not in the training data: fixed, of rivals, and ours.

Needs the data folder that COVMETRIC_DATA names; the gestures need geomstats. The defaults of CovMetricCV(cv="classes")
were chosen on NATOPS, ERing and Epilepsy only. Rivals are tuned on the same splits of the training classes.

    python -m benchmarks.unseen [NAME ...] [--splits N] [--methods A,B,...] [--jobs N] [--json FILE]
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Callable
from typing import Any

import numpy as np

from benchmarks import problems
from covmetric.cli.unseen_table import print_unseen
from covmetric.datasets import load_emg
from covmetric.experiments.unseen import compare_unseen


def from_series(name: str):
    return lambda: (*problems.series(name), None)


def gestures_of_people():
    """Return the windows of both people, where a class is a gesture of a person; those of one round are a group."""
    data = load_emg()
    return data.X, np.char.add(data.person, data.y), data.groups


def gestures(person: str):
    """Return the windows of one person; those of one round are a group."""

    def load():
        data = load_emg()
        mine = data.person == person
        return data.X[mine], data.y[mine], data.groups[mine]

    return load


#: For each data set a function that returns X, y and groups, the number of classes to hold out, the number of splits,
#: and what X holds. With few classes, which of them are held out matters much, so that there are more splits.
DATA: dict[str, tuple[Callable[[], tuple[Any, Any, Any]], int, int, str]] = {
    "NATOPS": (from_series("NATOPS"), 2, 15, "series of 24 channels"),
    "ERing": (from_series("ERing"), 2, 15, "series of 4 channels"),
    "Epilepsy": (from_series("Epilepsy"), 2, 6, "series of 3 channels"),
    "JapaneseVowels": (from_series("JapaneseVowels"), 3, 10, "series of 12 channels"),
    "Brodatz": (
        lambda: problems.brodatz_quarters(10),
        31,
        5,
        "10 patches of each quarter of a texture; groups: quarters",
    ),
    "ETH-80 sets": (
        lambda: problems.eth80_sets((6, 6)),
        2,
        10,
        "one matrix per object, over its views of 6 x 6 pixels",
    ),
    "ETH-80 images": (
        lambda: problems.eth80_images(slice(0, 40, 4)),
        2,
        10,
        "10 views of each object; groups: objects",
    ),
    "gestures": (gestures_of_people, 4, 10, "windows of one second; classes: gesture and person; groups: rounds"),
    "gestures, person mg": (gestures("mg"), 2, 10, "windows of one second; groups: rounds"),
    "gestures, person rr": (gestures("rr"), 2, 10, "windows of one second; groups: rounds"),
}


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Compare distances on classes that were not in the training data.")
    parser.add_argument(
        "names", nargs="*", metavar="NAME", help=f"data sets: {', '.join(map(repr, DATA))} (default: all)"
    )
    parser.add_argument("--splits", type=int, help="largest number of class splits per data set (default: all)")
    parser.add_argument("--methods", metavar="A,B,...", help="names of methods (default: all)")
    parser.add_argument("--jobs", type=int, help="number of processes (default: 1)")
    parser.add_argument("--json", help="write all scores to this file")
    options = parser.parse_args(arguments)
    if not problems.available():
        raise SystemExit("no real data: set COVMETRIC_DATA to the folder")
    names = options.names or list(DATA)
    unknown = [name for name in names if name not in DATA]
    if unknown:
        parser.error(f"unknown data set {unknown[0]!r}; the data sets are {', '.join(map(repr, DATA))}")
    methods = None if options.methods is None else options.methods.split(",")
    tables = {}
    for name in names:
        load, held_out, n_splits, content = DATA[name]
        n_splits = min(n_splits, options.splits or n_splits)
        table = compare_unseen(*load(), methods, n_splits, test_size=held_out, n_jobs=options.jobs)
        tables[name] = table.as_dict()
        print(f"\n{name}")
        print_unseen(table, content)
        sys.stdout.flush()
        if options.json:
            with open(options.json, "w") as file:
                json.dump(tables, file)


if __name__ == "__main__":
    main(sys.argv[1:])
