"""Generative models, each a function that returns a plain `pymc.Model`."""

from __future__ import annotations

from alikely.models.copying import copying
from alikely.models.independence import independence

__all__ = ["copying", "independence"]
