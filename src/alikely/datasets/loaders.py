"""Data sets: a simulated example that comes along, and loaders of public benchmark data.

References
----------
.. [G18] Geirhos, Temme, Rauber, Schütt, Bethge, Wichmann (2018). Generalisation in humans and deep
   neural networks. doi:10.48550/arXiv.1808.08750
.. [G21] Geirhos, Narayanappa, Mitzkus, Thieringer, Bethge, Wichmann, Brendel (2021). Partial
   success in closing the gap between human and machine vision. doi:10.48550/arXiv.2106.07411
"""

from __future__ import annotations

import hashlib
import importlib.resources
import os
import re
import sys
import zipfile
import zlib
from collections.abc import Callable, Iterable, Sequence
from http.client import HTTPException
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.csv
import pyarrow.parquet

from alikely._base.checks import entries
from alikely._base.files import write_file
from alikely._base.names import listed, nearest
from alikely.data.columns import PEOPLE
from alikely.data.files import UNPACKING, File, unreadable
from alikely.data.readers.model_vs_human import (
    RAW,
    named_table,
    normal_conditions,
    normalise_condition,
)
from alikely.data.trials import Trials

__all__ = ["load_example", "model_vs_human", "normalise_condition", "sixteen_categories"]

# One commit of the public toolbox that accompanies [G21]_.
ARCHIVE = (
    "https://github.com/bethgelab/model-vs-human/archive/"
    "93ee6766db71bc99de23a16cf5216acff181b470.zip"
)

# SHA-256 of the human responses of each data set, see `_digest`. The archive itself has no fixed
# checksum: its host packs it anew now and then. What must not change is what it says.
HUMAN_DIGESTS: dict[str, str] = {
    "colour": "6a691607848b7fb8eef5b8887bc372ec27cbd9ccbcf6eac8078edc619676227a",
    "contrast": "a3481c3cc9d7beb63db4fae7a1d389ebe3a1444f83db7b89656d8e3e18143a21",
    "cue-conflict": "be2e4d8b1cc214f9457b176b4f03bde915bbe360073fafbebde975f67336a2b2",
    "edge": "418c969bad1ff6cd6d5cf9fdf174968264f0a7b5a0a5396e08a115ebeca2b1de",
    "eidolonI": "1ab786f6544a35470bea2bb36f916cf2913f8aba1e9428cfad0b28197575f5db",
    "eidolonII": "41d42403ca29ab4e1d50c02bffc6bdd7f2f5f12ad25a0ac0f3549525e3d878a8",
    "eidolonIII": "be7a726bccac23b4a1af450755ca8ae41e7101bbdb32d9f4dc435368e530eff0",
    "false-colour": "e43d7fc0f151484a76b6eb1da7233aaebd56b19f5972654aa2d651cac78b94c0",
    "high-pass": "5eddb7e07aded9e11854b1628c33d407bbebd0298ccfbd048418dc49cf8351d2",
    "low-pass": "1dc8cabb4988f42e2b86524b50ee65898199a7d7d3477beddd1b1ac73e2b8ce5",
    "phase-scrambling": "1dfa077cee1049cb51c1e1178e1d6784ee911f31dda7c4db5a215f63f8a30116",
    "power-equalisation": "3cf2408fdd510eef7fa7fe40768ce303426547ae2137e7baf5a2aa5832b6dbd9",
    "rotation": "71d6cbd5911e13a2a4d87d2e46d25160f31622171dd64117618d80fc7f960b94",
    "silhouette": "f485b964869c990f694212fcff85ebd419bf61061a791dac0eebca5062be585f",
    "sketch": "7a838371a2894360cdd2bb91d391b3c27baceed8303a988cc70eed8f42d13274",
    "stylized": "e9edd796b822c184364f2acf8301ed27c09bb67a1bcdb8898bac733d5ef3d128",
    "uniform-noise": "b776bb26d326550cf670dfa1f02f3b2b85159fe414b49213cc4a443c18380cc5",
}

COLUMNS = ("dataset", "condition", "image", "observer", "kind", "truth", "response")


def load_example() -> Trials:
    """Load a small simulated experiment that comes with the package.

    Returns
    -------
    Trials
        4 humans and 6 models of two families on 160 items in each of 3 conditions, as
        `alikely.simulate.experiments.example` makes them.

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
    folder: str | Path | None = None,
    *,
    datasets: str | Sequence[str] | None = None,
    url: str = ARCHIVE,
    cache: str | Path | None = None,
) -> Trials:
    """Load the responses of humans and models to 17 out-of-distribution data sets [G21]_.

    Parameters
    ----------
    folder : str or path, optional
        A local copy: the public toolbox, or its ``raw-data`` folder with one folder of csv files
        per data set; or a parquet file (or a folder with one called ``trials.parquet``) with the
        columns ``dataset, condition, image, observer, kind, truth, response``. If not given, the
        public release is downloaded once and kept.
    datasets : str or sequence of str, optional
        Data sets to load, such as ``"sketch"``; all if not given.
    url : str
        Zip archive of the toolbox; the human responses of each data set must have their known
        digest.
    cache : str or path, optional
        Where downloads are kept; the user's cache folder if not given.

    Returns
    -------
    Trials
        Conditions named by `normalise_condition`; observers of kind human and model. Each data
        set has people of its own, and the trials say so (``people="dataset"`` of benchmarks):
        ``subject-01`` of two experiments are two people.

    Raises
    ------
    ValueError
        If the folder holds no such data, a data set is unknown, a digest is another, or the
        download fails.
    """
    if folder is None:
        archive = _download(url, cache, "model-vs-human.zip", "folder")
        table = _from_archive(archive, datasets)
        _verify(table)
    else:
        table = _from_folder(Path(folder), datasets)
    trials = Trials.from_table(table)
    return Trials(trials.data.assign_attrs({PEOPLE: "dataset"}))


# Bytes that are read at once.
BLOCK = 2**16


def _download(url: str, cache: str | Path | None, name: str, instead: str) -> Path:
    """Fetch a file once and keep it."""
    # Only here: the example needs no downloader.
    import urllib.request

    from alikely._base.steps import Bar

    path = (_cache() if cache is None else Path(cache)) / name
    if path.is_file():
        return path
    content = bytearray()
    try:
        with urllib.request.urlopen(url, timeout=60) as answer, Bar(name) as bar:
            bar.total = n_bytes = int(answer.headers["Content-Length"] or 0)
            while part := answer.read(BLOCK):
                content += part
                bar.update(len(part))
        if len(content) < n_bytes:
            raise OSError(f"{len(content):,} of {n_bytes:,} bytes arrived")
    except (OSError, ValueError, HTTPException) as error:
        raise ValueError(
            f"could not download {url}: {error}; get the file by other means and pass {instead}="
        ) from error
    path.parent.mkdir(parents=True, exist_ok=True)
    write_file(path, bytes(content))
    return path


def _cache() -> Path:
    """Where the system keeps what programs can load again."""
    if sys.platform == "darwin":
        return Path.home() / "Library" / "Caches" / "alikely"
    if sys.platform == "win32":
        return Path(os.environ.get("LOCALAPPDATA", Path.home())) / "alikely" / "Cache"
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "alikely"


def _from_archive(path: Path, datasets: str | Sequence[str] | None) -> pa.Table:
    try:
        with zipfile.ZipFile(path) as archive:
            files = [
                (parts[-2], File(f"{path.name}/{name}", path, name))
                for name in sorted(archive.namelist())
                if _is_raw(name) and "raw-data" in (parts := name.split("/"))[:-2]
            ]
            return _joined(files, datasets, str(path), lambda file: _member(archive, file))
    except (zipfile.BadZipFile, zlib.error):
        path.unlink()
        raise ValueError(
            "the download is no zip archive and was removed; try again, or get the data by other "
            "means and pass folder="
        ) from None


def _is_raw(name: str) -> bool:
    """Whether it is a table, and not what a Mac keeps beside one."""
    parts = name.split("/")
    return name.endswith(".csv") and not parts[-1].startswith(".") and "__MACOSX" not in parts


def _member(archive: zipfile.ZipFile, file: File) -> bytes:
    """A member of an archive that is open, if memory holds it."""
    file.check_size(archive.getinfo(file.member).file_size)
    try:
        return archive.read(file.member)
    except (zipfile.BadZipFile, zlib.error):
        raise  # damaged: the whole of it must come again
    except UNPACKING as error:
        raise ValueError(unreadable(file, error)) from None


def _from_folder(folder: Path, datasets: str | Sequence[str] | None) -> pa.Table:
    tidy = folder / "trials.parquet" if folder.is_dir() else folder
    if tidy.is_file():
        table = _tidy(tidy)
        wanted = _wanted(set(table["dataset"].unique().to_pylist()), datasets, str(tidy))
        table = table.filter(pc.is_in(table["dataset"], pa.array(sorted(wanted))))
        where = table.column_names.index("condition")
        return table.set_column(where, "condition", normal_conditions(table["condition"]))
    root = folder / "raw-data" if (folder / "raw-data").is_dir() else folder
    found = sorted(file for file in root.glob("*/*.csv") if _is_raw(file.name))
    files = [(file.parent.name, File(str(file), file)) for file in found]
    return _joined(files, datasets, str(folder), File.read)


def _joined(
    files: Sequence[tuple[str, File]],
    datasets: str | Sequence[str] | None,
    place: str,
    read: Callable[[File], bytes],
) -> pa.Table:
    """The files of some data sets as one table."""
    wanted = _wanted({dataset for dataset, _ in files}, datasets, place)
    return pa.concat_tables(
        _read_raw(read(file), file, dataset) for dataset, file in files if dataset in wanted
    )


def _tidy(path: Path) -> pa.Table:
    """A parquet file with the columns of this module, as text."""
    try:
        table = pyarrow.parquet.read_table(path)
        missing = [name for name in COLUMNS if name not in table.column_names]
        if missing:
            raise ValueError(f"{str(path)!r} has no column {missing[0]!r}; expected {COLUMNS}")
        table = pa.table({name: table[name].cast(pa.string()) for name in COLUMNS})
    except (pa.ArrowException, OSError) as error:
        reason = (str(error).splitlines() or [type(error).__name__])[0].rsplit("': ", 1)[-1]
        raise ValueError(
            f"{str(path)!r} cannot be read as a parquet file of model-vs-human: {reason}; make it "
            "again"
        ) from None
    if table["dataset"].null_count:
        raise ValueError(f"{str(path)!r} has rows without a data set; fill in its column 'dataset'")
    return table


def _wanted(found: set[str], datasets: str | Sequence[str] | None, place: str) -> set[str]:
    if not found:
        raise ValueError(
            f"no model-vs-human data in {place!r}; expected raw-data/<dataset>/*.csv or a tidy "
            "parquet file"
        )
    if datasets is None:
        return found
    wanted = {datasets} if isinstance(datasets, str) else set(entries("datasets", datasets))
    if not wanted:
        raise ValueError(f"datasets names none; there are: {listed(sorted(found))}")
    if not wanted <= found:
        lacking = min(wanted - found, key=str)
        raise ValueError(
            f"no data set {lacking!r} in {place!r}; there are: {listed(sorted(found))}"
            f"{nearest(lacking, found)}"
        )
    return wanted


def _read_raw(content: bytes, file: File, dataset: str) -> pa.Table:
    """One csv file of the toolbox, in the columns of this module."""
    try:
        # Here empty text is an answer, of a class that is none; the release has no such row.
        as_text = pyarrow.csv.ConvertOptions(
            column_types=dict.fromkeys(RAW, pa.string()), strings_can_be_null=False
        )
        raw = pyarrow.csv.read_csv(pa.BufferReader(content), convert_options=as_text)
    except pa.ArrowInvalid as error:
        raise ValueError(unreadable(file, error)) from None
    table = named_table(raw, file, dataset)
    if not len(table):
        raise ValueError(
            f"{file.name!r} has names of columns and no rows; get it anew or remove it"
        )
    response = table["response"]
    table = table.set_column(
        table.column_names.index("response"),
        "response",
        pc.if_else(pc.equal(response, "na"), None, response),
    )
    return table.rename_columns({"item": "image"}).select(COLUMNS)


def _digest(table: pa.Table) -> str:
    """SHA-256 of the human responses of one data set, whatever the order of rows and files."""
    humans = table.filter(pc.equal(table["kind"], "human"))
    columns = [humans[name].to_pylist() for name in COLUMNS if name != "kind"]
    lines: Iterable[str] = sorted(
        "\t".join("" if value is None else value for value in row)
        for row in zip(*columns, strict=True)
    )
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()


def _verify(table: pa.Table) -> None:
    for dataset in sorted(table["dataset"].unique().to_pylist()):
        digest = _digest(table.filter(pc.equal(table["dataset"], dataset)))
        if digest != HUMAN_DIGESTS.get(dataset):
            raise ValueError(
                f"the human responses of data set {dataset!r} are not the published ones (checksum "
                f"{digest[:12]}...); if you trust this copy, unpack it and pass folder="
            )


# One commit of the public code that accompanies [G18]_.
MAPPING = (
    "https://raw.githubusercontent.com/rgeirhos/generalisation-humans-DNNs/"
    "eed4bd035c6f0be6c225641dfb2ceaf23f965343/16-class-ImageNet/"
    "MSCOCO_to_ImageNet_category_mapping.txt"
)
# SHA-256 of what it says, see `_category_digest`; line ends and remarks do not matter.
CATEGORY_DIGEST = "4eeedfe29113b59f2d8bf77e4dfe7bf87c24683611a6a7d1e927a22311156069"
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
    cache: str | Path | None = None,
) -> dict[str, str]:
    """Load the coarse category of ImageNet's classes, by WordNet identifier [G18]_.

    Parameters
    ----------
    path : str or path, optional
        A local copy: a file with lines such as ``knife = [n03041632]``, or the folder of the public
        code that has one. If not given, the public file is downloaded once and kept.
    url : str
        Where the file is; what it says must have its known digest.
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
        If there is no such file or it holds no categories, an identifier has two, the digest is
        another, or the download fails.

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
        return _categories(file.read_text(encoding="utf-8", errors="replace"), str(file))
    file = _download(url, cache, "sixteen-categories.txt", "path")
    try:
        categories = _categories(file.read_text(encoding="utf-8", errors="replace"), url)
        if (digest := _category_digest(categories)) != CATEGORY_DIGEST:
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


def _category_digest(categories: dict[str, str]) -> str:
    lines = sorted(f"{identifier}\t{category}" for identifier, category in categories.items())
    return hashlib.sha256("\n".join(lines).encode()).hexdigest()
