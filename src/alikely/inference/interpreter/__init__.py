"""Evaluation of PyMC models for the sampler without compiling them (optional)."""
