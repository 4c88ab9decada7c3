"""Data sets: a simulated example in the package, and loaders of public benchmark data.

References
----------
.. [G18] Geirhos, Temme, Rauber, Schütt, Bethge, Wichmann (2018). Generalisation in humans and deep
   neural networks. doi:10.48550/arXiv.1808.08750
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
"""

from __future__ import annotations

import importlib.resources
import os
import re
import sys
import tempfile
import zipfile
import zlib
from collections.abc import Sequence
from http.client import HTTPException
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.parquet

from alikely._base.checks import entries
from alikely._base.files import write_file
from alikely._base.names import listed, nearest
from alikely._base.steps import step
from alikely.data.columns import HUMAN_IDS
from alikely.data.files import UNPACKING, File, read_table, unreadable
from alikely.data.readers.experiments import normal_conditions, normalize_condition
from alikely.data.trials import Trials

__all__ = ["load_example", "model_vs_human", "normalize_condition", "sixteen_categories"]

# A fixed commit of the public toolbox that accompanies [G21]_.
ARCHIVE = (
    "https://github.com/bethgelab/model-vs-human/archive/"
    "93ee6766db71bc99de23a16cf5216acff181b470.zip"
)


def load_example() -> Trials:
    """Load a small simulated experiment that comes with the package.

    Returns
    -------
    Trials
        The experiment has 4 humans and 6 models from two families, and 160 items in each of 3
        conditions. All responses are simulated by `alikely.simulate.observers`.

    Examples
    --------
    >>> load_example()
    <Trials: 10 observers, 480 trials, 16 classes>
    """
    resource = importlib.resources.files("alikely") / "datasets" / "example.parquet"
    with importlib.resources.as_file(resource) as path:
        table = pyarrow.parquet.read_table(path)
    return Trials.from_table(table, labels=["family"])


def model_vs_human(
    cache_dir: str | Path | None = None,
    *,
    datasets: str | Sequence[str] | None = None,
    cache: str | Path | None = None,
) -> Trials:
    """Load the responses of humans and models to 17 out-of-distribution data sets [G21]_.

    Parameters
    ----------
    cache_dir : str or path, optional
        Path to a local copy of the model-vs-human toolbox, or of its ``raw-data`` folder, which has
        one folder of csv files per data set. You can also pass the path to a table of trials, or
        to a folder that contains ``trials.parquet``. By default, the public release of the
        model-vs-human data is downloaded once.
    datasets : str or sequence of str, optional
        Data sets to load, such as ``"sketch"``. Default: all.
    cache : str or path, optional
        Folder for downloads. Default: the user's cache folder.

    Returns
    -------
    Trials
        Responses of ``human`` and ``model`` observers, in conditions named by
        `normalize_condition`. Each data set has different humans, so ``subject-01`` denotes
        different people in different data sets. Benchmarks on the model-vs-human data therefore use
        ``human_ids="per_dataset"``.

    Raises
    ------
    ValueError
        If the folder does not contain the data, if a data set is unknown, or if the download fails.
    """
    if cache_dir is None:
        archive = _download(ARCHIVE, cache, "model-vs-human.zip", "cache_dir")
        with tempfile.TemporaryDirectory() as unpacked:
            _unpack(archive, unpacked)
            trials = _read(next(Path(unpacked).glob("*"), Path(unpacked)), datasets)
    else:
        trials = _read(Path(cache_dir), datasets)
    return Trials(trials.data.assign_attrs({HUMAN_IDS: "per_dataset"}))


def _unpack(archive: Path, cache_dir: str) -> None:
    try:
        with zipfile.ZipFile(archive) as zipped:
            own = [one for one in zipped.infolist()
                   if re.match(r"(?!__MACOSX).*/raw-data/.*\.csv$", one.filename)]  # fmt: skip
            for one in own:
                File(f"{archive.name}/{one.filename}", archive).check_size(one.file_size)
            zipped.extractall(cache_dir, [one.filename for one in own])
    except (zipfile.BadZipFile, zlib.error):
        archive.unlink()
        raise ValueError(
            "the download is not a zip archive and was removed; try again, or download the data "
            "yourself and use cache_dir="
        ) from None
    except UNPACKING as error:
        raise ValueError(unreadable(File(str(archive), archive), error)) from None


def _read(cache_dir: Path, datasets: str | Sequence[str] | None) -> Trials:
    """Read requested data sets from a table of trials, or from folders of csv files."""
    tidy = cache_dir / "trials.parquet" if cache_dir.is_dir() else cache_dir
    if tidy.is_file():
        table = read_table(File(str(tidy), tidy), [])
        if lacking := {"dataset", "condition"} - set(table.column_names):
            raise ValueError(f"{str(tidy)!r} has no column {min(lacking)!r}; use a table of trials")
        names = table["dataset"].cast(pa.string())
        if names.null_count:
            raise ValueError(f"{str(tidy)!r} has rows without a data set; fill in column 'dataset'")
        wanted = _wanted(set(names.unique().to_pylist()), datasets, str(tidy))
        table = table.filter(pc.is_in(names, pa.array(wanted)))
        at = table.column_names.index("condition")
        conditions = normal_conditions(table["condition"])
        return Trials.from_table(table.set_column(at, "condition", conditions))
    root = cache_dir / "raw-data" if (cache_dir / "raw-data").is_dir() else cache_dir
    files = [file for file in sorted(root.glob("*/*.csv")) if not file.name.startswith(".")]
    wanted = _wanted({file.parent.name for file in files}, datasets, str(cache_dir))
    return Trials.read([f for f in files if f.parent.name in wanted], format="model-vs-human")


def _wanted(found: set[str], datasets: str | Sequence[str] | None, place: str) -> list[str]:
    if not found:
        raise ValueError(
            f"no model-vs-human data in {place!r}; expected raw-data/<dataset>/*.csv or a table of "
            "trials"
        )
    if datasets is None:
        return sorted(found)
    wanted = [datasets] if isinstance(datasets, str) else entries("datasets", datasets)
    if lacking := [name for name in wanted if name not in found]:
        raise ValueError(
            f"no data set {lacking[0]!r} in {place!r}; choose from {listed(sorted(found))}"
            f"{nearest(lacking[0], found)}"
        )
    if not wanted:
        raise ValueError(f"datasets is empty; choose from {listed(sorted(found))}")
    return wanted


def _download(url: str, cache: str | Path | None, name: str, instead: str) -> Path:
    """Download a file, unless it is in the cache."""
    # Imported here, because the example needs no download.
    import urllib.request

    path = (_cache() if cache is None else Path(cache)) / name
    if path.is_file():
        return path
    try:
        with step(f"downloading {url}"), urllib.request.urlopen(url, timeout=60) as answer:
            content = answer.read()
    except (OSError, ValueError, HTTPException) as error:
        raise ValueError(
            f"could not download {url}: {error}; download the file yourself and use {instead}="
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, content)
    return path


def _cache() -> Path:
    """The user's cache folder, by operating system."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "alikely"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "alikely" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alikely"


# A fixed commit of the public code that accompanies [G18]_.
MAPPING = (
    "https://raw.githubusercontent.com/rgeirhos/generalisation-humans-DNNs/"
    "eed4bd035c6f0be6c225641dfb2ceaf23f965343/16-class-ImageNet/"
    "MSCOCO_to_ImageNet_category_mapping.txt"
)
# Paths of the file in copies of the public code, and in the later toolbox.
PLACES = (
    "16-class-ImageNet/MSCOCO_to_ImageNet_category_mapping.txt",
    "MSCOCO_to_ImageNet_category_mapping.txt",
    "modelvshuman/helper/human_categories.py",
)
LIST = re.compile(r"(\w+)\s*=\s*\[([^\]]*)\]")
IDENTIFIER = re.compile(r"\bn\d{8}\b")


def sixteen_categories(
    path: str | Path | None = None, *, cache: str | Path | None = None
) -> dict[str, str]:
    """Load the coarse categories of ImageNet classes, by WordNet identifier [G18]_.

    Parameters
    ----------
    path : str or path, optional
        Path to a local copy of the categories: a file with lines such as ``knife = [n03041632]``,
        or a folder with the code of [G18]_. By default, the file published with [G18]_ is
        downloaded on first use.
    cache : str or path, optional
        Folder for downloads. Default: the user's cache folder.

    Returns
    -------
    dict of str to str
        Mapping from WordNet identifiers to categories, in the order of the file, for the argument
        `coarse` of `alikely.margins.decision_margins` (with ``unmapped="ignore"``). Most of the
        1,000 ImageNet classes belong to none of the 16 categories. A few identifiers in the file
        are not among the 1,000 ImageNet classes.

    Raises
    ------
    ValueError
        If the file is missing or has no categories, if an identifier has two categories, or if the
        download fails.

    Examples
    --------
    >>> import tempfile
    >>> with tempfile.TemporaryDirectory() as folder:
    ...     file = Path(folder) / "categories.txt"
    ...     _ = file.write_text("knife = [n03041632]  keyboard = [n03085013, n04505470]")
    ...     sixteen_categories(file)
    {'n03041632': 'knife', 'n03085013': 'keyboard', 'n04505470': 'keyboard'}
    """
    own = None if path is None else _found(Path(path))
    file = own or _download(MAPPING, cache, "sixteen-categories.txt", "path")
    try:
        return _categories(file.read_text(encoding="utf-8", errors="replace"), str(file))
    except ValueError:
        if own is None:
            file.unlink()  # remove an invalid file from the cache
        raise


def _found(path: Path) -> Path:
    for file in (path, *(path / place for place in PLACES)):
        if file.is_file():
            return file
    raise ValueError(
        f"no categories in {str(path)!r}; expected a file with lines such as 'knife = "
        f"[n03041632]', or a folder with {PLACES[0]}"
    )


def _categories(text: str, place: str) -> dict[str, str]:
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
