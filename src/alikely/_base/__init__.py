"""Randomness, parallel work, steps and files: no statistics. Every room may use these."""
