"""What constraints need to know of a model's target words."""

import re
from functools import cached_property

from nmtkit.model_folder import LoadedModel
from nmtkit.search.spelled_phrases import SpelledPhrases
from nmtkit.search.token_trees import TokenNode
from nmtkit.search.word_boundaries import WordBoundaries
from nmtkit.text.characters import is_mark
from nmtkit.text.memo import Memo
from nmtkit.text.pipeline import OPEN_SIGNS
from nmtkit.text.scripts import UNSPACED_ALPHABETIC, is_in_word, is_spaced

_WITH_MARKS = re.compile(f"[{UNSPACED_ALPHABETIC}]")

REPLACEMENT = "\ufffd"
"""What parts of a character are decoded to."""


class TargetWords:
    """The spellings of a model's target tokens, read once, when they are needed.

    Reading 30,000 tokens takes a tenth of a second, so glossaries of the same model share this.
    """

    def __init__(self, model: LoadedModel) -> None:
        """Take the model; read nothing yet."""
        self._model = model

    @cached_property
    def boundaries(self) -> WordBoundaries:
        """Where words end."""
        spelled = list(enumerate(self._spellings))
        values = {n: one[0] for n, (one, _) in spelled if len(one) == 1 and not one.isascii()}
        joined = [(n, one.decode("utf-8", "replace")) for n, (one, goes_on) in spelled if goes_on]
        marks = {n for n, text in joined if _is_loose_mark(text[:1])}
        signs = {n for n, text in joined if ends_in_sign(text) or (marks and _may_have_mark(text))}
        pairs = self._model.tgt_text.word_boundaries(self._model.tgt_vocab.words)
        return WordBoundaries(pairs, values, signs, marks)

    @cached_property
    def automata(self) -> Memo[TokenNode]:
        """Automata of phrases in whatever tokens, by phrase."""
        return Memo(SpelledPhrases(spelling for spelling, _ in self._spellings).automaton)

    @cached_property
    def _spellings(self) -> list[tuple[bytes, bool]]:
        return self._model.tgt_text.spellings(self._model.tgt_vocab.words)


def ends_in_sign(text: str) -> bool:
    """Return whether a text ends in a sign that other words may not follow without a blank.

    They may follow an apostrophe or a hyphen, as in `l'homme`.
    """
    last = text[-1:]
    is_other = last in OPEN_SIGNS or last == REPLACEMENT or last.isspace()
    return not (is_other or is_in_word(last))


def _is_loose_mark(character: str) -> bool:
    """Return whether a character is a combining mark of a script without blanks."""
    return character != "" and is_mark(character) and not is_spaced(character)


def _may_have_mark(text: str) -> bool:
    """Return whether a combining mark of a script without blanks may follow a text."""
    return _WITH_MARKS.match(text[-1:]) is not None
