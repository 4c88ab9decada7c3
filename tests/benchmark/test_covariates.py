"""Covariates of the cohort: recovered effects, contrasts by hand, bad input."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pandas as pd
import polars as pl
import pymc as pm
import pytest
import xarray as xr
from scipy import optimize, special, stats

import alikely as al
from alikely.benchmark.cohorts import _copy_probability, cohort_effects, layout_of
from alikely.data.covariates import covariate_tables
from alikely.models._priors import prior_texts


def table_of(log_odds_ratio: float, human: float, evaluated: float) -> tuple[float, float]:
    """P(model correct | copied human incorrect) and the copy probability, from P(both correct)."""
    odds = np.exp(log_odds_ratio)

    def off(both: float) -> float:
        neither = 1 - human - evaluated + both
        return both * neither - odds * (human - both) * (evaluated - both)

    both = optimize.brentq(off, max(0.0, human + evaluated - 1), min(human, evaluated), xtol=1e-14)
    alone = (evaluated - both) / (1 - human)
    return alone, both / human - alone


def test_copy_probability_of_the_table_with_its_margins_and_odds_ratio() -> None:
    rng = np.random.default_rng(1)
    for odds, human, evaluated in zip(
        rng.normal(0, 3, 200), rng.uniform(0.1, 0.95, 200), rng.uniform(0.1, 0.95, 200), strict=True
    ):
        found = _copy_probability(*(np.array(x) for x in (human, evaluated, odds)))
        assert found == pytest.approx(table_of(odds, human, evaluated)[1], abs=1e-7)


@pytest.fixture
def table(family_table: pd.DataFrame) -> pd.DataFrame:
    return family_table.copy()


@pytest.fixture
def tree(family_tree: xr.DataTree) -> xr.DataTree:
    """A fit with prior draws, because the tested tables do not depend on the draws."""
    return family_tree


def point_of(model: pm.Model) -> dict[str, np.ndarray]:
    """A random point, reproducible for each model."""
    rng = np.random.default_rng(1)
    return {name: rng.normal(0, 0.5, np.shape(v)) for name, v in model.initial_point().items()}


def values_at(model: pm.Model, names: list[str]) -> dict[str, np.ndarray]:
    """Quantities of a model at its random point."""
    found = model.compile_fn(
        model.replace_rvs_by_values([model[name] for name in names]),
        inputs=model.value_vars,
        on_unused_input="ignore",
    )(point_of(model))
    return dict(zip(names, found, strict=True))


@pytest.mark.slow
def test_effects_add_to_the_log_odds_ratio_and_the_level(table: pd.DataFrame) -> None:
    """Compute all parts by hand at one point; numbers are centered at the mean of the table."""
    counts = al.data.cohort_counts(al.load_example())
    conditions = pd.DataFrame({"strength": [0.0, 2.0, 5.0]}, index=counts["condition"].values)
    shuffled = table.iloc[::-1]
    model = al.models.cohort(counts, covariates={"model": shuffled, "condition": conditions})
    parts = ["mean", "model", "condition", "sd", "family", "large", "year", "strength"]
    names = [f"log_odds_ratio_{part}" for part in parts]
    found = values_at(model, ["log_odds_ratio", *names])
    mean, evaluated, condition, sd, family, large, year, strength = (found[name] for name in names)
    levels = model.coords["family"]
    assert set(levels) == {"cnn", "vit", "mlp"}
    for name in ("large", "family"):
        assert found[f"log_odds_ratio_{name}"].sum() == pytest.approx(0, abs=1e-12)
    expected = []
    for e, entry in enumerate(model.coords["entry"]):
        m, c = (i for i in divmod(e, 3))
        row = table.loc[entry.split(" | ")[0]]
        expected.append(
            mean + evaluated[m] + condition[c]
            + family[levels.index(row["family"])]
            + large[model.coords["large"].index(str(row["large"]))]
            + year * (row["year"] - table["year"].mean())
            + strength * (conditions["strength"].iloc[c] - 7 / 3)
        )  # fmt: skip
    # The effects are the prior mean of each entry.
    density = model.compile_logp(vars=[model["log_odds_ratio"]], jacobian=False)
    wanted = stats.norm.logpdf(found["log_odds_ratio"], expected, sd).sum()
    assert density(point_of(model)) == pytest.approx(wanted)
    priors = prior_texts(model)
    # One standard deviation of the column has the same prior scale as a group.
    assert priors["log_odds_ratio_year"] == f"Normal(0, {1.5 / table['year'].std():.6g})"
    assert priors["level_large"] == "ZeroSumNormal(1)"


@pytest.mark.slow
def test_contrasts_exchange_effects_at_equal_accuracies(tree: xr.DataTree) -> None:
    """Compute contrasts by hand: each model in either family, with a new table of cells."""
    posterior, layout = tree["posterior"].to_dataset(), layout_of(tree)
    draws = cohort_effects(tree, "family", ["vit", "cnn"])
    family = tree["covariates"].to_dataset()["family"].sel(model=layout["model"].values).values
    for i in (0, 57):
        one = posterior.isel(chain=0, draw=i)
        effect = one["log_odds_ratio_family"].to_series()
        level = one["level_family"].to_series()
        mu = one["human_accuracy"].values[layout["condition_of_entry"].values]
        accuracy = one["accuracy"].values
        scale = one["error_consistency"].values / one["copy_probability"].values
        for value in ("vit", "cnn"):
            odds = one["log_odds_ratio"].values - effect[family].values + effect[value]
            copying = np.array([table_of(*of)[1] for of in zip(odds, mu, accuracy, strict=True)])
            logit = special.logit(accuracy) - level[family].values + level[value]
            found = draws.isel(chain=0, draw=i).sel(family=value)
            assert found["copy_probability"] == pytest.approx(copying.mean(), abs=1e-6)
            assert found["error_consistency"] == pytest.approx((copying * scale).mean(), abs=1e-6)
            assert found["log_odds_ratio"] == pytest.approx(odds.mean())
            assert found["accuracy"] == pytest.approx(special.expit(logit).mean())
    contrasts = al.benchmark.cohort_contrasts(tree, "family", ["vit", "cnn"])
    difference = draws["copy_probability"].sel(family="vit") - draws["copy_probability"].sel(
        family="cnn"
    )
    row = contrasts.set_index("quantity").loc["copy_probability"]
    assert (row["value"], row["other"]) == ("vit", "cnn")
    assert row["difference"] == pytest.approx(float(difference.mean()))
    assert row["eti95_lb"] == pytest.approx(float(difference.quantile(0.025)))
    assert row["prob_positive"] == pytest.approx(float((difference > 0).mean()))
    # Three groups give three pairs for each of four quantities; a log odds ratio is the effect.
    assert len(al.benchmark.cohort_contrasts(tree, "family")) == 12
    effects = posterior["log_odds_ratio_family"]
    row = contrasts.set_index("quantity").loc["log_odds_ratio"]
    wanted = effects.sel(family="vit") - effects.sel(family="cnn")
    assert row["difference"] == pytest.approx(float(wanted.mean()))


@pytest.mark.slow
def test_contrasts_of_numbers_are_between_two_of_them(tree: xr.DataTree) -> None:
    table = al.benchmark.cohort_contrasts(tree, "year").set_index("quantity")
    assert table.loc["log_odds_ratio", ["value", "other"]].tolist() == [2021.0, 2012.0]
    slope = float(tree["posterior"]["log_odds_ratio_year"].mean())
    assert table.loc["log_odds_ratio", "difference"] == pytest.approx(9 * slope)
    ten = al.benchmark.cohort_contrasts(tree, "year", [2020, 2010]).set_index("quantity")
    assert ten.loc["log_odds_ratio", "difference"] == pytest.approx(10 * slope)


def test_tables_of_any_kind_give_equal_fits(table: pd.DataFrame) -> None:
    known = {"model": table.index.tolist()}
    columns = {name: table[name].tolist() for name in table}
    polars = pl.DataFrame({"model": known["model"], **columns})
    categories = table.assign(family=pd.Categorical(table["family"], ["cnn", "vit", "mlp", "rnn"]))
    wanted = covariate_tables({"model": table}, known)["model"]
    for given in (polars, polars.to_arrow(), table.iloc[::-1].loc[table.index], categories):
        found = covariate_tables({"model": given}, known)["model"]
        pd.testing.assert_frame_equal(found, wanted)


def put(column: str, values: Any) -> Callable[[pd.DataFrame], Any]:
    return lambda table: {"model": table.assign(**{column: values})}


@pytest.mark.parametrize(
    ("given", "message"),
    [
        (lambda t: t, "covariates must map kinds to tables"),
        (lambda t: {"model": pl.DataFrame(t)}, "need a column 'model' that names each row"),
        (lambda t: {"model": pd.concat([t, t.iloc[:1]])}, "have two rows for 'model_1'"),
        (lambda t: {"model": pd.concat([t, t[["year"]]], axis=1)}, "column .year. occurs twice"),
        (put("year", [1, 2, np.nan, 4, 5, 6]), "'year' of model is missing for model_3; fill"),
        (put("year", 2012), "'year' of model is 2012.0 for all; leave it out"),
        (put("born", pd.Timestamp("2020")), "must be numbers, text, categories or booleans"),
        (lambda t: {"model": t.rename(columns={"year": "sd"})}, "'sd' of model would be named"),
    ],
)  # fmt: skip
def test_bad_tables(table: pd.DataFrame, given: Any, message: str) -> None:
    counts = al.data.cohort_counts(al.load_example())
    with pytest.raises(ValueError, match=message) as caught:
        al.models.cohort(counts, covariates=given(table))
    assert "\n" not in str(caught.value)


@pytest.mark.slow
def test_bad_contrasts(tree: xr.DataTree) -> None:
    contrasts = al.benchmark.cohort_contrasts
    with pytest.raises(ValueError, match="no covariate 'familyy'; it has family, year, large"):
        contrasts(tree, "familyy")
    with pytest.raises(ValueError, match="no group of 'family' is named 'rnn'"):
        contrasts(tree, "family", ["vit", "rnn"])
    with pytest.raises(ValueError, match="'year' is numeric; values must be finite numbers"):
        contrasts(tree, "year", ["old", "new"])
