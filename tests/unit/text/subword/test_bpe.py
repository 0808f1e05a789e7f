"""BPE: merges and pieces equal those of subword-nmt, and words can be restored."""

import io
import random
from pathlib import Path

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from subword_nmt import apply_bpe, learn_bpe

from nmtkit.errors import DataError, OutputError
from nmtkit.text import memo
from nmtkit.text.subword.bpe import BPE, MAX_WORD_LENGTH, undo_bpe
from nmtkit.text.subword.sentence_piece import SentencePiece

COUNTS = {
    "low": 5, "lower": 2, "newest": 6, "widest": 3, "l'eau": 4, "été": 7, "étés": 3, "aaaa": 4,
    "@@": 3, "x@@": 3, "\\d": 2, "(.*)": 2, "a": 9,
}  # fmt: skip


def words(count: int, seed: int = 1) -> list[str]:
    draw = random.Random(seed)
    letters = "lowernstidaé@'\\"
    return ["".join(draw.choice(letters) for _ in range(draw.randint(1, 9))) for _ in range(count)]


@pytest.fixture(scope="module")
def bpe() -> BPE:
    return BPE.learn(COUNTS, 30)


def test_merges_are_those_of_the_library(bpe: BPE) -> None:
    out = io.StringIO()
    lines = [f"{word} {count}\n" for word, count in COUNTS.items()]
    learn_bpe.learn_bpe(lines, out, 30, is_dict=True)
    assert [" ".join(pair) for pair in bpe.merges] == out.getvalue().split("\n")[1:-1]


def test_pieces_are_those_of_the_library(bpe: BPE, tmp_path: Path) -> None:
    bpe.save(tmp_path / "codes")
    with open(tmp_path / "codes", encoding="utf-8") as codes:
        library = apply_bpe.BPE(codes)
    for word in words(2000):
        if not word.endswith("@@"):
            assert bpe.apply([word]) == library.segment_tokens([word])


@pytest.mark.parametrize("version", [(0, 1), (0, 2)])
def test_pieces_are_those_of_the_library_for_any_merges(version: tuple[int, int]) -> None:
    """This includes merges that learning never gives, and repeated pairs within a word."""
    draw = random.Random(version[1])
    for _ in range(300):
        symbols = list("abc") + ["a</w>", "b</w>", "</w>"]
        merges = []
        for _ in range(draw.randint(1, 12)):
            merges.append((draw.choice(symbols), draw.choice(symbols)))
            symbols.append("".join(merges[-1]))
        draw.shuffle(merges)
        text = "".join(f"{first} {second}\n" for first, second in merges)
        library = apply_bpe.BPE(io.StringIO(f"#version: {version[0]}.{version[1]}\n{text}"))
        ours = BPE(merges, version)
        for _ in range(20):
            word = "".join(draw.choices("aabc", k=draw.randint(1, 9)))
            assert ours.apply([word]) == library.segment_tokens([word]), (merges, word)


def test_the_order_of_counting_does_not_matter(bpe: BPE) -> None:
    items = list(COUNTS.items())
    for seed in range(5):
        random.Random(seed).shuffle(items)
        assert BPE.learn(dict(items), 30).merges == bpe.merges


def test_undo_restores_the_words(bpe: BPE) -> None:
    for seed in range(20):
        sentence = [*words(30, seed), "@@", "x@@", "@", "@@@@", "@@y", "low@@", "low", "été@@"]
        random.Random(seed).shuffle(sentence)
        pieces = bpe.apply(sentence)
        assert undo_bpe(pieces) == sentence
        assert " ".join(pieces).split() == pieces
    assert undo_bpe(bpe.apply([])) == []


def test_each_piece_is_joined_to_its_word(bpe: BPE) -> None:
    sentence = words(30, 1)
    joined, indices = bpe.join(bpe.apply(sentence))
    assert joined == sentence
    assert indices == [i for i, word in enumerate(sentence) for _ in bpe.apply([word])]
    assert bpe.join([]) == ([], [])


def test_frequent_words_stay_whole_and_rare_words_are_split(bpe: BPE) -> None:
    assert bpe.apply(["newest"]) == ["newest"]
    assert bpe.apply(["zoé"]) == ["z@@", "o@@", "é"]


def test_a_dangling_piece_ends_its_word() -> None:
    assert undo_bpe(["ad@@", "vance", "no@@"]) == ["advance", "no"]
    assert undo_bpe(["no@@", "@@"]) == ["no"]


@pytest.mark.parametrize("counts", [{}, {"a": 5, "b": 2}, {"ab": 1}])
def test_nothing_to_merge(counts: dict[str, int], tmp_path: Path) -> None:
    bpe = BPE.learn(counts, 10)
    assert bpe.merges == ()
    assert bpe.apply(["ab", "a"]) == ["a@@", "b", "a"]
    bpe.save(tmp_path / "codes")
    assert (tmp_path / "codes").read_text() == "#version: 0.2\n"
    assert BPE.load(tmp_path / "codes").apply(["ab"]) == ["a@@", "b"]


def test_fewer_merges_where_no_pair_occurs_twice() -> None:
    assert BPE.learn({"ab": 5}, 100).merges == (("a", "b</w>"),)


@pytest.mark.parametrize("word", ["", " ", "a b", "a\n", "a\u2028b", "\u00a0"])
def test_learning_takes_words_only(word: str) -> None:
    with pytest.raises(DataError, match="split it first"):
        BPE.learn({"ab": 2, word: 3}, 3)


@pytest.mark.parametrize("merges", [0, -1])
def test_at_least_one_merge(merges: int) -> None:
    with pytest.raises(DataError, match="at least 1 merge"):
        BPE.learn({"ab": 2}, merges)


def test_saving_and_loading_round_trip(bpe: BPE, tmp_path: Path) -> None:
    bpe.save(tmp_path / "codes")
    assert BPE.load(tmp_path / "codes").merges == bpe.merges
    with pytest.raises(OutputError, match="exists already"):
        bpe.save(tmp_path / "codes")


@pytest.mark.parametrize("header", ["", "#version: 0.1\n"])
def test_files_of_version_0_1(header: str, tmp_path: Path) -> None:
    text = f"{header}a b\nab </w>\n"
    (tmp_path / "codes").write_text(text)
    bpe = BPE.load(tmp_path / "codes")
    assert bpe.apply(["ab", "abc"]) == ["ab", "ab@@", "c"]
    bpe.save(tmp_path / "again")
    assert (tmp_path / "again").read_text() == "#version: 0.1\na b\nab </w>\n"


def test_line_ends_of_other_systems_and_odd_symbols(tmp_path: Path) -> None:
    (tmp_path / "codes").write_bytes("#version: 0.2\r\na b\r\n\u2028 \u0085\r\n\r\n\n".encode())
    assert BPE.load(tmp_path / "codes").merges == (("a", "b"), ("\u2028", "\u0085"))


def test_the_first_of_duplicate_merges_applies() -> None:
    assert BPE([("a", "b"), ("b", "c</w>"), ("b", "c</w>"), ("a", "b")]).apply(["abc"]) == [
        "ab@@",
        "c",
    ]


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("", "codes: empty"),
        ("\n\n", "codes: empty"),
        ("#version: 0.2\na b\na b c\n", "codes:3: expected two symbols"),
        ("#version: 0.2\na b\n\na b\n", "codes:3: expected two symbols"),
        ("a b\nc\n", "codes:2: expected two symbols"),
        ("a  b\n", "codes:1: expected two symbols"),
        ("#version: 0.3\na b\n", "codes:1: unknown version: 0.3"),
    ],
)
def test_bad_files_name_the_line(tmp_path: Path, text: str, message: str) -> None:
    (tmp_path / "codes").write_text(text)
    with pytest.raises(DataError, match=message):
        BPE.load(tmp_path / "codes")


def test_a_model_of_sentencepiece_is_named(tmp_path: Path) -> None:
    SentencePiece.learn({"aé": 3}, 300).save(tmp_path / "own.model")
    with pytest.raises(DataError, match="own.model: binary, .* needs --subword sentencepiece"):
        BPE.load(tmp_path / "own.model")


def test_very_long_words_are_split_in_linear_time() -> None:
    merges = [("a", "b"), ("ab", "c"), ("a", "a"), ("aa", "aa")]
    long = "abcaaaaax" * 20_000
    pieces = BPE(merges).apply([long])
    assert pieces[:5] == ["abc@@", "aaaa@@", "a@@", "x@@", "abc@@"]
    assert 80_000 <= len(pieces) <= 80_000 + len(long) // MAX_WORD_LENGTH and undo_bpe(pieces) == [
        long
    ]


def test_very_long_words_are_not_learned_and_are_split_when_applied() -> None:
    """A megabyte without a blank is ignored in learning, and split a thousand letters at a time."""
    draw = random.Random(1)
    long = "".join(draw.choices("abcdefgh", k=30_000))
    bpe = BPE.learn({long: 1, "x" * 1_000_000: 1, "abab": 5, "ab": 1}, 50)
    assert bpe.merges == BPE.learn({"abab": 5, "ab": 1}, 50).merges
    some = BPE.learn({long[:MAX_WORD_LENGTH]: 9}, 300)
    assert undo_bpe(some.apply([long])) == [long]
    library = apply_bpe.BPE(io.StringIO(some._text()))
    assert some.apply([long[:MAX_WORD_LENGTH]]) == library.segment_tokens([long[:MAX_WORD_LENGTH]])


@pytest.mark.parametrize("text", ["\r", "\r\n", " \n", "\r\n \r\n"])
def test_a_file_of_blank_lines_is_empty(tmp_path: Path, text: str) -> None:
    (tmp_path / "codes").write_text(text, newline="")
    with pytest.raises(DataError, match="codes: empty"):
        BPE.load(tmp_path / "codes")


def test_memory_of_words_is_bounded(bpe: BPE, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(memo, "MAX_WORDS", 10)
    small = BPE(bpe.merges)
    for word in words(200):
        assert small.apply([word]) == bpe.apply([word])
        assert len(small._split_words) <= 10


def glossary_library(bpe: BPE, glossaries: list[str]) -> apply_bpe.BPE:
    return apply_bpe.BPE(io.StringIO(bpe._text()), glossaries=glossaries)


def test_glossaries_are_those_of_the_library(bpe: BPE) -> None:
    glossaries = ["newest", "[0-9]+", "@+"]
    ours, library = BPE(bpe.merges, glossaries=glossaries), glossary_library(bpe, glossaries)
    for word in [*words(500), "newestx", "xnewest12", "été@@34lower", "12"]:
        if not word.endswith("@@"):
            assert ours.apply([word]) == library.segment_tokens([word])
    assert ours.apply(["x12y"]) == ["x@@", "12@@", "y"]


def test_alternatives_in_a_glossary_belong_together(bpe: BPE) -> None:
    ours = BPE(bpe.merges, glossaries=["lo|wer"])
    assert ours.apply(["xlo", "lower", "zwer"]) == ["x@@", "lo", "lo@@", "wer", "z@@", "wer"]


@pytest.mark.parametrize(
    "glossary", ["(", "*", "(a)", "a(?P<n>b)", "a)|(b", "a)|(?:b", "x" * 3 + "(?i)y", "caf\udce9"]
)
def test_a_glossary_that_is_no_expression_is_refused(glossary: str) -> None:
    with pytest.raises(DataError, match="^glossary '"):
        BPE([], glossaries=[glossary])


text_words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1).map(
    lambda text: "".join(text.split())
)


@settings(max_examples=60)
@given(st.lists(text_words.filter(bool) | st.text("ab@low\u0301", min_size=1, max_size=9)))
def test_undo_restores_all_words(bpe: BPE, sentence: list[str]) -> None:
    pieces = {"l@@", "low", "a@@", "ab", "@@@"}
    limited = BPE(bpe.merges, vocabulary=pieces, glossaries=["@@", "o?", "wl*"])
    for model in (bpe, BPE(bpe.merges, glossaries=["lo", "b*"]), limited):
        assert undo_bpe(model.apply(sentence)) == sentence
        assert " ".join(model.apply(sentence)).split() == model.apply(sentence)


def test_pieces_outside_the_vocabulary_are_split_again_as_by_the_library(bpe: BPE) -> None:
    vocabulary = {"low", "new@@", "n@@", "e@@", "w@@", "es@@", "t"}
    ours, library = BPE(bpe.merges, vocabulary=vocabulary), glossary_library(bpe, [])
    library.vocab = vocabulary
    for word in words(500):
        if not word.endswith("@@"):
            pieces = ours.apply([word])
            assert pieces == library.segment_tokens([word])
            assert all(p in vocabulary or len(p.removesuffix("@@")) == 1 for p in pieces)


def test_a_long_word_of_one_letter_is_split_to_a_vocabulary() -> None:
    """The library undoes merges recursively; a chain of merges would be deeper than Python goes."""
    merges = [("a" * n, "a") for n in range(1, 1500)]
    assert BPE(merges, vocabulary={"a@@", "a"}).apply(["a" * 1500]) == ["a@@"] * 1499 + ["a"]


def test_merges_of_version_0_1_take_no_vocabulary() -> None:
    with pytest.raises(DataError, match="learn them again"):
        BPE([("a", "b")], (0, 1), vocabulary={"a"})


def test_pieces_of_one_word_open_and_go_on() -> None:
    assert BPE.opens("ad@@") and BPE.goes_on("vance")
    assert not BPE.opens("advance")
    assert not BPE.opens("Python-@@")  # what follows a hyphen is a word
    assert not BPE.goes_on("-@@")
    assert BPE.opens("a_@@") and BPE.goes_on("_@@")  # an underscore is no boundary
