"""Settings of `prepare`: the text, cleaning, subwords."""

import math
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import Literal, get_args

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError
from nmtkit.preprocessing.leakage import LeakagePolicy
from nmtkit.preprocessing.line_language import check_identifier
from nmtkit.preprocessing.rules import rule_limits
from nmtkit.text.subword import DEFAULT_METHOD, METHODS
from nmtkit.text.subword.bpe import glossary_pattern

RAW_TEXT_SETTINGS = (
    "nfc",
    "punctuation",
    "hyphens",
    "escape",
    "protected",
    "combining",
    "joiners",
)
"""Switches of `TextConfig` that apply to raw text alone."""
AUTO = "auto"
"""Choose by the text."""


@dataclass(frozen=True, kw_only=True)
class CleaningSettings:
    """Rules by which training pairs are dropped.

    max_length: maximum number of words on either side of a training pair, before subwords are
        applied.
    max_ratio: maximum ratio between the numbers of words of the two sides.
    dedup: drop training pairs whose bytes equal those of an earlier pair.
    invalid: "error" refuses a line that is not UTF-8; "drop" drops its training pair, and in dev
        and test sets keeps the line with U+FFFD in place of the bytes.
    rules: limits of the rules that apply besides, by name (`nmtkit.preprocessing.rules`).
    near_dedup: drop training pairs that differ from an earlier one only in case, digits,
        punctuation and whitespace, on this side or "both".
    leakage: what is done with training pairs that also stand in a dev or test set: "report" them;
        "drop" those that stand there as a pair; "drop-any" also those with one side there.
    """

    max_length: int = 100
    max_ratio: float = 9.0
    dedup: bool = False
    invalid: Literal["error", "drop"] = "error"
    rules: Mapping[str, float] = field(default_factory=lambda: rule_limits("safe", {}))
    near_dedup: Literal["", "both", "src", "tgt"] = ""
    leakage: LeakagePolicy = "report"

    def check_cleaning(self) -> None:
        """Raise ConfigError for a limit that is out of range."""
        if self.max_length < 1:
            raise ConfigError(f"the maximum length must be at least 1, not {self.max_length}")
        if not 1 <= self.max_ratio < math.inf:
            raise ConfigError(f"the maximum ratio must be a number from 1, not {self.max_ratio:g}")
        rule_limits("none", self.rules)
        if self.near_dedup not in ("", "both", "src", "tgt"):
            raise ConfigError(f"near_dedup is '{self.near_dedup}'; give both, src or tgt")
        if self.leakage not in get_args(LeakagePolicy):
            raise ConfigError(f"leakage is '{self.leakage}'; give report, drop or drop-any")


@dataclass(frozen=True, kw_only=True)
class SubwordSettings:
    """Subwords to learn, or files of them to apply.

    merges: BPE merges to learn, or the size that another method learns; 0: by the number of pairs.
    codes: files of BPE merges to apply instead: one for both sides, or one per side.
    subword_method: a name in `nmtkit.text.subword.METHODS`, or "auto": by the script of the text.
    """

    merges: int = 0
    codes: tuple[str, ...] = ()
    subword_method: str = DEFAULT_METHOD

    def check_subwords(self, text: TextConfig) -> None:
        """Raise ConfigError for settings that are out of range or contradict each other.

        :param text: settings of the text, which have more of subwords.
        """
        sides = text.subwords
        if self.subword_method not in (*METHODS, AUTO):
            raise ConfigError(
                f"unknown subword method '{self.subword_method}'; choose one of"
                f" {', '.join(METHODS)}"
            )
        if self.merges < 0:
            raise ConfigError(f"the number of BPE merges must be at least 1, not {self.merges}")
        self._check_limits(text)
        if self.merges and self.codes:
            raise ConfigError("BPE is either learned or given; leave --bpe or --bpe-codes out")
        if len(self.codes) > 2:
            raise ConfigError(f"{len(self.codes)} files of BPE merges; give one, or two")
        if sides == "none" and (self.merges or self.codes):
            raise ConfigError(
                f"text.subwords is '{sides}', with {self.merges} merges to learn and"
                f" {len(self.codes)} files of them given"
            )
        if self.codes and (sides == "joint") != (len(self.codes) == 1):
            raise ConfigError("one file of BPE merges is 'joint', two files are 'separate'")

    def _check_limits(self, text: TextConfig) -> None:
        """Check raw text, glossaries and the vocabulary threshold."""
        if text.raw and (text.tokenized or self.subword_method != "sentencepiece"):
            raise ConfigError(
                "raw text is split by SentencePiece alone; leave text.tokenized out, and set"
                " subword_method to 'sentencepiece'"
            )
        threshold = text.vocabulary_threshold
        if threshold < 0 or (threshold and text.subwords == "none"):
            raise ConfigError(
                f"a vocabulary threshold of {threshold} needs subwords, and is not negative"
            )
        without = text.subwords == "none" or self.subword_method not in ("bpe", AUTO)
        if text.glossaries and without:
            raise ConfigError(
                "glossaries are kept from being split by BPE; use BPE, or no glossary"
            )
        for glossary in text.glossaries:
            try:
                glossary_pattern(glossary)
            except DataError as error:
                raise ConfigError(str(error)) from error


@dataclass(frozen=True)
class PrepareSettings(CleaningSettings, SubwordSettings):
    """Settings of `prepare`.

    text: languages and tokenisation; its `subwords` is not "none" if `merges` or `codes` are given.
    held_out: training pairs to move to a dev set.
    asked: switches of raw text that are on by the user's wish, not by default: they are not given
        up where "auto" chooses SentencePiece.
    like: folder of a model whose text settings, subword models and vocabularies are used in place
        of `text`, `subword_method` and all that is learned; empty: none.
    """

    text: TextConfig = field(default_factory=TextConfig)
    held_out: int = 0
    asked: tuple[str, ...] = ()
    like: str = ""

    def check(self) -> None:
        """Raise ConfigError for settings that are out of range or contradict each other."""
        self.check_cleaning()
        if "language" in self.rules:
            check_identifier((self.text.src_language, self.text.tgt_language))
        if not self.like:
            self.check_subwords(self.text)
            self._check_raw_text()
        if self.held_out < 0:
            raise ConfigError(f"pairs held out must be at least 0, not {self.held_out}")

    def _check_raw_text(self) -> None:
        """Raise ConfigError for settings of words that others make impossible."""
        text = self.text
        names = [name for name in RAW_TEXT_SETTINGS if getattr(text, name)]
        names += ["case"] if text.case != "keep" else []
        if text.tokenized and names:
            raise ConfigError(
                f"text.{names[0]} changes raw text, but the text is tokenised already, and its"
                " words are left unchanged"
            )
        if text.raw and (names := [name for name in names if name not in ("nfc", "punctuation")]):
            raise ConfigError(
                f"text.{names[0]} is about words, but SentencePiece splits raw text; leave it out"
            )
        if text.copy_names and (text.raw or text.subwords == "none" or text.case == "markers"):
            raise ConfigError(
                "names are copied in text of words with subwords and capitals; leave --copy-names"
                " out, or use --subword bpe without --case markers"
            )
        if text.markup != "none" and text.tokenized:
            raise ConfigError("markup is found in raw text; leave --markup out, or --tokenized")
        if text.case == "truecase" and self.codes:
            raise ConfigError(
                "merges for truecased text are learned from it, after the truecaser; leave"
                " --bpe-codes or --case truecase out"
            )

    def without_threshold(self) -> "PrepareSettings":
        """Return these settings with every piece of the subword model."""
        return replace(self, text=replace(self.text, vocabulary_threshold=0))
