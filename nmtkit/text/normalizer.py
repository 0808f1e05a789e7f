"""Normalisation of raw lines before tokenisation.

It is Unicode's form NFC, Moses's punctuation, and the rules of a SentencePiece model. Nothing of it
is undone in translations, because the target text of the training was normalised, too.
"""

import unicodedata
from functools import cached_property
from typing import TYPE_CHECKING

from nmtkit.text.languages import base_language

if TYPE_CHECKING:
    from sacremoses import MosesPunctNormalizer

    from nmtkit.text.subword.normalization import Normalization


class Normalizer:
    """Normalises the lines of one language.

    :param language: language tag, such as `de` or `pt-BR`, for the quotation marks and numbers of
        Moses's normalisation.
    :param nfc: write each character with its accents as one code point where Unicode has one.
    :param punctuation: replace quotation marks, dashes and spaces by plain ones, as Moses's
        `normalize-punctuation.perl` does; this cannot be undone.
    :param rules: those of the subword model, or None. They come last, as it needs what they write.
    """

    def __init__(
        self,
        language: str,
        nfc: bool = False,
        punctuation: bool = False,
        rules: "Normalization | None" = None,
    ) -> None:
        self._language = base_language(language)
        self._nfc = nfc
        self._punctuation = punctuation
        self._rules = rules

    def normalize(self, line: str) -> str:
        """Return the normalised line."""
        if self._nfc and not line.isascii():
            line = unicodedata.normalize("NFC", line)
        line = self._moses.normalize(line) if self._punctuation else line
        return line if self._rules is None else self._rules.normalize(line)

    @cached_property
    def _moses(self) -> "MosesPunctNormalizer":
        from sacremoses import MosesPunctNormalizer  # slow to import

        return MosesPunctNormalizer(self._language)
