"""One side's way from a raw line to tokens and back: tokenizer, BPE, detokenizer."""

from collections.abc import Sequence
from functools import cached_property
from pathlib import Path
from typing import Literal

from nmtkit.config import TextConfig
from nmtkit.text.subword.bpe import BPE, undo_bpe
from nmtkit.text.tokenizer import Detokenizer, Tokenizer

Side = Literal["src", "tgt"]


class TextPipeline:
    """Turns raw lines of one language into the tokens a model reads, and tokens into lines.

    :param language: ISO 639-1 code.
    :param settings: how the model's text was prepared.
    :param bpe: the merges to apply, or None.
    """

    def __init__(self, language: str, settings: TextConfig, bpe: BPE | None) -> None:
        self._language = language
        self._settings = settings
        self._bpe = bpe

    @classmethod
    def load(cls, folder: str | Path, side: Side, settings: TextConfig) -> "TextPipeline":
        """The pipeline of one side of a prepared folder or a model folder.

        :raises DataError: the settings want BPE, and `bpe.src` or `bpe.tgt` cannot be read.
        """
        language = settings.src_language if side == "src" else settings.tgt_language
        bpe = None if settings.bpe == "none" else BPE.load(Path(folder) / f"bpe.{side}")
        return cls(language, settings, bpe)

    @cached_property
    def _tokenizer(self) -> Tokenizer:  # made when it is needed: few commands need both
        settings = self._settings
        return Tokenizer(self._language, hyphens=settings.hyphens, escape=settings.escape)

    @cached_property
    def _detokenizer(self) -> Detokenizer:
        return Detokenizer(self._language)

    def words(self, line: str, tokenized: bool = False) -> str:
        """The words of a line, before BPE, with blanks between them.

        :param tokenized: the line is tokenised already; its words have whitespace between them.
        """
        if tokenized or self._settings.tokenized:
            return " ".join(line.split())
        return self._tokenizer.text(line)

    def pieces(self, words: str) -> str:
        """The tokens of these words, with blanks between: their BPE pieces, or they themselves."""
        return words if self._bpe is None or not words else self._bpe.line(words.split(" "))

    def tokens(self, line: str, tokenized: bool = False) -> list[str]:
        """The tokens of a line, as the model's vocabulary has them.

        :param tokenized: the line is tokenised already; only BPE is applied.
        """
        text = self.pieces(self.words(line, tokenized))
        return text.split(" ") if text else []

    def line(self, tokens: Sequence[str], tokenized: bool = False) -> str:
        """The line that the tokens make.

        :param tokenized: leave it tokenised; only BPE is undone.
        """
        return self.sentence(tokens if self._bpe is None else undo_bpe(tokens), tokenized)

    def sentence(self, words: Sequence[str], tokenized: bool = False) -> str:
        """The line that these words make, which are none of BPE's pieces.

        :param tokenized: leave it tokenised.
        """
        if tokenized or self._settings.tokenized:
            return " ".join(words)
        return self._detokenizer.detokenize(words)
