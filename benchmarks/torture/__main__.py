"""Run the campaigns and print their table; see `benchmarks.torture`."""

from __future__ import annotations

import argparse

from benchmarks import torture
from benchmarks.torture.campaigns import CAMPAIGNS, run_apart


def main() -> None:
    """Print the table."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.torture", description=torture.__doc__)
    parser.add_argument("names", nargs="*", metavar="NAME", help=f"campaigns, of {', '.join(CAMPAIGNS)} (default: all)")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--quick", action="store_true")
    options = parser.parse_args()
    unknown = set(options.names) - set(CAMPAIGNS)
    if unknown:
        parser.error(f"unknown campaigns: {', '.join(sorted(unknown))}")
    print("| campaign | inputs | certified results | clear errors | defects | seconds |\n|---|---|---|---|---|---|")
    tallies = []
    for name in options.names or CAMPAIGNS:
        tally = run_apart(name, options.seed, options.quick)
        tallies.append(tally)
        print(
            f"| {name} | {tally.inputs:,} | {tally.certified:,} | {tally.clear:,} | {len(tally.defects)} | "
            f"{tally.seconds:.0f} |",
            flush=True,
        )
    for tally in tallies:
        for defect in tally.defects[:20]:
            print(f"\n{tally.name}: {defect}")
    raise SystemExit(any(tally.defects for tally in tallies))


if __name__ == "__main__":
    main()
