"""Count habits of prose in pages, public docstrings, notes and the command line.

``uv run python tests/prose.py`` prints the counts, and with ``--list KIND`` the sentences. It fails
if a count is above its limit. Words and names in code are not counted.
"""

from __future__ import annotations

import ast
import re
import sys
from collections.abc import Callable, Iterator, Mapping

from doc_outputs import ROOT, pages

PACKAGE = ROOT / "src" / "alikely"
LONGEST = 30
# Written from docstrings, notes and tables, which are counted there.
GENERATED = ("names.md", "notes.md", "papers.md", "gallery.md")
# Titles and products that contain words below.
ALLOWED = (
    "Do machines fail like humans?", "human and machine vision", "human and machine performance",
    "crowd-kit", "machine learning", "machine-learning",
)  # fmt: skip
# Words and phrases with a standard term in the glossary.
BANNED = (
    r"anew", r"besides?", r"(told|tells?|telling) \w* ?apart", r"told from", r"withheld",
    r"of (one's|your|its|their|our|his|her) own", r"(rests?|resting|hangs?|hanging|leans?) on",
    r"hangs? together", r"speaks? (for|of)", r"sa(y|ys|id) so", r"notes? says?", r"rows? says?",
    r"promise[ds]?", r"(keep|keeps|kept|held|hold|holds) the truth", r"as from", r"if not given",
    r"c(a|o)mes? back", r"endless(ly)?", r"in silence", r"way out", r"schools?", r"doors?",
    r"house", r"rooms?", r"floors?", r"starved", r"tossed", r"less biased", r"heeds?", r"refus\w+",
    r"asked for", r"parted by", r"tak(e|es) no part", r"freed of", r"noise-free", r"catalogues?",
    r"story", r"beliefs?", r"bent", r"humps?", r"machines?", r"silent choices?", r"made ready",
    r"verbs?", r"readings", r"shares? of", r"(right|wrong) answers?", r"right or wrong",
    r"right and wrong", r"told in", r"is (said|told)", r"stands? (beside|in|for|behind|there)",
    r"nobody", r"everybody", r"all at once", r"rough(ly)?", r"cannot (tell|be told)",
    r"takes? .{1,30} for (independent|granted|one)", r"liking", r"worlds?", r"judged alone",
    r"not to be trusted", r"by habit",
)  # fmt: skip
BANNED_PATTERN = re.compile(rf"\b({'|'.join(BANNED)})\b", re.IGNORECASE)
# Where blocks start, such as items of lists and directives, and where sentences end.
START = re.compile(r"^ *([-*]|\d+\.|#+|>|:{3,}.*|\.\. .*|-{3,}|={3,}) ?", re.MULTILINE)
# Names and types of parameters.
TYPES = re.compile(r"^ *\w[\w, ]* : .*$", re.MULTILINE)
END = re.compile(r"(?<=[.!?])[\"')*_]*\s+(?=[\"'(*_]*[A-Z])")
HABITS: Mapping[str, Callable[[str], bool]] = {
    "long": lambda sentence: len(sentence.split()) > LONGEST,
    "of": lambda sentence: sentence.startswith("Of "),
    "banned": lambda sentence: bool(BANNED_PATTERN.search(sentence)),
    "decimal": lambda sentence: bool(re.search(r"(?<![\w.*])\.\d", sentence)),
    "percent": lambda sentence: bool(re.search(r"\d %", sentence)),
}
# Greatest number of sentences. Limits of a kind fall as its text is rewritten, and never rise. The
# aim is: long sentences 3% (documentation) and 4% (docstrings), "Of" once in 10,000 words, else 0.
LIMITS: Mapping[str, Mapping[str, int]] = {
    "documentation": {"long": 0, "of": 0, "banned": 0, "decimal": 0, "percent": 0},
    "docstrings": {"long": 1, "of": 0, "banned": 1, "decimal": 0, "percent": 0},
    "notes": {"long": 0, "of": 0, "banned": 0, "decimal": 0, "percent": 0},
    "command line": {"long": 0, "of": 0, "banned": 0, "decimal": 0, "percent": 0},
}


def without_code(text: str) -> str:
    """Markdown without code, formulas, comments and addresses."""
    text = re.sub(r"^(`{3,}|~{3,})[^\n]*\n.*?^\1 *$", "\n\n", text, flags=re.DOTALL | re.MULTILINE)
    text = re.sub(r"<!--.*?-->|\$\$.*?\$\$", "\n\n", text, flags=re.DOTALL)
    text = re.sub(r"``.+?``|`[^`\n]+`|\$[^$\n]+\$", "Code", text, flags=re.DOTALL)
    text = re.sub(r"!?\[([^\]]*)\]\([^)]*\)", r"\1", text)
    for name in ALLOWED:
        text = re.sub(r"\s+".join(map(re.escape, name.split())), "name", text)
    return text


def sentences(text: str) -> Iterator[str]:
    """Sentences of a text in Markdown or of a docstring, without tables."""
    blocks = START.sub("\n\n", without_code(text))
    for block in re.split(r"\n\s*\n", blocks):
        if block.lstrip().startswith("|"):
            continue
        yield from filter(None, END.split(" ".join(block.split())))


def cells(text: str) -> list[str]:
    """Cells of the tables of a text in Markdown."""
    rows = re.findall(r"^\|(.*)\|$", without_code(text), flags=re.MULTILINE)
    return [cell.strip() for row in rows for cell in row.split("|")]


def docstrings() -> Iterator[str]:
    """Docstrings of public functions and classes, without examples and lists of types."""
    for file in sorted(PACKAGE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if not isinstance(node, ast.FunctionDef | ast.ClassDef | ast.Module):
                continue
            if not isinstance(node, ast.Module) and node.name.startswith("_"):
                continue
            text = ast.get_docstring(node) or ""
            text = re.sub(r"^ *>>> .*?(?=\n\s*\n|\Z)", "", text, flags=re.DOTALL | re.MULTILINE)
            yield TYPES.sub("\n\n", text)


def notes() -> Iterator[str]:
    """What notes say, when, and what to do."""
    from alikely._base.notes import NOTES

    for note in NOTES.values():
        yield "\n\n".join([note.sentence, note.condition, note.advice])


def command_line() -> Iterator[str]:
    """Texts of at least five words in the files of the command line."""
    for file in sorted((PACKAGE / "cli").rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            text = getattr(node, "value", None)
            if isinstance(text, str) and len(text.split()) >= 5:
                yield TYPES.sub("\n\n", text)


def documentation() -> Iterator[str]:
    """Pages written by hand."""
    for page in [*pages(), ROOT / "CONTRIBUTING.md"]:
        if page.name not in GENERATED:
            yield page.read_text(encoding="utf-8")


KINDS: Mapping[str, Callable[[], Iterator[str]]] = {
    "documentation": documentation,
    "docstrings": docstrings,
    "notes": notes,
    "command line": command_line,
}


def found(kind: str) -> tuple[int, int, dict[str, list[str]]]:
    """Words, sentences, and the sentences with each habit."""
    texts = list(KINDS[kind]())
    every = [sentence for text in texts for sentence in sentences(text)]
    tables = [cell for text in texts for cell in cells(text)]
    habits = {
        name: [s for s in (every if name in ("long", "of") else every + tables) if has(s)]
        for name, has in HABITS.items()
    }
    # Headings and fragments are no sentences.
    return sum(len(s.split()) for s in every), sum(len(s.split()) > 4 for s in every), habits


def above(kind: str) -> list[str]:
    """Habits whose counts exceed their limits."""
    habits = found(kind)[2]
    return [
        f"{kind}, {name}: {len(habits[name])} sentences, at most {most}"
        for name, most in LIMITS[kind].items()
        if len(habits[name]) > most
    ]


def main(words: list[str]) -> int:
    """Print the counts of each kind, or the sentences of one."""
    if words[:1] == ["--list"]:
        for name, those in found(words[1])[2].items():
            print(*(f"{name}: {sentence}" for sentence in those), sep="\n")
        return 0
    for kind in KINDS:
        n_words, n, habits = found(kind)
        counts = ", ".join(f"{name} {len(those)}" for name, those in habits.items())
        print(f"{kind}: {n_words:,} words, {n:,} sentences; {counts}")
    exceeded = [line for kind in KINDS for line in above(kind)]
    print(*exceeded, sep="\n", end="\n" if exceeded else "")
    return bool(exceeded)


if __name__ == "__main__":
    raise SystemExit(main(sys.argv[1:]))
