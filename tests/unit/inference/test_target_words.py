"""What constraints know of the words of a vocabulary of SentencePiece."""

from types import SimpleNamespace
from typing import cast

import pytest

from nmtkit.config import TextConfig
from nmtkit.inference.target_words import TargetWords
from nmtkit.model_folder import LoadedModel
from nmtkit.search.constraints import ConstrainedSentence, Constraints
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword.sentence_piece import SentencePiece

PIECES = ["▁การ", "การ", "ด", "์ด", "ี", "a", "▁b", "ာ", "သ", "設", "!"]


def words() -> TargetWords:
    pipeline = TextPipeline("th", TextConfig(subwords="joint"), SentencePiece(b""))
    model = SimpleNamespace(tgt_text=pipeline, tgt_vocab=SimpleNamespace(words=PIECES))
    return TargetWords(cast(LoadedModel, model))


@pytest.mark.parametrize(
    ("term", "following", "is_whole"),
    [
        ("การ", "ด", True),
        ("การ", "▁b", True),
        ("การ", "์ด", False),  # of another word, "card"
        ("▁การ", "ี", False),
        ("သ", "ာ", False),
        ("設", "a", True),
        ("a", "การ", True),
        ("a", "a", False),
    ],
)
def test_a_mark_makes_another_word_of_a_term(term: str, following: str, is_whole: bool) -> None:
    known = words()
    tokens, number = (PIECES.index(term),), PIECES.index(following)
    plain = Constraints(((tokens,),))
    spelled = Constraints(((tokens,),), spelled=((known.automata[term.strip("▁")],),))
    for constraints in (plain, spelled):
        sentence = ConstrainedSentence(constraints, known.boundaries)
        assert (not sentence.missing([*tokens, number])) == is_whole
