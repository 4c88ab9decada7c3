"""The covariance of scores, for comparison with standard errors."""

import xarray as xr

import alikely as al
from alikely.benchmark.benchmark import level_parts, system_names
from alikely.benchmark.decomposition import joint_covariance
from alikely.benchmark.layout import OVERALL, Population


def covariance(scores: al.Result, generalize_to: Population) -> xr.DataArray:
    """Covariance of the overall scores of all systems."""
    names = system_names(scores)
    return xr.DataArray(
        joint_covariance(level_parts(scores, OVERALL), generalize_to),
        {"system": names, "system_other": names},
        ("system", "system_other"),
    )
