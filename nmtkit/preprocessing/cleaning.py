"""Cleaning of blocks of a bitext in worker processes: tokenise, drop bad pairs, apply subwords."""

import zlib
from collections import Counter, defaultdict
from collections.abc import Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from nmtkit.config import TextConfig
from nmtkit.io.lines import decode_lines
from nmtkit.preprocessing.duplicates import DigestSet, GroupedDigests, digest, near_digest
from nmtkit.preprocessing.leakage import RULE as LEAK
from nmtkit.preprocessing.leakage import Leak, load_index
from nmtkit.preprocessing.rules import RULES, LinePair, broken_rule, repeating_lines
from nmtkit.preprocessing.settings import CleaningSettings, PrepareSettings
from nmtkit.preprocessing.tally import MAX_SAMPLE_CHARACTERS, Sample, Tally, compress_rows
from nmtkit.text.masked_pairs import mask_pair
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword import load_normalization

DROP_RULES = ("invalid", "empty", "long", "ratio", "duplicate")
"""Reasons for dropping a training pair that every manifest counts."""

ALL_RULES = ("invalid", "empty", "long", "ratio", *RULES, LEAK, "duplicate", "near-duplicate")
"""All reasons, in the order in which they are tried."""

Dropped = tuple[str, str, int, str, str]
"""The number that a rule measured, the file, the line, source and target."""


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
    leak_index: file with the digests of dev and test sets, or None.
    training: True for training data.
    folder: the prepared folder. Subword models that are there already, but are applied later, have
        rules by which text is normalised.
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
    leak_index: str | None = None
    training: bool = False
    folder: str = ""


@dataclass
class CleanedBlock:
    """The kept pairs of a block, as lines of tokens.

    corpus: index of the corpus that the pairs are from.
    read, pairs: numbers of pairs read, and kept.
    src, tgt: lines of the kept pairs, each with a newline.
    tokens: numbers of tokens of both sides.
    kept: indices of the kept pairs in the block, if duplicates are dropped later.
    lengths: numbers of words of the pairs in `kept`.
    digests, near_digests: of the kept pairs, if duplicates or near duplicates are dropped later.
    dropped: number of dropped pairs by rule.
    replaced: number of lines that are not UTF-8 and are kept with U+FFFD.
    tally: what the report says about the block.
    leaks: where pairs also stand in dev and test sets, by their index in the block.
    """

    corpus: int = 0
    read: int = 0
    pairs: int = 0
    src: bytes = b""
    tgt: bytes = b""
    tokens: tuple[int, int] = (0, 0)
    kept: list[int] = field(default_factory=list)
    lengths: list[tuple[int, int]] = field(default_factory=list)
    digests: list[bytes] = field(default_factory=list)
    near_digests: list[bytes] = field(default_factory=list)
    dropped: Counter[str] = field(default_factory=Counter)
    replaced: int = 0
    tally: Tally = field(default_factory=Tally)
    leaks: dict[int, Leak] = field(default_factory=dict)

    def set_lines(self, src: list[str], tgt: list[str]) -> None:
        """Set the lines of the kept pairs."""
        self.pairs = len(src)
        texts = ["".join(f"{line}\n" for line in lines) for lines in (src, tgt)]
        src_tokens, tgt_tokens = (
            text.count(" ") + len(lines) - lines.count("")
            for text, lines in zip(texts, (src, tgt), strict=True)
        )
        self.tokens = src_tokens, tgt_tokens
        self.src, self.tgt = (text.encode() for text in texts)


class DuplicateFilter:
    """Drops the pairs of a corpus that occurred earlier, in the same block or another.

    :param grouped: pairs with the same source are consecutive, so that only the digests of the
        current source are kept in memory.
    """

    def __init__(self, grouped: bool) -> None:
        self._grouped = GroupedDigests() if grouped else None
        self._exact = DigestSet()
        self._near = DigestSet()

    def drop(self, block: CleanedBlock, raw: RawBlock) -> None:
        """Drop repeated pairs of a block.

        :param raw: the block before cleaning, for the rows of the dropped pairs.
        """
        src, tgt = (text.decode().split("\n")[:-1] for text in (block.src, block.tgt))
        if self._grouped and block.digests:
            is_new = self._grouped.add([line.encode() for line in src], block.digests)
        else:
            is_new = self._exact.add(block.digests) if block.digests else [True] * len(src)
        rules = ["" if new else "duplicate" for new in is_new]
        candidates = [index for index, rule in enumerate(rules) if not rule]
        if block.near_digests and candidates:
            near = self._near.add([block.near_digests[index] for index in candidates])
            for index, new in zip(candidates, near, strict=True):
                rules[index] = "" if new else "near-duplicate"
        if any(rules):
            self._report(block, raw, rules)
            kept = [index for index, rule in enumerate(rules) if not rule]
            block.set_lines([src[index] for index in kept], [tgt[index] for index in kept])

    def _report(self, block: CleanedBlock, raw: RawBlock, rules: list[str]) -> None:
        """Count the dropped pairs, and add their rows."""
        sides = raw.src.split(b"\n"), raw.tgt.split(b"\n")
        dropped = defaultdict(list)
        for index, rule in zip(block.kept, rules, strict=True):
            if rule:
                lines = (side[index].decode("utf-8", "replace") for side in sides)
                dropped[rule].append(("", raw.files[0], raw.numbers[index], *lines))
                block.leaks.pop(index, None)
        rows = b""
        for rule, pairs in dropped.items():
            block.dropped[rule] += len(pairs)
            block.tally.counts[raw.files[0], ""] -= len(pairs)
            rows += block.tally.add_dropped(rule, pairs)  # type: ignore[arg-type]
        lengths = zip(block.lengths, rules, strict=True)
        block.tally.drop_lengths([pair for pair, rule in lengths if rule])
        block.tally.rows += compress_rows(rows)


@lru_cache(maxsize=4)
def _pipelines(
    text: TextConfig, subword_folder: str | None, folder: str
) -> tuple[TextPipeline, TextPipeline]:
    """Load both sides' pipelines; cached, so that a worker keeps their memos between blocks."""
    if subword_folder is None:
        src, tgt = (load_normalization(folder, side) for side in ("src", "tgt"))
        return (
            TextPipeline(text.src_language, text, None, text.tags, reads_source=True, rules=src),
            TextPipeline(text.tgt_language, text, None, rules=tgt),
        )
    return (
        TextPipeline.load(subword_folder, "src", text),
        TextPipeline.load(subword_folder, "tgt", text),
    )


def clean_block(raw: RawBlock) -> CleanedBlock:
    """Tokenise the pairs of a block, drop bad training pairs and apply subwords."""
    pipelines = _pipelines(raw.settings.text, raw.subword_folder, raw.folder)
    src_pipeline, tgt_pipeline = pipelines
    src_lines, src_invalid = _decode(raw, 0)
    tgt_lines, tgt_invalid = _decode(raw, 1)
    block = CleanedBlock(raw.corpus, len(src_lines))
    cleaner = _Cleaner(raw, block, src_lines, tgt_lines, src_invalid | tgt_invalid)
    kept: tuple[list[str], list[str]] = [], []
    for index, (src_line, tgt_line) in enumerate(zip(src_lines, tgt_lines, strict=True)):
        if not raw.tokenized:
            src_line, tgt_line = src_pipeline.readable_pair(src_line, tgt_line)
        src = src_pipeline.words(src_line, raw.tokenized)
        tgt = tgt_pipeline.words(tgt_line, raw.tokenized)
        if raw.clean and not cleaner.keeps(
            index, src_pipeline.length(src), tgt_pipeline.length(tgt)
        ):
            continue
        src, tgt = mask_pair(pipelines, src, tgt, raw.training)
        kept[0].append(src_pipeline.pieces(src_pipeline.with_tag(src, raw.tag)))
        kept[1].append(tgt_pipeline.pieces(tgt))
    block.set_lines(*kept)
    if raw.clean:
        cleaner.finish()
    else:
        block.replaced = len(src_invalid) + len(tgt_invalid)
    return block


class _Cleaner:
    """Decides which pairs of a block are kept, and tallies them.

    :param invalid: indices of pairs that are not UTF-8.
    """

    def __init__(
        self,
        raw: RawBlock,
        block: CleanedBlock,
        src: list[str],
        tgt: list[str],
        invalid: set[int],
    ) -> None:
        self._raw, self._block = raw, block
        self._src, self._tgt, self._invalid = src, tgt, invalid
        settings = raw.settings
        self._languages = settings.text.src_language, settings.text.tgt_language
        self._index = load_index(raw.leak_index) if raw.leak_index else None
        self._limits = dict(settings.rules) if raw.clean else {}
        self._without_repeated = {
            name: limit for name, limit in self._limits.items() if name != "repeated"
        }
        self._repeating = frozenset[int]()
        if "repeated" in self._limits:
            self._repeating = repeating_lines([src, tgt], self._limits["repeated"])
        self._dropped: dict[str, list[Dropped]] = defaultdict(list)
        self._lengths: dict[bool, list[tuple[int, int]]] = {True: [], False: []}

    def keeps(self, index: int, src_length: int, tgt_length: int) -> bool:
        """Return whether a pair is kept; lengths are those of its words."""
        rule, value = self._rule(index, src_length, tgt_length)
        self._lengths[not rule].append((src_length, tgt_length))
        if not rule:
            if self._raw.unique or self._raw.settings.near_dedup:
                self._add_digests(index)
            return True
        place = self._raw.files[0], self._raw.numbers[index]
        self._dropped[rule].append((value, *place, self._src[index], self._tgt[index]))
        return False

    def _rule(self, index: int, src_length: int, tgt_length: int) -> tuple[str, str]:
        """Return the rule that drops a pair and what it measured; empty strings for none."""
        if index in self._invalid:
            return "invalid", ""
        found = _length_rule(src_length, tgt_length, self._raw.settings)
        if found:
            return found
        limits = self._limits if index in self._repeating else self._without_repeated
        if limits:
            lines = LinePair(self._src[index], self._tgt[index], self._languages)
            broken = broken_rule(lines, limits)
            if broken:
                return broken[0], f"{broken[1]:.4g}"
        return self._leak(index)

    def _leak(self, index: int) -> tuple[str, str]:
        """Look for a pair in the dev and test sets; return as `_rule`."""
        src, tgt = self._src[index], self._tgt[index]
        leak = self._index.find(src, tgt) if self._index else None
        if leak is None:
            return "", ""
        self._block.leaks[index] = leak
        if leak.drops(self._raw.settings.leakage):
            return LEAK, leak.where()
        shown = src[:MAX_SAMPLE_CHARACTERS], tgt[:MAX_SAMPLE_CHARACTERS]
        key = zlib.crc32(f"{src}\n{tgt}".encode("utf-8", "surrogatepass"))
        place = self._raw.files[0], self._raw.numbers[index]
        self._block.tally.add_samples(LEAK, [Sample(key, leak.where(), *place, *shown)])
        return "", ""

    def _add_digests(self, index: int) -> None:
        """Add the digests by which duplicates of a kept pair are found."""
        block, raw = self._block, self._raw
        src, tgt = self._src[index], self._tgt[index]
        block.kept.append(index)
        block.lengths.append(self._lengths[True][-1])
        if raw.unique:
            block.digests.append(digest(*(x.encode("utf-8", "surrogatepass") for x in (src, tgt))))
        if raw.settings.near_dedup:
            block.near_digests.append(near_digest(src, tgt, raw.settings.near_dedup))

    def finish(self) -> None:
        """Add up the counts of the block."""
        tally, file = self._block.tally, self._raw.files[0]
        rows = b""
        for rule in sorted(self._dropped, key=ALL_RULES.index):
            rows += tally.add_dropped(rule, self._dropped[rule])
            self._block.dropped[rule] = len(self._dropped[rule])
        tally.rows = compress_rows(rows)
        tally.counts[file, ""] = len(self._lengths[True])
        for kept, lengths in self._lengths.items():
            tally.add_lengths(kept, lengths)


def _decode(raw: RawBlock, side: int) -> tuple[list[str], set[int]]:
    """Decode the lines of one side; also return the indices of lines that are not UTF-8.

    :raises DataError: a line is not UTF-8, and the settings refuse it.
    """
    strict = raw.settings.invalid == "error"
    return decode_lines((raw.src, raw.tgt)[side], raw.files[side], raw.numbers[0], strict)


def _length_rule(
    src_length: int, tgt_length: int, settings: CleaningSettings
) -> tuple[str, str] | None:
    """Return the rule by which a pair of these lengths is dropped and its number, or None."""
    short, long = sorted((src_length, tgt_length))
    if short == 0:
        return "empty", ""
    if long > settings.max_length:
        return "long", str(long)
    return ("ratio", f"{long / short:.4g}") if long > settings.max_ratio * short else None
