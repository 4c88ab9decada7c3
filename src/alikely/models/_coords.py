"""Coordinates that the models of pairs share."""

from __future__ import annotations

from collections.abc import Sequence

from alikely.data.tables import CELLS

__all__ = ["pair_coords"]


def pair_coords(n_pairs: int, pairs: Sequence[str] | None) -> dict[str, list[str]]:
    """Labels of the ``pair`` and ``cell`` dims; numbers where no names are given."""
    labels = [str(i) for i in range(n_pairs)] if pairs is None else [str(pair) for pair in pairs]
    if len(labels) != n_pairs:
        raise ValueError(f"pairs must name all {n_pairs} tables, got {len(labels)} names")
    return {"pair": labels, "cell": list(CELLS)}
