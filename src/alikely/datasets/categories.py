"""The 16 categories of the benchmark's images among the 1,000 classes of ImageNet.

References
----------
.. [G18] Geirhos, Temme, Rauber, Schütt, Bethge, Wichmann (2018). Generalisation in humans and deep
   neural networks. doi:10.48550/arXiv.1808.08750
"""

from __future__ import annotations

import hashlib
import re
from pathlib import Path

from alikely.datasets.loaders import download

__all__ = ["sixteen_categories"]

# One commit of the public code that accompanies [G18]_.
MAPPING = (
    "https://raw.githubusercontent.com/rgeirhos/generalisation-humans-DNNs/"
    "eed4bd035c6f0be6c225641dfb2ceaf23f965343/16-class-ImageNet/"
    "MSCOCO_to_ImageNet_category_mapping.txt"
)
# SHA-256 of what it says, see `_digest`; line ends and remarks do not matter.
DIGEST = "4eeedfe29113b59f2d8bf77e4dfe7bf87c24683611a6a7d1e927a22311156069"
# Where copies of the public code have it, and that of the later toolbox.
PLACES = (
    "16-class-ImageNet/MSCOCO_to_ImageNet_category_mapping.txt",
    "MSCOCO_to_ImageNet_category_mapping.txt",
    "modelvshuman/helper/human_categories.py",
)
LIST = re.compile(r"(\w+)\s*=\s*\[([^\]]*)\]")
IDENTIFIER = re.compile(r"\bn\d{8}\b")


def sixteen_categories(
    path: str | Path | None = None,
    *,
    url: str = MAPPING,
    known_hash: str | None = None,
    cache: str | Path | None = None,
) -> dict[str, str]:
    """Load the coarse category of ImageNet's classes, by WordNet identifier [G18]_.

    Parameters
    ----------
    path : str or path, optional
        A local copy: a file with lines such as ``knife = [n03041632]``, or the folder of the public
        code that has one. If not given, the public file is downloaded once and kept.
    url : str
        Where the file is.
    known_hash : str, optional
        Checksum of the file, such as ``"sha256:..."``. Without it the content of a download is
        checked against its known digest.
    cache : str or path, optional
        Where downloads are kept; the user's cache folder if not given.

    Returns
    -------
    dict of str to str
        Category of each identifier, in the order of the file, for
        ``alikely.margins.decision_margins(..., coarse=..., unmapped="ignore")``. Most of the 1,000
        classes have none; a few identifiers are none of the 1,000.

    Raises
    ------
    ValueError
        If there is no such file or it holds no categories, an identifier has two, a checksum does
        not match, or the download fails.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "categories.txt"
    ...     _ = file.write_text("knife = [n03041632]  keyboard = [n03085013, n04505470]")
    ...     sixteen_categories(file)
    {'n03041632': 'knife', 'n03085013': 'keyboard', 'n04505470': 'keyboard'}
    """
    if path is not None:
        file = _found(Path(path))
        return _read(file.read_text(encoding="utf-8", errors="replace"), str(file))
    file = download(
        url,
        known_hash,
        cache,
        "sixteen-categories.txt",
        "get the file by other means and pass path=",
    )
    try:
        categories = _read(file.read_text(encoding="utf-8", errors="replace"), url)
        if known_hash is None and (digest := _digest(categories)) != DIGEST:
            raise ValueError(
                f"the categories at {url} are not the published ones (checksum {digest[:12]}...); "
                "if you trust this file, pass path="
            )
    except ValueError:
        # What is no good is not kept for the next time.
        file.unlink()
        raise
    return categories


def _found(path: Path) -> Path:
    for file in (path, *(path / place for place in PLACES)):
        if file.is_file():
            return file
    raise ValueError(
        f"no categories in {str(path)!r}; expected a file with lines such as 'knife = "
        f"[n03041632]', or a folder with {PLACES[0]}"
    )


def _read(text: str, place: str) -> dict[str, str]:
    found: dict[str, str] = {}
    for category, members in LIST.findall(text):
        for identifier in IDENTIFIER.findall(members):
            if found.setdefault(identifier, category) != category:
                raise ValueError(
                    f"{identifier} has two categories in {place!r}: {found[identifier]} and "
                    f"{category}; keep one"
                )
    if not found:
        raise ValueError(
            f"no categories in {place!r}; expected lines such as 'knife = [n03041632]', with "
            "WordNet identifiers"
        )
    return found


def _digest(categories: dict[str, str]) -> str:
    lines = sorted(f"{identifier}\t{category}" for identifier, category in categories.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
