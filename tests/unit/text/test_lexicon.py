"""Lexical tables: formats, errors, and the candidates of a sentence."""

import gzip
import io
import math
import random
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pytest

from nmtkit.errors import DataError
from nmtkit.text import lexicon as module
from nmtkit.text.lexicon import Lexicon, LinkCounts, best_translations
from nmtkit.text.translation_table import TranslationTable
from nmtkit.text.vocabulary import Vocabulary

Write = Callable[..., Path]

WORDS = Vocabulary(["</s>", "<unk>", "le", "la", "chat", "chien", "maison", "noir", "bois"])
MOSES = """\
chat cat 0.7
chien cat 0.1
félin cat 0.2
chien dog 0.9
chat dog 0.1
noir black 1.0
le the 0.4
la the 0.6
le NULL 0.5
NULL the 0.1
"""
"""lex.f2e of a tiny corpus; "félin" is outside `WORDS`."""


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """`write(text, name="lex")`: a table file; gzip where the name ends in .gz."""

    def make(text: str | bytes, name: str = "lex") -> Path:
        data = text.encode() if isinstance(text, str) else text
        path = tmp_path / name
        path.write_bytes(gzip.compress(data) if name.endswith(".gz") else data)
        return path

    return make


def swapped(table: str) -> str:
    """Return the same table in the format of fast_align."""
    rows = (line.split() for line in table.splitlines())
    return "".join(f"{s}\t{t}\t{math.log(float(p)):.6g}\n" for t, s, p in rows)


def candidate_words(lexicon: Lexicon, sentence: str) -> list[str]:
    return WORDS.tokens(lexicon.candidates(sentence.split()).tolist())


def test_candidates_are_the_likeliest_translations_and_the_frequent_words(write: Write) -> None:
    lexicon = Lexicon.load(write(MOSES), WORDS, frequent=1, per_word=2)
    assert candidate_words(lexicon, "the black cat") == [*WORDS.words[:5], "chien", "noir"]
    assert candidate_words(lexicon, "dog") == ["</s>", "<unk>", "le", "chat", "chien"]
    best = Lexicon.load(write(MOSES), WORDS, frequent=1, per_word=1)
    assert candidate_words(best, "the black cat") == ["</s>", "<unk>", "le", "la", "chat", "noir"]


def test_words_missing_from_the_table_have_no_translations(write: Write) -> None:
    lexicon = Lexicon.load(write(MOSES), WORDS, frequent=3)
    assert candidate_words(lexicon, "unheard of") == ["</s>", "<unk>", "le", "la", "chat"]
    assert candidate_words(lexicon, "NULL félin") == candidate_words(lexicon, "unheard")


def test_all_table_formats_give_the_same_candidates(write: Write) -> None:
    lines = MOSES.splitlines(keepends=True)
    random.Random(1).shuffle(lines)
    forms = [
        write(MOSES),
        write("".join(lines), "shuffled"),
        write(MOSES, "lex.gz"),
        write(MOSES.replace(" ", "\t"), "tabs"),
        write(MOSES.replace(" ", "  "), "wide"),
        write(MOSES.replace("\n", "\r\n"), "windows"),
        write(MOSES.rstrip("\n"), "no newline"),
        write(swapped(MOSES), "fast_align"),
    ]
    tables = [Lexicon.load(path, WORDS, frequent=0, per_word=2) for path in forms]
    for sentence in ("the", "cat", "black dog", "the cat NULL"):
        assert len({tuple(candidate_words(table, sentence)) for table in tables}) == 1


def test_memory_of_many_lines_is_bounded(write: Write, monkeypatch: pytest.MonkeyPatch) -> None:
    draw = random.Random(2)
    words = [f"w{number}" for number in range(50)]
    vocabulary = Vocabulary(["</s>", "<unk>", *words])
    rows = [(t, s, draw.random()) for s in "abc" for t in draw.sample(words, 40)]
    path = write("".join(f"{t} {s} {p}\n" for t, s, p in rows))
    table = Lexicon.load(path, vocabulary, frequent=0, per_word=5)
    for source in "abc":
        ranked = sorted((row for row in rows if row[1] == source), key=lambda row: -row[2])
        expected = sorted(vocabulary.ids(row[0] for row in ranked[:5]))
        assert table.candidates([source]).tolist() == [0, 1, *expected]
    monkeypatch.setattr(module, "LINES_PER_BLOCK", 7)
    monkeypatch.setattr(module, "MAX_ENTRIES_UNPRUNED", 20)
    parts = Lexicon.load(path, vocabulary, frequent=0, per_word=5)
    for sentence in ("a", "abc", "cb"):
        assert (parts.candidates(list(sentence)) == table.candidates(list(sentence))).all()


def test_more_frequent_words_than_the_vocabulary_has(write: Write) -> None:
    lexicon = Lexicon.load(write(MOSES), WORDS, frequent=1000)
    assert lexicon.candidates(["cat"]).tolist() == list(range(len(WORDS)))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("chat cat", r":3: expected 'target source probability', not 'chat cat'; correct or"),
        ("chat cat 0.5 1", ":3: expected 'target source probability'"),
        ("", ":3: expected 'target source probability', not ''"),
        ("chat cat much", ":3: expected 'target source probability'"),
        ("chat cat 1.5", r":3: .* a number from 0 to 1, not 'chat cat 1\.5'"),
        ("chat cat nan", ":3: .* from 0 to 1"),
        ("chat cat -0.5", ":3: .* from 0 to 1"),
        ("chat cat 1e39", ":3: .* from 0 to 1"),  # beyond float32; a warning is an error here
    ],
)
def test_a_line_in_another_format_is_reported_with_its_position(
    write: Write, line: str, message: str
) -> None:
    rows = f"la the 0.6\nchat cat 0.5\n{line}\nchien dog 0.9\n"
    with pytest.raises(DataError, match=f"lex{message}"):
        Lexicon.load(write(rows), WORDS)


def test_a_later_block_must_have_the_same_format(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINES_PER_BLOCK", 2)
    with pytest.raises(DataError, match=":4: .* from 0 to 1, not 'chien dog -0.9'"):
        Lexicon.load(write("la the 0.6\nchat cat 0.5\nle the 0.4\nchien dog -0.9\n"), WORDS)


def test_a_block_of_zeros_has_the_format_of_the_table(
    write: Write, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(module, "LINES_PER_BLOCK", 2)
    path = write("the la -0.5\ncat chat -1\nthe chat 0\ndog chien 0\n")
    source = Vocabulary(["</s>", "<unk>", "the", "cat", "dog"])
    table = TranslationTable.load(path, source, WORDS)
    src, tgt = np.array(source.ids(["dog", "the"])), np.array(WORDS.ids(["chien", "la"]))
    found = table.matrix(src, tgt).diagonal()
    assert found.tolist() == pytest.approx([1.0, math.exp(-0.5)])


def test_logarithms_above_0_are_refused(write: Write) -> None:
    with pytest.raises(DataError, match=":2: expected 'source target logarithm', .* at most 0"):
        Lexicon.load(write("the la -0.6\ncat chat 0.5\n"), WORDS)


def test_a_logarithm_below_float32_ranks_last(write: Write) -> None:
    lexicon = Lexicon.load(write("cat chat -1e39\ncat chien -2\n"), WORDS, frequent=0, per_word=1)
    assert candidate_words(lexicon, "cat") == ["</s>", "<unk>", "chien"]


def test_a_missing_or_empty_file_is_named(write: Write, tmp_path: Path) -> None:
    with pytest.raises(DataError, match="gone: cannot be read"):
        Lexicon.load(tmp_path / "gone", WORDS)
    with pytest.raises(DataError, match="lex: empty; 'nmtkit align --lexicon' makes a table"):
        Lexicon.load(write(""), WORDS)


def test_the_table_of_the_other_direction_is_refused(write: Write) -> None:
    with pytest.raises(DataError, match="give the table of the other direction"):
        Lexicon.load(write("cat chat 0.7\ndog chien 0.7\nthe le 0.4\n"), WORDS)
    with pytest.raises(DataError, match="give the table of the other direction"):
        Lexicon.load(write("chat\tcat\t-0.7\nchien\tdog\t-0.7\n"), WORDS)


def test_a_table_of_other_words_is_refused(write: Write) -> None:
    with pytest.raises(DataError, match="no target word of this table is in the model's vocab"):
        Lexicon.load(write("kissa cat 0.7\nkoira dog 0.7\n"), WORDS)


def test_shared_words_do_not_determine_the_direction(write: Write) -> None:
    shared = Lexicon.load(write("chat chat 1\nbois bois 1\n"), WORDS, frequent=0)
    assert candidate_words(shared, "chat") == ["</s>", "<unk>", "chat"]


def test_the_best_translation_may_be_any_word(write: Write) -> None:
    best = {"cat": "chat", "dog": "chien", "black": "noir", "the": "la"}
    for table in (MOSES, swapped(MOSES), "".join(sorted(MOSES.splitlines(keepends=True)))):
        assert best_translations(write(table)) == best
    assert best_translations(write("x a 0.5\ny a 0.5\n")) == {"a": "x"}  # the first of equals
    with pytest.raises(DataError, match="lex:2: expected"):
        best_translations(write("x a 0.5\ny a\n"))
    with pytest.raises(DataError, match="lex:2: not valid UTF-8: b'caf.xe9'"):
        best_translations(write("x a 0.5\ncaf\xe9 b 0.5\n".encode("latin-1")))


def counted() -> LinkCounts:
    counts = LinkCounts()
    counts.add(["the", "black", "cat"], ["le", "chat", "noir"], [0, 2, 1])
    counts.add(["the", "dog"], ["la", "la", "chien"], [0, 0, 1])
    counts.add(["cat"], ["chien"], [0])
    counts.add([], [], [])
    return counts


def test_counts_become_shares_of_the_source_word() -> None:
    output = io.StringIO()
    assert counted().write(output) == 6
    assert output.getvalue().splitlines() == [
        "noir black 1.0000000",
        "chat cat 0.5000000",
        "chien cat 0.5000000",
        "chien dog 1.0000000",
        "la the 0.6666667",
        "le the 0.3333333",
    ]


def test_rare_pairs_are_left_out_but_count_for_the_shares() -> None:
    output = io.StringIO()
    assert counted().write(output, min_count=2) == 1
    assert output.getvalue() == "la the 0.6666667\n"


def test_a_written_lexicon_is_read_back(write: Write) -> None:
    output = io.StringIO()
    counted().write(output)
    lexicon = Lexicon.load(write(output.getvalue()), WORDS, frequent=0)
    assert candidate_words(lexicon, "the black cat") == [
        "</s>",
        "<unk>",
        "le",
        "la",
        "chat",
        "chien",
        "noir",
    ]
