"""From a raw line to the tokens of a model and back: tokenizer, subwords, detokenizer."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from nmtkit.config import TextConfig
from nmtkit.text.subword import SubwordModel, load_subword_model
from nmtkit.text.tokenizer import Detokenizer, Tokenizer

Side = Literal["src", "tgt"]


class TextPipeline:
    """Converts raw lines of one language to the tokens that a model reads, and tokens to lines.

    :param language: ISO 639-1 code.
    :param settings: how the model's text was prepared.
    :param subwords: the subword model to apply, or None for words.
    """

    def __init__(self, language: str, settings: TextConfig, subwords: SubwordModel | None) -> None:
        self._language = language
        self._settings = settings
        self._subwords = subwords

    @classmethod
    def load(cls, folder: str | Path, side: Side, settings: TextConfig) -> "TextPipeline":
        """Load the pipeline of one side of a prepared folder or a model folder.

        :raises DataError: the text uses subwords, and the subword model cannot be read.
        """
        language = settings.src_language if side == "src" else settings.tgt_language
        subwords = None if settings.subwords == "none" else load_subword_model(folder, side)
        return cls(language, settings, subwords)

    @cached_property
    def _tokenizer(self) -> Tokenizer:  # created on first use: few commands need both
        settings = self._settings
        return Tokenizer(self._language, hyphens=settings.hyphens, escape=settings.escape)

    @cached_property
    def _detokenizer(self) -> Detokenizer:
        return Detokenizer(self._language)

    def words(self, line: str, tokenized: bool = False) -> str:
        """Return the words of a line, separated by blanks, before subword splitting.

        :param tokenized: the line is already tokenised, with whitespace between words.
        """
        if tokenized or self._settings.tokenized:
            return " ".join(line.split())
        return self._tokenizer.text(line)

    def pieces(self, words: str) -> str:
        """Split words into subwords if the model uses them; return tokens separated by blanks."""
        if self._subwords is None or not words:
            return words
        return self._subwords.apply_line(words.split(" "))

    def tokens(self, line: str, tokenized: bool = False) -> list[str]:
        """Return the tokens of a line, as in the model's vocabulary.

        :param tokenized: the line is already tokenised; only subwords are applied.
        """
        text = self.pieces(self.words(line, tokenized))
        return text.split(" ") if text else []

    def line(self, tokens: Sequence[str], tokenized: bool = False) -> str:
        """Convert tokens to a line.

        :param tokenized: return tokenised text; only subwords are joined.
        """
        words = tokens if self._subwords is None else self._subwords.undo(tokens)
        return self.sentence(words, tokenized)

    def join(self, tokens: Sequence[str]) -> tuple[list[str], list[int]]:
        """Return the words that tokens make, and for each token the index of its word."""
        if self._subwords is None:
            return list(tokens), list(range(len(tokens)))
        return self._subwords.join(tokens)

    def sentence(self, words: Sequence[str], tokenized: bool = False) -> str:
        """Convert words to a line.

        :param tokenized: return tokenised text.
        """
        if tokenized or self._settings.tokenized:
            return " ".join(words)
        return self._detokenizer.detokenize(words)
