"""A new session or person with few labels, and a stream of unlabelled trials, on hand gestures and SSVEP.

Needs the recordings of `covmetric demo` and, for SSVEP, the data folder that COVMETRIC_DATA names. All methods see the
same trials: those of the other sessions or people with their labels, k labelled trials per class of the target, and the
unlabelled test trials of the target, whose mean recentring uses. The test trials do not depend on k.

    python -m benchmarks.sessions [NAME ...] [--draws N] [--jobs N] [--json FILE] [--pictures FOLDER] [--smoke]

With --json, data sets whose results are in the file are not run again.
"""

from __future__ import annotations

import argparse
import copy
import json
import sys
import warnings
from dataclasses import dataclass
from itertools import chain
from pathlib import Path

import numpy as np
from joblib import Parallel, delayed
from pyriemann.classification import MDM
from pyriemann.geometry.geodesic import geodesic
from pyriemann.tangentspace import TangentSpace
from pyriemann.transfer import MDWM, encode_domains
from sklearn.linear_model import LogisticRegression
from sklearn.model_selection import GridSearchCV, GroupKFold
from sklearn.svm import SVC
from tqdm import tqdm

from benchmarks import problems
from covmetric import CovMetric, CovMetricClassifier, Recentre
from covmetric.datasets import load_emg
from covmetric.experiments.estimates import mean_and_standard_error, paired_difference
from covmetric.plotting.figures import new_figure, save_figure

SHOTS = (0, 1, 2, 5, 10)
TRADEOFFS = (0.1, 0.3, 0.5, 0.7, 0.9)
#: The last positions of the parts of a stream, whose first 200 trials are used.
STREAM = (2, 5, 10, 20, 50, 100, 200)
STREAM_DRAWS = 20
#: The methods of the table. Ours are marked.
RIVALS = ("MDM", "MDWM", "recentred MDM", "recentred MDWM", "recentred TS + LR", "recentred TS + SVM")
OURS = (
    "recentred, W = I, means",
    "recentred, learned, means",
    "recentred, learned, means, kappa 10",
    "recentred, rule='auto'",
)
STREAMS = ("auto", "0", "10", "auto, recorded order")


@dataclass(frozen=True)
class Task:
    """A target session or person: its trials, and those of the others.

    `groups` are recentred, and `rounds` are the groups of folds and pairs. `pool` marks the trials of the target that
    may be labelled, and `test` those that are predicted.
    """

    X: np.ndarray
    y: np.ndarray
    groups: np.ndarray
    rounds: np.ndarray
    source: np.ndarray
    pool: np.ndarray
    test: np.ndarray


def gestures(new_person: bool, window: int = 250):
    """Yield a task for each session; the first three rounds may be labelled, the other three are tested."""
    data = load_emg(window)
    number = np.array([int(name.rsplit(" ", 1)[1]) for name in data.groups])
    session = np.array([f"{p} {s}" for p, s in zip(data.person, data.session, strict=True)])
    for name in np.unique(session):
        target, person = session == name, name.split()[0]
        source = data.person != person if new_person else (data.person == person) & ~target
        yield Task(data.X, data.y, session, data.groups, source, target & (number <= 3), target & (number > 3))


def ssvep(new_person: bool):
    """Yield a task for each person, or recording; trials are labelled at random, and the rest is tested."""
    X, y, subject, record = problems.ssvep()
    targets = [subject == s for s in np.unique(subject)] if new_person else [record == r for r in np.unique(record)]
    for target in targets:
        source = (subject != subject[target][0]) if new_person else (subject == subject[target][0]) & ~target
        yield Task(X, y, record, record, source, target, target)


DATA = {
    "gestures, new session": lambda: gestures(False),
    "gestures, new person": lambda: gestures(True),
    "SSVEP, new session": lambda: ssvep(False),
    "SSVEP, new person": lambda: ssvep(True),
}


def draw(task: Task, shots, seed: int):
    """Return the labelled trials per class in random order, and the test trials, which are never labelled."""
    rng = np.random.default_rng(seed)
    labelled = {c: rng.permutation(np.flatnonzero(task.pool & (task.y == c)))[: max(shots)] for c in np.unique(task.y)}
    test = task.test.copy()
    test[np.concatenate(list(labelled.values()))] = False
    return labelled, np.flatnonzero(test)


def learned(task: Task, moved, src) -> dict[str, CovMetricClassifier]:
    """Return our classifiers, fitted on the recentred source trials. Rounds or recordings are groups of the pairs."""
    models = {
        OURS[0]: CovMetricClassifier(CovMetric(lam=np.inf), rule="mean", mean_strength="auto"),
        OURS[1]: CovMetricClassifier(CovMetric(random_state=0), rule="mean", mean_strength="auto"),
        OURS[2]: CovMetricClassifier(CovMetric(random_state=0), rule="mean", mean_strength=10.0),
        OURS[3]: CovMetricClassifier(rule="auto", random_state=0),
    }
    groups = task.rounds[src] if len(np.unique(task.rounds[src])) > 1 else None
    return {method: model.fit(moved, task.y[src], groups=groups) for method, model in models.items()}


def tuned(estimator, Cs, vectors, y, rounds):
    """Return the estimator with the C that is the best in folds of the source trials, by groups."""
    n_groups = len(np.unique(rounds))
    folds = GroupKFold(min(5, n_groups)) if n_groups > 1 else 5
    return GridSearchCV(estimator, {"C": list(Cs)}, cv=folds).fit(vectors, y, groups=rounds).best_estimator_


def one_task(name: str, number: int, draws: int, shots) -> list[dict[str, object]]:
    """Return the accuracies of all methods on one target: draws times shots."""
    task = list(DATA[name]())[number]
    shots = [k for k in shots if k <= 5 or name != "SSVEP, new session"]  # a recording has eight trials per class
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        src = np.flatnonzero(task.source)
        recentre = Recentre("transductive")
        moved = recentre.fit_transform(task.X[src], groups=task.groups[src])
        y, rounds = task.y[src], task.rounds[src]
        fitted = learned(task, moved, src)
        vectors = TangentSpace().fit_transform(moved)
        machines = {
            RIVALS[4]: tuned(LogisticRegression(max_iter=1000), 10.0 ** np.arange(-3, 2), vectors, y, rounds),
            RIVALS[5]: tuned(SVC(), 10.0 ** np.arange(-1, 4), vectors, y, rounds),
        }
        for seed in range(draws):
            labelled, test = draw(task, shots, seed)
            for k in shots:
                new = np.concatenate([index[:k] for index in labelled.values()]).astype(int)
                batch = np.concatenate([new, test])
                target = recentre.transform(task.X[batch], groups=task.groups[batch])
                accuracies = rivals(task, src, new, test, moved, target, machines)
                for method, model in fitted.items():
                    grown = copy.deepcopy(model)
                    if k:
                        grown.partial_fit(target[: len(new)], task.y[new], groups="target")
                    accuracies[method] = float(np.mean(grown.predict(target[len(new) :]) == task.y[test]))
                rows += [
                    {"data": name, "target": number, "draw": seed, "k": k, "method": m, "accuracy": a}
                    for m, a in accuracies.items()
                ]
    return rows


def rivals(task, src, new, test, moved, target, machines) -> dict[str, float]:
    """Return the accuracies of pyRiemann's methods; MDWM is listed for each trade-off."""
    y, y_test = np.concatenate([task.y[src], task.y[new]]), task.y[test]
    raw = np.concatenate([task.X[src], task.X[new]])
    recentred = np.concatenate([moved, target[: len(new)]])
    cases = {"": (raw, task.X[test]), "recentred ": (recentred, target[len(new) :])}
    accuracies = {}
    for prefix, (train, queries) in cases.items():
        accuracies[f"{prefix}MDM"] = float(np.mean(MDM().fit(train, y).predict(queries) == y_test))
        if len(new):
            domain = np.repeat(["source", "target"], [len(src), len(new)])
            mdwm = MDWM(0.5, "target").fit(*encode_domains(train, y, domain))
        for tradeoff in TRADEOFFS:
            accuracy = accuracies[f"{prefix}MDM"]  # without labels there is no target mean
            if len(new):
                mdwm.covmeans_ = geodesic(mdwm.source_means_, mdwm.target_means_, tradeoff)
                accuracy = float(np.mean(mdwm.predict(queries) == y_test.astype(str)))
            accuracies[f"{prefix}MDWM {tradeoff}"] = accuracy
    space = TangentSpace().fit(recentred)
    for method, machine in machines.items():
        machine.fit(space.transform(recentred), y)
        accuracies[method] = float(np.mean(machine.predict(space.transform(target[len(new) :])) == y_test))
    return accuracies


def stream(name: str, number: int, draws: int) -> list[dict[str, object]]:
    """Return the accuracy at each part of a stream of unlabelled trials, and with the mean of all of them.

    Each trial is moved by the running mean up to that trial, and classified by the class means of a learned metric.
    """
    task = list(DATA[name]())[number]
    rows = []
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        src, trials = np.flatnonzero(task.source), np.flatnonzero(task.pool | task.test)
        whole = Recentre("transductive").fit(task.X[src], groups=task.groups[src])
        model = CovMetricClassifier(CovMetric(random_state=0), rule="mean")
        groups = task.rounds[src] if len(np.unique(task.rounds[src])) > 1 else None
        model.fit(whole.transform(task.X[src], groups=task.groups[src]), task.y[src], groups=groups)

        def correct(transformer, order):
            moved = transformer.transform(task.X[order], groups=task.groups[order])
            return model.predict(moved) == task.y[order]

        def add(kind, hits):
            for first, last in zip((0, *STREAM), STREAM, strict=False):
                if first < len(hits):
                    accuracy = float(hits[first:last].mean())
                    rows.append({"data": name, "target": number, "kind": kind, "t": last, "accuracy": accuracy})

        rows.append(
            {
                "data": name,
                "target": number,
                "kind": "transductive",
                "t": 0,
                "accuracy": float(correct(whole, trials).mean()),
            }
        )
        centre = Recentre(prior_strength=1e12).fit(task.X[src], groups=task.groups[src])
        centre.partial_fit(task.X[trials], groups=task.groups[trials])  # the mean of the others, unmoved
        rows.append(
            {
                "data": name,
                "target": number,
                "kind": "mean of the others",
                "t": 0,
                "accuracy": float(correct(centre, trials).mean()),
            }
        )
        for kind in STREAMS:
            strength = "auto" if kind.startswith("auto") else float(kind)
            running = Recentre("running", prior_strength=strength).fit(task.X[src], groups=task.groups[src])
            for seed in range(1 if "recorded" in kind else draws):
                order = trials if "recorded" in kind else np.random.default_rng(seed).permutation(trials)
                add(kind, correct(running, order[: STREAM[-1]]))
    return rows


def by_target(rows, **wanted) -> dict[int, float]:
    """Return the mean accuracy over draws in percent, by target."""
    chosen = [r for r in rows if all(r.get(key) == value for key, value in wanted.items())]
    targets = sorted({r["target"] for r in chosen})
    return {t: 100.0 * float(np.mean([r["accuracy"] for r in chosen if r["target"] == t])) for t in targets}


def resolved(rows, name: str, method: str, k: int) -> dict[int, float]:
    """Return the accuracies of a method; MDWM has the trade-off that is the best on the test trials, in hindsight."""
    if not method.endswith("MDWM"):
        return by_target(rows, data=name, method=method, k=k)
    candidates = [by_target(rows, data=name, method=f"{method} {tradeoff}", k=k) for tradeoff in TRADEOFFS]
    return max(candidates, key=lambda values: np.mean(list(values.values()) or [0.0]))


def print_tables(rows, streamed, names) -> None:
    for name in names:
        shots = sorted({r["k"] for r in rows if r["data"] == name})
        n_targets = len({r["target"] for r in rows if r["data"] == name})
        print(f"\n{name}: {n_targets} targets, accuracy in percent, mean and standard error over targets")
        print("| method | " + " | ".join(f"{k} label{'' if k == 1 else 's'}" for k in shots) + " |")
        print("|" + "---|" * (len(shots) + 1))
        for method in (*RIVALS, *OURS):
            cells = [mean_and_standard_error(list(resolved(rows, name, method, k).values())).text() for k in shots]
            print(f"| {method} | " + " | ".join(cells) + " |")
        for other in RIVALS:
            cells = [
                paired_difference(resolved(rows, name, OURS[3], k), resolved(rows, name, other, k)).text(sign=True)
                for k in shots
            ]
            print(f"| auto minus {other} | " + " | ".join(cells) + " |")
    for name in names:
        print(f"\n{name}, stream: accuracy at the positions of a stream of unlabelled trials")
        for kind in ("mean of the others", "transductive"):
            print(f"{kind}: {mean_and_standard_error(list(by_target(streamed, data=name, kind=kind).values())).text()}")
        steps = steps_of(streamed, name)
        print("| prior strength | " + " | ".join(span_of(t) for t in steps) + " |")
        print("|" + "---|" * (len(steps) + 1))
        for kind in STREAMS:
            values = [by_target(streamed, data=name, kind=kind, t=t) for t in steps]
            cells = [mean_and_standard_error(list(v.values())).text() for v in values]
            print(f"| {kind} | " + " | ".join(cells) + " |")


def steps_of(streamed, name: str) -> list[int]:
    """Return the last positions of the parts of a stream that all targets have."""
    targets = {r["target"] for r in streamed if r["data"] == name}
    return [t for t in STREAM if len(by_target(streamed, data=name, kind=STREAMS[0], t=t)) == len(targets)]


def span_of(last: int) -> str:
    """Return the positions of a part of a stream as text."""
    first = (0, *STREAM)[STREAM.index(last)] + 1
    return f"{first} to {last}"


def draw_pictures(rows, streamed, names, folder: Path) -> None:
    """Draw the accuracy against the number of labels, and against the number of trials of the stream."""
    figure, axes = new_figure(4.2 * len(names), 4.2, len(names), sharey=False)
    shown = ("MDM", "recentred MDM", "recentred MDWM", "recentred TS + SVM", OURS[0], OURS[1], OURS[3])
    for panel, name in zip(axes, names, strict=True):
        shots = sorted({r["k"] for r in rows if r["data"] == name})
        for method in shown:
            means = [np.mean(list(resolved(rows, name, method, k).values())) for k in shots]
            style = "-o" if method in OURS else "--s"
            panel.plot(range(len(shots)), means, style, label=method, markersize=4)
        panel.set_xticks(range(len(shots)), shots)
        panel.set_xlabel("labelled trials per class of the target")
        panel.set_title(name)
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("accuracy, percent")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    save_figure(figure, folder / "sessions-labels.png")
    figure, axes = new_figure(4.2 * len(names), 4.0, len(names))
    for panel, name in zip(axes, names, strict=True):
        for kind, style in (("mean of the others", "--"), ("transductive", ":")):
            level = np.mean(list(by_target(streamed, data=name, kind=kind).values()))
            panel.axhline(level, color="black", linestyle=style, label=kind)
        steps = steps_of(streamed, name)
        for kind in STREAMS:
            means = [np.mean(list(by_target(streamed, data=name, kind=kind, t=t).values())) for t in steps]
            panel.plot(range(len(steps)), means, "-o", label=f"running, prior strength {kind}", markersize=4)
        panel.set_xticks(range(len(steps)), [span_of(t) for t in steps], rotation=45)
        panel.set_xlabel("position in the stream of unlabelled trials")
        panel.set_title(name)
        panel.grid(alpha=0.3)
    axes[0].set_ylabel("accuracy, percent")
    figure.legend(*axes[0].get_legend_handles_labels(), loc="outside lower center", ncols=4, fontsize=9)
    save_figure(figure, folder / "sessions-stream.png")


def main(arguments: list[str]) -> None:
    parser = argparse.ArgumentParser(description="Transfer to a new session or person.")
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"{', '.join(map(repr, DATA))} (default: all)")
    parser.add_argument("--draws", type=int, default=3, help="draws of the labelled trials (default: %(default)s)")
    parser.add_argument("--jobs", type=int, default=2, help="number of processes (default: %(default)s)")
    parser.add_argument("--json", type=Path, help="write all accuracies to this file, and read those that it holds")
    parser.add_argument("--pictures", type=Path, help="write the curves to this folder")
    parser.add_argument("--smoke", action="store_true", help="one target, one draw, 0 and 1 labels")
    options = parser.parse_args(arguments)
    names = options.names or list(DATA)
    unknown = [name for name in names if name not in DATA]
    if unknown:
        parser.error(f"unknown data {unknown[0]!r}; there are {', '.join(map(repr, DATA))}")
    if any("SSVEP" in name for name in names) and not problems.available():
        raise SystemExit("no real data: set COVMETRIC_DATA to the folder")
    shots, draws, stream_draws = ((0, 1), 1, 1) if options.smoke else (SHOTS, options.draws, STREAM_DRAWS)
    results = json.loads(options.json.read_text()) if options.json and options.json.exists() else {}
    for name in [name for name in names if name not in results]:
        n_targets = 1 if options.smoke else len(list(DATA[name]()))
        work = [delayed(one_task)(name, i, draws, shots) for i in range(n_targets)]
        work += [delayed(stream)(name, i, stream_draws) for i in range(n_targets)]
        parts = list(tqdm(Parallel(options.jobs, return_as="generator")(work), name, len(work)))
        labels, streams = chain.from_iterable(parts[:n_targets]), chain.from_iterable(parts[n_targets:])
        results[name] = {"labels": list(labels), "stream": list(streams)}
        if options.json:
            options.json.write_text(json.dumps(results))
    rows = [row for name in names for row in results[name]["labels"]]
    streamed = [row for name in names for row in results[name]["stream"]]
    print_tables(rows, streamed, names)
    if options.pictures:
        draw_pictures(rows, streamed, names, options.pictures)


if __name__ == "__main__":
    main(sys.argv[1:])
