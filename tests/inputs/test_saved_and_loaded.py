"""Results and studies on disk: written anywhere, read back whole, damaged, of others."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import worlds as w
from cases import WORKS, Case, check_each

import alikely as al

nan = float("nan")


def saved() -> Path:
    w.result().save("r.nc")
    return Path("r.nc")


def bench() -> Path:
    w.scores().save("b.nc")
    return Path("b.nc")


def mat() -> Path:
    al.matrix(w.trials()).save("m.nc")
    return Path("m.nc")


def changed(change: Callable[[bytearray], Any]) -> Callable[[], al.Result]:
    def do() -> al.Result:
        path = saved()
        path.write_bytes(bytes(change(bytearray(path.read_bytes()))))
        return al.Result.load(path)

    return do


def h5(
    change: Callable[[Any], Any],
    make: Callable[[], Path] = saved,
    load: Callable[[Path], Any] = al.Result.load,
) -> Callable[[], Any]:
    """A file that another program has changed, so that it has no digest."""

    def do() -> Any:
        path = make()
        with h5py.File(path, "r+") as file:
            change(file)
        return load(path)

    return do


def flip(place: int) -> Callable[[bytearray], bytearray]:
    def change(content: bytearray) -> bytearray:
        content[place] ^= 1
        return content

    return change


def delete(name: str) -> Callable[[Any], None]:
    return lambda file: file.__delitem__(name)


def attr(name: str, value: Any) -> Callable[[Any], None]:
    return lambda file: file.attrs.__setitem__(name, value)


odd, perfect = w.odd, w.all_right


def v(name: str, expect: Any, do: Callable[[], Any]) -> Case:
    return Case(name, expect, do)


def no(expect: str, *given: Any) -> Case:
    return v(expect, expect, *given)


CASES = [
    v("save and load", WORKS, lambda: al.Result.load(saved())),
    v("save to a folder", r"'\.' is not a file; give the path of a", lambda: w.result().save(".")),
    v("save to nowhere", r"\[Errno 2\] No such file or", lambda: w.result().save("a/b/c.nc")),
    v("save to nothing", "'' is not a file; give the path of a file", lambda: w.result().save("")),
    v("save to None", "path must be that of a file, such as", lambda: w.result().save(None)),
    v("save to a number", "path must be that of a file, such as", lambda: w.result().save(3)),
    v("load nothing", r"no file 'none\.nc'; give the path that", lambda: al.Result.load("none.nc")),
    v("load a folder", r"no file '\.'; give the path that save wrote", lambda: al.Result.load(".")),
    v("load None", r"path must be that of a file, such as 'x\.nc'", lambda: al.Result.load(None)),
    v("load a number", r"path must be that of a file, such as 'x\.nc'", lambda: al.Result.load(3)),
    v(
        "load a csv",
        r"'x\.nc' is not a netCDF file; give one that save wrote",
        lambda: (Path("x.nc").write_text("a,b"), al.Result.load("x.nc")),
    ),
    v(
        "load empty",
        r"'x\.nc' is not a netCDF file; give one that save wrote",
        lambda: (Path("x.nc").write_text(""), al.Result.load("x.nc")),
    ),
    v(
        "load a pickle",
        r"'x\.nc' is not a netCDF file; give one that save wrote",
        lambda: (Path("x.nc").write_bytes(b"\x80\x04cos\nsystem\n"), al.Result.load("x.nc")),
    ),
    v(
        "load an old netCDF",
        r"'x\.nc' is not a netCDF file; give one that save wrote",
        lambda: (Path("x.nc").write_bytes(b"CDF\x01" + b"\0" * 40), al.Result.load("x.nc")),
    ),
    v(
        "load HDF5 of nothing",
        r"'x\.nc' is not a Result of alikely: it has no format_version; write",
        lambda: (h5py.File("x.nc", "w").close(), al.Result.load("x.nc")),
    ),
    v("load with a changed byte", r"'r\.nc' is damaged \(its digest does not", changed(flip(5000))),
    v("load with a changed last byte", r"'r\.nc' is damaged \(its digest does", changed(flip(-1))),
    v("load cut in half", r"'r\.nc' is damaged \(Unable to", changed(lambda b: b[: len(b) // 2])),
    v("load with more behind", WORKS, changed(lambda b: b + b"more")),
    v("load twice its size", r"'r\.nc' is damaged \(its digest does not", changed(lambda b: b + b)),
    v("load without estimates", r"'r\.nc' is not a Result of alikely: it", h5(delete("estimates"))),
    v("load without counts", r"'r\.nc' is not a Result of alikely", h5(delete("observed_data"))),
    v("load without bootstrap", WORKS, h5(delete("bootstrap"))),
    v("load without a variable", r"'r\.nc' is not a Result of", h5(delete("estimates/estimate"))),
    v("load without pairs", WORKS, h5(delete("estimates/observer_a"))),
    v("load of a later version", r"'r\.nc' has format_version 99", h5(attr("format_version", 99))),
    v("load of version 0", r"'r\.nc' is not a Result of alikely", h5(attr("format_version", 0))),
    v(
        "load of no version",
        r"'r\.nc' is not a Result of alikely: it has no format_version; write",
        h5(lambda f: f.attrs.__delitem__("format_version")),
    ),
    v("load of an unknown metric", r"'r\.nc' is of the metric 'kapa'", h5(attr("metric", "kapa"))),
    v("load of a metric of nowhere", WORKS, h5(attr("metric_module", "nowhere"))),
    v("load of a metric by code", WORKS, h5(attr("metric_module", "os; print(1)"))),
    v(
        "load of a metric without name",
        r"'r\.nc' is not a Result of alikely: it has no attribute 'metric';",
        h5(lambda f: f.attrs.__delitem__("metric")),
    ),
    v("load with ci_prob of 7", r"'r\.nc' is damaged: ci_prob must lie", h5(attr("ci_prob", 7.0))),
    v("load with ci_prob of text", r"'r\.nc' is damaged: ci_prob", h5(attr("ci_prob", "high"))),
    v("load with ci_kind unknown", r"'r\.nc' is damaged: ci_kind must", h5(attr("ci_kind", "bca"))),
    v(
        "load with priors that are code",
        WORKS,
        h5(attr("priors", "__import__('os').system('true')")),
    ),
    v("a benchmark as result", r"'b\.nc' is not a Result of", lambda: al.Result.load(bench())),
    v("a result as benchmark", r"'r\.nc' is not a Benchmark", lambda: al.Benchmark.load(saved())),
    v("a matrix as result", r"'m\.nc' is not a Result of alikely", lambda: al.Result.load(mat())),
    v("a result as matrix", r"'r\.nc' is not a", lambda: al.estimates.MatrixResult.load(saved())),
    v("benchmark and back", WORKS, lambda: al.Benchmark.load(bench()).summary()),
    v("matrix and back", WORKS, lambda: al.estimates.MatrixResult.load(mat()).to_frame(top=3)),
    no(r"'b\.nc' is not a Benchmark of alikely", h5(delete("estimates"), bench, al.Benchmark.load)),
    no("its group .estimates. has no", h5(delete("estimates/estimate"), bench, al.Benchmark.load)),
    v(
        "benchmark of a later version",
        r"'b\.nc' has format_version 99, this alikely reads up to 1; use a newer",
        h5(attr("format_version", 99), bench, al.Benchmark.load),
    ),
    no(r"'m\.nc' is not a", h5(delete("estimates"), mat, al.estimates.MatrixResult.load)),
    v(
        "matrix of a later version",
        r"'m\.nc' has format_version 99, this alikely reads up to 1; use a newer",
        h5(attr("format_version", 99), mat, al.estimates.MatrixResult.load),
    ),
    v(
        "odd names saved",
        WORKS,
        lambda: (
            odd(anna="a/b", ben="a\nb", carl="安娜", net_a="$x", net_b="\x1b[31m").save("o.nc"),
            al.Result.load("o.nc").summary(),
        ),
    ),
    v("NaN saved", WORKS, lambda: (perfect().save("o.nc"), al.Result.load("o.nc").summary())),
    no(
        r"a label must be text that a file can hold, got 'a\\x00b' \(column",
        lambda: (
            odd(anna="a\x00b").save("o.nc"),
            al.Result.load("o.nc").summary()["observer_a"].tolist(),
        ),
    ),
    no(r"\[Errno 2\] No such file or", lambda: al.matrix(w.trials()).to_parquet("a/b.parquet")),
    no(r"'\.' is not a file; give", lambda: al.matrix(w.trials()).save(".")),
    no(r"\[Errno 2\] No such", lambda: Path("/proc/self/x") and w.result().save("/proc/self/x.nc")),
    v("latex to frame", WORKS, lambda: w.result().to_latex()),
    # studies
    v(
        "study in a folder of others",
        r"folder must be new, empty or of this study; '\.' has no study\.json but",
        lambda: (
            Path("trials.parquet").write_bytes(b"mine"),
            al.calibration.coverage_study(folder=".", n_datasets=100, n_draws=100, rng=1),
        ),
    ),
    v(
        "study in a file",
        "folder must be a folder, got the file 'f'; give another",
        lambda: (
            Path("f").write_text("x"),
            al.calibration.coverage_study(folder="f", n_datasets=100, n_draws=100, rng=1),
        ),
    ),
    v(
        "study with a damaged description",
        r"'study\.json' is damaged: it does not describe a study; give another",
        lambda: (
            Path("study.json").write_text("{"),
            al.calibration.coverage_study(folder=".", n_datasets=100, n_draws=100, rng=1),
        ),
    ),
    v(
        "study of another kind",
        r"'\.' holds another study \(it differs in function, cells\); give another",
        lambda: (
            Path("study.json").write_text(
                '{"function":"x","cells":"y","entropy":[1],"spawn_key":[]}'
            ),
            al.calibration.coverage_study(folder=".", n_datasets=100, n_draws=100, rng=1),
        ),
    ),
]


test_inputs = check_each(CASES)
