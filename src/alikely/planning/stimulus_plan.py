"""A plan of images: what is shown to whom, what it saves, and how it fares before it is run."""

from __future__ import annotations

import dataclasses
import json
from collections.abc import Sequence
from pathlib import Path
from typing import Literal

import numpy as np
import pandas as pd

from alikely._base.files import write_file
from alikely._base.html import html_of
from alikely._base.random import RandomState
from alikely.data.trials import Trials
from alikely.inference.weighted import Population
from alikely.planning.batches import batches_table, next_images, require_renewable
from alikely.planning.plan_notes import notes_of
from alikely.planning.pools import Pool
from alikely.planning.precision import expected_of, precision_by_number, sizes_of
from alikely.planning.rehearsal import Drawing
from alikely.planning.rehearsals import Human, rehearsed
from alikely.planning.targets import Target

__all__ = ["StimulusPlan"]

Layout = Literal["plan", "psychopy", "jspsych"]
FOR_PEOPLE = ("list", "dataset", "condition", "item", "truth")


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
    metric : str
        Whose standard errors they are.
    images : {"shared", "separate"}
        Whether all people see one list, or each one of their own.
    notes : tuple of str
        What was left out, and what to mind.
    """

    table: pd.DataFrame
    expected: pd.DataFrame
    target: str
    metric: str
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
        of = self.metric.replace("_", " ")
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
            f"about {self._target.question} ({of}) as {round(needed)} images drawn at random "
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
        return precision_by_number(
            self._pools, self._drawings, self._target, self.metric, list(numbers)
        )

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
                    "size": sizes_of(pool, self._target, self.metric),
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
            self.metric,
            human,
            accuracy=accuracy,
            follows=follows,
            n_people=n_people,
            population=population,
            n_designs=n_designs,
            rng=rng,
        )

    def simulate_batches(
        self,
        width: float,
        *,
        batch: int = 20,
        human: Human = "model",
        accuracy: Sequence[float] = (0.65, 0.8, 0.92),
        follows: Sequence[float] = (0.5,),
        population: Population = "pool",
        n_designs: int = 100,
        rng: RandomState = None,
    ) -> pd.DataFrame:
        """What stopping when the interval is narrow enough does, with batches renewed.

        Of plans for up to four machines: the first batch is this plan's, further ones are
        allotted to strata by what was answered, and the posterior over strata needs no weights,
        since every image of a stratum is as likely as any other.

        Parameters
        ----------
        width : float
            Width of the 95% interval at which to stop; for several contrasts, of the widest.
        batch : int
            Images of each further batch.
        human, accuracy, follows, population, n_designs, rng
            As in `simulate`.

        Returns
        -------
        pandas.DataFrame
            A row for each condition and person: ``first`` (images of the first batch),
            ``expected_images``, ``images_q95``, ``coverage`` at stopping, ``mean_width``,
            ``unfinished_share`` (all images shown first); beside it a plan made beforehand of as
            many ``fixed_images``, its ``fixed_width`` and ``fixed_coverage``.

        Raises
        ------
        ValueError
            If the plan is drawn by size or for another metric than error consistency, or an option
            is out of range.
        """
        return batches_table(
            self._pools,
            self._drawings,
            self._target,
            self.metric,
            width,
            batch=batch,
            human=human,
            accuracy=accuracy,
            follows=follows,
            population=population,
            n_designs=n_designs,
            rng=rng,
        )

    def next_batch(
        self, trials: Trials, n: int, *, people: str = "human", rng: RandomState = None
    ) -> StimulusPlan:
        """Renew the plan by what was answered so far.

        Parameters
        ----------
        trials : Trials
            Answers to images of this plan, by all people who saw it; others take no part.
        n : int
            Further images in each condition.
        people : str
            Kind of observers whose answers count.
        rng : None, int, numpy.random.Generator or numpy.random.SeedSequence
            Source of randomness.

        Returns
        -------
        StimulusPlan
            Of all images, those of this plan (``batch`` 1, 2, ...) and the new ones, with the
            inclusion in either batch; join it to all responses. Its predictions and notes also
            describe both together.

        Raises
        ------
        ValueError
            If the plan is drawn by size, for another metric than error consistency, or of separate
            lists, or fewer images are left.
        """
        require_renewable(self._drawings, self.metric)
        table, drawings = next_images(
            self.table, self._pools, self._drawings, trials, n, people, self._target, rng
        )
        several = len(self._pools) > 1

        def told(ways: Sequence[Drawing]) -> list[str]:
            each = zip(self._pools, ways, strict=True)
            return [
                note
                for pool, way in each
                for note in notes_of(pool, way, self._target, self.metric, several)
            ]

        before = told(self._drawings)
        notes = [note for note in self.notes if note not in before] + told(drawings)
        return dataclasses.replace(
            self,
            table=table,
            expected=expected_of(self._pools, drawings, self._target, self.metric),
            notes=tuple(dict.fromkeys(notes)),
            _drawings=drawings,
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
