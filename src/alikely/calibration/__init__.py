"""Evidence that the models are right: simulation-based calibration and the catalogue's files."""

from alikely.calibration.ranks import sbc, sbc_summary

__all__ = ["sbc", "sbc_summary"]
