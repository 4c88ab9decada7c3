"""Randomness, parallel work and files: no statistics. Every room may use these."""
