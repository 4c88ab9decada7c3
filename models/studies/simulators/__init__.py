"""Simulated data that only studies and tests draw."""
