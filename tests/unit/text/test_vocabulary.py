"""The vocabulary: ids, the file, the shortlist and its coverage."""

import random
from pathlib import Path

import pytest

from nmtkit.errors import DataError, OutputError
from nmtkit.special_symbols import EOS, UNK
from nmtkit.text.vocabulary import Vocabulary, count_block, count_words, shortlist


def load(tmp_path: Path, text: str) -> Vocabulary:
    path = tmp_path / "vocab"
    path.write_text(text, encoding="utf-8", newline="")
    return Vocabulary.load(path)


def test_ids_are_positions_in_the_list() -> None:
    vocabulary = Vocabulary(["</s>", "<unk>", "a", "b"])
    assert (EOS, UNK, len(vocabulary)) == (0, 1, 4)
    assert vocabulary.ids(["b", "a", "c", "b"]) == [3, 2, 1, 3]
    assert vocabulary.tokens([3, 2, 1, 0]) == ["b", "a", "<unk>", "</s>"]
    assert list(vocabulary) == ["</s>", "<unk>", "a", "b"]
    assert vocabulary.ids([]) == []


def test_special_words_of_the_text_are_unknown() -> None:
    vocabulary = Vocabulary(["</s>", "<unk>", "a"])
    assert vocabulary.ids(["</s>", "<unk>", "a"]) == [UNK, UNK, 2]
    assert "</s>" not in vocabulary
    assert "a" in vocabulary


@pytest.mark.parametrize("words", [[], ["</s>"], ["<unk>", "</s>"], ["a", "b", "c"]])
def test_special_words_come_first(words: list[str]) -> None:
    with pytest.raises(DataError, match="begins with </s> and <unk>"):
        Vocabulary(words)


@pytest.mark.parametrize("word", ["a", "</s>", "<unk>"])
def test_no_word_twice(word: str) -> None:
    with pytest.raises(DataError, match=f"'{word}' is in the vocabulary twice"):
        Vocabulary(["</s>", "<unk>", "a", word])


def test_words_and_counts_must_have_the_same_length() -> None:
    with pytest.raises(DataError, match="3 words have 1 counts"):
        Vocabulary(["</s>", "<unk>", "a"], [1])


def test_saving_and_loading_round_trip(tmp_path: Path) -> None:
    words = ["</s>", "<unk>", "a\u2028b", "c\u0085d", "e\tf", "g\rh", "é", "\u00a0", "i j"]
    Vocabulary(words, range(9)).save(tmp_path / "one")
    loaded = Vocabulary.load(tmp_path / "one")
    assert (list(loaded.words), loaded.counts) == (words, tuple(range(9)))
    loaded.save(tmp_path / "two")
    assert (tmp_path / "one").read_bytes() == (tmp_path / "two").read_bytes()
    with pytest.raises(OutputError, match="exists already"):
        loaded.save(tmp_path / "two")


def test_special_words_are_put_in_front(tmp_path: Path) -> None:
    assert load(tmp_path, "a\t5\nb\t2\n").words == ("</s>", "<unk>", "a", "b")
    moved = load(tmp_path, "a\t5\n<unk>\t7\nb\t2\n</s>\t3")
    assert moved.words == ("</s>", "<unk>", "a", "b")
    assert moved.counts == (3, 7, 5, 2)


def test_a_word_list_without_counts_has_zero_counts(tmp_path: Path) -> None:
    vocabulary = load(tmp_path, "the\nhouse\n")
    assert vocabulary.words == ("</s>", "<unk>", "the", "house")
    assert vocabulary.counts == (0, 0, 0, 0)
    assert len(load(tmp_path, "")) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("a\t1\n\nb\t2\n", "vocab:2: there is no word"),
        ("a\n\nb\n", "vocab:2: there is no word"),
        ("a\t1\n\t2\n", "vocab:2: there is no word"),
        ("a\t1\nb 2\n", "vocab:2: there is no tab"),
        ("a\t1\nb\tmany\n", "vocab:2: 'many' is not a count"),
        ("a\t1\nb\t-2\n", "vocab:2: '-2' is not a count"),
        ("a\t1\nb\t²\n", "vocab:2: '²' is not a count"),
        ("a\t1\nb\t\n", "vocab:2: '' is not a count"),
        ("a\t1\nb\t2\na\t1\n", "vocab:3: 'a' occurs twice"),
        ("a\na\n", "vocab:2: 'a' occurs twice"),
    ],
)
def test_bad_lines_are_named(tmp_path: Path, text: str, message: str) -> None:
    with pytest.raises(DataError, match=message):
        load(tmp_path, text)


def test_shortlist_keeps_the_most_frequent() -> None:
    counts = {"b": 2, "a": 2, "c": 5, "é": 2, "Z": 1}
    result = shortlist(counts, size=5, sentences=4)
    assert result.vocabulary.words == ("</s>", "<unk>", "c", "a", "b")
    assert result.vocabulary.counts == (4, 3, 5, 2, 2)
    assert (result.tokens, result.covered_tokens) == (12, 9)
    assert (result.types, result.covered_types) == (5, 3)
    assert result.token_coverage == 0.75
    assert result.type_coverage == 0.6


def test_shortlist_does_not_depend_on_the_order_of_counting() -> None:
    counts = {chr(code): code % 5 + 1 for code in range(200, 900)}
    items = list(counts.items())
    random.Random(1).shuffle(items)
    for size in (3, 100, 699, 2000):
        a, b = shortlist(counts, size), shortlist(dict(items), size)
        assert a.vocabulary.words == b.vocabulary.words
        assert len(a.vocabulary) == min(size, 702)
        numbers = a.vocabulary.counts[2:]
        assert list(numbers) == sorted(numbers, reverse=True)
        assert sum(numbers) + a.vocabulary.counts[UNK] == a.tokens


def test_special_words_in_the_text_are_not_covered() -> None:
    result = shortlist({"</s>": 7, "<unk>": 2, "a": 1}, size=10, sentences=3)
    assert result.vocabulary.words == ("</s>", "<unk>", "a")
    assert result.vocabulary.counts == (3, 9, 1)
    assert (result.covered_types, result.types) == (1, 3)


def test_required_words_are_kept_however_rare() -> None:
    counts = {"a": 5, "b": 4, "<x>": 1}
    result = shortlist(counts, size=5, required=["<x>", "<y>"])
    assert result.vocabulary.words == ("</s>", "<unk>", "a", "<x>", "<y>")
    assert (result.covered_types, result.covered_tokens) == (2, 6)
    with pytest.raises(DataError, match="ask for at least 5"):
        shortlist(counts, size=4, required=["<x>", "<y>"])


def test_empty_corpus_is_covered() -> None:
    result = shortlist({}, size=10)
    assert (result.token_coverage, result.type_coverage, len(result.vocabulary)) == (1.0, 1.0, 2)


@pytest.mark.parametrize("size", [-1, 0, 2])
def test_shortlist_needs_room(size: int) -> None:
    with pytest.raises(DataError, match="at least 3"):
        shortlist({"a": 1}, size)


def test_ids_of_lines_are_the_ids_of_each_line_with_eos() -> None:
    vocabulary = Vocabulary(["</s>", "<unk>", "a", "é"])
    lines = ["a é b", "", "", "é", "a </s> \u2028 <unk>", ""]
    actual = list(vocabulary.ids_of_lines("".join(f"{line}\n" for line in lines)))
    assert actual == [
        number
        for line in lines
        for number in [*vocabulary.ids(line.split(" ") if line else []), EOS]
    ]
    assert list(vocabulary.ids_of_lines("")) == []
    assert "\n" not in vocabulary


def test_counting() -> None:
    counts, sentences = count_words(["a b a\n\n", "  b \u00a0\n"])
    assert (dict(counts), sentences) == ({"a": 2, "b": 2}, 3)
    assert count_words([]) == ({}, 0)
    assert count_block("a b a\n\nb é\n".encode()) == {"a": 2, "b": 2, "é": 1}
