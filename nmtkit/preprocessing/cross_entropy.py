"""How near a sentence pair is to a domain: the difference of cross-entropies, block by block.

Moore and Lewis 2010: a sentence s is ranked by H_I(s) - H_N(s), its cross-entropy per
word under a language model of the domain less that under one of the general text; what is like the
domain and unlike the rest has the lowest. Axelrod, He and Gao 2011: a sentence pair is
ranked by the sum of these differences over both sides.

Departures and readings:

- Both papers: the vocabulary is that of the words seen at least twice in the domain's text, for
  both models; the general model is learned from a random sample of the general text that is as long
  as the domain's text. Moore and Lewis smooth by absolute discounting; here, as in Axelrod et al.,
  Kneser-Ney.
- A cross-entropy is in nats per token, `</s>` being one. Case is kept.
- The sampled pairs are ranked like all others, by a model that has seen them: in a pool that is
  many times as long as the domain's text they are few.
- A pair with a blank side is no pair: it is ranked last, and never taken.
"""

import heapq
import math
import random
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from itertools import islice
from pathlib import Path
from typing import Literal, Protocol

import numpy as np
from numpy.typing import NDArray

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError
from nmtkit.io.lines import decode_lines, read_raw_blocks
from nmtkit.preprocessing.ngram_model import Floats, Ints, NgramModel, line_sums
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.vocabulary import Vocabulary

RECORD = np.dtype([("score", "<f8"), ("words", "<u4")])
"""What is kept of each pair of the pool: its score, infinite where it cannot be taken, and the
words of the side that words are counted on."""

NAMES = ("src", "tgt")

BLOCK = 2000
"""Pairs that a worker is given at a time."""


@dataclass(frozen=True)
class SelectSettings:
    """How pairs are ranked, and how many of the best are taken.

    text: languages and tokenisation; no BPE.
    side: on which the cross-entropies are compared.
    order: the length of the language models' longest n-grams.
    seed: of the sample that the general model is learned from.
    invalid: whether a line that is not UTF-8 is an error, or its pair is ranked last.
    pairs, words: how many pairs, or how many of the best pairs go into so many words (of the
        source, or of the target where that alone is compared); 0: not limited so. Both 0: the best
        cut.
    """

    text: TextConfig = field(default_factory=TextConfig)
    side: Literal["both", "src", "tgt"] = "both"
    order: int = 4
    seed: int = 1
    invalid: Literal["error", "drop"] = "error"
    pairs: int = 0
    words: int = 0

    @property
    def sides(self) -> tuple[int, ...]:
        """0 for the source, 1 for the target: the sides that are compared."""
        return {"both": (0, 1), "src": (0,), "tgt": (1,)}[self.side]

    @property
    def by_perplexity(self) -> bool:
        """Whether the best cut is looked for."""
        return not self.pairs and not self.words

    def check(self) -> None:
        """Refuse settings that contradict each other.

        :raises ConfigError: they do.
        """
        if self.text.bpe != "none":
            raise ConfigError("pairs are selected by their words; text.bpe must be 'none'")
        if self.order < 1:
            raise ConfigError(f"the order of the language models is at least 1, not {self.order}")
        if min(self.pairs, self.words) < 0 or (self.pairs and self.words):
            raise ConfigError(
                f"take a number of pairs or of words, not {self.pairs} pairs and {self.words} words"
            )


@dataclass(frozen=True)
class Lines:
    """Some pairs on their way to a worker, the lines of each side joined with newlines.

    files: where they come from, for messages. first: the number of the first line, from 1.
    """

    files: tuple[str, str]
    first: int
    sides: tuple[bytes, bytes]


@dataclass(frozen=True)
class Models:
    """Where a worker finds the language models.

    folder: with what `OwnDifference.write` wrote; None where the others are given.
    domain, general: files that KenLM reads, one for each side that is compared.
    """

    folder: str | None = None
    domain: tuple[str, ...] = ()
    general: tuple[str, ...] = ()


class Difference(Protocol):
    """Compares sentences of one language with the domain."""

    def of(self, lines: Sequence[str]) -> Floats:
        """H_I(s) - H_N(s) of each line of tokens, none of them blank, in nats per token."""
        ...


class OwnDifference:
    """The difference under two n-gram models with one vocabulary, as `write` leaves them.

    :param folder: that they are in. :param name: of the side.
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._vocabulary = Vocabulary.load(folder / f"{name}.words")
        self._domain = NgramModel.load(folder / f"{name}.domain")
        self._general = NgramModel.load(folder / f"{name}.general")

    @staticmethod
    def write(folder: Path, name: str, domain: NgramModel, general: NgramModel) -> None:
        """Write the models where their vocabulary is already, as `{name}.words`."""
        domain.save(folder / f"{name}.domain")
        general.save(folder / f"{name}.general")

    def of(self, lines: Sequence[str]) -> Floats:
        ids = token_ids(self._vocabulary, lines)
        difference = self._general.log_probs(ids) - self._domain.log_probs(ids)
        return line_sums(difference, ids) / line_sums(np.ones(len(ids)), ids)


class KenlmDifference:
    """The difference under two models that KenLM reads: ARPA files or its own binary ones.

    :raises DataError: one cannot be read.
    :raises ModuleNotFoundError: the package kenlm is not installed.
    """

    def __init__(self, domain: str, general: str) -> None:
        import kenlm

        quiet = kenlm.Config()
        quiet.show_progress = False
        quiet.arpa_complain = kenlm.ARPALoadComplain.NONE
        self._models = []
        for path in (domain, general):
            if not Path(path).is_file():
                raise DataError(f"{path}: there is no such file; give a language model")
            try:
                self._models.append(kenlm.Model(path, quiet))
            except OSError as error:
                told = " ".join(str(error).rpartition("Exception. ")[2].split())
                raise DataError(
                    f"{path}: KenLM cannot read it as a language model: {told}"
                ) from None

    def of(self, lines: Sequence[str]) -> Floats:
        domain, general = ([model.score(line) for line in lines] for model in self._models)
        tokens = np.array([line.count(" ") + 2 for line in lines])
        difference: Floats = (np.array(general) - np.array(domain)) * math.log(10) / tokens
        return difference


@lru_cache(maxsize=1)
def differences(settings: SelectSettings, models: Models) -> tuple[Difference, ...]:
    """One for each side that is compared; kept, as a worker needs them from block to block."""
    if models.folder is not None:
        folder = Path(models.folder)
        return tuple(OwnDifference(folder, NAMES[side]) for side in settings.sides)
    pairs = zip(models.domain, models.general, strict=True)
    return tuple(KenlmDifference(domain, general) for domain, general in pairs)


@lru_cache(maxsize=4)
def _pipelines(text: TextConfig) -> tuple[TextPipeline, TextPipeline]:
    """Both sides' tokenizers; kept, with all they remember, from block to block."""
    return TextPipeline(text.src_language, text, None), TextPipeline(text.tgt_language, text, None)


def tokenized(
    settings: SelectSettings, block: Lines
) -> tuple[NDArray[np.bool_], tuple[list[str], ...]]:
    """Which pairs can be taken, and the words of these on the sides that are compared.

    :return: a value for each pair; lines for each side, in the order of `settings.sides`.
    :raises DataError: a line is not UTF-8, unless such pairs are ranked last.
    """
    strict = settings.invalid == "error"
    usable = np.ones(block.sides[0].count(b"\n") + 1, bool)
    texts = []
    for data, path in zip(block.sides, block.files, strict=True):
        lines, bad = decode_lines(data, path, block.first, strict)
        texts.append(lines)
        usable[list(bad)] = False
    words = {}
    for side in settings.sides:
        pipeline = _pipelines(settings.text)[side]
        words[side] = [pipeline.words(line) for line in texts[side]]
    for side, lines in enumerate(texts):
        usable &= np.array([bool(line.strip()) for line in words.get(side, lines)])
    taken = np.flatnonzero(usable).tolist()
    return usable, tuple([words[side][place] for place in taken] for side in settings.sides)


def score_block(settings: SelectSettings, models: Models, block: Lines) -> NDArray[np.void]:
    """The records of some pairs, of type RECORD; runs in a worker."""
    usable, texts = tokenized(settings, block)
    records = np.zeros(len(usable), RECORD)
    records["score"] = np.inf
    if usable.any():
        compared = differences(settings, models)
        score = np.sum([one.of(lines) for one, lines in zip(compared, texts, strict=True)], axis=0)
        score[~np.isfinite(score)] = np.inf  # a model without <unk> gives such words nothing
        records["score"][usable] = score + 0.0  # 0 and -0 are one score
        records["words"][usable] = [line.count(" ") + 1 for line in texts[0]]
    return records


def read_blocks(bitexts: Iterable[tuple[str | Path, str | Path]]) -> Iterator[Lines]:
    """Bitexts, one after another.

    :raises DataError: a file cannot be read, or the sides of a bitext differ in length.
    """
    for files in bitexts:
        names, first = (str(files[0]), str(files[1])), 1
        for src, tgt in read_raw_blocks(BLOCK, *files):
            yield Lines(names, first, (b"\n".join(src), b"\n".join(tgt)))
            first += len(src)


def blocks_of(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[Lines]:
    """Pairs from here and there as blocks, their line numbers forgotten."""
    stream = iter(pairs)
    while some := list(islice(stream, BLOCK)):
        src, tgt = (b"\n".join(side) for side in zip(*some, strict=True))
        yield Lines(("the sample", "the sample"), 1, (src, tgt))


def words_seen_twice(lines: Iterable[str]) -> Vocabulary:
    """The vocabulary of a domain: all words but those seen once, in the order of their characters.

    :param lines: of tokens.
    """
    counts = Counter(word for line in lines for word in line.split(" "))
    repeated = {word for word, count in counts.items() if count > 1}
    return Vocabulary([*SPECIAL_WORDS, *sorted(repeated.difference(SPECIAL_WORDS))])


def raw_words(line: bytes) -> int:
    """How many words a line has before it is tokenised."""
    return len(line.split())


def sample(
    blocks: Iterable[Lines], words: int, sides: Sequence[int], seed: int
) -> list[tuple[bytes, bytes]]:
    """Random pairs of a stream that have, together, so many words or just more.

    Each pair draws a number, and those with the smallest numbers are the sample: memory grows with
    its size alone.

    :param words: before tokenisation.
    :param sides: on which they are counted; pairs without a word on one of these are passed over.
    :param seed: of the random numbers.
    :return: all pairs, where they have fewer words.
    """
    draw = random.Random(seed).random
    heap: list[tuple[float, int, bytes, bytes]] = []  # the largest number, negated, comes first
    total = 0
    for block in blocks:
        src_lines, tgt_lines = (side.split(b"\n") for side in block.sides)
        for pair in zip(src_lines, tgt_lines, strict=True):
            number = draw()
            if total >= words and number >= -heap[0][0]:
                continue
            counts = [raw_words(pair[side]) for side in sides]
            if not all(counts):
                continue
            heapq.heappush(heap, (-number, sum(counts), *pair))
            total += sum(counts)
            while total - heap[0][1] >= words:
                total -= heapq.heappop(heap)[1]
    return [(src, tgt) for _, _, src, tgt in sorted(heap, reverse=True)]


def token_ids(vocabulary: Vocabulary, lines: Sequence[str]) -> Ints:
    """The ids of lines of tokens in a row, `</s>` after each."""
    text = "\n".join([*lines, ""])
    return np.fromiter(vocabulary.ids_of_lines(text), np.int64)


@lru_cache(maxsize=2)
def _vocabularies(settings: SelectSettings, folder: str) -> tuple[Vocabulary, ...]:
    return tuple(Vocabulary.load(Path(folder) / f"{NAMES[side]}.words") for side in settings.sides)


def ids_of_block(settings: SelectSettings, folder: str, block: Lines) -> tuple[Ints, ...]:
    """The ids of the pairs that can be taken, on each side that is compared; runs in a worker.

    :param folder: with the vocabularies.
    """
    _, texts = tokenized(settings, block)
    vocabularies = _vocabularies(settings, folder)
    return tuple(token_ids(*both) for both in zip(vocabularies, texts, strict=True))
