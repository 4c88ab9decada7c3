"""A progress bar: shown on standard error when wanted."""

from __future__ import annotations

import pytest

from alikely._base.settings import options
from alikely._base.steps import progress_bar


def test_a_bar_is_on_standard_error(capsys: pytest.CaptureFixture[str]) -> None:
    with options(progressbar=True), progress_bar("data.zip", 10) as advance:
        advance(4)
        advance(6)
    out, err = capsys.readouterr()
    assert out == ""
    assert "data.zip" in err
    assert "10/10" in err
