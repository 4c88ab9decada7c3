"""Verdicts of a paper's notebook agree with docs/papers.csv (`uv run python tests/papers.py`)."""

import re
from pathlib import Path

import numpy as np
import pandas as pd

table = Path("../../docs/papers.csv")
if real and table.is_file():
    stored = pd.read_csv(table, keep_default_na=False)
    stored = stored[stored["notebook"] == NOTEBOOK].set_index("item")
    assert len(stored) == len(verdicts)
    number = re.compile(r"\d*\.?\d+(?:e-?\d+)?")
    for row in verdicts:
        before = stored.loc[row["item"]]
        assert before["verdict"] == row["verdict"], row
        texts = before["ours"], row["ours"]
        numbers = [np.array(number.findall(text), dtype=float) for text in texts]
        np.testing.assert_allclose(*numbers, rtol=0.02, atol=0.002, err_msg=row["item"])
