"""Compiled loops over counts: Fisher's exact test, posterior limits of error consistency.

The loops are imported only when they run, because they import numba.
"""

from __future__ import annotations

import math

import numpy as np

from alikely._base.arrays import compiled

# Log probabilities of tables that are equally probable differ by rounding, never by this much.
ROUNDING = 1e-7
# Terms of a tail end below this share of their sum.
END = 1e-17


@compiled
def log_tails(cells, rest, alternative, out):  # type: ignore[no-untyped-def]
    """Natural logarithms of p-values; an `alternative` of 0 is two-sided, 1 greater, -1 less."""
    for row in range(len(cells)):
        n11, n10 = int(cells[row, 0]), int(cells[row, 1])
        n01, n00 = int(cells[row, 2]), int(cells[row, 3])
        if n11 + n10 + n01 + n00 == 0:
            out[row] = math.nan
        elif alternative == 0:
            out[row] = log_both(n11, n10, n01, n00, rest)
        elif alternative == 1:
            out[row] = log_upper(n11, n10, n01, n00, rest)
        else:
            out[row] = log_upper(n10, n11, n00, n01, rest)


@compiled
def log_both(n11, n10, n01, n00, rest):  # type: ignore[no-untyped-def]
    """Two-sided log p-value."""
    mode = (n11 + n10 + 1) * (n11 + n01 + 1) // (n11 + n10 + n01 + n00 + 2)
    steps = n11 - mode
    if steps < 0:
        n11, n10, n01, n00 = n10, n11, n00, n01
        steps = -steps
    margins = rest_of_margins(n11, n10, n01, n00, rest)
    own = log_mass(n11, n10, n01, n00, rest) + margins
    limit = own + ROUNDING
    if limit >= log_mass(n11 - steps, n10 + steps, n01 + steps, n00 - steps, rest) + margins:
        return 0.0
    p = own + math.log(tail(n11, n10, n01, n00))
    # The first table beyond the mode that is no more probable: by bisection, outward from where
    # it would be if both sides were alike.
    near, far = steps, min(n11, n00) + 1
    middle = min(2 * steps, far - 1)
    stride = 1
    while far - near > 1:
        middle = min(max(middle, near + 1), far - 1)
        down = log_mass(n11 - middle, n10 + middle, n01 + middle, n00 - middle, rest) + margins
        if down <= limit:
            far = middle
            middle -= stride
        else:
            near = middle
            middle += stride
        stride *= 2
        if not near < middle < far:
            middle = (near + far) // 2
    if far <= min(n11, n00):
        n11, n10, n01, n00 = n10 + far, n11 - far, n00 - far, n01 + far
        other = log_mass(n11, n10, n01, n00, rest) + margins + math.log(tail(n11, n10, n01, n00))
        p += math.log1p(math.exp(other - p))
    return min(p, 0.0)


@compiled
def log_upper(n11, n10, n01, n00, rest):  # type: ignore[no-untyped-def]
    """Log probability of an overlap of at least ``n11``."""
    mode = (n11 + n10 + 1) * (n11 + n01 + 1) // (n11 + n10 + n01 + n00 + 2)
    if n11 >= mode:
        own = log_mass(n11, n10, n01, n00, rest) + rest_of_margins(n11, n10, n01, n00, rest)
        return min(own + math.log(tail(n11, n10, n01, n00)), 0.0)
    if n11 == 0 or n00 == 0:
        return 0.0
    # What is left of 1 by the smaller overlaps.
    n11, n10, n01, n00 = n10 + 1, n11 - 1, n00 - 1, n01 + 1
    own = log_mass(n11, n10, n01, n00, rest) + rest_of_margins(n11, n10, n01, n00, rest)
    return math.log1p(-min(math.exp(own) * tail(n11, n10, n01, n00), 1.0))


@compiled
def tail(n11, n10, n01, n00):  # type: ignore[no-untyped-def]
    """Probability of an overlap of at least ``n11``, divided by that of exactly ``n11``."""
    a, b, c, d = float(n11), float(n10), float(n01), float(n00)
    total, term = 1.0, 1.0
    while term > END * total:
        a += 1
        d += 1
        term *= b * c / (a * d)
        total += term
        b -= 1
        c -= 1
    return total


@compiled
def rest_of_margins(n11, n10, n01, n00, rest):  # type: ignore[no-untyped-def]
    """Terms of the margins in the log probability of a table."""
    rows = log_rest(n11 + n10, rest) + log_rest(n01 + n00, rest)
    columns = log_rest(n11 + n01, rest) + log_rest(n10 + n00, rest)
    return rows + columns - log_rest(n11 + n10 + n01 + n00, rest)


@compiled
def log_mass(n11, n10, n01, n00, rest):  # type: ignore[no-untyped-def]
    """Compute the log probability of a table, without the terms that depend only on its margins."""
    total = n11 + n10 + n01 + n00
    right_a, wrong_a, right_b, wrong_b = n11 + n10, n01 + n00, n11 + n01, n10 + n00
    away = (n11 * n00 - n10 * n01) / total
    out = -log_rest(n11, rest) - log_rest(n10, rest) - log_rest(n01, rest) - log_rest(n00, rest)
    out -= surplus(away, right_a, right_b, total) + surplus(-away, right_a, wrong_b, total)
    return out - surplus(-away, wrong_a, right_b, total) - surplus(away, wrong_a, wrong_b, total)


@compiled
def surplus(away, row, column, total):  # type: ignore[no-untyped-def]
    """Deviance term of a cell: cell log(cell / expected) + expected - cell."""
    expected = float(row) * float(column) / total
    if expected == 0:
        return 0.0
    ratio = away / expected
    if ratio <= -1:
        return expected
    return expected * ((1 + ratio) * math.log1p(ratio) - ratio)


@compiled
def log_rest(n, rest):  # type: ignore[no-untyped-def]
    """Difference between log n! and n log n - n: from a table if n is small, else a series."""
    if n < len(rest):
        return rest[n]
    inverse = 1.0 / n
    return math.log(2 * math.pi * n) / 2 + inverse * (1 / 12 - inverse * inverse / 360)


# Roots: steps at most, and when they end: by probability, by distance.
STEPS = 60
CLOSE, NARROW, TINY = 1e-7, 1e-10, 1e-12
# Logit of a tail by standard deviations, near 95 % limits of a normal law.
SLOPE = 2.4
# Bounds that stand still from point to point: by parts of a step of a distribution.
STILL = 1e-3


@compiled
def expanded(cells, f, served, nodes, weights, z, limits):  # type: ignore[no-untyped-def]
    """Compute limits for tables of five cells (with the prior) where `served`; skip others."""
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
    """Compute limits of kappa by an expansion from moments of Fisher's z over all points."""
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
    """Approximate points of a Beta(a, b) distribution from the cumulants of its logit."""
    mean = psi(a) - psi(b)
    second = psi_1(a) + psi_1(b)
    sd = math.sqrt(second)
    skew = (psi_2(a) - psi_2(b)) / (second * sd)
    excess = (psi_3(a) + psi_3(b)) / (second * second)
    for i in range(len(nodes)):
        out[i] = 1 / (1 + math.exp(-mean - sd * cornish_fisher(nodes[i], skew, excess)))


@compiled
def cornish_fisher(z, skew, excess):  # type: ignore[no-untyped-def]
    """Approximate deviates of a distribution with standardized cumulants `skew` and `excess`."""
    first = z + skew * (z * z - 1) / 6
    return first + excess * (z**3 - 3 * z) / 24 - skew * skew * (2 * z**3 - 5 * z) / 36


@compiled
def psi(x):  # type: ignore[no-untyped-def]
    """Digamma function for arguments of at least 5, by its asymptotic series, accurate to 1e-11."""
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
    """Find roots of P(kappa <= k) = level from a starting value, for one table after another."""
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
    """Find one root of P(kappa <= k) = level, as in `solved`."""
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
    """Compute P(kappa <= k): given p and u, k bounds v, whose distribution is tabulated."""
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
    """Map v to a scale that is smooth at both ends of a Beta distribution, also beyond [0, 1]."""
    if v < 0:
        return -math.sqrt(-v)
    if v > 1:
        return 1 + math.sqrt(v - 1)
    left, right = math.sqrt(v), math.sqrt(1 - v)
    return left / (left + right)


@compiled
def looked_up(v, place, below, area, first, width):  # type: ignore[no-untyped-def]
    """Interpolate a distribution function and its integral, also beyond the grid."""
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
