"""Pages in a browser, if installed: no errors, no requests, and tables that sort."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
from browser import CHROMIUM, opened

import alikely as al

pytestmark = [
    pytest.mark.slow,
    pytest.mark.skipif(CHROMIUM is None, reason="needs chromium, to open pages in"),
]
POLICY = re.compile(r'<meta http-equiv="Content-Security-Policy"[^>]*>')
# Opens the folded rows of the first long table, sorts them, and writes the outcome in the title.
PROBE = """<script>
const all = document.querySelector("details.all"), said = [];
all.open = true;
const rows = () => [...all.querySelectorAll("tbody tr")];
const heads = [...all.querySelectorAll("th")];
const at = heads.findIndex((head) => head.textContent.startsWith("log Bayes"));
const numbers = () => rows().map((row) => Number(row.cells[at].textContent));
said.push(rows().length);
heads[at].querySelector("button").click();
said.push(numbers().every((x, k, all) => !k || all[k - 1] <= x), heads[at].ariaSort);
heads[at].querySelector("button").click();
said.push(numbers().every((x, k, all) => !k || all[k - 1] >= x), heads[at].ariaSort);
document.title = said.join("|");
</script></body>"""

# Writes how much wider than the page its widest table is, and the height of the page.
MEASURE = """<script>
const boxes = [...document.querySelectorAll(".wide")];
const wide = boxes.map((one) => one.scrollWidth - one.clientWidth);
document.title = `${Math.max(...wide)}|${document.documentElement.scrollHeight}`;
</script></body>"""


def _measured(page: str, folder: Path, width: int) -> tuple[int, int]:
    found = opened(POLICY.sub("", page).replace("</body>", MEASURE), folder, width)
    sizes = re.search(r"<title>(-?\d+)\|(\d+)</title>", found.document)
    assert sizes is not None
    return int(sizes[1]), int(sizes[2])


def test_tables_are_no_wider_than_a_page_of_1200_pixels(tmp_path: Path) -> None:
    table = al.load_example().to_table()
    long = {n: f"{n}-with-a-name-that-has-fifty-letters-as-some-do"[:50].ljust(50, "x") for n in
            table["observer"].unique()}  # fmt: skip
    table["observer"] = table["observer"].map(long)
    trials = al.Trials.from_table(table)
    few = {"n_resamples": 50, "n_draws": 50, "rng": 1}
    for k, result in enumerate(
        (al.agreement(trials, "gwet_ac1", **few), al.agreement(al.load_example(), **few))
    ):
        (tmp_path / str(k)).mkdir()
        over, _ = _measured(result.report().html, tmp_path / str(k), 1200)
        assert over <= 0


def test_pages_have_no_errors_requests_or_other_scripts(
    hostile: al.report.pages.Report, tmp_path: Path
) -> None:
    found = opened(hostile.html, tmp_path)
    assert found.console == []
    assert found.requests == []
    assert "<title>&lt;/title&gt;&lt;script&gt;alert(0)&lt;/script&gt;</title>" in found.document


def test_the_check_detects_inserted_code(hostile: al.report.pages.Report, tmp_path: Path) -> None:
    """The policy of the page blocks inserted code; without the policy, the code runs."""
    put = '<script>document.title = "ran"</script><img src="http://127.0.0.1:9/x.png"></body>'
    stopped = opened(hostile.html.replace("</body>", put), tmp_path)
    assert "<title>ran</title>" not in stopped.document
    assert len([line for line in stopped.console if "Content Security Policy" in line]) == 2
    assert stopped.requests == []
    (tmp_path / "open").mkdir()
    free = opened(POLICY.sub("", hostile.html).replace("</body>", put), tmp_path / "open")
    assert "<title>ran</title>" in free.document
    assert free.requests == ["http://127.0.0.1:9/x.png"]


def test_long_tables_fold_and_sort(tmp_path: Path) -> None:
    result = al.error_consistency(al.load_example(), n_resamples=0, n_draws=0, rng=1)
    page = POLICY.sub("", result.report().html)
    page = page[page.index('<section id="tests') :]
    found = opened(page.replace("</body>", PROBE), tmp_path)
    assert "<title>135|true|ascending|true|descending</title>" in found.document
