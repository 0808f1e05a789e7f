"""The special symbols have the same ids everywhere."""

from nmtkit.special_symbols import BOS, EOS, EOS_WORD, SPECIAL_WORDS, UNK, UNK_WORD
from nmtkit.text.vocabulary import Vocabulary


def test_special_words_have_their_ids_in_every_vocabulary() -> None:
    vocabulary = Vocabulary([*SPECIAL_WORDS, "a"])
    assert vocabulary.tokens([EOS, UNK, 2]) == [EOS_WORD, UNK_WORD, "a"]


def test_the_bos_id_is_in_no_vocabulary() -> None:
    assert BOS < 0
