"""Loaders of public data: layouts, files, downloads."""

from __future__ import annotations

import http.client
import io
import zipfile
from pathlib import Path
from typing import Any

import numpy as np
import pyarrow as pa
import pyarrow.parquet
import pytest

import alikely as al
from alikely.data.readers import experiments
from alikely.data.trials import NOT_SHOWN
from alikely.datasets import loaders as datasets

HEADER = "subj,Session,trial,rt,object_response,category,condition,imagename\n"


def raw_files() -> dict[str, str]:
    """Two small data sets as the toolbox lays them out."""
    rng = np.random.default_rng(1)
    names = ["cat", "dog", "oven"]
    files = {}
    images = [(names[k % 3], f"n0{k:07d}_{k}") for k in range(12)]
    for subject in (1, 2):
        rows = []
        for trial, k in enumerate(rng.permutation(12), start=1):
            truth, image = images[k]
            level = "0.90" if k % 2 else "0.00"
            answer = "na" if trial == 3 else names[rng.integers(3)]
            rows.append(
                f"subject-0{subject},1,{trial},0.5,{answer},{truth},{level},"
                f"{trial:04d}_nse_s0{subject}_{level}_{truth}_10_{image}.png\n"
            )
        path = f"uniform-noise/uniform-noise_subject-0{subject}_session_1.csv"
        files[path] = HEADER + "".join(rows)
    for observer in ("subject-01", "resnet50"):
        rows = [
            f"{observer},1,{t},NaN,{names[answer]},{names[t % 3]},NaN,{names[t % 3]}{t}.png\n"
            for t, answer in enumerate(rng.integers(3, size=9))
        ]
        files[f"edge/edge_{observer}_session-1.csv"] = HEADER.replace(
            "Session", "session"
        ) + "".join(rows)
    return files


def archive() -> bytes:
    buffer = io.BytesIO()
    with zipfile.ZipFile(buffer, "w") as zipped:
        for path, text in raw_files().items():
            zipped.writestr(f"model-vs-human-93ee/raw-data/{path}", text)
        zipped.writestr("model-vs-human-93ee/README.md", "toolbox")
    return buffer.getvalue()


@pytest.fixture
def release(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The archive in place of the public one."""
    path = tmp_path / "release.zip"
    path.write_bytes(archive())
    monkeypatch.setattr(datasets, "ARCHIVE", path.as_uri())
    return path


def write_raw(cache_dir: Path) -> Path:
    for path, text in raw_files().items():
        file = cache_dir / "raw-data" / path
        file.parent.mkdir(parents=True, exist_ok=True)
        file.write_text(text)
    return cache_dir


def test_raw_layout_joins_images_across_observers(tmp_path: Path) -> None:
    trials = datasets.model_vs_human(write_raw(tmp_path))
    noise = trials.select(dataset="uniform-noise")
    assert noise.n_trials == 12
    assert (noise.data["correct"].values != NOT_SHOWN).all()
    assert set(noise.data["condition"].values) == {"0", "0.9"}
    assert set(noise.data["item"].values) == {f"n0{k:07d}_{k}" for k in range(12)}
    assert int(noise.summary()["no_response"].sum()) == 2
    edge = trials.select(dataset="edge")
    assert set(edge.data["condition"].values) == {"0"}
    assert dict(zip(edge.observers, edge.data["kind"].values, strict=True)) == {
        "subject-01": "human",
        "resnet50": "model",
    }
    same = datasets.model_vs_human(tmp_path / "raw-data", datasets="edge")
    assert same.data.equals(edge.data)


def test_a_table_of_trials(tmp_path: Path) -> None:
    other = datasets.model_vs_human(write_raw(tmp_path))
    other.to_table().to_parquet(tmp_path / "trials.parquet")
    one = datasets.model_vs_human(tmp_path / "trials.parquet")
    # As the release writes conditions, too.
    assert set(one.data["condition"].values) == {"0", "0.9"}
    assert one.select(dataset="edge").data.equals(
        datasets.model_vs_human(tmp_path, datasets="edge").data
    )
    assert one.summary().equals(other.summary())
    with pytest.raises(ValueError, match=r"no data set 'colour' in .*; there are: edge, uniform"):
        datasets.model_vs_human(tmp_path, datasets=["edge", "colour"])
    pyarrow.parquet.write_table(pa.table({"dataset": ["edge"]}), tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match="has no column 'condition'"):
        datasets.model_vs_human(tmp_path / "bad.parquet")


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"no model-vs-human data in .*expected raw-data/<dataset>"
    ):
        datasets.model_vs_human(tmp_path)


def test_download_once(release: Path, tmp_path: Path) -> None:
    options: dict[str, Any] = {"cache": tmp_path / "cache"}
    trials = datasets.model_vs_human(**options)
    release.unlink()
    again = datasets.model_vs_human(**options)
    assert again.data.identical(trials.data)
    assert trials.data.identical(datasets.model_vs_human(write_raw(tmp_path / "raw")).data)


def cut(*_: Any, **__: Any) -> None:
    raise http.client.IncompleteRead(b"PK")


@pytest.mark.parametrize(
    ("fault", "message"),
    [
        ("missing", "could not download .*No such file"),
        ("cut", "could not download .*; download the file yourself and use cache_dir="),
        ("page", "the download is not a zip archive and was removed"),
    ],
)
def test_failed_downloads_leave_nothing_behind(
    release: Path, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, fault: str, message: str
) -> None:
    cache = tmp_path / "cache"
    with monkeypatch.context() as patch:
        if fault == "cut":
            patch.setattr("urllib.request.urlopen", cut)
        other = tmp_path / "other.zip"
        if fault == "page":
            other.write_text("<html>")
        patch.setattr(datasets, "ARCHIVE", other.as_uri())
        with pytest.raises(ValueError, match=message):
            datasets.model_vs_human(cache=cache)
    assert not any(cache.glob("*"))
    assert datasets.model_vs_human(cache=cache).n_trials == 21


@pytest.mark.parametrize(
    ("name", "image"),
    [
        # As the public release writes them.
        ("0001_cl_s01_cr_oven_40_n04111531_14126.png", "n04111531_14126"),
        ("1271_eid_s01_4-3-10_truck_10_n03417042_27862.png", "n03417042_27862"),
        ("0755_ske_s01_0_bottle_00_bottle-0165-sketch-2.png", "bottle-0165-sketch-2"),
        ("0007_hp_s01_inf_oven_10_n04111531_2201.png", "n04111531_2201"),
        ("airplane10.png", "airplane10"),
        ("knife7-bird3.png", "knife7-bird3"),
    ],
)
def test_image_names(name: str, image: str) -> None:
    assert experiments.image_name(name) == image


@pytest.mark.slow
def test_the_shared_copy_has_all_responses(shared_data: Path) -> None:
    trials = datasets.model_vs_human(shared_data / "model_vs_human")
    assert (trials.data["correct"].values != NOT_SHOWN).sum() == 447_680


TEXT = """# Remarks, such as 'knife' is n03041632
    knife =    [n03041632]

    keyboard = [n03085013, n04505470]
"""
EXPECTED = {"n03041632": "knife", "n03085013": "keyboard", "n04505470": "keyboard"}
# As code has it, with positions of the classes besides.
CODE = "knife = ['n03041632']\nkeyboard = [\"n03085013\",\n  'n04505470']\nknife_indices = [499]\n"


@pytest.mark.parametrize("text", [TEXT, CODE, TEXT.replace("\n", "\r\n")])
def test_both_ways_of_writing_them(text: str, tmp_path: Path) -> None:
    file = tmp_path / "any.txt"
    file.write_bytes(text.encode())
    assert al.datasets.sixteen_categories(file) == EXPECTED


@pytest.mark.parametrize("place", datasets.PLACES)
def test_a_copy_of_the_public_code(place: str, tmp_path: Path) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CODE)
    assert al.datasets.sixteen_categories(tmp_path) == EXPECTED


def test_categories_are_downloaded_once(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    source = tmp_path / "categories.txt"
    source.write_text(TEXT)
    monkeypatch.setattr(datasets, "MAPPING", source.as_uri())
    assert al.datasets.sixteen_categories(cache=tmp_path / "cache") == EXPECTED
    source.unlink()
    assert al.datasets.sixteen_categories(cache=tmp_path / "cache") == EXPECTED
