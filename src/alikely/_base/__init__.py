"""Randomness, parallel work, steps and files, without statistics.

All subpackages may use the functions in `_base`.
"""
