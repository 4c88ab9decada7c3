"""Simulation-based calibration: ranks of true values among posterior draws.

References
----------
.. [CGR06] Cook, Gelman, Rubin (2006). Validation of software for Bayesian models using posterior
   quantiles. doi:10.1198/106186006X136976
.. [T18] Talts, Betancourt, Simpson, Vehtari, Gelman (2018). Validating Bayesian inference
   algorithms with simulation-based calibration. doi:10.48550/arXiv.1804.06788
.. [M23] Modrák, Moon, Kim, Bürkner, Huurre, Faltejsková, Gelman, Vehtari (2023). Simulation-based
   calibration checking for Bayesian computation: the choice of test quantities shapes sensitivity.
   doi:10.1214/23-BA1404
"""

from __future__ import annotations

import functools
import uuid
import warnings
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import pandas as pd
from numpy.typing import ArrayLike, NDArray

from alikely._base.arrays import Floats
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState, spawn_integer
from alikely._base.settings import resolve
from alikely.calibration.studies import run_study
from alikely.inference.cache import LOCK, Ready, compiled
from alikely.inference.intervals import uniformity

if TYPE_CHECKING:
    import pymc as pm

Values = dict[str, NDArray[Any]]
Simulate = Callable[[Values, np.random.Generator], Mapping[str, ArrayLike]]
Likelihood = Callable[[Values, Values], NDArray[np.float64]]

CHAINS = 2
# Number of draws that a true value is ranked among.
N_RANKED = 100
# Simulations per cell: enough for a file, few enough that an interruption loses little.
BLOCK = 5
LOG_LIKELIHOOD = "log_likelihood"
# Number of draws at which variables are evaluated without compilation.
N_LIKELIHOODS = 25
LEVELS = (0.5, 0.8, 0.95)


class Ranks(pd.DataFrame):
    """Ranks of true values among posterior draws."""

    @property
    def _constructor(self) -> Callable[..., Ranks]:
        return Ranks

    def summary(self, ci_prob: float | None = None) -> pd.DataFrame:
        """Summarize the results of simulation-based calibration for each quantity.

        Parameters
        ----------
        ci_prob : float
            Probability that uniformly distributed ranks stay within the simultaneous band, in
            (0, 1).

        Returns
        -------
        pandas.DataFrame
            One row per quantity and method, with columns

            - ``method``, ``quantity``, ``n``: labels of the row, and number of simulations
            - ``p_value``: test of uniform ranks (`alikely.inference.intervals.uniformity`)
            - ``inside``: whether the distribution of ranks is inside the simultaneous band of
              `ci_prob`
            - ``inside_all``: whether the distribution of ranks is inside a wider band that is
              simultaneous for all quantities (Bonferroni)
            - ``data_averaged_p``: Kolmogorov-Smirnov test that true values and single posterior
              draws have the same distribution; NaN if draws were not saved
            - ``coverage_50``, ``coverage_80``, ``coverage_95``: coverage of central intervals; an
              undefined interval counts as not covering the true value
            - ``coverage_50_mcse``, ...: Monte Carlo errors of ``coverage_50``, ...

        Raises
        ------
        ValueError
            If `ci_prob` is out of range, or there are no ranks.
        """
        ci_prob = resolve("ci_prob", ci_prob)
        if self.empty or not 0 < ci_prob < 1:
            raise ValueError(f"ranks must not be empty and ci_prob between 0 and 1, got {ci_prob}")
        together = self.loc[self["method"] == "posterior", "quantity"].nunique()
        rows = []
        for (method, quantity), part in self.groupby(["method", "quantity"], sort=False):
            known = part.dropna(subset="rank")
            p_value = uniformity(known["rank"]) if len(known) > 1 else np.nan
            row = {
                "method": method,
                "quantity": quantity,
                "n": len(part),
                "p_value": p_value,
                "inside": p_value >= 1 - ci_prob,
                "inside_all": p_value >= (1 - ci_prob) / together,
                "data_averaged_p": _alike(known) if len(known) > 1 else np.nan,
            }
            for level in LEVELS:
                name = f"coverage_{100 * level:g}"
                row[name] = float((np.abs(part["rank"] - 0.5) <= level / 2).mean())
                row[f"{name}_mcse"] = float(np.sqrt(level * (1 - level) / len(part)))
            rows.append(row)
        return pd.DataFrame(rows)


def sbc(
    model: pm.Model | Callable[[], pm.Model],
    n: int = 200,
    *,
    simulate: Simulate | None = None,
    source: pm.Model | Callable[[], pm.Model] | None = None,
    quantities: Sequence[str] | None = None,
    likelihood: Likelihood | None = None,
    thin: int = 20,
    tune: int = 500,
    target_accept: float = 0.9,
    cache_dir: str | Path | None = None,
    rng: RandomState = None,
) -> Ranks:
    """Test a generative model and its sampler with simulation-based calibration [T18]_.

    Parameters are drawn from the prior, and data are drawn given the parameters. The posterior
    given the simulated data is sampled with NUTS. If the model and the sampler are correct, the
    rank of the true value among the posterior draws has a uniform distribution [CGR06]_.

    Parameters
    ----------
    model : pymc.Model or callable
        Generative model whose data are in `pymc.Data`, or a function that takes no arguments and
        builds the model. Pass a function that builds the model if the study runs in several
        processes or on a computing cluster.
    n : int
        Number of simulations, at least 2. With fewer than 100 simulations, the test of uniform
        ranks has little power.
    simulate : callable, optional
        Function of two arguments: a mapping from the names of free and deterministic variables to
        their true values, and a `numpy.random.Generator`. The function returns a mapping from names
        to simulated data. A simulator written independently of the model also tests the likelihood.
        Default: data are simulated from the model.
    source : pymc.Model or callable, optional
        Model whose prior generates the true parameters, with the same free variables as `model`.
        Default: `model`.
    quantities : sequence of str, optional
        Free and deterministic variables whose ranks are computed. For a variable with several
        elements, each simulation uses one element, chosen at random. Default: all free variables.
    likelihood : callable, optional
        Function whose first argument maps names of variables to arrays of draws, of shape (draw,
        ...), and whose second argument is the data. The function returns the
        log likelihood of each draw, up to a constant. By default, the log likelihood is computed
        from the free variables of the model `source`, whose parameterization must not depend on the
        data.
    thin, tune : int
        Thinning interval, and number of warm-up draws in each of 2 chains. Draws are thinned to
        100, because ranks among autocorrelated draws are not uniform.
    target_accept : float
        Target acceptance rate, as in `alikely.inference.nuts`.
    cache_dir, rng
        As in `alikely.calibration.coverage_study`. Use a new `cache_dir` after you change the model
        or the simulator.

    Returns
    -------
    pandas.DataFrame
        One row per simulation and quantity, with columns

        - ``simulation``, ``method`` (posterior), ``quantity``, ``element``: labels of the row
        - ``truth``: true value
        - ``rank``: relative rank of the true value among the draws, in (0, 1); ties are resolved at
          random; NaN if the true value or all draws are undefined
        - ``draw``: a single posterior draw
        - ``mean``, ``sd``: mean and standard deviation of all draws
        - ``divergent``: number of divergences
        - ``r_hat``, ``ess``: worst values among the free variables, before thinning

        The quantity ``log_likelihood`` is the log likelihood of the data under `source`. Without
        ``log_likelihood``, a sampler that ignores the data would pass the test [M23]_.

        The table's ``summary(ci_prob)`` method tests whether the ranks of each quantity are
        uniform.

    Raises
    ------
    ValueError
        If a number is out of range, if the model has no variable with the name of a quantity, or if
        the model has no ``pymc.Data``.

    Examples
    --------
    >>> import alikely as al
    >>> model = al.models.copying([30, 10, 10, 10], independent=True)
    >>> ranks = al.calibration.sbc(model, n=2, thin=1, rng=1)
    >>> sorted(set(ranks["quantity"]))
    ['log_likelihood', 'p_a', 'p_b']
    >>> ranks.summary()["n"].tolist()
    [2, 2, 2]
    """
    if n < 2 or thin < 1 or tune < 1:
        raise ValueError(
            f"n must be at least 2, thin and tune at least 1; got {n}, {thin} and {tune}"
        )
    options = [thin, tune, target_accept]
    chosen = None if quantities is None else tuple(quantities)
    study = _Study(model, source, simulate, chosen, likelihood)
    built = _built(model)
    named = [v.name for v in [*built.free_RVs, *built.deterministics]]
    unknown = [name for name in chosen or () if name not in named]
    if unknown:
        raise ValueError(
            f"quantities must be among {listed(named)}; got {listed(map(repr, unknown))}"
            f"{nearest(unknown[0], named)}"
        )
    if not built.data_vars:
        raise ValueError("model must have its data in pymc.Data, got none; use pymc.Data")
    # Files of a study are identified by these; only the names of the model's variables count.
    common = {"options": options, "ranked": list(chosen or [])}
    cells = [
        {"first": first, "number": min(BLOCK, n - first)} | common for first in range(0, n, BLOCK)
    ]
    block = functools.partial(_block, study)
    table = run_study(block, cells, cache_dir, rng=rng)
    return Ranks(table.drop(columns=["first", "number", *common]))


def _alike(ranks: pd.DataFrame) -> float:
    """p-value for equal distributions of true values and posterior draws."""
    from scipy import stats

    if "truth" not in ranks:
        return np.nan
    with warnings.catch_warnings():
        # For nearly identical samples the exact probability is 1, and rounding may exceed 1. SciPy
        # then uses another method, which also gives 1.
        warnings.filterwarnings(
            "ignore", "ks_2samp: Exact calculation unsuccessful", RuntimeWarning
        )
        return float(stats.ks_2samp(ranks["truth"], ranks["draw"]).pvalue)


@dataclass(frozen=True)
class _Study:
    """Settings that a process needs to simulate; its key identifies prepared objects."""

    model: Any = field(compare=False)
    source: Any = field(compare=False)
    simulate: Simulate | None = field(compare=False)
    quantities: tuple[str, ...] | None = field(compare=False)
    likelihood: Likelihood | None = field(compare=False)
    key: str = field(default_factory=lambda: uuid.uuid4().hex)


class _Prepared(NamedTuple):
    fill: Callable[[Values], Ready]
    draw: Callable[[int], Values]
    log_likelihood: Callable[[Values, Values], Floats]
    data: list[str]
    free: list[str]


def _built(model: Any) -> Any:
    return model() if callable(model) and not hasattr(model, "free_RVs") else model


@functools.lru_cache(maxsize=2)
def _prepared(study: _Study) -> _Prepared:
    """Compile sampler, prior and likelihood: once in each process."""
    model = _built(study.model)
    source = model if study.source is None else _built(study.source)
    return _Prepared(
        compiled(model),
        _prior(source, observed=study.simulate is None),
        _likelihood(source),
        [v.name for v in model.data_vars],
        [v.name for v in model.free_RVs],
    )


def _prior(source: pm.Model, observed: bool) -> Callable[[int], Values]:
    """Draw all variables from a model's random graph, optionally with data by name."""
    from pymc.pytensorf import compile as compile_graph
    from pymc.pytensorf import find_rng_nodes, reseed_rngs

    names = [v.name for v in [*source.free_RVs, *source.deterministics]]
    outputs = [source[name] for name in names]
    if observed:
        data = {_held(source.rvs_to_values[rv]): rv for rv in source.observed_RVs}
        for holder in source.data_vars:
            if holder in data:
                names.append(holder.name)
                outputs.append(data.pop(holder))
        if data or source.potentials:
            raise ValueError(
                "model cannot simulate its data (each must be one pymc.Data variable, and there "
                "must be no potentials); use simulate="
            )
    function = compile_graph([], outputs, random_seed=False, mode=interpreted())
    rngs = find_rng_nodes(outputs)

    def draw(seed: int) -> Values:
        reseed_rngs(rngs, seed)
        return dict(zip(names, function(), strict=True))

    return draw


def _held(value: Any) -> Any:
    """Variable of observed values, without the casts that PyMC adds for some types."""
    while value.owner is not None and len(value.owner.inputs) == 1:
        value = value.owner.inputs[0]
    return value


def _likelihood(model: pm.Model) -> Callable[[Values, Values], Floats]:
    """Log likelihood of data at draws of the free variables, from the model's graph."""
    import pytensor.tensor as pt
    from pymc.model.transform.conditioning import remove_value_transforms
    from pymc.pytensorf import compile as compile_graph
    from pytensor.graph.replace import vectorize_graph

    # PyMC does not copy models with initial values; none are needed here.
    starts = model.rvs_to_initial_values
    model.rvs_to_initial_values = dict.fromkeys(starts)
    try:
        plain = remove_value_transforms(model)
    finally:
        model.rvs_to_initial_values = starts
    inputs = [plain.rvs_to_values[rv] for rv in plain.free_RVs]
    several = [pt.tensor(dtype=v.dtype, shape=(None, *v.type.shape)) for v in inputs]
    # Vectorized over draws: calls take longer than calculations.
    total = vectorize_graph(
        plain.logp(vars=[*plain.observed_RVs, *plain.potentials]),
        dict(zip(inputs, several, strict=True)),
    )
    function = compile_graph(several, total, on_unused_input="ignore", mode=interpreted())
    names = [rv.name for rv in plain.free_RVs]

    def log_likelihood(draws: Values, data: Values) -> Floats:
        for name, values in data.items():
            plain[name].set_value(np.asarray(values, dtype=plain[name].dtype))
        found = function(*(draws[name] for name in names))
        return np.broadcast_to(found, len(draws[names[0]]))

    return log_likelihood


def interpreted(optimizer: str | None = "fast_compile") -> Any:
    """Compilation mode without C code, for functions that are called few times."""
    from pytensor.compile.mode import Mode
    from pytensor.link.vm import VMLinker

    return Mode(linker=VMLinker(use_cloop=False, c_thunks=False), optimizer=optimizer)


def _block(
    study: _Study,
    first: int,
    number: int,
    options: list[Any],
    ranked: list[str],
    seed: np.random.SeedSequence,
) -> list[dict[str, Any]]:
    return [
        {"simulation": simulation} | row
        for simulation, own in enumerate(seed.spawn(number), start=first)
        for row in _simulation(study, options, own)
    ]


def _simulation(
    study: _Study, options: list[Any], seed: np.random.SeedSequence
) -> list[dict[str, Any]]:
    import nutpie

    thin, tune, target_accept = options
    prior_seed, sampler_seed, own_seed = seed.spawn(3)
    rng = np.random.default_rng(own_seed)
    with LOCK:
        prepared = _prepared(study)
        truth = prepared.draw(spawn_integer(prior_seed))
    if study.simulate is None:
        data = {name: truth.pop(name) for name in prepared.data if name in truth}
    else:
        data = {k: np.asarray(v) for k, v in study.simulate(truth, rng).items()}
    quantities = study.quantities or prepared.free
    tree = nutpie.sample(
        prepared.fill(data).sampled,
        draws=N_RANKED // CHAINS * thin,
        tune=tune,
        chains=CHAINS,
        cores=1,
        seed=spawn_integer(sampler_seed),
        save_warmup=False,
        target_accept=target_accept,
        progress_bar=False,
    )
    posterior = tree["posterior"].to_dataset()
    kept = posterior.isel(draw=slice(thin - 1, None, thin))
    draws = {name: x.values.reshape(-1, *x.shape[2:]) for name, x in kept.data_vars.items()}
    ranked = {name: draws[name] for name in quantities}
    likelihood = study.likelihood or prepared.log_likelihood
    # The true value is last.
    few = {
        name: np.concatenate([
            draws[name][:: N_RANKED // N_LIKELIHOODS], np.asarray(truth[name])[None]
        ])
        for name in (quantities if study.likelihood else prepared.free)
    }  # fmt: skip
    with LOCK:
        *likelihoods, truth[LOG_LIKELIHOOD] = likelihood(few, data)
    ranked[LOG_LIKELIHOOD] = np.array(likelihoods)
    chains = _diagnosed(posterior[prepared.free], tree["sample_stats"].to_dataset())
    rows = []
    element = {name: _element(values, rng) for name, values in ranked.items()}
    for name, values in ranked.items():
        at = element[name]
        row = {"method": "posterior", "quantity": name, "element": at}
        rank = _ranked(float(np.ravel(truth[name])[at]), _columns(values)[:, at], rng)
        rows.append(row | rank | chains)
    return rows


def _columns(draws: ArrayLike) -> NDArray[Any]:
    array = np.asarray(draws)
    return array.reshape(len(array), -1)


def _element(draws: NDArray[Any], rng: np.random.Generator) -> int:
    """Choose an element that is not constant by construction, as a probability of 0 is."""
    free = np.flatnonzero(np.ptp(_columns(draws), axis=0) > 0)
    return int(rng.choice(free)) if len(free) else 0


def _ranked(truth: float, draws: NDArray[Any], rng: np.random.Generator) -> dict[str, float]:
    defined = draws[np.isfinite(draws)]
    if not len(defined):
        return dict.fromkeys(("rank", "draw", "mean", "sd"), np.nan) | {"truth": truth}
    below, ties = (defined < truth).sum(), (defined == truth).sum()
    rank = (below + rng.random() * (ties + 1)) / (len(defined) + 1)
    return {
        "truth": truth,
        "rank": float(rank) if np.isfinite(truth) else np.nan,
        "draw": float(rng.choice(defined)),
        "mean": float(defined.mean()),
        "sd": float(defined.std()),
    }


def _diagnosed(posterior: Any, stats: Any) -> dict[str, Any]:
    import arviz_stats as azs

    r_hat = max(float(values.max()) for values in azs.rhat(posterior).data_vars.values())
    ess = min(float(values.min()) for values in azs.ess(posterior).data_vars.values())
    return {"divergent": int(stats["diverging"].sum()), "r_hat": r_hat, "ess": ess}
