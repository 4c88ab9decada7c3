"""``python -m alikely.calibration models/<name>``: make the evidence of the catalogue again."""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

from alikely.calibration.cards import calibration, reference, update_card, write
from alikely.calibration.cases import CASES
from alikely.calibration.index import write_index


def main(arguments: Sequence[str] | None = None) -> int:
    """Calibrate one model of the catalogue, or write its index."""
    parser = argparse.ArgumentParser(
        prog="python -m alikely.calibration",
        description=(
            "Write calibration.json, reference.json and the figures of a model of the catalogue; "
            "of the folder of all models the index with the coverage of intervals."
        ),
    )
    parser.add_argument("folder", type=Path, help="models/<name>, or models for the index")
    parser.add_argument(
        "--simulations", type=int, help="how many; that of the catalogue if not given"
    )
    parser.add_argument(
        "--work", type=Path, help="where finished parts are kept, to go on after a stop"
    )
    parser.add_argument("--seed", type=int, default=1, help="of all simulations (1)")
    given = parser.parse_args(arguments)
    name = given.folder.resolve().name
    if not given.folder.is_dir() or (name not in CASES and name != "models"):
        print(
            f"alikely: {given.folder} is no folder of the catalogue; expected models or models/ "
            f"and one of {', '.join(CASES)}",
            file=sys.stderr,
        )
        return 2
    if name == "models":
        if lacking := [
            case for case in CASES if not (given.folder / case / "calibration.json").is_file()
        ]:
            print(
                f"alikely: {', '.join(lacking)} without calibration.json; make it first, python -m "
                f"alikely.calibration {given.folder / lacking[0]}",
                file=sys.stderr,
            )
            return 2
        write_index(given.folder, given.work, given.seed)
        return 0
    # What the card draws needs matplotlib, the figures themselves do not.
    from alikely.plots.calibration import plot_rank_ecdf, plot_recovery

    evidence, ranks = calibration(name, given.simulations, given.work, given.seed, True)
    write(given.folder / "calibration.json", evidence)
    plot_rank_ecdf(ranks).savefig(given.folder / "ranks.png", dpi=110)
    plot_recovery(ranks).savefig(given.folder / "recovery.png", dpi=110)
    write(given.folder / "reference.json", reference(name))
    update_card(given.folder / "README.md", evidence)
    outside = ", ".join(evidence["outside_alone"]) or "none"
    print(
        f"{name}: {'passed' if evidence['passed'] else 'NOT passed'}; "
        f"{evidence['n_simulations']} simulations, outside their own band: {outside}"
    )
    return 0 if evidence["passed"] else 1


if __name__ == "__main__":
    sys.exit(main())
