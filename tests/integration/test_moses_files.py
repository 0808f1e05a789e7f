"""Files that Moses wrote for Multi30k round-trip byte for byte, and corrupt lines are reported.

The files are not in the repository. They are read from `moses-multi30k` in the folder that the
variable NMTKIT_DATA names, and the tests are skipped without them.
"""

import gzip
import itertools
import os
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from nmtkit.errors import DataError
from nmtkit.evaluation.aer import read_gold_links
from nmtkit.io.lines import read_lines
from nmtkit.smt.nbest import read_nbest
from nmtkit.smt.phrase_table import read_phrase_table
from nmtkit.smt.weights import Weights, read_weights
from nmtkit.text.lexicon import best_translations

FOLDER = Path(os.environ.get("NMTKIT_DATA", Path(__file__).parents[2] / "../shared/data"))
MOSES = FOLDER / "moses-multi30k"
TABLE = MOSES / "model" / "phrase-table.gz"
LIST = MOSES / "nbest" / "test2016.1000best.gz"
LEXICON = MOSES / "model" / "lex.f2e.gz"
LINKS = MOSES / "model" / "aligned.grow-diag-final-and.gz"
INI = MOSES / "moses.tuned.ini"

pytestmark = pytest.mark.skipif(not TABLE.is_file(), reason=f"{MOSES} does not exist")

HEAD = 5000  # lines of a file that the quick tests read

Lines = Iterator[bytes]


def raw(path: Path) -> Lines:
    with gzip.open(path) as file:
        yield from file


def table_lines(path: Path) -> Lines:
    return (pair.with_scores([]) + b"\n" for pair in read_phrase_table(path))


def list_lines(path: Path) -> Lines:
    return (entry.line.encode() + b"\n" for entry in read_nbest(path))


FORMATS = pytest.mark.parametrize(
    ("path", "rewrite"), [(TABLE, table_lines), (LIST, list_lines)], ids=["table", "list"]
)


@FORMATS
def test_lines_round_trip_byte_for_byte(path: Path, rewrite: Callable[[Path], Lines]) -> None:
    lines = list(itertools.islice(rewrite(path), HEAD))
    assert lines == list(itertools.islice(raw(path), HEAD)) and len(lines) == HEAD


@FORMATS
@pytest.mark.slow
def test_whole_files_round_trip_byte_for_byte(path: Path, rewrite: Callable[[Path], Lines]) -> None:
    for number, (rewritten, line) in enumerate(zip(rewrite(path), raw(path), strict=True), start=1):
        assert rewritten == line, f"line {number}"


def test_a_parsed_list_is_written_unchanged(nmtkit: Callable, tmp_path: Path) -> None:
    """The weights that Moses used give its totals, so `nbest rerank` writes the same list."""
    part = tmp_path / "part"
    part.write_bytes(b"".join(itertools.islice(raw(LIST), HEAD)))
    options = ["--weights-file", INI, "--original", INI, "--list", tmp_path / "list"]
    nmtkit("nbest", "rerank", part, *options, "-o", tmp_path / "best")
    assert (tmp_path / "list").read_bytes() == part.read_bytes()
    best = (tmp_path / "best").read_text().splitlines()
    expected = (MOSES / "out" / "test2016.hyp.fr").read_text().split("\n")
    assert best == [line.strip() for line in expected[: len(best)]] and len(best) > 5


def test_weights_round_trip(tmp_path: Path) -> None:
    weights = read_weights(INI)
    assert weights.values["TranslationModel0"] == (0.0630878, 0.0227199, 0.0700763, -0.0160794)
    assert sum(len(values) for values in weights.values.values()) == 15
    (tmp_path / "rewritten").write_text(Weights(weights.values).text)
    assert read_weights(tmp_path / "rewritten").values == weights.values


def test_lexical_tables_and_alignments_are_read_completely() -> None:
    best = best_translations(LEXICON)
    assert len(best) > 10_000 and best["cat"] == "chat"
    links = read_gold_links(read_lines(LINKS))
    assert len(links) == 29_000 and (4, 2) in links[0].sure


def replace_first(old: bytes, new: bytes) -> Callable[[bytes], bytes]:
    def change(line: bytes) -> bytes:
        assert old in line
        return line.replace(old, new, 1)

    return change


def keep_first_fields(count: int) -> Callable[[bytes], bytes]:
    return lambda line: b" ||| ".join(line.split(b" ||| ")[:count])


def read_links(path: Path) -> Lines:
    yield from (repr(links).encode() for links in read_gold_links(read_lines(path), str(path)))


def read_words(path: Path) -> Lines:
    yield from (word.encode() for word in best_translations(path))


def with_features(path: Path) -> Lines:
    for entry in read_nbest(path):
        yield str(entry.features).encode()


CORRUPTIONS = [
    (TABLE, table_lines, keep_first_fields(2), "2 fields between ' ||| '"),
    (TABLE, table_lines, lambda line: b" " + line[line.index(b"|||") :], "the source phrase is"),
    (TABLE, table_lines, lambda line: b"a ||| b ||| ||| 0-0 ||| 1 1 1", "there are no scores"),
    (TABLE, table_lines, lambda line: b"\xff" + line, "not valid UTF-8"),
    (TABLE, table_lines, lambda line: line[:3], "1 field between"),
    (TABLE, table_lines, replace_first(b"|||", b"||"), "the score '.*' is not a number"),
    (LIST, list_lines, keep_first_fields(3), "expected at least 4 fields"),
    (LIST, list_lines, lambda line: b"x" + line, "begins with 'x"),
    (LIST, list_lines, lambda line: b"-" + line, "begins with '-"),
    (LIST, list_lines, lambda line: line.rsplit(b"|||", 1)[0] + b"||| ?", "the total is '\\?'"),
    (LIST, list_lines, lambda line: b"\xff" + line, "not valid UTF-8"),
    (LIST, with_features, replace_first(b"LM0= -", b"LM0= x"), "a value of the features is 'x"),
    (LIST, with_features, replace_first(b"LM0=", b"Distortion0="), "'Distortion0' occurs twice"),
    (LIST, with_features, replace_first(b"LexicalReordering0= ", b""), "features begin with '-"),
    (LEXICON, read_words, lambda line: b"one two", "expected 'target source probability'"),
    (LEXICON, read_words, lambda line: b"one two 1.5", "a number from 0 to 1"),
    (LEXICON, read_words, lambda line: b"one two three", "expected 'target source probability'"),
    (LINKS, read_links, replace_first(b"0-0", b"0-x"), "'0-x' is not a link"),
    (LINKS, read_links, lambda line: b"0_0", "'0_0' is not a link"),
]


@pytest.mark.parametrize(("path", "read", "corrupt", "message"), CORRUPTIONS)
def test_a_corrupt_line_is_reported(
    path: Path,
    read: Callable[[Path], Lines],
    corrupt: Callable[[bytes], bytes],
    message: str,
    tmp_path: Path,
) -> None:
    lines = list(itertools.islice(raw(path), 3, 9))  # after the lines that hold only punctuation
    copy = tmp_path / "corrupt"
    copy.write_bytes(b"".join(lines))
    list(read(copy))
    lines[3] = corrupt(lines[3].rstrip(b"\n")) + b"\n"
    copy.write_bytes(b"".join(lines))
    with pytest.raises(DataError, match=f"corrupt:4: .*{message}"):
        list(read(copy))


@pytest.mark.parametrize("path", [TABLE, LIST, LEXICON, LINKS])
def test_a_truncated_file_is_an_error(path: Path, tmp_path: Path) -> None:
    read = {TABLE: table_lines, LIST: list_lines, LEXICON: read_words, LINKS: read_links}[path]
    content = path.read_bytes()
    truncated = tmp_path / path.name
    truncated.write_bytes(content[:100_000])
    with pytest.raises(DataError, match=str(truncated)):
        list(read(truncated))


@pytest.mark.parametrize(
    ("old", "new", "message"),
    [
        ("Distortion0= 0.0357151", "Distortion0= much", "'much' is not a number"),
        ("LM0= 0.0840635", "LM0 0.0840635", "not a line of weights"),
        ("LM0= 0.0840635", "LM0=", "not a line of weights"),
        ("Distortion0=", "LM0=", "'LM0' has weights twice"),
        ("[weight]", "[weights]", r"no section \[weight\]"),
    ],
)
def test_a_corrupt_moses_ini_is_reported(old: str, new: str, message: str, tmp_path: Path) -> None:
    (tmp_path / "ini").write_text(INI.read_text().replace(old, new))
    with pytest.raises(DataError, match=message):
        read_weights(tmp_path / "ini")
