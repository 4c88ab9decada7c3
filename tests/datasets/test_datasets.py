"""Loaders of public data: layouts, files, downloads from a local server."""

from __future__ import annotations

import http.server
import io
import threading
import zipfile
from collections.abc import Iterator
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


class Server:
    """A server of these contents by path; None means no response."""

    def __init__(self, content: bytes, others: dict[str, bytes | None]) -> None:
        self.requests = 0
        outer = self

        class Handler(http.server.BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                outer.requests += 1
                body = others.get(self.path, content)
                if body is None:
                    self.send_error(404)
                    return
                self.send_response(200)
                # Truncated contents state the full length.
                length = len(content) if self.path.startswith("/cut") else len(body)
                self.send_header("Content-Length", str(length))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, *_: Any) -> None:
                """Keep the test output clean."""

        self._server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self._server.server_port}"
        self._thread = threading.Thread(target=self._server.serve_forever, args=(0.01,))
        self._thread.start()

    def close(self) -> None:
        self._server.shutdown()
        self._server.server_close()
        self._thread.join()


HEADER = "subj,Session,trial,rt,object_response,category,condition,imagename\n"


def raw_files() -> dict[str, str]:
    """Two small data sets in the layout of the toolbox."""
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
def server() -> Iterator[Server]:
    whole = archive()
    page = b"<html>".ljust(len(whole))
    cut = whole[: len(whole) // 2]
    text = TEXT.encode()
    others = {"/missing.zip": None, "/page.zip": page, "/cut.zip": cut, "/categories.txt": text}
    running = Server(whole, others)
    yield running
    running.close()


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
    # Conditions as in the release.
    assert set(one.data["condition"].values) == {"0", "0.9"}
    assert one.select(dataset="edge").data.equals(
        datasets.model_vs_human(tmp_path, datasets="edge").data
    )
    assert one.summary().equals(other.summary())
    with pytest.raises(ValueError, match=r"no data set 'colour' in .*; choose from edge, uniform"):
        datasets.model_vs_human(tmp_path, datasets=["edge", "colour"])
    pyarrow.parquet.write_table(pa.table({"dataset": ["edge"]}), tmp_path / "bad.parquet")
    with pytest.raises(ValueError, match="has no column 'condition'"):
        datasets.model_vs_human(tmp_path / "bad.parquet")


def test_an_empty_folder(tmp_path: Path) -> None:
    with pytest.raises(
        ValueError, match=r"no model-vs-human data in .*expected raw-data/<dataset>"
    ):
        datasets.model_vs_human(tmp_path)


def test_download_once(server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setattr(datasets, "ARCHIVE", f"{server.url}/data.zip")
    options: dict[str, Any] = {"cache": tmp_path / "cache"}
    trials = datasets.model_vs_human(**options)
    again = datasets.model_vs_human(**options)
    assert server.requests == 1
    assert again.data.identical(trials.data)
    assert trials.data.identical(datasets.model_vs_human(write_raw(tmp_path / "raw")).data)


@pytest.mark.parametrize(
    ("path", "message"),
    [
        ("missing.zip", "could not download .*404"),
        ("cut.zip", "could not download .*; download the file yourself and use cache_dir="),
        ("page.zip", "the download is not a zip archive and was removed"),
    ],
)
def test_failed_downloads_leave_no_files(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path, path: str, message: str
) -> None:
    cache = tmp_path / "cache"
    monkeypatch.setattr(datasets, "ARCHIVE", f"{server.url}/{path}")
    with pytest.raises(ValueError, match=message):
        datasets.model_vs_human(cache=cache)
    assert not any(cache.glob("*"))
    monkeypatch.setattr(datasets, "ARCHIVE", f"{server.url}/data.zip")
    assert datasets.model_vs_human(cache=cache).n_trials == 21


@pytest.mark.parametrize(
    ("name", "image"),
    [
        # Names as in the public release.
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
def test_the_local_copy_has_all_responses(shared_data: Path) -> None:
    trials = datasets.model_vs_human(shared_data / "model_vs_human")
    assert (trials.data["correct"].values != NOT_SHOWN).sum() == 447_680


TEXT = """# Remarks, such as 'knife' is n03041632
    knife =    [n03041632]

    keyboard = [n03085013, n04505470]
"""
EXPECTED = {"n03041632": "knife", "n03085013": "keyboard", "n04505470": "keyboard"}
# The format of the code, with positions of the classes.
CODE = "knife = ['n03041632']\nkeyboard = [\"n03085013\",\n  'n04505470']\nknife_indices = [499]\n"


@pytest.mark.parametrize("text", [TEXT, CODE, TEXT.replace("\n", "\r\n")])
def test_both_notations_of_classes(text: str, tmp_path: Path) -> None:
    file = tmp_path / "any.txt"
    file.write_bytes(text.encode())
    assert al.datasets.sixteen_categories(file) == EXPECTED


@pytest.mark.parametrize("place", datasets.PLACES)
def test_a_copy_of_the_public_code(place: str, tmp_path: Path) -> None:
    file = tmp_path / place
    file.parent.mkdir(parents=True, exist_ok=True)
    file.write_text(CODE)
    assert al.datasets.sixteen_categories(tmp_path) == EXPECTED


def test_categories_are_downloaded_once(
    server: Server, monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(datasets, "MAPPING", f"{server.url}/categories.txt")
    for _ in range(2):
        assert al.datasets.sixteen_categories(cache=tmp_path) == EXPECTED
    assert server.requests == 1
