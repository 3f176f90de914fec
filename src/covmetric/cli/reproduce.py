"""`covmetric reproduce`: run the paper's experiments and write pages, pictures and CSV files."""

from __future__ import annotations

import argparse
import os
import shlex
from collections.abc import Callable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

from covmetric.cli.arguments import integer_at_least, positive_number
from covmetric.cli.command import Command
from covmetric.cli.data import shows_progress
from covmetric.cli.tables import print_json, print_report

if TYPE_CHECKING:
    from covmetric.experiments.reports import Report

#: The options of the experiment `convergence`. Without a value, the experiment uses its default.
_CONVERGENCE_OPTIONS = ("sizes", "lambdas", "orders", "slack", "tol", "max_epochs")
_ALL = "all"


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Add the arguments of the subcommand.

    Parameters
    ----------
    parser : argparse.ArgumentParser
        The parser of the subcommand.
    """
    from covmetric.orders import ORDERS
    from covmetric.slacks import SLACKS

    parser.add_argument(
        "experiments",
        nargs="+",
        choices=[*EXPERIMENTS, _ALL],
        metavar="EXPERIMENT",
        help="one or more of: "
        + "; ".join(f"{name}: {experiment.summary}" for name, experiment in EXPERIMENTS.items())
        + f"; {_ALL}: all of them",
    )
    parser.add_argument(
        "--data",
        type=Path,
        metavar="DIR",
        help="folder with the subfolders brodatz and eth80 (default: the environment variable COVMETRIC_DATA); if only "
        "one of the two data sets is needed, this may also be the folder of its images",
    )
    parser.add_argument(
        "--seeds",
        type=integer_at_least(1),
        metavar="N",
        help="number of random problems or splits (default: 10 for eth80-sets, 5 for the others); projection and "
        "claims do not use it",
    )
    parser.add_argument(
        "--out",
        type=Path,
        default=Path(),
        metavar="DIR",
        help="write to this folder, which is made if it does not exist (default: the current one); rows that it holds "
        "already are not computed again",
    )
    parser.add_argument(
        "--jobs",
        type=integer_at_least(1),
        metavar="N",
        help="number of processes for brodatz, eth80, eth80-sets and readings (default: 1)",
    )
    parser.add_argument(
        "--json",
        action="store_true",
        help="print only the summary, as JSON; with several experiments, an object that has one summary for each",
    )
    group = parser.add_argument_group("options of convergence")
    group.add_argument(
        "--sizes", type=integer_at_least(1), nargs="+", metavar="N", help="sizes of the matrices (default: 10 50 100)"
    )
    group.add_argument(
        "--lambdas",
        type=positive_number,
        nargs="+",
        metavar="LAMBDA",
        help="values of lambda (default: 1e-2 1e-3 1e-4)",
    )
    group.add_argument(
        "--orders", nargs="+", choices=list(ORDERS), help="selection orders (default: the three of the paper)"
    )
    group.add_argument("--slack", choices=list(SLACKS), help="slack divergence (default: is)")
    group.add_argument("--tol", type=float, help="relative gap at which a run ends (default: 1e-6)")
    group.add_argument(
        "--max-epochs", type=integer_at_least(1), metavar="N", help="maximum number of epochs of a run (default: 2000)"
    )


def run(options: argparse.Namespace) -> None:
    """Run the experiments, print their reports and write their files.

    Parameters
    ----------
    options : argparse.Namespace
        The parsed arguments.
    """
    names = _selected(options.experiments)
    if "convergence" not in names:
        for name in _given_convergence_options(options):
            raise ValueError(f"--{name.replace('_', '-')} is an option of the experiment convergence only")
    options.folders = _image_folders(names, options.data)
    if options.out.exists() and not options.out.is_dir():
        raise ValueError(f"--out: {options.out} is a file; give a folder")
    options.out.mkdir(parents=True, exist_ok=True)
    summaries: dict[str, Any] = {}
    for name in names:
        report = EXPERIMENTS[name].run(options)
        page = report.write(options.out, _command(name, options))
        summaries[name] = [asdict(row) for row in report.summary]
        if not options.json:
            print_report(report)
            print(f"\nThe page is {page}. Its files are in the same folder.\n", flush=True)
    if options.json:
        print_json(summaries if len(names) > 1 else summaries[names[0]])


def _selected(given: Sequence[str]) -> list[str]:
    """Return the experiments to run, each of them once and in the order of `EXPERIMENTS`."""
    return [name for name in EXPERIMENTS if name in given or _ALL in given]


def _given_convergence_options(options: argparse.Namespace) -> list[str]:
    return [name for name in _CONVERGENCE_OPTIONS if getattr(options, name) is not None]


def _image_folders(names: Sequence[str], data: Path | None) -> dict[str, Path]:
    """Return the folder of each data set that the experiments need, or raise an error before any work is done."""
    needed = list(dict.fromkeys(data_set for name in names for data_set in EXPERIMENTS[name].data_sets))
    if not needed:
        return {}
    content = " and ".join(needed)
    if data is not None:
        option, parent = "--data", data
    elif os.environ.get("COVMETRIC_DATA"):
        option, parent = "COVMETRIC_DATA", Path(os.environ["COVMETRIC_DATA"])
    else:
        raise ValueError(
            f"the images of {content} are needed, but COVMETRIC_DATA is not set: set it to a folder with the "
            f"subfolders {content}, or give that folder by --data"
        )
    folders = {name: parent / name for name in needed}
    if option == "--data" and len(needed) == 1 and parent.is_dir() and not folders[needed[0]].is_dir():
        return {needed[0]: parent}
    for folder in folders.values():
        if not folder.is_dir():
            raise ValueError(
                f"{option}: there is no folder {folder}; {option} must name a folder with the subfolders {content}"
            )
    return folders


def _command(name: str, options: argparse.Namespace) -> str:
    """Return the command that repeats the experiment."""
    command = ["covmetric", "reproduce", name]
    if options.seeds is not None and EXPERIMENTS[name].uses_seeds:
        command += ["--seeds", str(options.seeds)]
    for option in _given_convergence_options(options) if name == "convergence" else ():
        value = getattr(options, option)
        values = value if isinstance(value, list) else [value]
        command += [f"--{option.replace('_', '-')}", *(f"{v:g}" if isinstance(v, float) else str(v) for v in values)]
    return shlex.join(command)


def _rows(options: argparse.Namespace, name: str) -> Any:
    from covmetric.experiments.claims import row_file

    return row_file(options.out, name)


def _seeds(options: argparse.Namespace, argument: str = "seeds") -> dict[str, Any]:
    """Return the number of seeds as an argument; without it, the experiment uses its default."""
    return {} if options.seeds is None else {argument: options.seeds}


def _projection(options: argparse.Namespace) -> Report:
    from covmetric.experiments.projection import projection
    from covmetric.experiments.reports import projection_report

    return projection_report(projection(file=_rows(options, "projection")))


def _convergence(options: argparse.Namespace) -> Report:
    from covmetric.experiments.convergence import convergence
    from covmetric.experiments.reports import convergence_report

    settings = {name: getattr(options, name) for name in _given_convergence_options(options)}
    file = _rows(options, "convergence")
    return convergence_report(convergence(**_seeds(options), **settings, progress=shows_progress(options), file=file))


def _leml(options: argparse.Namespace) -> Report:
    from covmetric.experiments.rank_one import rank_one
    from covmetric.experiments.reports import rank_one_report

    return rank_one_report(rank_one(**_seeds(options), file=_rows(options, "leml")))


def _eth80(options: argparse.Namespace) -> Report:
    return _recognition(options, "eth80", "ETH-80 (section 5.2 of the paper)")


def _brodatz(options: argparse.Namespace) -> Report:
    return _recognition(options, "brodatz", "Brodatz textures (section 5.2 of the paper)")


def _recognition(options: argparse.Namespace, data_set: str, title: str) -> Report:
    from covmetric.experiments.protocols import PROTOCOLS
    from covmetric.experiments.recognition import PAGES, recognition
    from covmetric.experiments.reports import recognition_report

    rows = recognition(
        [protocol for protocol, (name, _) in PROTOCOLS.items() if name == data_set],
        options.folders[data_set],
        **_seeds(options),
        **PAGES[data_set],
        n_jobs=options.jobs,
        progress=shows_progress(options),
        file=_rows(options, data_set),
    )
    return recognition_report(data_set, title, rows)


def _image_sets(options: argparse.Namespace) -> Report:
    from covmetric.experiments.image_sets import image_sets
    from covmetric.experiments.reports import image_set_report

    rows = image_sets(
        options.folders["eth80"],
        **_seeds(options, "repeats"),
        n_jobs=options.jobs,
        progress=shows_progress(options),
        file=_rows(options, "eth80-sets"),
    )
    return image_set_report(rows)


def _readings(options: argparse.Namespace) -> Report:
    from covmetric.experiments.readings import readings
    from covmetric.experiments.reports import readings_report

    rows = readings(
        options.folders["eth80"].parent,
        **_seeds(options),
        n_jobs=options.jobs,
        progress=shows_progress(options),
        file=_rows(options, "readings"),
    )
    return readings_report(rows)


def _claims(options: argparse.Namespace) -> Report:
    from covmetric.experiments.claims import read_evidence
    from covmetric.experiments.reports import claims_report, write_claims

    evidence = read_evidence(options.out)
    write_claims(options.out / "claims.json", evidence)
    return claims_report(evidence)


@dataclass(frozen=True)
class Experiment:
    """An experiment of the command.

    Attributes
    ----------
    summary : str
        What the experiment shows, for the help.
    run : function
        Computes the rows that the folder does not hold yet, and returns the report.
    data_sets : tuple of str, default=()
        The data sets that it needs.
    uses_seeds : bool, default=True
        Whether it repeats something with several seeds.
    """

    summary: str
    run: Callable[[argparse.Namespace], Report]
    data_sets: tuple[str, ...] = ()
    uses_seeds: bool = True


#: The experiments, in the order in which they run: the fast ones first, and the claims after their evidence.
EXPERIMENTS: dict[str, Experiment] = {
    "projection": Experiment("the time of a projection (section 4)", _projection, uses_seeds=False),
    "convergence": Experiment("how fast each selection order closes the gap (section 5.1)", _convergence),
    "leml": Experiment("how far LEML, as reconstructed, stays from the optimum", _leml),
    "eth80": Experiment("recognition of objects (section 5.2)", _eth80, ("eth80",)),
    "brodatz": Experiment("recognition of textures (section 5.2)", _brodatz, ("brodatz",)),
    "eth80-sets": Experiment("recognition of image sets", _image_sets, ("eth80",)),
    "readings": Experiment(
        "recognition with other choices where the paper leaves them open", _readings, ("brodatz", "eth80")
    ),
    "claims": Experiment(
        "a verdict on each claim of the paper, from the CSV files of all others in the folder",
        _claims,
        uses_seeds=False,
    ),
}

REPRODUCE = Command(
    add_arguments,
    run,
    (
        "covmetric reproduce projection convergence            # no data needed",
        "covmetric reproduce all --data ~/data --out results   # resumes where it stopped",
    ),
)
