"""Calibration designs of the generative models, each in a file with its name and a ``CASE``.

The simulators are written from the models' pages, not from their code, so that the same error is
unlikely in both. Files that begin with an underscore contain shared code.
"""

from __future__ import annotations

import importlib
import pkgutil

from studies.case import Case

CASES: dict[str, Case] = {
    part.name: importlib.import_module(f"{__name__}.{part.name}").CASE
    for part in pkgutil.iter_modules(__path__)
    if not part.name.startswith("_")
}
