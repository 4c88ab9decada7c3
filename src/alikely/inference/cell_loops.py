"""Compiled loops for posterior limits of error consistency.

Imported only by `alikely.inference.cell_limits`, since it imports numba.
"""

from __future__ import annotations

import math

import numpy as np

from alikely._base.compilation import compiled

# Roots: steps at most, and when they end: by probability, by distance.
STEPS = 60
CLOSE, NARROW, TINY = 1e-7, 1e-10, 1e-12
# Logit of a tail by standard deviations, near 95 % limits of a normal law.
SLOPE = 2.4
# Bounds that stand still from point to point: by parts of a step of a distribution.
STILL = 1e-3


@compiled
def expanded(cells, f, served, nodes, weights, z, limits):  # type: ignore[no-untyped-def]
    """Limits of tables of five cells (with the prior) that are served; others are unchanged."""
    of_shares, of_same = nodes
    shares = np.empty((3, len(of_shares)))
    same, one = np.empty(len(of_same)), np.ones(1)
    theta = np.empty(len(weights[1]))
    for row in np.flatnonzero(served):
        both, first, second, alike, unlike = cells[row]
        logit_shares(both + first, second + alike + unlike, of_shares, shares[0])
        logit_shares(both, first, of_shares, shares[1])
        logit_shares(second, alike + unlike, of_shares, shares[2])
        if f[row] < 1:
            logit_shares(alike, unlike, of_same, same)
            limits_of_points(shares, same, weights[1], f[row], z, theta, limits[row])
        else:
            # With two options, joint errors are always the same.
            limits_of_points(shares, one, weights[0], 1.0, z, theta, limits[row])


@compiled
def limits_of_points(shares, same, weights, f, z, theta, limits):  # type: ignore[no-untyped-def]
    """Expansion of Fisher's z of kappa from its moments over all points."""
    n, at = shares.shape[1], 0
    center = 0.0
    for i in range(n):
        p = shares[0, i]
        q = 1 - p
        for j in range(n):
            u = shares[1, j]
            for k in range(n):
                v = shares[2, k]
                b = p * u + q * v
                by_chance = p * (1 - b) + q * (b + (1 - b) * (1 - f))
                known, rest = p * (1 - u) + q * v, q * (1 - v)
                for s in range(len(same)):
                    # 1 - kappa is the share that differs over that by chance.
                    seen = known + rest * (1 - same[s])
                    value = 0.5 * math.log((2 * by_chance - seen) / seen)
                    theta[at] = value
                    center += weights[at] * value
                    at += 1
    second, third, fourth = 0.0, 0.0, 0.0
    for k in range(at):
        away = theta[k] - center
        square = away * away
        second += weights[k] * square
        third += weights[k] * square * away
        fourth += weights[k] * square * square
    sd = math.sqrt(second)
    skew, excess = third / (second * sd), fourth / (second * second) - 3
    for side in range(len(z)):
        limits[side] = math.tanh(center + sd * cornish_fisher(z[side], skew, excess))


@compiled
def logit_shares(a, b, nodes, out):  # type: ignore[no-untyped-def]
    """Points of a Beta(a, b) by the cumulants of its logit."""
    mean = psi(a) - psi(b)
    second = psi_1(a) + psi_1(b)
    sd = math.sqrt(second)
    skew = (psi_2(a) - psi_2(b)) / (second * sd)
    excess = (psi_3(a) + psi_3(b)) / (second * second)
    for i in range(len(nodes)):
        out[i] = 1 / (1 + math.exp(-mean - sd * cornish_fisher(nodes[i], skew, excess)))


@compiled
def cornish_fisher(z, skew, excess):  # type: ignore[no-untyped-def]
    """Deviates of a distribution with these standardized cumulants."""
    first = z + skew * (z * z - 1) / 6
    return first + excess * (z**3 - 3 * z) / 24 - skew * skew * (2 * z**3 - 5 * z) / 36


@compiled
def psi(x):  # type: ignore[no-untyped-def]
    """Digamma function from 5 by its asymptotic series, accurate to 1e-11."""
    y = 1 / (x * x)
    series = y * (1 / 12 - y * (1 / 120 - y * (1 / 252 - y * (1 / 240 - y / 132))))
    return math.log(x) - 0.5 / x - series


@compiled
def psi_1(x):  # type: ignore[no-untyped-def]
    """First derivative of `psi`."""
    y = 1 / (x * x)
    series = 1 / 6 - y * (1 / 30 - y * (1 / 42 - y * (1 / 30 - y * 5 / 66)))
    return (1 + 0.5 / x + y * series) / x


@compiled
def psi_2(x):  # type: ignore[no-untyped-def]
    """Second derivative of `psi`."""
    y = 1 / (x * x)
    series = 1 / 2 - y * (1 / 6 - y * (1 / 6 - y * (3 / 10 - y * 5 / 6)))
    return -y * (1 + 1 / x + y * series)


@compiled
def psi_3(x):  # type: ignore[no-untyped-def]
    """Third derivative of `psi`."""
    y = 1 / (x * x)
    series = 2 - y * (1 - y * (4 / 3 - y * (3 - y * 10)))
    return y / x * (2 + 3 / x + y * series)


@compiled
def solved(p, of_p, u, of_u, table, start, se, levels, out):  # type: ignore[no-untyped-def]
    """Roots of P(kappa <= k) = level, bracketed from the start; table by table."""
    below, area, first, width = table
    bounds = np.empty((3, p.shape[1]))
    for row in range(len(out)):
        of_v = below[row], area[row], first[row], width[row]
        for side in range(len(levels)):
            out[row, side] = root(
                p[row], of_p, u[row], of_u, of_v, start[row, side], se[row], levels[side], bounds
            )


@compiled
def root(p, of_p, u, of_u, of_v, start, se, level, bounds):  # type: ignore[no-untyped-def]
    """One root of `solved`."""
    low, high, k = -1.0, 1.0, start
    aim = math.log(level / (1 - level))
    k_before, y_before = math.nan, math.nan
    for _ in range(STEPS):
        share = at_most(k, p, of_p, u, of_u, of_v, bounds)
        if share < level:
            low = k
        else:
            high = k
        if abs(share - level) < CLOSE or high - low < NARROW:
            break
        clipped = min(max(share, TINY), 1 - TINY)
        y = math.log(clipped / (1 - clipped)) - aim
        # Logits of a tail are nearly straight: by the last two, at first by a normal law.
        slope = (y - y_before) / (k - k_before)
        if not slope > 0:
            slope = SLOPE / se
        k_before, y_before = k, y
        k -= y / slope
        if not low < k < high:
            k = (low + high) / 2
    return k


@compiled
def at_most(k, p, of_p, u, of_u, of_v, bounds):  # type: ignore[no-untyped-def]
    """P(kappa <= k): given p and u a bound on v, whose distribution is tabulated."""
    below, area, first, width = of_v
    for i in range(len(p)):
        q = 1 - p[i]
        bounds[0, i] = q * (2 * p[i] + k * (q - p[i]))
        bounds[1, i] = p[i] * (2 * q - k * (q - p[i]))
        bounds[2, i] = p[i] * k
    total = 0.0
    for j in range(len(u)):
        part, v_before, place_before, share_before, area_before = 0.0, 0.0, 0.0, 0.0, 0.0
        for i in range(len(p)):
            den = bounds[0, i]
            num = bounds[1, i] * u[j] - bounds[2, i]
            v = num / den if den != 0 else (math.inf if num <= 0 else -math.inf)
            place = (scaled(v) - first) / width
            share, under = looked_up(v, place, below, area, first, width)
            if i > 0:
                alike = (den > 0) == (bounds[0, i - 1] > 0) and abs(v - v_before) < math.inf
                # Between two points of p the bound goes straight: the mean on the way.
                if alike and abs(place - place_before) > STILL:
                    mean = (under - area_before) / (v - v_before)
                    mean = 1 - mean if den > 0 else mean
                else:
                    now = 1 - share if den > 0 else share
                    before = 1 - share_before if bounds[0, i - 1] > 0 else share_before
                    mean = (now + before) / 2
                part += of_p[i - 1] * mean
            v_before, place_before, share_before, area_before = v, place, share, under
        total += of_u[j] * part
    return total


@compiled
def scaled(v):  # type: ignore[no-untyped-def]
    """As `cell_limits._root`: smooth at both ends of a Beta distribution, and on beyond them."""
    if v < 0:
        return -math.sqrt(-v)
    if v > 1:
        return 1 + math.sqrt(v - 1)
    left, right = math.sqrt(v), math.sqrt(1 - v)
    return left / (left + right)


@compiled
def looked_up(v, place, below, area, first, width):  # type: ignore[no-untyped-def]
    """Distribution function and its integral, within or beyond the grid."""
    last = len(below) - 1
    if place <= 0:
        return 0.0, 0.0
    if place >= last:
        return 1.0, area[last] + (v - unscaled(first + width * last))
    left = int(place)
    more = (place - left) * (below[left + 1] - below[left])
    away = v - unscaled(first + width * left)
    return below[left] + more, area[left] + away * (below[left] + more / 2)


@compiled
def unscaled(root):  # type: ignore[no-untyped-def]
    """Inverse of `scaled` in [0, 1]."""
    return root * root / (root * root + (1 - root) * (1 - root))
