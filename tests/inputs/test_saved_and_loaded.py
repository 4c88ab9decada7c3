"""Results and studies on disk: any path, complete, damaged, and from other programs."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import h5py
import study_data as w
from cases import check_each, table

import alikely as al

nan = float("nan")


def saved() -> Path:
    w.result().save("r.nc")
    return Path("r.nc")


def bench() -> Path:
    w.scores().save("b.nc")
    return Path("b.nc")


def mat() -> Path:
    al.pairwise_matrix(w.trials()).save("m.nc")
    return Path("m.nc")


def h5(
    change: Callable[[Any], Any],
    make: Callable[[], Path] = saved,
    load: Callable[[Path], Any] = al.Result.load,
) -> Any:
    """A file changed by another program, without a digest."""
    path = make()
    with h5py.File(path, "r+") as file:
        change(file)
    return load(path)


def delete(name: str) -> Callable[[Any], None]:
    return lambda file: file.__delitem__(name)


def attr(name: str, value: Any) -> Callable[[Any], None]:
    return lambda file: file.attrs.__setitem__(name, value)


odd = w.odd


CASES = table(
    r"""
\[Errno 2\] No such file or => w.result().save('a/b/c.nc')
path must be a file path, such as => w.result().save(None)
'x\.nc' is not a Result of alikely: it has no format_version; write => (h5py.File('x.nc',
    'w').close(), al.Result.load('x.nc'))
'r\.nc' is not a Result of alikely: it => h5(delete('estimates'))
WORKS => h5(delete('bootstrap'))
'r\.nc' has format_version 99 => h5(attr('format_version', 99))
'r\.nc' has the metric 'kapa' => h5(attr('metric', 'kapa'))
WORKS => h5(attr('metric_module', 'os; print(1)'))
WORKS => h5(attr('priors', "__import__('os').system('true')"))
WORKS => al.Result.load(bench()).summary()
WORKS => al.Result.load(mat()).summary(top=3)
'b\.nc' is not a Result of alikely => h5(delete('estimates'), bench, al.Result.load)
its group .estimates. has no => h5(delete('estimates/estimate'), bench, al.Result.load)
'm\.nc' is not a => h5(delete('estimates'), mat, al.Result.load)
WORKS => (odd(anna='a/b', ben='a\nb', carl='安娜', net_a='$x', net_b='\x1b[31m').save('o.nc'),
    al.Result.load('o.nc').summary())
a label must be text that a file can store, got 'a\\x00b' \(column =>
    (odd(anna='a\x00b').save('o.nc'), al.Result.load('o.nc').summary()['observer_a'].tolist())
""",
    globals(),
)


test_inputs = check_each(CASES, slow=True)
