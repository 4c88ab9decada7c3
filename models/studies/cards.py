"""The files of the catalogue that computation makes: evidence and reference figures of each model.

References
----------
.. [V21] Vehtari, Gelman, Simpson, Carpenter, Bürkner (2021). Rank-normalization, folding, and
   localization: an improved R-hat. doi:10.1214/20-BA1221
"""

from __future__ import annotations

import functools
import hashlib
import importlib.metadata
import io
import json
import textwrap
import zipfile
from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import arviz_stats as azs
import numpy as np
import pandas as pd
import xarray as xr
from numpy.typing import NDArray

import alikely
from alikely import models
from alikely._base.files import write_file
from alikely._base.names import listed, nearest
from alikely._base.random import RandomState
from alikely.calibration.ranks import interpreted, sbc, sbc_summary
from alikely.calibration.verdicts import verdict
from alikely.inference.chains import nuts
from studies.case import DEFAULT, Case
from studies.cases import CASES

if TYPE_CHECKING:
    import pymc as pm

__all__ = [
    "MODEL_NAMES",
    "QUANTILES",
    "RANKS",
    "calibration",
    "card_section",
    "in_steps",
    "is_of",
    "keep_ranks",
    "kept_branches",
    "kept_ranks",
    "model_density",
    "one_element",
    "reference",
    "update_card",
    "versions",
    "write",
]

SEED = 1
# Reference figures are then known ten times as well as those of a usual fit.
N_REFERENCE = 80_000
QUANTILES = (0.05, 0.5, 0.95)
# What the room of models has beside them gives a model other priors.
MODEL_NAMES = [name for name in models.__all__ if name not in ("prior_texts", "with_priors")]
N_POINTS = 3
# Relative difference of log densities that are the same.
SAME = 1e-8


def model_density(name: str, branch: str = DEFAULT) -> list[float]:
    """Log density of a model at fixed points: what its evidence is of."""
    case = _case(name, branch)
    builds = (case.example, case.design) if branch == DEFAULT else (case.design,)
    return [value for build in builds for value in _of_model(build)]


@functools.lru_cache(maxsize=128)
def _of_model(build: Callable[[], pm.Model]) -> tuple[float, ...]:
    return tuple(_densities(build()))


def is_of(evidence: dict[str, Any], name: str, branch: str = DEFAULT) -> bool:
    """Whether evidence is of a model as it stands."""
    now = model_density(name, branch)
    return len(evidence["density"]) == len(now) and np.allclose(evidence["density"], now, SAME, 0)


def _densities(model: pm.Model) -> list[float]:
    values = [model.rvs_to_values[variable] for variable in model.free_RVs]
    sizes = model.eval_rv_shapes()
    shapes = [tuple(map(int, sizes[value.name])) for value in values]
    # Written as it is: to make a graph simpler takes longer than a few values of it. One by one: of
    # their sum PyTensor would make a node with too many inputs for its Python.
    terms = [term.sum() for term in model.logp(sum=False)]
    log_density = model.compile_fn(
        terms, inputs=values, point_fn=False, on_unused_input="ignore", mode=interpreted(None)
    )
    found = []
    for k in range(N_POINTS):
        # Of no pattern that a model might have.
        waves = [
            np.sin(1 + k + 7 * i + np.arange(np.prod(shape, dtype=int))).reshape(shape) / 2
            for i, shape in enumerate(shapes)
        ]
        found.append(float(f"{float(sum(log_density(*waves))):.12g}"))
    return found


def calibration(
    name: str,
    n: int | None = None,
    folder: str | Path | None = None,
    rng: RandomState = SEED,
    branch: str = DEFAULT,
) -> tuple[dict[str, Any], pd.DataFrame]:
    """Calibrate a model of the catalogue by simulation."""
    case = _case(name, branch)
    if folder is not None:
        # Simulations of a model as it was are none of the model as it is.
        rounded = " ".join(f"{value:.8g}" for value in _of_model(case.design))
        digest = hashlib.sha256(rounded.encode()).hexdigest()[:16]
        folder = Path(folder) / f"{name}-{branch}-{digest}"
    ranks = in_steps(
        sbc(
            case.design,
            case.n if n is None else n,
            simulate=case.simulate,
            quantities=case.quantities,
            derive=case.derive,
            replicate=case.replicate,
            likelihood=case.likelihood,
            thin=case.thin,
            tune=case.tune,
            target_accept=case.target_accept,
            folder=folder,
            rng=rng,
        )
    )
    by_simulation = ranks.groupby("simulation").first()
    judged = verdict(ranks)
    judged["divergences"]["share"] = _short(judged["divergences"]["share"])
    evidence = {
        "model": name,
        "branch": branch,
        "density": model_density(name, branch),
        "design": case.words,
        "seed": rng if isinstance(rng, int) else None,
        "settings": {"tune": case.tune, "target_accept": case.target_accept, "thin": case.thin},
        "versions": versions(),
        **judged,
        "chains": {
            "median_r_hat": round(float(by_simulation["r_hat"].median()), 4),
            "median_ess": round(float(by_simulation["ess"].median())),
        },
        "quantities": [
            {k: _short(v) for k, v in row.items()} for row in sbc_summary(ranks).to_dict("records")
        ],
    }
    return evidence, ranks


def reference(name: str, n_draws: int = N_REFERENCE, rng: RandomState = SEED) -> dict[str, Any]:
    """Posterior figures of the model on the data of its card, with their Monte-Carlo errors."""
    case = _case(name)
    model = case.example()
    posterior = nuts(model, n_draws, rng=rng)["posterior"].to_dataset()
    figures = {}
    for quantity in case.quantities:
        draws = one_element(posterior[quantity])
        row = {}
        # No means: a concentration has none.
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
    """First element that varies: a probability of the true class is 0, a reference's delta too."""
    flat = draws.stack(element=draws.dims[2:]) if draws.ndim > 2 else draws.expand_dims("element")
    # By more than rounding.
    varies = np.asarray(flat.std(["chain", "draw"]) > 1e-12)
    return flat.isel(element=int(varies.argmax()), drop=True).drop_vars(
        ["element", *draws.dims[2:]], errors="ignore"
    )


def _case(name: str, branch: str = DEFAULT) -> Case:
    if name not in CASES:
        raise ValueError(f"the catalogue has {', '.join(CASES)}; got {name!r}")
    known = CASES[name].all_branches
    if branch not in known:
        raise ValueError(
            f"{name} has no branch {branch!r}{nearest(branch, known)}; expected one of "
            f"{', '.join(known)}"
        )
    return CASES[name].of(branch)


def versions() -> dict[str, str]:
    """Of this package, and of those whose versions its evidence hangs on."""
    others = {name: importlib.metadata.version(name) for name in ("pymc", "nutpie", "numpy")}
    return {"alikely": alikely.__version__} | others


def _short(value: Any) -> Any:
    """Numbers as a reader wants them."""
    if isinstance(value, (bool, np.bool_)):
        return bool(value)
    return float(f"{value:.4g}") if isinstance(value, float) else value


def write(path: Path, content: dict[str, Any]) -> None:
    """Write JSON that reads well and ends with a newline."""
    write_file(path, json.dumps(content, indent=1), "\n")


def card_section(evidence: dict[str, Any]) -> str:
    """What a card says of its calibration."""
    rows = pd.DataFrame(evidence["quantities"])
    posterior = rows[rows["school"] == "posterior"].set_index("quantity")
    outside = [f"`{q}` (p = {posterior.loc[q, 'p_value']:.3f})" for q in evidence["outside_alone"]]
    verdict = "stay" if evidence["passed"] else "**do not stay**"
    first = (
        f"{evidence['n_simulations']:,} experiments were simulated from the prior by a story told "
        f"again in NumPy, from this card: {evidence['design']}. The ranks of the truth among "
        f"posterior draws {verdict} inside bands that hold for all {len(posterior)} quantities at "
        "once in 95 of 100 such studies (`calibration.json`)."
    )
    found = [first]
    if outside:
        chance = ", as one in twenty is by chance" if evidence["passed"] else ""
        found.append(f"Outside the 95 % band of their own{chance}: {', '.join(outside)}.")
    for _, row in rows[rows["school"] == "bootstrap"].iterrows():
        own = posterior.loc[row["quantity"]]
        found.append(
            f"95 % intervals of `{row['quantity']}` hold the truth in {own['coverage_95']:.3f} of "
            f"them, those of the percentile bootstrap in {row['coverage_95']:.3f}."
        )
    found.append(_of_divergences(evidence["divergences"]))
    if branches := evidence.get("branches"):
        ran = [_of_branch(name, of) for name, of in branches.items() if of["passed"]]
        not_so = [_of_branch(name, of) for name, of in branches.items() if not of["passed"]]
        if ran:
            found.append(f"Other forms whose ranks stay inside, too: {'; '.join(ran)}.")
        if not_so:
            found.append(f"Other forms whose ranks **do not**: {'; '.join(not_so)}.")
    lines = "\n".join(textwrap.fill(text, 100, break_on_hyphens=False) for text in found)
    return f"## Calibration\n{lines}\n\n![Ranks of the truth among posterior draws](ranks.png)\n"


def _of_branch(name: str, evidence: dict[str, Any]) -> str:
    """Name and design, and what chains that diverged leave of the verdict."""
    divergences = evidence["divergences"]
    told = [evidence["design"]]
    if divergences["simulations"]:
        told.append(f"a divergent transition in {divergences['share']:.0%} of the simulations")
        if (without := divergences["without"]) is None:
            told.append("the others are not judged apart")
        else:
            verdict = "inside" if without["passed"] else "**outside**"
            told.append(f"ranks of the {without['n_simulations']:,} others {verdict}")
    return f"`{name}` ({'; '.join(told)})"


def _of_divergences(divergences: dict[str, Any]) -> str:
    first = (
        f"Chains had a divergent transition in {divergences['share']:.0%} of the simulations, over "
        "the whole prior, where many experiments say next to nothing"
    )
    without = divergences["without"]
    if not divergences["simulations"]:
        return "Chains had no divergent transition in any of the simulations."
    if without is None:
        return f"{first}; the others are not judged apart."
    verdict = "stay" if without["passed"] else "**do not stay**"
    return f"{first}; ranks of the {without['n_simulations']:,} others {verdict} inside, too."


def update_card(path: Path, evidence: dict[str, Any]) -> None:
    """Put the section into a card, before the graph."""
    text = path.read_text()
    before, _, old = text.partition("## Calibration\n")
    graph = (old or text).index("## Graph\n")
    if not old:
        before = text[:graph]
    write_file(path, f"{before}{card_section(evidence)}\n{(old or text)[graph:]}")


RANKS = "ranks.npz"
# Shares from 0 to 1 in as many steps as two bytes have; the last number is no rank.
STEPS, UNDEFINED = 65_534, 65_535
DIVERGENT = "divergent"


def in_steps(ranks: pd.DataFrame) -> pd.DataFrame:
    """Ranks as they will be kept: the verdict is of these, so that it can be worked out again."""
    return ranks.assign(rank=_shares(_steps(ranks["rank"].to_numpy())))


def keep_ranks(path: str | Path, branch: str, ranks: pd.DataFrame) -> None:
    """Put the ranks of a branch into the file of its model, in the place of earlier ones."""
    path = Path(path)
    arrays = _arrays(path) if path.is_file() else {}
    arrays = {name: values for name, values in arrays.items() if _branch_of(name) != branch}
    ordered = ranks.sort_values("simulation", kind="stable")
    divergent = ordered.groupby("simulation")[DIVERGENT].first()
    arrays[f"{branch}/{DIVERGENT}"] = np.minimum(divergent.to_numpy(), UNDEFINED).astype(np.uint16)
    for (school, quantity), part in ordered.groupby(["school", "quantity"], sort=False):
        arrays[f"{branch}/{school}/{quantity}"] = _steps(part["rank"].to_numpy())
    buffer = io.BytesIO()
    np.savez_compressed(buffer, allow_pickle=False, **{k: arrays[k] for k in sorted(arrays)})
    write_file(path, buffer.getvalue())


def kept_branches(path: str | Path) -> list[str]:
    """Names of the branches whose ranks a file holds."""
    return sorted({_branch_of(name) for name in _arrays(Path(path))})


def kept_ranks(path: str | Path, branch: str = "default") -> pd.DataFrame:
    """Ranks of a branch from the file of its model."""
    arrays = _arrays(Path(path))
    if f"{branch}/{DIVERGENT}" not in arrays:
        known = sorted({_branch_of(name) for name in arrays})
        raise ValueError(
            f"{str(path)!r} has no ranks of {branch!r}{nearest(branch, known)}; it has those of "
            f"{listed(known)}"
        )
    divergent = arrays.pop(f"{branch}/{DIVERGENT}").astype(np.int64)
    parts = []
    for name, steps in arrays.items():
        if _branch_of(name) == branch:
            _, school, quantity = name.split("/")
            parts.append(
                pd.DataFrame(
                    {
                        "simulation": np.arange(len(steps)),
                        "school": school,
                        "quantity": quantity,
                        "rank": _shares(steps),
                        DIVERGENT: divergent,
                    }
                )
            )
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
    if not path.is_file():
        raise ValueError(f"no file {str(path)!r}; python -m studies run NAME makes it")
    try:
        with np.load(io.BytesIO(path.read_bytes()), allow_pickle=False) as kept:
            return {name: kept[name] for name in kept.files}
    except (ValueError, OSError, KeyError, zipfile.BadZipFile):
        raise ValueError(f"{str(path)!r} is damaged; take a copy of it, or make it again") from None
