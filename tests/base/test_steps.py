"""A progress bar: shown on standard error when wanted, with a total that may come later."""

from __future__ import annotations

import pytest

from alikely._base.steps import Bar


def test_a_total_that_comes_later(capsys: pytest.CaptureFixture[str]) -> None:
    with Bar("data.zip") as bar:
        bar.total = 10
        bar.update(4)
        bar.update(6)
        assert bar.total == 10
        assert bar._bars.tasks[0].completed == 10
        bar.reset()
        assert bar._bars.tasks[0].completed == 0
        bar.close()
    assert capsys.readouterr().out == ""
