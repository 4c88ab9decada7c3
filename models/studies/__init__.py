"""Studies of this repository: evidence for its models and intervals, run from a checkout."""
