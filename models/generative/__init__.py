"""Generative models of posteriors that the package draws without chains."""
