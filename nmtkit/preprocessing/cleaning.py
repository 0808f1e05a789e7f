"""Cleaning of blocks of a bitext in worker processes: tokenise, drop bad pairs, apply subwords."""

import hashlib
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from nmtkit.config import TextConfig
from nmtkit.io.lines import decode_lines
from nmtkit.preprocessing.settings import CleaningSettings, PrepareSettings
from nmtkit.text.pipeline import TextPipeline

DROP_RULES = ("invalid", "empty", "long", "ratio", "duplicate")
"""Reasons for dropping a training pair, which is counted under the first one that applies."""


@dataclass(frozen=True)
class RawBlock:
    """Consecutive pairs for a worker to clean, the lines of each side joined with newlines.

    files: files that the pairs were read from, for messages.
    numbers: numbers of the lines that the pairs were read from, for messages.
    clean: True for training data, from which pairs are dropped.
    tokenized: the lines are already tokenised; only subwords are applied.
    subword_folder: folder with the subword models to apply, or None.
    unique: compute digests of the pairs, because duplicates are dropped later.
    corpus: index of the corpus that the pairs are from.
    tag: word to put before the source lines.
    """

    settings: PrepareSettings
    files: tuple[str, str]
    numbers: Sequence[int]
    src: bytes
    tgt: bytes
    clean: bool
    tokenized: bool
    subword_folder: str | None
    unique: bool
    corpus: int = 0
    tag: str = ""


class DuplicateFilter:
    """Finds repeated pairs of a corpus by their digests.

    :param grouped: pairs with the same source are consecutive, so that only the digests of the
        current source are kept in memory.
    """

    def __init__(self, grouped: bool) -> None:
        self._grouped = grouped
        self._source: str | None = None
        self._digests: set[bytes] = set()

    def is_new(self, src: str, digest: bytes) -> bool:
        """Return whether a pair occurs for the first time, and store its digest."""
        if self._grouped and src != self._source:
            self._source = src
            self._digests.clear()
        size = len(self._digests)
        self._digests.add(digest)
        return len(self._digests) > size


@dataclass
class CleanedBlock:
    """The kept pairs of a block, as lines of tokens.

    corpus: index of the corpus that the pairs are from.
    read: number of pairs of the block.
    digests: digests of the kept raw pairs, if duplicates are dropped later.
    dropped: number of dropped pairs by rule.
    replaced: number of lines that are not UTF-8 and are kept with U+FFFD.
    """

    corpus: int = 0
    read: int = 0
    src: list[str] = field(default_factory=list)
    tgt: list[str] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    replaced: int = 0

    def drop_duplicates(self, duplicates: DuplicateFilter) -> None:
        """Drop the pairs that occurred earlier, in this block or in another."""
        new_indices = [
            index
            for index, digest in enumerate(self.digests)
            if duplicates.is_new(self.src[index], digest)
        ]
        self.dropped["duplicate"] = len(self.digests) - len(new_indices)
        self.src = [self.src[index] for index in new_indices]
        self.tgt = [self.tgt[index] for index in new_indices]


@lru_cache(maxsize=4)
def _pipelines(text: TextConfig, subword_folder: str | None) -> tuple[TextPipeline, TextPipeline]:
    """Load both sides' pipelines; cached, so that a worker keeps their memos between blocks."""
    if subword_folder is None:
        return (
            TextPipeline(text.src_language, text, None, text.tags),
            TextPipeline(text.tgt_language, text, None),
        )
    return (
        TextPipeline.load(subword_folder, "src", text),
        TextPipeline.load(subword_folder, "tgt", text),
    )


def clean_block(raw: RawBlock) -> CleanedBlock:
    """Tokenise the pairs of a block, drop bad training pairs and apply subwords."""
    settings = raw.settings
    src_pipeline, tgt_pipeline = _pipelines(settings.text, raw.subword_folder)
    src_lines, src_invalid = _decode(raw, 0)
    tgt_lines, tgt_invalid = _decode(raw, 1)
    pairs = list(zip(raw.src.split(b"\n"), raw.tgt.split(b"\n"), strict=True))
    block = CleanedBlock(raw.corpus, len(pairs))
    for index, (src_line, tgt_line) in enumerate(zip(src_lines, tgt_lines, strict=True)):
        src = src_pipeline.words(src_line, raw.tokenized)
        tgt = tgt_pipeline.words(tgt_line, raw.tokenized)
        invalid = index in src_invalid or index in tgt_invalid
        if raw.clean:
            rule = (
                "invalid"
                if invalid
                else _drop_rule(src_pipeline.length(src), tgt_pipeline.length(tgt), settings)
            )
            if rule:
                block.dropped[rule] += 1
                continue
            if raw.unique:
                pair = b"\n".join(pairs[index])
                block.digests.append(hashlib.blake2b(pair, digest_size=16).digest())
        block.src.append(src_pipeline.pieces(_with_tag(src, raw.tag)))
        block.tgt.append(tgt_pipeline.pieces(tgt))
    block.replaced = 0 if raw.clean else len(src_invalid) + len(tgt_invalid)
    return block


def _with_tag(words: str, tag: str) -> str:
    """Put a tag before the words of a line, unless it is there."""
    return f"{tag} {words}" if tag and not words.startswith(f"{tag} ") else words


def _decode(raw: RawBlock, side: int) -> tuple[list[str], set[int]]:
    """Decode the lines of one side; also return the indices of lines that are not UTF-8.

    :raises DataError: a line is not UTF-8, and the settings refuse it.
    """
    strict = raw.settings.invalid == "error"
    return decode_lines((raw.src, raw.tgt)[side], raw.files[side], raw.numbers[0], strict)


def _drop_rule(src_words: int, tgt_words: int, settings: CleaningSettings) -> str | None:
    """Return the rule by which a pair of these lengths is dropped, or None."""
    short, long = (src_words, tgt_words) if src_words < tgt_words else (tgt_words, src_words)
    if short == 0:
        return "empty"
    if long > settings.max_length:
        return "long"
    return "ratio" if long > settings.max_ratio * short else None
