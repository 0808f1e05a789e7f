"""A block of a bitext on its way through a worker: tokenised, cleaned, cut by BPE."""

import hashlib
from collections import Counter
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError
from nmtkit.io.lines import decode_lines
from nmtkit.text.pipeline import TextPipeline

RULES = ("invalid", "empty", "long", "ratio", "duplicate")
"""Why a training pair goes; a pair is counted under the first that fits."""


@dataclass(frozen=True)
class PrepareSettings:
    """How bitexts are prepared.

    text: languages and tokenisation; its `bpe` is "none" unless `merges` or `codes` are given.
    max_length: a training pair goes when either side has more words, before BPE.
    max_ratio: it goes when one side has more than so many times the words of the other.
    dedup: it goes when a pair with the same bytes came before it.
    merges: BPE merges to learn; 0: none.
    codes: files of BPE merges to use instead: one for both sides, or one for each.
    held_out: training pairs to take out of the training data, to be the dev set.
    invalid: whether a line that is not UTF-8 is an error, or goes: with its pair from the
        training data; elsewhere it stays, with U+FFFD in place of the bytes.
    """

    text: TextConfig = field(default_factory=TextConfig)
    max_length: int = 50
    max_ratio: float = 9.0
    dedup: bool = False
    merges: int = 0
    codes: tuple[str, ...] = ()
    invalid: Literal["error", "drop"] = "error"
    held_out: int = 0

    def check(self) -> None:
        """Refuse settings that contradict each other, before any work is done.

        :raises ConfigError: they do.
        """
        if self.max_length < 1:
            raise ConfigError(f"the maximum length must be at least 1, not {self.max_length}")
        if self.max_ratio < 1:
            raise ConfigError(f"the maximum ratio must be at least 1, not {self.max_ratio:g}")
        if self.merges < 0:
            raise ConfigError(f"the number of BPE merges must be at least 1, not {self.merges}")
        if self.merges and self.codes:
            raise ConfigError("BPE is either learned or given; leave --bpe or --bpe-codes out")
        if self.held_out < 0:
            raise ConfigError(f"pairs held out must be at least 0, not {self.held_out}")
        if len(self.codes) > 2:
            raise ConfigError(f"{len(self.codes)} files of BPE merges; give one, or two")
        if (self.text.bpe == "none") != (not self.merges and not self.codes):
            raise ConfigError(
                f"text.bpe is '{self.text.bpe}', with {self.merges} merges to learn and"
                f" {len(self.codes)} files of them given"
            )
        if self.codes and (self.text.bpe == "joint") != (len(self.codes) == 1):
            raise ConfigError("one file of BPE merges is 'joint', two files are 'separate'")


@dataclass(frozen=True)
class Task:
    """Some pairs on their way to a worker, the lines of each side joined with newlines.

    files: where they come from, for messages.
    first: the number of the first line, from 1.
    clean: training data, from which pairs go.
    tokenized: the lines are tokenised already; only BPE is applied.
    bpe: the folder with the merges to apply, or None.
    unique: duplicates are looked for.
    """

    settings: PrepareSettings
    files: tuple[str, str]
    first: int
    src: bytes
    tgt: bytes
    clean: bool
    tokenized: bool
    bpe: str | None
    unique: bool


class Seen:
    """Which pairs were met before, by their digests.

    :param grouped: pairs with the same source stand together, so that only those of the present
        source are kept in memory.
    """

    def __init__(self, grouped: bool) -> None:
        self._grouped = grouped
        self._source: str | None = None
        self._digests: set[bytes] = set()

    def is_new(self, src: str, digest: bytes) -> bool:
        """Whether the pair, with this source, comes for the first time; from now on it is known."""
        if self._grouped and src != self._source:
            self._source = src
            self._digests.clear()
        known = len(self._digests)
        self._digests.add(digest)
        return len(self._digests) > known


@dataclass
class Block:
    """What a worker made of a task: the tokens of the pairs that stay, as lines.

    digests: of the raw pairs that stay, where duplicates are looked for.
    gone: pairs that went, by rule.
    replaced: lines that stay though they are not UTF-8.
    """

    read: int = 0
    src: list[str] = field(default_factory=list)
    tgt: list[str] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    gone: Counter[str] = field(default_factory=Counter)
    replaced: int = 0

    def drop_seen(self, seen: Seen) -> None:
        """Drop the pairs that were seen before, in this block or earlier."""
        fresh = [
            place
            for place, digest in enumerate(self.digests)
            if seen.is_new(self.src[place], digest)
        ]
        self.gone["duplicate"] = len(self.digests) - len(fresh)
        self.src = [self.src[place] for place in fresh]
        self.tgt = [self.tgt[place] for place in fresh]


@lru_cache(maxsize=4)
def _pipelines(text: TextConfig, bpe: str | None) -> tuple[TextPipeline, TextPipeline]:
    """Both sides' tokenizers and BPE; kept, with all they remember, from block to block."""
    if bpe is None:
        return (
            TextPipeline(text.src_language, text, None),
            TextPipeline(text.tgt_language, text, None),
        )
    return TextPipeline.load(bpe, "src", text), TextPipeline.load(bpe, "tgt", text)


def process(task: Task) -> Block:
    """Tokenise, clean and cut the pairs of a task; runs in a worker."""
    settings = task.settings
    src_pipeline, tgt_pipeline = _pipelines(settings.text, task.bpe)
    src_lines, src_bad = _decoded(task, 0)
    tgt_lines, tgt_bad = _decoded(task, 1)
    raw = list(zip(task.src.split(b"\n"), task.tgt.split(b"\n"), strict=True))
    block = Block(read=len(raw))
    for place, (src_line, tgt_line) in enumerate(zip(src_lines, tgt_lines, strict=True)):
        src = src_pipeline.words(src_line, task.tokenized)
        tgt = tgt_pipeline.words(tgt_line, task.tokenized)
        invalid = place in src_bad or place in tgt_bad
        if task.clean:
            rule = "invalid" if invalid else _rule(_length(src), _length(tgt), settings)
            if rule:
                block.gone[rule] += 1
                continue
            if task.unique:
                pair = b"\n".join(raw[place])
                block.digests.append(hashlib.blake2b(pair, digest_size=16).digest())
        block.src.append(src_pipeline.pieces(src))
        block.tgt.append(tgt_pipeline.pieces(tgt))
    block.replaced = 0 if task.clean else len(src_bad) + len(tgt_bad)
    return block


def _decoded(task: Task, side: int) -> tuple[list[str], set[int]]:
    """The lines of one side, and the places of those that are not UTF-8.

    :raises DataError: there is one, and it is not to be dropped.
    """
    strict = task.settings.invalid == "error"
    return decode_lines((task.src, task.tgt)[side], task.files[side], task.first, strict)


def _length(words: str) -> int:
    """How many words there are, given with one blank between them."""
    return words.count(" ") + 1 if words else 0


def _rule(src_words: int, tgt_words: int, settings: PrepareSettings) -> str | None:
    """The rule by which a pair of such lengths goes, or None."""
    short, long = (src_words, tgt_words) if src_words < tgt_words else (tgt_words, src_words)
    if short == 0:
        return "empty"
    if long > settings.max_length:
        return "long"
    return "ratio" if long > settings.max_ratio * short else None
