"""Studies of this repository: calibration of generative models, coverage of intervals."""
