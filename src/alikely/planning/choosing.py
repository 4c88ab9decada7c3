"""Which images to show people, chosen from what machines answered.

References
----------
.. [SSW92] Särndal, Swensson, Wretman (1992). Model assisted survey sampling.
   doi:10.1007/978-1-4612-4378-4
.. [N34] Neyman (1934). On the two different aspects of the representative method.
   doi:10.2307/2342192
"""

from __future__ import annotations

import dataclasses
import json
import numbers
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from alikely._base.checks import entries
from alikely._base.files import write_file
from alikely._base.html import html_of
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, seed_sequence
from alikely._base.size import check_memory
from alikely._base.steps import tracked
from alikely.data.trials import Trials
from alikely.inference.weighted import Population
from alikely.planning.designs import (
    Drawing,
    drawing_of,
    expected_of,
    fewest_images,
    lacks_room,
    notes_of,
    rows_of,
    sizes,
    strata_of,
)
from alikely.planning.pools import Pool, Target, WhatFor, pools_of, require_apart, target_of
from alikely.planning.rehearsal import Human, rehearsed

__all__ = ["StimulusPlan", "choose_images"]

TOO_FEW = (
    "{name}: strata of these machines need {least} images; all are drawn by size, weighted, "
    "without a posterior"
)
# Of a row of the table, as it is put together: its texts are shared, its columns are not.
TABLE_BYTES = 300
Layout = Literal["plan", "psychopy", "jspsych"]
FOR_PEOPLE = ("list", "dataset", "condition", "item", "truth")


def choose_images(
    trials: Trials,
    n: int | Mapping[str, int],
    target: WhatFor = "all pairs",
    *,
    machines: str | Sequence[str] = "model",
    images: Literal["shared", "separate"] = "shared",
    n_people: int = 1,
    by_class: bool = False,
    even: float | None = None,
    shown: Collection[str] = (),
    rng: RandomState = None,
) -> StimulusPlan:
    """Choose the images that tell most about machines and people, by the machines' answers.

    Images on which machines agree tell little of which is closer to people, and machines answer
    every image for nothing. A design is made within each condition, whose difficulty would
    otherwise pass for consistency.

    Parameters
    ----------
    trials : Trials
        Answers of the machines to all images that could be shown; people take no part.
    n : int or mapping of str to int
        Images to show in each condition, or in each by name.
    target : str, (str, str) or sequence of (str, str)
        What is wanted of the machines' consistency with people: the difference of two
        (``("A", "B")``), several differences, ``"all pairs"`` (or ``"ranking"``), or that of one
        machine (``"A"``). For up to four machines images are drawn by strata of their answers
        [N34]_, and have a posterior; for more by size, and are weighted [SSW92]_.
    machines : str or sequence of str
        Kind of the machines, or their names. All of them say how hard an image is.
    images : {"shared", "separate"}
        One list for all people, or one drawn for each, which tells more of the mean over people
        and nothing of people among themselves.
    n_people : int
        Lists, where they are separate.
    by_class : bool
        Draw as many of each true class as a stratum or the sizes allow.
    even : float, optional
        Share of the images in [0, 1] that does not hang on what they tell: ordinary ones in
        between. Default: 0.15 if images are drawn by size, otherwise 0.
    shown : collection of str
        Items that people have seen already: left out of the pool.
    rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
        Source of randomness; the same seed gives the same plan.

    Returns
    -------
    StimulusPlan
        Join its table to the answers, `alikely.Trials.with_inclusion`; every estimate heeds it.

    Raises
    ------
    TypeError
        If `trials` is no `Trials`.
    ValueError
        If a machine or an option is unknown, `n` is larger than a pool or less than its strata
        need, machines answer alike, or classes are wanted and not known.

    Notes
    -----
    A design for differences makes the consistencies themselves less precise, and one for two models
    may leave too few for others; every result marks estimates from few images. If the strata of
    three or four models need more than `n` images, images are drawn by size, with a note.

    Examples
    --------
    >>> import alikely as al
    >>> machines = al.load_example().select(kind="model", condition="noise")
    >>> plan = al.planning.choose_images(machines, 40, ("model_1", "model_2"), rng=1)
    >>> plan
    <StimulusPlan: 40 images for the difference of model_1 and model_2>
    >>> bool(plan.expected.set_index("design").loc["chosen", "trials_saved"] > 1)
    True
    """
    if not isinstance(trials, Trials):
        raise TypeError(f"expected Trials of the machines, got {type(trials).__name__}")
    _check(images, n_people, even)
    seen = [str(item) for item in entries("shown", shown)]
    pools = pools_of(trials, machines, seen)
    if by_class and not trials.has_classes:
        raise ValueError("by_class needs true classes; these trials hold correctness only")
    wanted = target_of(target, pools[0].machines)
    seeds = seed_sequence(rng).spawn(len(pools))
    lists = n_people if images == "separate" else 1
    rows, drawings, notes = [], [], _unknown(trials, seen)
    if isinstance(n, Mapping):
        _check_conditions(n, pools)
    counts = [_number(n, pool) for pool in pools]
    for pool in pools:
        require_apart(pool, wanted)
    wanted, scarce = _strata_or_sizes(pools, wanted, counts)
    notes += scarce
    for pool, count, seed in zip(pools, counts, seeds, strict=True):
        size = sizes(pool.correct, wanted.contrasts)
        check_memory(
            TABLE_BYTES * lists * count * len(pools),
            f"{lists:,} lists of {count:,} images in {len(pools):,} conditions",
            "fewer n_people",
        )
        drawing = drawing_of(pool, size, wanted, count, even, by_class)
        generator = np.random.default_rng(seed)
        for number in tracked(range(1, lists + 1), lists):
            at = generator.permutation(drawing.draw(generator))
            rows.append(rows_of(pool, drawing, at).assign(list=number))
        drawings.append(drawing)
        notes += notes_of(pool, drawing, len(pools) > 1)
    table = pd.concat(rows, ignore_index=True).sort_values("list", kind="stable", ignore_index=True)
    return StimulusPlan(
        table[["list", *table.columns.drop("list")]],
        expected_of(pools, drawings, wanted),
        wanted.text,
        images,
        tuple(dict.fromkeys(notes)),
        tuple(pools),
        tuple(drawings),
        wanted,
    )


def _check(images: str, n_people: int, even: float | None) -> None:
    if images not in ("shared", "separate"):
        raise ValueError(f"images must be 'shared' or 'separate', got {images!r}")
    whole = isinstance(n_people, int | np.integer) and not isinstance(n_people, bool)
    if not whole or n_people < 1:
        raise ValueError(f"n_people must be a whole number of at least 1, got {n_people!r}")
    if n_people > 1 and images == "shared":
        raise ValueError(
            "n_people is for images='separate', a list for each; one that is shared serves any "
            "number of people"
        )
    if even is not None and not (isinstance(even, numbers.Real) and 0 <= even <= 1):
        raise ValueError(f"even must be a share in [0, 1], got {even!r}")


def _check_conditions(n: Mapping[str, int], pools: Sequence[Pool]) -> None:
    known = list(dict.fromkeys(pool.condition for pool in pools))
    if unknown := [name for name in n if name not in known]:
        raise ValueError(
            f"n has a number for {unknown[0]!r}, and there is no such condition; there are: "
            f"{listed(known)}{nearest(unknown[0], known)}"
        )


def _unknown(trials: Trials, shown: Sequence[str]) -> list[str]:
    """A note of items that people saw and that machines did not: a name may be misspelt."""
    lost = sorted(set(shown).difference(trials.data["item"].values.astype(str).tolist()))
    if not lost:
        return []
    return [f"{len(lost)} items of shown are none of these trials: {listed(lost, most=3)}"]


def _number(n: int | Mapping[str, int], pool: Pool) -> int:
    if isinstance(n, Mapping):
        if pool.condition not in n:
            raise ValueError(
                f"n has no number for condition {pool.condition!r}; it has {listed(map(str, n))}"
            )
        n = n[pool.condition]
    if isinstance(n, bool) or not isinstance(n, int | np.integer) or n < 2:
        raise ValueError(f"n must be a whole number of at least 2, got {n!r}")
    if n > pool.n_images:
        raise ValueError(
            f"n must be at most {pool.n_images}, the images of {pool.name} that people can still "
            f"see; got {n}"
        )
    return int(n)


def _strata_or_sizes(
    pools: Sequence[Pool], target: Target, counts: Sequence[int]
) -> tuple[Target, list[str]]:
    """The target, without strata where a condition has no room for those of three or four."""
    scarce = []
    if len(target.settled) > 2:
        for pool, count in zip(pools, counts, strict=True):
            if lacks_room(pool, target, count):
                least = fewest_images(strata_of(pool.correct, target.settled).number)
                scarce.append(TOO_FEW.format(name=pool.name, least=least))
    return (target._replace(settled=()) if scarce else target), scarce


@dataclasses.dataclass(frozen=True)
class StimulusPlan:
    """Which images to show, with which probability each was chosen.

    Made by `alikely.planning.choose_images`.

    Attributes
    ----------
    table : pandas.DataFrame
        Images to show, in random order within a list and condition: ``list`` (who sees it, from 1),
        ``dataset, condition, item, truth`` (where known), ``inclusion``, ``pool_images``,
        ``reason``, and of plans for up to four machines ``stratum, stratum_images, machine_a``,
        ``machine_b`` and so on. `alikely.Trials.with_inclusion` needs nothing else, also if it is
        read from a file.
    expected : pandas.DataFrame
        For each condition and ``design`` (``random``, ``chosen``, ``all``): ``n_images``,
        ``se_pool, se_images`` (expected standard error for one person, of several contrasts their
        root mean square), ``trials_saved``. By the machines alone: `simulate` knows better.
    target : str
        What it is for, in words.
    images : {"shared", "separate"}
        Whether all people see one list, or each one of their own.
    notes : tuple of str
        What was left out, and what to mind.
    """

    table: pd.DataFrame
    expected: pd.DataFrame
    target: str
    images: str
    notes: tuple[str, ...]
    _pools: tuple[Pool, ...] = dataclasses.field(repr=False)
    _drawings: tuple[Drawing, ...] = dataclasses.field(repr=False)
    _target: Target = dataclasses.field(repr=False)

    @property
    def n_images(self) -> int:
        """Images that each person sees."""
        return int((self.table["list"] == 1).sum())

    def to_csv(self, path: str | Path, layout: Layout = "plan") -> Path:
        """Write the images for an experiment.

        Parameters
        ----------
        path : str or path
            File; one that stands there is replaced.
        layout : {"plan", "psychopy", "jspsych"}
            The whole `table`; a conditions file with ``item, condition, corrAns``; or
            ``stimulus, condition, correct_response``, as JSON where the name ends in ``.json``
            (``timeline_variables``). Both carry ``list``, and ``inclusion`` stays in the plan: keep
            that file, too.

        Returns
        -------
        pathlib.Path

        Raises
        ------
        ValueError
            If the layout is unknown.
        """
        own = [name for name in FOR_PEOPLE if name in self.table]
        if layout == "plan":
            frame = self.table
        elif layout == "psychopy":
            frame = self.table[own].rename(columns={"truth": "corrAns"})
        elif layout == "jspsych":
            frame = self.table[own].rename(
                columns={"item": "stimulus", "truth": "correct_response"}
            )
        else:
            raise ValueError(f"layout must be 'plan', 'psychopy' or 'jspsych', got {layout!r}")
        target = Path(path)
        if layout == "jspsych" and target.suffix == ".json":
            text = json.dumps(frame.to_dict(orient="records"), indent=1)
        else:
            text = frame.to_csv(index=False)
        write_file(target, text)
        return target

    def sentence(self) -> str:
        """Say what the plan does, as a colleague would.

        Returns
        -------
        str
        """
        chosen = self.expected[self.expected["design"] == "chosen"]
        pool = int(self.expected.loc[self.expected["design"] == "all", "n_images"].sum())
        # As many in each condition as random sampling needs there: never more than there are.
        needed = float((chosen["n_images"] * chosen["trials_saved"].fillna(1)).sum())
        saved, several = needed / chosen["n_images"].sum(), len(chosen) > 1
        where = f" in {len(chosen)} conditions" if several else ""
        apart = ", drawn apart for each person" if self.images == "separate" else ""
        person = "one person in one condition" if several else "one person"
        these, beyond = (_range(chosen[f"se_{name}"]) for name in ("pool", "images"))
        return (
            f"Show {self.n_images} of the {pool} images{where}{apart}. They should tell as much "
            f"about {self._target.question} (error consistency) as {round(needed)} images drawn at random "
            f"({saved:.1f} times as many). Expected standard error of {self._target.error}, "
            f"{person}: {these} if you ask about these {pool} images only, {beyond} if about all "
            "images like them."
        )

    def precision(self, numbers: Sequence[int]) -> pd.DataFrame:
        """Standard errors that plans like this are expected to have with other numbers of images.

        Parameters
        ----------
        numbers : sequence of int
            Images in each condition; those that a pool or its strata do not allow are left out.

        Returns
        -------
        pandas.DataFrame
            As `expected`.

        Raises
        ------
        ValueError
            If none is allowed.
        """
        return expected_of(self._pools, self._drawings, self._target, list(numbers))

    def sizes(self) -> pd.DataFrame:
        """How much each image of the pool may tell.

        Returns
        -------
        pandas.DataFrame
            ``dataset, condition, item, size`` (root mean square of what an answer moves the target
            by, over people of several accuracies), ``inclusion``, ``shown`` (whether it is in the
            plan), ``right`` (share of machines that are right), and of plans by strata
            ``stratum``, a number.
        """
        parts = []
        for pool, drawing in zip(self._pools, self._drawings, strict=True):
            here = (self.table["dataset"] == pool.dataset) & (
                self.table["condition"] == pool.condition
            )
            frame = pd.DataFrame(
                {
                    "dataset": pool.dataset,
                    "condition": pool.condition,
                    "item": pool.items,
                    "size": sizes(pool.correct, self._target.contrasts),
                    "inclusion": drawing.inclusion,
                    "shown": np.isin(pool.items, self.table.loc[here, "item"]),
                    "right": pool.correct.mean(axis=0),
                }
            )
            if drawing.strata is not None:
                frame["stratum"] = drawing.strata.number
            parts.append(frame)
        return pd.concat(parts, ignore_index=True)

    def simulate(
        self,
        human: Human = "model",
        *,
        accuracy: Sequence[float] = (0.5, 0.65, 0.8, 0.92),
        follows: Sequence[float] = (0.0, 0.5, 0.9),
        n_people: int = 1,
        population: Population = "pool",
        n_designs: int = 200,
        rng: RandomState = None,
    ) -> pd.DataFrame:
        """Try the plan on people who are known, before money is spent.

        Parameters
        ----------
        human : {"model", "machines"} or Trials
            Simulated people of each `accuracy`, who find images as hard as machines do to the
            degree `follows`; each machine in turn that is not in the target, as if it were human,
            of which the plan then knows nothing; or earlier people who answered all images of the
            pool. (By a fitted cohort: simulate trials from it and give these.)
        accuracy, follows : sequence of float
            Of simulated people, in (0, 1) and [0, 1].
        n_people : int
            Who see the same images; the mean over them is estimated. Of simulated people.
        population : {"pool", "images"}
            Whose intervals are taken. What they are held against is the pool: intervals for
            further images cover it more often than they say.
        n_designs : int
            Draws of the images for each, at least 20.
        rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
            Source of randomness.

        Returns
        -------
        pandas.DataFrame
            A row for each condition, person and ``design`` (``random``; ``chosen``, weighted;
            ``strata``, their posterior): ``accuracy, follows``, ``effect`` (root mean
            square of the true contrasts), ``rmse``, ``trials_saved`` against random sampling,
            ``coverage`` of 95 % intervals over all contrasts, ``worst_coverage``, ``power`` (share
            of intervals that do not hold 0), ``starved`` (share of estimates that would be
            flagged).

        Raises
        ------
        ValueError
            If a number is out of range, no machine is left to be human, or earlier people lack
            images of the pool.
        """
        return rehearsed(
            self._pools,
            self._drawings,
            self._target,
            human,
            accuracy,
            follows,
            n_people,
            population,
            n_designs,
            np.random.default_rng(seed_sequence(rng)),
        )

    def __repr__(self) -> str:
        lists = self.table["list"].nunique()
        head = f"<StimulusPlan: {self.n_images} images for {self.target}"
        head += f", {lists} lists>" if lists > 1 else ">"
        return "\n".join([head, *(f"  note: {note}" for note in self.notes)])

    def _repr_html_(self) -> str:
        """What notebooks show: what is expected, and notes."""
        shown = self.expected.round(4).astype(str)
        return html_of(
            repr(self).splitlines()[0][1:-1],
            shown,
            numbers=["n_images", "se_pool", "se_images", "trials_saved"],
            n_rows=len(shown),
            notes=list(self.notes),
            more="table has the images",
        )


def _range(errors: pd.Series) -> str:
    """Smallest to largest of the conditions' standard errors; one number where they print alike."""
    low, high = f"{errors.min():.3f}", f"{errors.max():.3f}"
    return low if low == high else f"{low} to {high}"
