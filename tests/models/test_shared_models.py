"""The model of a group's error rows: against brute force, the model of pairs, and known groups."""

from __future__ import annotations

import itertools
import re
from typing import Any

import numpy as np
import pymc as pm
import pytensor.tensor as pt
import pytest
import xarray as xr
from pytensor.compile.mode import Mode
from scipy.spatial.distance import jensenshannon

import alikely as al
from alikely.models import shared
from alikely.simulate import ErrorPopulation

PLAIN = Mode("py", None)
K = 3


def parts(rng: np.random.Generator, n_systems: int) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Rows of systems, the row of what is suggested, and who follows how often."""
    own = rng.dirichlet(np.ones(K), n_systems)
    return own, rng.dirichlet(np.ones(K)), rng.uniform(0.1, 0.9, n_systems)


def log_item(labels: Any, own: Any, suggested: Any, follow: Any) -> float:
    logs = (np.log(own), np.log(suggested), np.log(np.stack([follow, 1 - follow], axis=-1)))
    value = pt.as_tensor(np.asarray(labels))
    row = pt.as_tensor(logs[1], name="row")
    return float(
        shared._log_item(value, pt.as_tensor(logs[0]), row, pt.as_tensor(logs[2]), value).eval(
            mode=PLAIN
        )
    )


@pytest.mark.parametrize("errs", [(True, True, True), (True, False, True), (False, True, False)])
def test_labels_of_an_item_by_brute_force(errs: tuple[bool, ...]) -> None:
    """Over all suggestions and all choices to follow; and probabilities of all labels sum to 1."""
    own, suggested, follow = parts(np.random.default_rng(1), 3)
    total = 0.0
    who = np.flatnonzero(errs)
    for given in itertools.product(range(K), repeat=len(who)):
        labels = np.full(3, -1)
        labels[who] = given
        wanted = 0.0
        for i in range(K):
            for follows in itertools.product((True, False), repeat=len(who)):
                p = suggested[i]
                for system, label, heeds in zip(who, given, follows, strict=True):
                    p *= (
                        follow[system] * (label == i)
                        if heeds
                        else ((1 - follow[system]) * own[system, label])
                    )
                wanted += p
        found = np.exp(log_item(labels, own, suggested, follow))
        assert found == pytest.approx(wanted, rel=1e-12)
        total += found
    assert total == pytest.approx(1, rel=1e-12)


def test_who_is_followed_always_is_copied() -> None:
    """Where one follows always, the other's probability is the copy probability of pairs."""
    rng = np.random.default_rng(2)
    own, suggested, follow = parts(rng, 2)
    follow[0] = 1 - 1e-15
    for a, b in itertools.product(range(K), repeat=2):
        # The first gives what is suggested; so does the second, or a label of its own.
        pair = suggested[a] * (follow[1] * (a == b) + (1 - follow[1]) * own[1, b])
        assert np.exp(log_item([a, b], own, suggested, follow)) == pytest.approx(pair, rel=1e-9)


def test_nobody_follows_is_rows_alone() -> None:
    own, suggested, _ = parts(np.random.default_rng(3), 3)
    labels = np.array([0, 2, 1])
    wanted = np.log(own[np.arange(3), labels]).sum()
    assert log_item(labels, own, suggested, np.full(3, 1e-15)) == pytest.approx(wanted, rel=1e-9)


def test_who_errs_is_given() -> None:
    own, suggested, follow = parts(np.random.default_rng(4), 2)
    logs = [np.log(x) for x in (own, suggested, np.stack([follow, 1 - follow], axis=-1))]
    of = [pt.as_tensor(x) for x in logs]
    value, like = pt.as_tensor(np.array([0, -1])), pt.as_tensor(np.array([0, 1]))
    assert shared._log_item(value, *of, like).eval(mode=PLAIN) == -np.inf
    # Nor is a class that there is not.
    beyond = pt.as_tensor(np.array([0, K]))
    assert shared._log_item(beyond, *of, like).eval(mode=PLAIN) == -np.inf


def test_items_have_the_rows_of_their_classes() -> None:
    """The model's own log likelihood, item by item, against rows that it reports."""
    labels, truth, _ = group(3, 0.5)
    model = al.models.shared_errors(labels, truth)
    names = ("own_rows", "suggested_rows", "follow_probability")
    (terms,) = model.logp(vars=[model["observed_labels"]], sum=False)
    graphs = [terms, *model.replace_rvs_by_values([model[name] for name in names])]
    point = {k: v + 0.3 for k, v in model.initial_point(1).items()}
    at = [point[v.name] for v in model.value_vars]
    function = model.compile_fn(graphs, inputs=model.value_vars, mode=PLAIN, point_fn=False)
    found, own, said, follow = function(*at)
    told, true = (model[name].get_value() for name in ("wrong_labels", "truth"))
    for labels_of_item, t, value in zip(told, true, found, strict=True):
        rows = own[:, t][:, np.arange(4) != t], said[t][np.arange(4) != t]
        assert value == pytest.approx(log_item(labels_of_item, *rows, follow), abs=1e-9)


def test_drawn_labels_are_as_often_as_they_are_probable() -> None:
    """All pairs of labels of two who err, beside one who does not; 4 binomial deviations."""
    n = 20_000
    own, suggested, follow = parts(np.random.default_rng(5), 3)
    logs = [np.log(x) for x in (own, suggested, np.stack([follow, 1 - follow], axis=-1))]
    like = np.tile([0, -1, 2], (n, 1))
    drawn = shared.drawn_labels(*logs, like, np.random.default_rng(6))
    assert (drawn[:, 1] == -1).all()
    for a, b in itertools.product(range(K), repeat=2):
        p = np.exp(log_item([a, -1, b], own, suggested, follow))
        share = ((drawn[:, 0] == a) & (drawn[:, 2] == b)).mean()
        assert abs(share - p) < 4 * np.sqrt(p * (1 - p) / n)


def group(seed: int, follow: float, n_systems: int = 4) -> tuple[np.ndarray, np.ndarray, Any]:
    rng = np.random.default_rng(seed)
    truth = np.repeat(np.arange(4), 60)
    off = ~np.eye(4, dtype=bool)

    def square(rows: np.ndarray) -> np.ndarray:
        wide = np.zeros((*rows.shape[:-1], 4))
        wide[..., off] = rows.reshape(*rows.shape[:-2], -1)
        return wide

    base = rng.dirichlet(np.full(3, 2.0), 4)
    own = np.stack([[rng.dirichlet(12 * row) for row in base] for _ in range(n_systems)])
    said = np.stack([rng.dirichlet(1.5 * 3 * row + 0.1) for row in base])
    population = ErrorPopulation(
        square(said)[None], square(own)[:, None], np.full(n_systems, follow)
    )
    wrong = rng.random((n_systems, len(truth))) < 0.6
    return al.simulate.shared_errors(population, truth, wrong, rng), truth, population


def test_reported_rows_and_divergences() -> None:
    labels, truth, _ = group(1, 0.5)
    model = al.models.shared_errors(labels, truth)
    names = ("own_rows", "suggested_rows", "follow_probability", "error_rows", "error_divergence")
    own, said, follow, rows, found = pm.draw([model[name] for name in names], random_seed=1)
    share = follow[:, None, None]
    np.testing.assert_allclose(rows, share * said + (1 - share) * own, atol=1e-12)
    number = np.array([np.bincount(truth[x != truth], minlength=4) for x in labels])
    for a, b in itertools.product(range(4), repeat=2):
        weight = number[a] + number[b]
        apart = jensenshannon(rows[a], rows[b], base=2, axis=-1) ** 2
        assert found[a, b] == pytest.approx((weight * apart).sum() / weight.sum(), abs=1e-12)


# Chains mix slowly where systems are nearly alike; what is compared has room for it.
@pytest.mark.filterwarnings("ignore::alikely.inference.SamplingWarning")
@pytest.mark.slow
@pytest.mark.parametrize("follow", [0.0, 0.5, 0.8, 0.95])
def test_groups_of_known_rows_are_found(follow: float, figure: Any) -> None:
    """Means of follow probability and of divergences within 4 posterior deviations of the truth."""
    labels, truth, population = group(2, follow)
    model = al.models.shared_errors(labels, truth)
    tree = al.inference.nuts(model, 1_000, rng=1)
    posterior = tree["posterior"].to_dataset()
    number = np.array([np.bincount(truth[x != truth], minlength=4) for x in labels])
    rows = population.rows
    for a, b in itertools.combinations(range(4), 2):
        weight = number[a] + number[b]
        value = (weight * jensenshannon(rows[a], rows[b], base=2, axis=-1) ** 2).sum()
        drawn = posterior["error_divergence"][:, :, a, b]
        assert abs(drawn.mean() - value / weight.sum()) < 4 * drawn.std()
    drawn = posterior["follow_probability"]
    figure(f"follow probability {follow}: found {drawn.mean(('chain', 'draw')).values.round(2)}")
    each = drawn.values.reshape(-1, 4)
    assert (abs(each.mean(axis=0) - follow) < 4 * each.std(axis=0)).all()
    # And something was learned: of the prior, uniform, these are .29, .05 and .95.
    assert each.std(axis=0).max() < 0.2
    assert np.quantile(each, 0.05) < follow + 0.05
    assert np.quantile(each, 0.95) > follow


def test_items_without_errors_are_left_out_and_names_stand() -> None:
    labels = xr.DataArray([[0, 1, 2, 2], [0, 1, 0, -1]], {"system": ["x", "y"]}, ("system", "item"))
    model = al.models.shared_errors(labels, [0, 0, 1, 2], classes=["cat", "dog", "owl"])
    assert list(model.coords["item"]) == [1, 2]
    assert list(model.coords["system"]) == ["x", "y"]
    assert list(model.coords["response_class"]) == ["cat", "dog", "owl"]
    assert model["wrong_labels"].get_value().tolist() == [[0, 0], [1, 0]]
    masked = np.ma.masked_less(labels.values, 0)
    for alike in (masked, masked.astype(np.uint8), labels.transpose("item", "system")):
        again = al.models.shared_errors(alike, np.array([0, 0, 1, 2], np.uint8))
        np.testing.assert_array_equal(
            again["wrong_labels"].get_value(), model["wrong_labels"].get_value()
        )


@pytest.mark.parametrize(
    ("labels", "truth", "more", "message"),
    [
        ([[0, 1, 2]], [0, 1, 1], {}, "2 systems and an item, (system, item), got the shape (1, 3)"),
        ([[0, 1, 2]] * 2, [0, 1], {}, "a class for each of 3 items, got the shape (2,)"),
        ([[0.0, 1.0]] * 2, [0, 1], {}, "labels must be whole numbers of classes, from 0, and"),
        ([[0, 2]] * 2, np.ma.masked_equal([0, 1], 1), {}, "got masked ones; leave them out"),
        (np.zeros((2, 0), int), [], {}, "at least 2 systems and an item"),
        (xr.DataArray([[0, 2]] * 2, dims=("a", "b")), [0, 1], {}, "the dims system and item"),
        ([[0, 2]] * 2, [0, 1], {"classes": ["a", "a", "b"]}, "names of classes must differ"),
        ([[0, 2], [0, 1]], [0, 1], {}, "each system must err, and 1 never does; leave it out"),
        ([[0, 1]] * 2, [0, 0], {}, "classes must be at least 3, got 2"),
        ([[0, 3]] * 2, [0, 1], {"classes": "abc"}, "labels must lie from -1 to 2, got 0 to 3"),
        ([[0, 2]] * 2, [0, -1], {}, "truth must lie from 0 to 2, got -1 to 0"),
        ([[0, 2]] * 2, [0, 2], {}, "at least one error, got none"),
        ([[0, 2]] * 2, [0, 1], {"priors": {"breadth": (1,)}}, "breadth"),
    ],
)
def test_bad_input_gets_one_line(labels: Any, truth: Any, more: Any, message: str) -> None:
    with pytest.raises(ValueError, match=re.escape(message)) as error:
        al.models.shared_errors(labels, truth, **more)
    assert "\n" not in str(error.value)
