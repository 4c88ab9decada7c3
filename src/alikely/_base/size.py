"""Memory checks before an analysis: how much memory it needs, and how much is free."""

from __future__ import annotations

import os
import re
import sys
from pathlib import Path

# Of what is free: the rest is for copies, and for others.
SHARE = 0.75
# Says another limit, such as 40GB.
VARIABLE = "ALIKELY_MEMORY"
UNITS = {"": 1, "K": 10**3, "M": 10**6, "G": 10**9, "T": 10**12}
# Where control groups tell what a job may take and takes, as on clusters.
GROUPS = (
    ("/sys/fs/cgroup/memory.max", "/sys/fs/cgroup/memory.current"),
    ("/sys/fs/cgroup/memory/memory.limit_in_bytes", "/sys/fs/cgroup/memory/memory.usage_in_bytes"),
)
FLOAT32 = 4
# Replicates, draws and permutations: more take months, whatever the memory.
MOST_NUMBERS = 100_000_000


def memory_limit() -> int:
    """Return the memory in bytes that an analysis may use."""
    said = os.environ.get(VARIABLE, "").strip()
    if said:
        found = re.fullmatch(r"(\d+(?:\.\d+)?)\s*([KMGT]?)I?B?", said.upper())
        if found is None:
            raise ValueError(f"{VARIABLE} must be a size such as 40GB, got {said!r}")
        return int(float(found[1]) * UNITS[found[2]])
    free = min(_of_model(), _of_group(), _of_process())
    return int(SHARE * min(free, sys.maxsize))


def _of_model() -> float:
    """What is free; where the system does not tell, all that there is."""
    try:
        free = re.search(r"^MemAvailable: +(\d+) kB", Path("/proc/meminfo").read_text(), re.M)
        if free:
            return int(free[1]) * 1024
    except OSError:  # not Linux
        pass
    try:
        return os.sysconf("SC_PHYS_PAGES") * os.sysconf("SC_PAGE_SIZE")
    except (AttributeError, OSError, ValueError):  # not on Windows
        return float("inf")


def _of_group() -> float:
    """What the control group of the process has left."""
    for most, used in GROUPS:
        try:
            return int(Path(most).read_text()) - int(Path(used).read_text())
        except (OSError, ValueError):  # no such group, or no limit ("max")
            continue
    return float("inf")


def _of_process() -> float:
    """What limits of the process leave it, as set by ``ulimit -v``."""
    try:
        import resource
    except ImportError:  # not on Windows
        return float("inf")
    most = resource.getrlimit(resource.RLIMIT_AS)[0]
    if most == resource.RLIM_INFINITY:
        return float("inf")
    try:
        pages = int(Path("/proc/self/statm").read_text().split()[0])
    except OSError:  # not Linux
        pages = 0
    return max(0, most - pages * resource.getpagesize())


def byte_text(n_bytes: float) -> str:
    """A size in words."""
    for size, unit in ((1e12, "TB"), (1e9, "GB"), (1e6, "MB"), (1e3, "kB")):
        if n_bytes >= size:
            value = n_bytes / size
            return f"{value:,.0f} {unit}" if value >= 10 else f"{value:.2g} {unit}"
    return f"{n_bytes:.0f} B"


def check_memory(n_bytes: float, what: str, remedy: str) -> None:
    """Raise an error for work that needs more memory than is free, before it begins."""
    limit = memory_limit()
    if n_bytes > limit:
        raise MemoryError(
            f"{what}: {byte_text(n_bytes)} of memory needed, but only {byte_text(limit)} may be "
            f"used; {remedy}; to change the limit, set the environment variable {VARIABLE}"
        )


def check_array(n: int, n_entries: int, what: str, remedy: str) -> None:
    """Raise an error for an array of replicates by entries (float32) too large for memory."""
    check_memory(FLOAT32 * n * n_entries, f"{n_entries:,} entries x {n:,} {what}", remedy)


def check_total(numbers: dict[str, int]) -> None:
    """Raise an error for numbers of replicates that would take too long (`ValueError`)."""
    for name, number in numbers.items():
        if number > MOST_NUMBERS:
            raise ValueError(f"{name} must be at most {MOST_NUMBERS:,}, got {number:,}")
