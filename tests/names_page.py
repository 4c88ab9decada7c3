"""Write ``docs/names.md``, the page of public names: ``uv run python tests/names_page.py``."""

from __future__ import annotations

import importlib
import inspect
import re
from pathlib import Path

ROOT = Path(__file__).parents[1]
PACKAGE = ROOT / "src" / "alikely"
NAMES_PAGE = ROOT / "docs" / "names.md"


def subjects() -> list[str]:
    """Public subpackages."""
    import alikely

    return sorted(name for name in alikely.__all__ if (PACKAGE / name).is_dir())


def names_page() -> str:
    """Text of the page that lists every public name, by subject."""
    import alikely

    packages = subjects()
    flat = [name for name in alikely.__all__ if name not in packages]
    parts = [
        "# Names",
        "All public names by subject, after `import alikely as al`.",
        "(`uv run python tests/names_page.py` writes this page; a test compares it.)",
        "## `al`",
        _table("al", [name for name in flat if not name.startswith("plot_")]),
        "## `al.plot_*`",
        _table("al", [name for name in flat if name.startswith("plot_")]),
    ]
    for name in packages:
        package = importlib.import_module(f"alikely.{name}")
        # The plots of `plots` are listed above.
        prefix = "plot_" if name == "plots" else "none"
        others = [each for each in package.__all__ if not each.startswith(prefix)]
        parts += [f"## `al.{name}`", str(package.__doc__).strip(), _table(name, others)]
    return "\n\n".join(parts) + "\n"


def _table(place: str, names: list[str]) -> str:
    package = importlib.import_module("alikely" if place == "al" else f"alikely.{place}")
    prefix = "al" if place == "al" else f"al.{place}"
    rows = [f"| `{prefix}.{name}` | {said(getattr(package, name))} |" for name in sorted(names)]
    return "\n".join(["| name | what |", "|---|---|", *rows])


def said(found: object) -> str:
    """First line of the docstring of an object, or the kind of a constant."""
    # Objects of classes of this package, such as `options`, are described by their class.
    own = type(found).__name__ == "Settings"
    if own or inspect.ismodule(found) or inspect.isclass(found) or inspect.isroutine(found):
        text = (inspect.getdoc(found) or "").splitlines()[0]
    elif type(found).__name__ == "Metric":
        text = f"Metric `{found.name}`."
    else:
        text = f"Constant, a {type(found).__name__}."
    return re.sub(r",? \[\w+\]_", "", text).replace("|", "\\|")


if __name__ == "__main__":
    NAMES_PAGE.write_text(names_page())
