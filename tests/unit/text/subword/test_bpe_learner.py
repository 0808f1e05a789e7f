"""The merges equal those of subword-nmt, in any order of the word counts."""

import io
import random

import pytest
from subword_nmt.learn_bpe import learn_bpe

from nmtkit.text.subword import bpe_learner
from nmtkit.text.subword.bpe_learner import learn_merges


def library(counts: dict[str, int], merges: int) -> list[tuple[str, ...]]:
    """Return the merges of subword-nmt, which fails if there is no pair at all."""
    out = io.StringIO()
    learn_bpe([f"{word} {count}\n" for word, count in counts.items()], out, merges, is_dict=True)
    return [tuple(line.split(" ")) for line in out.getvalue().split("\n")[1:-1]]


def random_counts(seed: int) -> dict[str, int]:
    """Return counts of words of few letters, with many repetitions and equally frequent pairs."""
    draw = random.Random(seed)
    letters = "abcdefgh"[: draw.randint(1, 8)]
    lengths = [draw.randint(1, 12) for _ in range(draw.randint(1, 60))] + [2]
    return {"".join(draw.choices(letters, k=k)): draw.randint(1, 30) for k in lengths}


@pytest.mark.parametrize("first", range(0, 400, 50))
def test_merges_equal_those_of_subword_nmt(
    first: int, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for seed in range(first, first + 50):
        monkeypatch.setattr(bpe_learner, "_MIN_VECTOR", 1 if seed % 2 else 64)
        counts = random_counts(seed)
        assert learn_merges(counts, 100) == library(counts, 100), seed


def test_merges_of_many_words_equal_those_of_subword_nmt(
    capsys: pytest.CaptureFixture[str],
) -> None:
    """With this many words the library prunes rare pairs and restores them later."""
    draw = random.Random(1)
    syllables = ["".join(draw.choices("abcdefghijklmnop", k=draw.randint(1, 3))) for _ in range(90)]
    words = ("".join(draw.choices(syllables, k=draw.randint(1, 4))) for _ in range(3000))
    counts = {word: 1 + 3000 // rank for rank, word in enumerate(words, start=1)}
    learned = learn_merges(counts, 2000)
    assert len(learned) == 2000
    assert learned == library(counts, 2000)
    assert learn_merges(counts, 50) == learned[:50]
    assert learn_merges(dict(sorted(counts.items())), 2000) == learned


def test_each_symbol_has_a_single_merge() -> None:
    """Therefore no count grows, which the order of the queue relies on."""
    for seed in range(300):
        learned = learn_merges(random_counts(seed), 200)
        assert len({first + second for first, second in learned}) == len(learned)


@pytest.mark.parametrize("counts", [{}, {"a": 5, "b": 2}, {"ab": 1}, {"ab": 1, "cab": 0}])
def test_nothing_to_merge(counts: dict[str, int]) -> None:
    assert learn_merges(counts, 10) == []


def test_symbols_that_look_like_the_end_of_a_word_are_merged_alike(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    draw = random.Random(1)
    for _ in range(100):
        counts = {"".join(draw.choices("a</w>b", k=draw.randint(1, 12))): 2 for _ in range(8)}
        learned = learn_merges(counts, 30)
        monkeypatch.setattr(bpe_learner, "_MIN_VECTOR", 1)
        assert learn_merges(counts, 30) == learned
        monkeypatch.undo()


def test_repeated_letters_are_merged_from_the_left() -> None:
    learned = learn_merges({"aaaaab": 3}, 10)
    assert learned == [("a", "a"), ("aa", "aa"), ("aaaa", "a"), ("aaaaa", "b</w>")]
