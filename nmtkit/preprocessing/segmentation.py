"""How text is split into tokens: what the user asks for, and what is chosen by the script.

Moses and BPE split text whose words are written apart, in a language that Moses has rules for;
SentencePiece splits all other text as it is. Both sides are split in one way, so SentencePiece is
used if either side needs it.
"""

import dataclasses
import logging
from collections.abc import Sequence
from typing import Any, Literal
from unicodedata import is_normalized

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, counted
from nmtkit.preprocessing.settings import AUTO, PrepareSettings
from nmtkit.text.languages import has_moses_rules
from nmtkit.text.normalizer import Normalizer
from nmtkit.text.scripts import why_not_words
from nmtkit.text.subword.normalization import Normalization

TokenizerChoice = Literal["auto", "moses", "none"]
SubwordChoice = Literal["auto", "bpe", "sentencepiece", "none"]

SIZES = ((100_000, 8_000), (1_000_000, 16_000))
"""Below this many pairs -> size of the subword model. Small corpora need small vocabularies, in
which each piece is frequent enough to be learned (Sennrich & Zhang 2019)."""

LARGEST_SIZE = 32_000
"""Size of the subword model of larger corpora."""

MAX_OTHER_FORMS = 0.01
"""Share of lines that are not in the form NFC, beyond which a warning suggests it."""

LIGATURE = "ﬁ"
"""A character that the rules of the form NFKC write as two letters."""

logger = logging.getLogger("nmtkit")


@dataclasses.dataclass(frozen=True)
class Segmentation:
    """What a user asks for.

    tokenizer, subword: methods by name; "none" of the first: whitespace separates words, or, with
        SentencePiece, lines are split as they are.
    size: merges or pieces to learn; 0: by the number of pairs.
    bpe: merges of BPE, a short form of `subword` and `size`.
    codes: subword models to apply instead: one for both sides, or one per side.
    separate: learn on each side alone.
    tokenized: the text is tokenised already.
    glossaries: regular expressions; BPE does not split what they match.
    vocabulary_threshold: minimum count of a piece; None: 1 if subwords are learned, else 0.
    """

    tokenizer: TokenizerChoice = "auto"
    subword: SubwordChoice = "auto"
    size: int = 0
    bpe: int = 0
    codes: Sequence[str] = ()
    separate: bool = False
    tokenized: bool = False
    glossaries: Sequence[str] = ()
    vocabulary_threshold: int | None = None

    def method(self) -> SubwordChoice:
        """Return the subword method, "auto" if the text decides.

        :raises ConfigError: the settings contradict each other.
        """
        if not self.bpe and not self.codes:
            words_given = self.tokenized or self.tokenizer == "moses"
            return "bpe" if self.subword == AUTO and words_given else self.subword
        if self.size:
            raise ConfigError(
                "--subword-size is the size of --subword; leave it, or --bpe and --bpe-codes, out"
            )
        if self.codes and self.subword == "sentencepiece":
            return "sentencepiece"
        if self.subword not in (AUTO, "bpe"):
            raise ConfigError(f"BPE and --subword {self.subword} exclude each other; give one")
        return "bpe"

    @property
    def words_given(self) -> bool:
        """Return whether no tokenizer changes the text, unless the text decides otherwise."""
        raw = self.subword == "sentencepiece" and self.tokenizer != "moses"
        return self.tokenized or self.tokenizer == "none" or raw

    @property
    def words_split(self) -> bool:
        """Return whether BPE splits words of a tokenizer, unless the text decides otherwise."""
        return not self.words_given and self.method() in ("bpe", AUTO)

    def text_settings(self) -> dict[str, Any]:
        """Return the fields of `TextConfig` that say how text is split."""
        method = self.method()
        if self.tokenized and self.tokenizer == "moses":
            raise ConfigError("tokenised text needs no tokenizer; leave --tokenizer moses out")
        raw = method == "sentencepiece" and self.tokenizer != "moses" and not self.tokenized
        separate = self.separate or len(self.codes) == 2
        if method == "none":
            if self.size or self.separate or self.vocabulary_threshold or self.glossaries:
                raise ConfigError("--subword none excludes all other options of subwords")
            return {"tokenized": self.tokenized or self.tokenizer == "none"}
        threshold = self.vocabulary_threshold
        if threshold is None:
            threshold = 0 if self.codes else 1
        return {
            "tokenized": (self.tokenized or self.tokenizer == "none") and not raw,
            "subwords": "separate" if separate else "joint",
            "raw": raw,
            "glossaries": tuple(self.glossaries),
            "vocabulary_threshold": threshold,
        }

    def subword_settings(self) -> dict[str, Any]:
        """Return the fields of `PrepareSettings` about subwords."""
        method = self.method()
        if method == "none":
            return {}
        return {
            "subword_method": method,
            "merges": self.bpe or self.size,
            "codes": tuple(self.codes),
        }


def choose_method(
    settings: PrepareSettings, src: Sequence[str], tgt: Sequence[str]
) -> PrepareSettings:
    """Replace the subword method "auto" by the one that suits the text, and log why.

    If the method is given, log a warning where Moses's rules do not find words in the text.

    :param src, tgt: a sample of the training data.
    """
    text = settings.text
    if settings.subword_method != AUTO:
        _warn_if_cut(text, src, tgt)
        _warn_of_other_forms(text, src, tgt)
        return settings
    reasons = [
        (language, reason)
        for language, lines in ((text.src_language, src), (text.tgt_language, tgt))
        if (reason := _why_raw(language, lines, text))
    ]
    if not reasons:
        chosen = "whitespace and BPE" if text.tokenized else "Moses's rules and BPE"
        logger.info("text is split by %s, as words are written apart", chosen)
        return dataclasses.replace(settings, subword_method="bpe")
    language, reason = reasons[0]
    logger.info("text is split by SentencePiece as it is: %s: %s", language, reason)
    if text.glossaries:
        raise ConfigError("SentencePiece has no glossaries; leave them out, or use --subword bpe")
    if text.case != "keep":
        raise ConfigError("SentencePiece keeps case; leave --case out, or use --subword bpe")
    for name in ("hyphens", "escape", "protected", "joiners", "copy_names"):
        if name in settings.asked:
            switch = name.replace("_", "-")
            raise ConfigError(
                f"SentencePiece splits text as it is; leave --{switch} out, or use --subword bpe"
            )
    text = dataclasses.replace(
        text,
        raw=True,
        tokenized=False,
        nfc="nfc" in settings.asked,
        protected=False,
        combining=False,
        joiners=False,
        copy_names=False,
    )
    _warn_of_other_forms(text, src, tgt)
    return dataclasses.replace(settings, text=text, subword_method="sentencepiece")


def warn_of_rules(text: TextConfig, rules: Sequence[Normalization | None]) -> None:
    """Log a warning if the rules of given subword models write text as a user may not want it.

    :param rules: of the source's model and of the target's.
    """
    normalises = any(one is not None and one.normalize(LIGATURE) != LIGATURE for one in rules)
    if text.tokenized and normalises:
        logger.warning(
            "the SentencePiece model normalises text, but the words of tokenised text are left"
            " unchanged; characters that the model does not have become bytes"
        )
    elif rules[-1] is not None and rules[-1].folds_case and not text.tokenized:
        logger.warning(
            "%s: the SentencePiece model writes all text in small letters, so translations have no"
            " capitals; learn one with --normalization_rule_name=nmt_nfkc to keep them",
            text.tgt_language,
        )


def _why_raw(language: str, lines: Sequence[str], text: TextConfig) -> str | None:
    """Return why a side cannot be split into words, or None."""
    reason = why_not_words(_normalized(lines, text))
    if reason is None and not text.tokenized and not has_moses_rules(language):
        return "Moses has no rules for this language"
    return reason


def choose_size(settings: PrepareSettings, pairs: int) -> PrepareSettings:
    """Replace a size of 0 of the subwords to learn by one that suits the corpus, and log it."""
    if settings.merges or settings.codes or settings.text.subwords == "none":
        return settings
    size = next((size for limit, size in SIZES if pairs < limit), LARGEST_SIZE)
    logger.info("%s: subwords of size %s", counted(pairs, "training pair"), f"{size:,}")
    return dataclasses.replace(settings, merges=size)


def _warn_if_cut(text: TextConfig, src: Sequence[str], tgt: Sequence[str]) -> None:
    """Log a warning if words were asked for, and Moses's rules do not find them in the text."""
    if text.raw or text.tokenized:
        return
    for language, lines in ((text.src_language, src), (text.tgt_language, tgt)):
        reason = why_not_words(_normalized(lines, text))
        if reason:
            logger.warning(
                "%s: %s; --tokenizer none --subword sentencepiece suits it", language, reason
            )


def _normalized(lines: Sequence[str], text: TextConfig) -> list[str]:
    """Return lines as the tokenizer will read them: `é` may be a letter with a mark, or one."""
    normalizer = Normalizer("en", nfc=text.nfc)
    return list(map(normalizer.normalize, lines))


def _warn_of_other_forms(text: TextConfig, src: Sequence[str], tgt: Sequence[str]) -> None:
    """Log a warning if accents are written in a form that text to translate seldom has."""
    if text.nfc or text.tokenized:
        return
    for language, lines in ((text.src_language, src), (text.tgt_language, tgt)):
        others = sum(not is_normalized("NFC", line) for line in lines)
        if others > MAX_OTHER_FORMS * len(lines):
            logger.warning(
                "%s: %.0f%% of the lines are not in Unicode's form NFC; characters in another form"
                " are others to the model: --nfc makes them one, here and in 'nmtkit translate'",
                language,
                100 * others / len(lines),
            )
