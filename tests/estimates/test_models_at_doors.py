"""Doors that take a model: what it must have, and that all that follows works from what it has."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pymc as pm
import pytest

import alikely as al
from alikely.benchmark import cohorts
from alikely.data.cohorts import cohort_counts
from alikely.data.tables import joint_correctness
from alikely.errors import chains
from alikely.models._asked import asked_model, refuse_options


def cells_of_pairs(cells: np.ndarray) -> pm.Model:
    """The default model of pairs, by its Dirichlet prior on the four cells."""
    with pm.Model(coords={"pair": np.arange(len(cells)), "cell": range(4)}) as model:
        p = pm.Dirichlet("p", np.full(4, 0.5), dims=("pair", "cell"))
        p11, p10, p01, p00 = (p[:, k] for k in range(4))
        chance = (p11 + p10) * (p10 + p00) + (p11 + p01) * (p01 + p00)
        pm.Deterministic("error_consistency", 2 * (p11 * p00 - p10 * p01) / chance, dims="pair")
        pm.Multinomial("seen", n=cells.sum(axis=1), p=p, observed=cells, dims=("pair", "cell"))
    return model


@pytest.mark.slow
def test_a_model_of_ones_own_gives_the_posterior_of_the_door() -> None:
    trials = al.load_example().select(condition="blur")
    table = joint_correctness(trials, "human-human")
    own = cells_of_pairs(table["cells"].values)
    options: dict[str, Any] = {"n_resamples": 0, "n_null": 0, "rng": 1}
    by_chains = al.error_consistency(trials, "human-human", model=own, n_draws=2_000, **options)
    exact = al.error_consistency(trials, "human-human", n_draws=40_000, **options)
    found, wanted = (r.draws("posterior") for r in (by_chains, exact))
    sd = wanted.std(axis=0)
    # Effective sizes are above 1,000; both means have their Monte-Carlo errors.
    room = 4 * sd * np.sqrt(1 / 1_000 + 1 / 40_000)
    assert (abs(found.mean(axis=0) - wanted.mean(axis=0)) < room).all()
    assert (abs(found.std(axis=0) / sd - 1) < 4 * np.sqrt(0.5 / 1_000 + 0.5 / 40_000)).all()
    assert by_chains.data.attrs["model"] == "own"
    assert by_chains.data.attrs["sampler"] == "nuts"
    tree = by_chains.chains["all pairs"]
    assert tree["posterior"]["pair"].values.tolist() == table["pair"].values.tolist()
    assert "seen" in tree["observed_data"]
    # Tables are of the named quantity.
    shown = by_chains.summary()["posterior_median"].to_numpy()
    np.testing.assert_allclose(shown, np.median(found, axis=0), rtol=1e-6)


@pytest.mark.slow
def test_chains_survive_a_file(tmp_path: Any) -> None:
    trials = al.load_example().select(condition="blur")
    result = al.error_consistency(
        trials, "human-human", sampler="nuts", n_draws=100, n_resamples=0, n_null=0, rng=1,
        include=["log_likelihood"],
    )  # fmt: skip
    result.save(tmp_path / "result.nc")
    back = al.Result.load(tmp_path / "result.nc")
    (label, tree), (other, own) = (*back.chains.items(), *result.chains.items())
    assert label == other == "all pairs"
    assert set(tree.children) == set(own.children)
    assert "log_likelihood" in tree.children
    np.testing.assert_array_equal(tree["posterior"]["u"], own["posterior"]["u"])
    assert tree.attrs["priors"] == own.attrs["priors"]


@pytest.mark.slow
@pytest.mark.usefixtures("prior_chains")
def test_scores_checks_and_comparisons_of_an_extended_cohort() -> None:
    trials = al.load_example().select(condition=["blur", "noise"])
    counts = cohort_counts(trials)
    with al.models.cohort(counts) as own:
        pm.Deterministic("twice", 2 * own["copy_probability"], dims="entry")
    given = al.fit_cohort(trials, model=own, n_draws=400, rng=1)
    named = al.fit_cohort(trials, n_draws=400, rng=1)
    np.testing.assert_allclose(
        given["posterior"]["twice"], 2 * given["posterior"]["copy_probability"]
    )
    assert list(cohorts.cohort_scores(given)) == list(cohorts.cohort_scores(named))
    assert len(cohorts.cohort_check(given, "machine", rng=1)) == len(
        cohorts.cohort_check(named, "machine", rng=1)
    )
    assert len(cohorts.compare_cohorts({"given": given, "named": named})) == 2


@pytest.mark.slow
@pytest.mark.usefixtures("prior_chains")
def test_extended_models_of_a_spectrum_and_of_observers() -> None:
    trials = al.load_example()
    few: dict[str, Any] = {"n_draws": 400, "rng": 1}
    spectrum = al.difficulty_spectrum(trials, "clean", correction=0.5)
    named = al.fit_spectrum(spectrum, 2, **few)
    data = named["constant_data"].to_dataset()
    args = ("right", "shown", "condition_of_entry", "person_of_entry", "is_reference")
    own = al.models.spectrum(*(data[name].values for name in args), k=2)
    given = al.fit_spectrum(spectrum, 2, model=own, **few)
    table = al.spectrum.regime_probabilities(given)
    assert list(table) == list(al.spectrum.regime_probabilities(named))
    one_regime = al.fit_spectrum(spectrum, 1, **few)
    assert len(al.spectrum.compare_regimes({1: one_regime, 2: given})) == 2
    with pytest.raises(ValueError, match=r"2 of the dim 'regime', these data have 3"):
        al.fit_spectrum(spectrum, 3, model=own)

    one = trials.select(condition="noise")
    seen = al.fit_observers(one, **few)
    counts = seen["constant_data"].to_dataset()
    observers = al.models.observer_margins(counts["right"].values, counts["shown"].values, m=16)
    again = al.fit_observers(one, m=16, model=observers, **few)
    assert len(al.margins.variance_shares(again)) == 2
    assert len(al.margins.explained_consistency(again, 20, rng=1)) == 6
    with pytest.raises(ValueError, match="components= is for models that are made here"):
        al.fit_observers(one, m=16, model=observers, components="shared")


@pytest.mark.slow
@pytest.mark.usefixtures("prior_chains")
def test_models_of_errors_are_of_one_group_of_trials(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(chains, "nuts", cohorts.nuts)  # type: ignore[attr-defined]
    trials = al.load_example()
    options: dict[str, Any] = {"sampler": "nuts", "n_resamples": 0, "n_draws": 40, "rng": 1}
    one = al.misclassification_agreement(trials.select(condition="blur"), "human-human", **options)
    assert list(one.chains) == ["all | blur"]
    table = joint_correctness(trials.select(condition="blur"), "human-human", labels=True)
    from alikely.data.blocks import blocks
    from alikely.errors.tables import dense_joint_errors, dense_rows

    (block,) = blocks(table)
    own = al.models.class_copying(dense_joint_errors(block))
    given = al.misclassification_agreement(
        trials.select(condition="blur"), "human-human", model=own, **options
    )
    np.testing.assert_array_equal(given.draws("posterior"), one.draws("posterior"))
    with pytest.raises(ValueError, match="one group of trials, and 3 have errors"):
        al.misclassification_agreement(trials, "human-human", model=own, **options)
    with pytest.raises(ValueError, match="model is of the model that chains sample, and sampler"):
        al.misclassification_agreement(trials, "human-human", model=own)
    rows = al.models.error_distributions(dense_rows(block))
    of_rows = al.error_similarity(
        trials.select(condition="blur"), "human-human", model=rows, **options
    )
    tree = of_rows.chains["all | blur"]
    assert (
        tree["posterior"]["base"].coords["true_class"].values.tolist()
        == table["class"].values.tolist()
    )


COORDS = {"pair": [0, 1]}


def model_of(build: Callable[[], Any], **coords: Any) -> pm.Model:
    with pm.Model(coords=COORDS | coords) as model:
        build()
    return model


@pytest.mark.parametrize(
    ("model", "message"),
    [
        ("copyng", r"model must be 'copying', or a pymc.Model; got 'copyng'"),
        (
            model_of(lambda: pm.Normal("x", dims="pair")),
            r"no quantity 'q', which is reported here; add it, as pm.Deterministic\('q', ...",
        ),
        (
            model_of(lambda: pm.Normal("q", shape=2)),
            r"'q' of the model must have dims \(pair\), it has no named dims",
        ),
        (
            model_of(lambda: pm.Normal("q", dims="other"), other=[0, 1]),
            r"must have dims \(pair\), it has dims \(other\)",
        ),
        (
            model_of(lambda: pm.Normal("q", dims="pair"), pair=range(3)),
            "3 of the dim 'pair', these data have 2: it was made for others",
        ),
        (
            model_of(lambda: pm.Normal("q", dims="pair"), pair=["b", "a"]),
            "other labels of the dim 'pair' than these data: 'b' where they have 'a'",
        ),
    ],
)
def test_models_that_a_door_cannot_report(model: Any, message: str) -> None:
    with pytest.raises(ValueError, match=message) as error:
        asked_model(model, {"copying": pm.Model}, {"q": ("pair",)}, {"pair": ["a", "b"]})
    assert "\n" not in str(error.value)


def test_other_things_than_models() -> None:
    with pytest.raises(TypeError, match=r"model must be 'copying', or .*; got int"):
        asked_model(3, {"copying": pm.Model}, {}, {})  # type: ignore[arg-type]
    own = model_of(lambda: pm.Normal("q", dims="pair"))
    with pytest.raises(ValueError, match="priors= is for models that are made here"):
        refuse_options(own, {"priors": {"q": (0, 1)}})
    trials = al.load_example().select(condition="blur")
    with pytest.raises(ValueError, match="model is for chains, and sampler is 'exact'"):
        al.error_consistency(trials, "human-human", model=own, sampler="exact", n_null=0)
    with pytest.raises(ValueError, match="prior is of the model 'copying'"):
        al.error_consistency(trials, "human-model", model="pooled_pairs", prior={"p_a": (1, 1)})
    with pytest.raises(ValueError, match=r"include must be 'all' or among .* got 'prio'"):
        al.error_consistency(trials, "human-human", include=["prio"])
