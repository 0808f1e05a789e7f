"""Source words that stand for target words."""

import pytest

from nmtkit.errors import DataError
from nmtkit.text.term_words import TERM_MARK, TermWords, with_term_words
from nmtkit.text.vocabulary import Vocabulary

SRC = Vocabulary(["</s>", "<unk>", "a", "page"], [7, 0, 5, 4])
TGT = Vocabulary(["</s>", "<unk>", "page", "x", "y"], [7, 0, 3, 2, 1])


def test_each_target_word_has_one_and_no_other_id_changes() -> None:
    both = with_term_words(SRC, TGT)
    words = TermWords.of(both, TGT)
    assert words is not None and words.first == len(SRC)
    assert both.ids(["a", "page", "q"]) == SRC.ids(["a", "page", "q"])
    for number, word in enumerate(TGT.words):
        (found,) = words.of_target([number])
        assert both.words[found] == TERM_MARK + word
    assert len(both) == len(SRC) + len(TGT)
    assert both.counts[: len(SRC)] == SRC.counts and not any(both.counts[len(SRC) :])


def test_a_vocabulary_without_them_or_for_other_target_words_has_none() -> None:
    other = Vocabulary(["</s>", "<unk>", "page", "x", "z"])
    assert TermWords.of(SRC, TGT) is None
    assert TermWords.of(TGT, SRC) is None
    assert TermWords.of(with_term_words(SRC, TGT), other) is None


def test_a_text_with_such_a_word_is_refused() -> None:
    src = Vocabulary(["</s>", "<unk>", TERM_MARK + "page"])
    with pytest.raises(DataError, match="<term>page"):
        with_term_words(src, TGT)
