"""Claims of the notebook with this name, checked with its variables."""

import numpy as np

import alikely as al

for rows in found.values():
    for row, truth in zip(rows.itertuples(), rho.values(), strict=True):
        # The true value for proportions correct is 0.95 to 1 times that for strengths. Three times
        # the half-width is exceeded once in 10^8.
        half = (row.posterior_eti95_ub - row.posterior_eti95_lb) / 2
        assert abs(row.posterior_median - truth) < 3 * half + 0.05 * truth
few_models, many = found["10 x 1"], found["45 x 2"]
assert (few_models["posterior_median"] > few_models["estimate"]).iloc[:2].all()
assert 0.45 < kappa_self < 0.63
assert 0.22 < kappa_between < 0.40
assert float(tree["sample_stats"]["diverging"].mean()) < 0.001
assert inside > 0.8
assert (side["margin_ceiling"].dropna() > side["group_margin_consistency"].dropna()).all()
if real:
    # Results of public code for these models, and known values for these data.
    for name in shown:
        wide = margins[margins["dataset"] == name].pivot(
            index="image", columns="observer", values="margin"
        )
        plain = wide.astype(np.float64).corr()
        nets = side[(side["dataset"] == name) & (side["n_models"] == 2)]
        public = [
            plain.loc[a, b] for a, b in zip(nets["observer_a"], nets["observer_b"], strict=True)
        ]
        assert len(nets) == 105
        np.testing.assert_allclose(nets["margin_consistency"], public, rtol=0, atol=1e-12)
    known = {"edge": (0.83, 0.34, 0.68), "cue-conflict": (0.84, 0.26, 0.62)}
    for name, expected in known.items():
        np.testing.assert_allclose(levels.loc[name, "DMC"], expected, rtol=0, atol=0.005)
        one_person = al.margins.spearman_brown(
            levels.loc[(name, "humans with humans"), "DMC"], 1 / 10
        )
        ec = levels.loc[name, "EC"]
        # Observations of the paper that the text repeats.
        assert abs(one_person - ec["humans with humans"]) < 0.02
        assert ec["model with humans"] < ec["humans with humans"] < ec["two models"]
        dmc = levels.loc[name, "DMC"]
        assert dmc["model with humans"] < dmc["two models"] < dmc["humans with humans"]
        assert (dmc > ec).all()
        gap = {who: (dmc - ec)[who] - (dmc - ec)["model with humans"] for who in dmc.index}
        assert gap["humans with humans"] > 0 > gap["two models"]
    assert (
        medians.loc[("uniform-noise", "0.35"), "total"]
        < 0
        < 0.25
        < medians.loc[("uniform-noise", "0.35"), "r_within_class"]
    )
    assert medians.loc[("edge", "0"), "total"] > 2 * medians.loc[("edge", "0"), "r_within_class"]
