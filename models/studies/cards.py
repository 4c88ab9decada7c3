"""Evidence of each generative model: calibration, reference posterior, and ``model.json``."""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import io
import json
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arviz_stats as azs
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely._base.files import write_file
from alikely._base.names import nearest
from alikely._base.random import RandomState
from alikely.calibration.ranks import Ranks, interpreted, sbc
from alikely.inference.chains import nuts
from alikely.models._priors import prior_texts
from studies.case import DEFAULT, Case
from studies.cases import CASES

if TYPE_CHECKING:
    import pymc as pm

SEED = 1
# Monte Carlo errors of reference values are then a tenth of those of a usual fit.
N_REFERENCE, QUANTILES = 80_000, (0.05, 0.5, 0.95)
MODEL_NAMES = tuple(CASES)
N_POINTS = 3
# With fewer simulations a band is not informative.
FEWEST = 20
# Relative difference below which log densities count as equal.
SAME = 1e-8


def model_density(name: str, branch: str = DEFAULT) -> list[float]:
    """Log density of a model at fixed points, which identifies the model of an evidence."""
    case = case_of(name, branch)
    builds = (case.example, case.design) if branch == DEFAULT else (case.design,)
    return [value for build in builds for value in _densities(build)]


def is_of(evidence: dict[str, Any], name: str, branch: str = DEFAULT) -> bool:
    """Whether evidence belongs to the current version of a model."""
    now = model_density(name, branch)
    return len(evidence["density"]) == len(now) and np.allclose(evidence["density"], now, SAME, 0)


@functools.lru_cache(maxsize=128)
def _densities(build: Callable[[], pm.Model]) -> tuple[float, ...]:
    model = build()
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    sizes = model.eval_rv_shapes()
    shapes = [tuple(map(int, sizes[value.name])) for value in values]
    # Not rewritten, because this takes longer than a few evaluations. Term by term, because
    # PyTensor would make a node with too many inputs for their sum.
    terms = [term.sum() for term in model.logp(sum=False)]
    log_density = model.compile_fn(
        terms, inputs=values, point_fn=False, on_unused_input="ignore", mode=interpreted(None)
    )
    found = []
    for k in range(N_POINTS):
        # Values without any pattern that a model might have.
        waves = [
            np.sin(1 + k + 7 * i + np.arange(np.prod(shape, dtype=int))).reshape(shape) / 2
            for i, shape in enumerate(shapes)
        ]
        found.append(float(f"{float(sum(log_density(*waves))):.12g}"))
    return tuple(found)


def calibration(
    name: str,
    n: int | None = None,
    cache_dir: str | Path | None = None,
    rng: RandomState = SEED,
    branch: str = DEFAULT,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Calibrate a model by simulation: evidence and ranks."""
    case = case_of(name, branch)
    if cache_dir is not None:
        # Simulations of an earlier version of a model are not used for the current one.
        rounded = " ".join(f"{value:.8g}" for value in _densities(case.design))
        digest = hashlib.sha256(rounded.encode()).hexdigest()[:16]
        cache_dir = Path(cache_dir) / f"{name}-{branch}-{digest}"
    same = ("simulate", "quantities", "likelihood", "thin", "tune")
    options = {key: getattr(case, key) for key in (*same, "target_accept")}
    n = case.n if n is None else n
    ranks = in_steps(sbc(case.design, n, **options, cache_dir=cache_dir, rng=rng))
    by_simulation = ranks.groupby("simulation").first()
    judged = verdict(ranks)
    judged["divergences"]["share"] = _short(judged["divergences"]["share"])
    evidence = {
        "model": name,
        "branch": branch,
        "density": model_density(name, branch),
        "design": case.words,
        "seed": rng if isinstance(rng, int) else None,
        "settings": {key: options[key] for key in ("tune", "target_accept", "thin")},
        "versions": versions(),
        **judged,
        "chains": {
            "median_r_hat": round(float(by_simulation["r_hat"].median()), 4),
            "median_ess": round(float(by_simulation["ess"].median())),
        },
        "quantities": [
            {k: _short(v) for k, v in row.items()}
            for row in Ranks(ranks).summary().to_dict("records")
        ],
    }
    return evidence, ranks


def verdict(ranks: pd.DataFrame) -> dict[str, Any]:
    """Whether ranks are uniform, over all simulations and over those without divergences.

    Whether a chain diverges depends on the data and on chance, but not on the true values given the
    data. If model and sampler are correct, ranks are uniform with and without these simulations.
    """
    divergent = ranks["divergent"] > 0
    calm = ranks[~divergent]
    with_one = int(ranks.loc[divergent, "simulation"].nunique())
    found = _judged(ranks)
    divergences = {
        "simulations": with_one,
        "share": with_one / found["n_simulations"],
        "without": _judged(calm) if calm["simulation"].nunique() >= FEWEST else None,
    }
    return found | {"divergences": divergences}


def _judged(ranks: pd.DataFrame) -> dict[str, Any]:
    summary = Ranks(ranks).summary()
    posterior = summary[summary["method"] == "posterior"]
    return {
        "n_simulations": int(ranks["simulation"].nunique()),
        "passed": bool(posterior["inside_all"].all()),
        "outside_alone": sorted(posterior.loc[~posterior["inside"], "quantity"]),
    }


def reference(name: str, n_draws: int = N_REFERENCE, rng: RandomState = SEED) -> dict[str, Any]:
    """Posterior summaries of a model for the data of its page, with Monte Carlo errors."""
    case = case_of(name)
    model = case.example()
    posterior = nuts(model, n_draws, rng=rng)["posterior"].to_dataset()
    figures = {}
    for quantity in case.quantities:
        draws = one_element(posterior[quantity])
        row = {}
        # Quantiles only: a concentration has no mean.
        for p in QUANTILES:
            row[f"q{100 * p:g}"] = float(draws.quantile(p))
            error = azs.mcse(draws.to_dataset(name="x"), method="quantile", prob=p)
            row[f"q{100 * p:g}_mcse"] = float(error["x"])
        figures[quantity] = {k: float(f"{v:.6g}") for k, v in row.items()}
    return {
        "model": name,
        "density": model_density(name),
        "data": {v.name: np.asarray(v.get_value()).tolist() for v in model.data_vars},
        "n_draws": n_draws,
        "seed": rng if isinstance(rng, int) else None,
        "versions": versions(),
        "figures": figures,
    }


def one_element(draws: xr.DataArray) -> xr.DataArray:
    """First element that varies; probabilities of true classes, for example, are constant."""
    flat = draws.stack(element=draws.dims[2:]) if draws.ndim > 2 else draws.expand_dims("element")
    # By more than rounding.
    varies = np.asarray(flat.std(["chain", "draw"]) > 1e-12)
    return flat.isel(element=int(varies.argmax()), drop=True).drop_vars(
        ["element", *draws.dims[2:]], errors="ignore"
    )


def case_of(name: str, branch: str = DEFAULT) -> Case:
    """Calibration design of a form of a model."""
    if name not in CASES:
        raise ValueError(
            f"name must be one of {', '.join(CASES)}; got {name!r}{nearest(name, list(CASES))}"
        )
    known = CASES[name].all_branches
    if branch not in known:
        raise ValueError(
            f"{name} has no branch {branch!r}{nearest(branch, known)}; expected one of "
            f"{', '.join(known)}"
        )
    return CASES[name].of(branch)


def versions() -> dict[str, str]:
    """Versions of this package, and of the packages that its evidence depends on."""
    others = {name: importlib.metadata.version(name) for name in ("pymc", "nutpie", "numpy")}
    return {"alikely": alikely.__version__} | others


def _short(value: Any) -> Any:
    """Round numbers for readers."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return float(f"{value:.4g}") if isinstance(value, float) else value


def write(path: Path, content: dict[str, Any]) -> None:
    """Write indented JSON with a newline at the end."""
    write_file(path, json.dumps(content, indent=1), "\n")


def described(name: str, model: pm.Model, written: dict[str, Any]) -> dict[str, Any]:
    """Content of ``model.json``: derived from the model, and written by hand."""

    def node(kind: str, variable: Any, default: dict[str, str]) -> dict[str, Any]:
        dims = model.named_vars_to_dims.get(variable.name) or ()
        kept = written[kind].get(variable.name, default)
        return {"dims": list(dims)} | {k: v for k, v in kept.items() if k != "dims"}

    return {
        "name": name,
        "question": written["question"],
        "when": written["when"],
        "dims": list(model.coords),
        "data": {v.name: node("data", v, {"meaning": ""}) for v in model.data_vars},
        "parameters": {v.name: node("parameters", v, {}) for v in model.free_RVs},
        "deterministics": [v.name for v in model.deterministics],
        "priors": prior_texts(model),
        "references": written["references"],
    }


def redescribe(cache_dir: Path, name: str, model: pm.Model) -> None:
    """Update the graph and ``model.json`` for the current model; keep hand-written parts."""
    import pymc as pm

    path, page = cache_dir / "model.json", cache_dir / "README.md"
    content = described(name, model, json.loads(path.read_text()))
    path.write_text(json.dumps(content, indent=2) + "\n")
    before, fence, rest = page.read_text().partition("```mermaid\n")
    drawn, end, after = rest.partition("\n```")
    graph = str(pm.model_to_mermaid(model)).strip()
    # The order of nodes in a plate differs between processes: not a change of the page.
    if sorted(drawn.splitlines()) != sorted(graph.splitlines()):
        page.write_text(before + fence + graph + end + after)


RANKS = "ranks.npz"
# Ranks from 0 to 1 in steps of two bytes; the last number means no rank.
STEPS, UNDEFINED = 65_534, 65_535
DIVERGENT = "divergent"


def in_steps(ranks: pd.DataFrame) -> pd.DataFrame:
    """Ranks as stored, from which the result can be computed again."""
    return ranks.assign(rank=_shares(_steps(ranks["rank"].to_numpy())))


def keep_ranks(path: str | Path, branch: str, ranks: pd.DataFrame) -> None:
    """Save the ranks of a branch in the file of its model, replacing earlier ones."""
    path = Path(path)
    arrays = _arrays(path) if path.is_file() else {}
    arrays = {name: values for name, values in arrays.items() if _branch_of(name) != branch}
    ordered = ranks.sort_values("simulation", kind="stable")
    divergent = ordered.groupby("simulation")[DIVERGENT].first()
    arrays[f"{branch}/{DIVERGENT}"] = np.minimum(divergent.to_numpy(), UNDEFINED).astype(np.uint16)
    for (method, quantity), part in ordered.groupby(["method", "quantity"], sort=False):
        arrays[f"{branch}/{method}/{quantity}"] = _steps(part["rank"].to_numpy())
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{k: arrays[k] for k in sorted(arrays)})
    write_file(path, buffer.getvalue())


def kept_branches(path: str | Path) -> list[str]:
    """Names of the branches whose ranks a file contains."""
    return sorted({_branch_of(name) for name in _arrays(Path(path))})


def kept_ranks(path: str | Path, branch: str = DEFAULT) -> pd.DataFrame:
    """Ranks of a branch from the file of its model."""
    arrays = _arrays(Path(path))
    divergent = arrays.pop(f"{branch}/{DIVERGENT}").astype(np.int64)
    parts = []
    for name, steps in arrays.items():
        if _branch_of(name) == branch:
            _, method, quantity = name.split("/")
            part = pd.DataFrame({"simulation": np.arange(len(steps)), "method": method})
            part = part.assign(quantity=quantity, rank=_shares(steps))
            parts.append(part.assign(**{DIVERGENT: divergent}))
    return pd.concat(parts, ignore_index=True)


def _steps(shares: NDArray[np.float64]) -> NDArray[np.uint16]:
    known = np.isfinite(shares)
    steps = np.round(np.where(known, shares, 0) * STEPS)
    return np.where(known, steps, UNDEFINED).astype(np.uint16)


def _shares(steps: NDArray[np.uint16]) -> NDArray[np.float64]:
    return np.where(steps == UNDEFINED, np.nan, steps / STEPS)


def _branch_of(name: str) -> str:
    return name.partition("/")[0]


def _arrays(path: Path) -> dict[str, NDArray[Any]]:
    with np.load(path, allow_pickle=False) as kept:
        return {name: kept[name] for name in kept.files}
