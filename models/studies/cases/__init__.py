"""How each model of the catalog is put to the test: a file of its name, that holds its ``CASE``.

The simulators are written from the models' cards, not from their code, so that a mistake in a
likelihood cannot hide in both. Files that begin with an underscore hold what several cases share.
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
