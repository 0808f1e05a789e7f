"""Cross-entropy difference, which ranks sentence pairs by their similarity to a domain.

Moore and Lewis 2010: a sentence s is ranked by H_I(s) - H_N(s), its cross-entropy per word under a
language model of the domain minus that under a model of general text; a low value means that it is
like the domain and unlike the rest. Axelrod, He and Gao 2011: a sentence pair is ranked by the sum
of these differences over both sides.

Departures and readings:

- As in both papers, the vocabulary of all models is the words that occur at least twice in the
  domain's text, and a general model is trained on a random sample of the general text that is as
  long as the domain's text. Moore and Lewis smooth by absolute discounting; here, as in Axelrod et
  al., by Kneser-Ney.
- Cross-entropies are in nats per token, `</s>` included. Case is kept. In scripts without blanks
  between words each character is a token.
- The papers' general model has seen the sampled pairs, so it predicts them too well and they rank
  too low: the more so, the longer the domain's text and its sample are. Here the pool has two
  folds, each with a sample and a model of its own, and a pair is scored by the model of the other
  fold. The text of a pair determines its fold, so no copy of it is in the model's sample either.
- A pair with a blank side is ranked last, and never selected.
"""

import hashlib
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
from nmtkit.io.inputs import Source
from nmtkit.io.lines import BLOCK_LINES, decode_lines, read_raw_blocks
from nmtkit.preprocessing.ngram_model import Floats, Ints, NgramModel, line_lengths, line_sums
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.scripts import spaced_characters
from nmtkit.text.vocabulary import Vocabulary

RECORD = np.dtype([("score", "<f8"), ("words", "<u4")])
"""Score of a pair of the pool, infinite if the pair is never selected, and number of words on the
side where words are counted."""

SIDE_NAMES = ("src", "tgt")

Folds = NDArray[np.int64]
"""The fold of each pair."""

FOLDS = (0, 1)
"""Parts of the pool, each scored by a general model that has seen none of its pairs."""


@dataclass(frozen=True)
class SelectSettings:
    """Settings of `select`: how pairs are ranked, and how many are selected.

    text: languages and tokenisation; no BPE.
    side: side whose cross-entropies are compared.
    order: order of the n-gram language models.
    seed: seed of the samples that the general models are trained on.
    invalid: "error" refuses a line that is not UTF-8; "drop" ranks its pair last.
    pairs, words: maximum number of selected pairs, or of their words (on the source side, or on the
        target if `side` is "tgt"); 0: no limit. If both are 0, the best cutoff is searched.
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
        """The sides that are compared: 0 for the source, 1 for the target."""
        return {"both": (0, 1), "src": (0,), "tgt": (1,)}[self.side]

    @property
    def by_perplexity(self) -> bool:
        """Return True if the cutoff with the lowest dev perplexity is searched."""
        return not self.pairs and not self.words

    def check(self) -> None:
        """Raise ConfigError for settings that contradict each other."""
        if self.text.subwords != "none":
            raise ConfigError("pairs are selected by their words; text.subwords must be 'none'")
        if self.order < 1:
            raise ConfigError(f"the order of the language models is at least 1, not {self.order}")
        if min(self.pairs, self.words) < 0 or (self.pairs and self.words):
            raise ConfigError(
                f"take a number of pairs or of words, not {self.pairs} pairs and {self.words} words"
            )


@dataclass(frozen=True)
class JoinedPairs:
    """Consecutive pairs for a worker, the lines of each side joined with newlines.

    files: files that the pairs were read from, for messages.
    first: number of the first line, from 1.
    """

    files: tuple[str, str]
    first: int
    sides: tuple[bytes, bytes]


@dataclass(frozen=True)
class ModelFiles:
    """Files of the language models, for workers to load.

    folder: folder that `NgramDifference.write` wrote to; None if `domain` and `general` are given.
    domain, general: KenLM models, one for each side that is compared.
    """

    folder: str | None = None
    domain: tuple[str, ...] = ()
    general: tuple[str, ...] = ()


class CrossEntropyDifference(Protocol):
    """Scores sentences of one language by their similarity to the domain."""

    def score(self, lines: Sequence[str], folds: Folds) -> Floats:
        """Return H_I(s) - H_N(s) of each line of tokens, in nats per token; no line is blank.

        :param folds: fold of each line, by `folds_of`.
        """
        ...


class NgramDifference:
    """Cross-entropy difference under `NgramModel`s with the same vocabulary.

    :param folder: folder that `write` wrote the models to.
    :param name: the side, "src" or "tgt".
    """

    def __init__(self, folder: Path, name: str) -> None:
        self._vocabulary = Vocabulary.load(folder / f"{name}.words")
        self._domain = NgramModel.load(folder / f"{name}.domain")
        self._general = [NgramModel.load(folder / f"{name}.general{fold}") for fold in FOLDS]

    @staticmethod
    def write(folder: Path, name: str, domain: NgramModel, general: Sequence[NgramModel]) -> None:
        """Write the models to the folder that has their vocabulary as `{name}.words`.

        :param general: for each fold a model that has seen none of its pairs.
        """
        domain.save(folder / f"{name}.domain")
        for fold, model in zip(FOLDS, general, strict=True):
            model.save(folder / f"{name}.general{fold}")

    def score(self, lines: Sequence[str], folds: Folds) -> Floats:
        """Return H_I(s) - H_N(s) of each line, in nats per token."""
        ids = token_ids(self._vocabulary, lines)
        fold_of_token = np.repeat(folds, line_lengths(ids))
        difference = -self._domain.log_probs(ids)
        for fold, model in zip(FOLDS, self._general, strict=True):
            in_fold = fold_of_token == fold  # whole lines
            difference[in_fold] += model.log_probs(ids[in_fold])
        return line_sums(difference, ids) / line_lengths(ids)


class KenlmDifference:
    """Cross-entropy difference under two KenLM models: ARPA files or KenLM's binary files.

    :raises DataError: a file cannot be read.
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
                problem = "KenLM needs a regular file" if Path(path).exists() else "no such file"
                raise DataError(f"{path}: {problem}; give a language model")
            try:
                self._models.append(kenlm.Model(path, quiet))
            except OSError as error:
                reason = " ".join(str(error).rpartition("Exception. ")[2].split())
                raise DataError(
                    f"{path}: KenLM cannot read it as a language model: {reason}"
                ) from None

    def score(self, lines: Sequence[str], folds: Folds) -> Floats:
        """Return H_I(s) - H_N(s) of each line, in nats per token, whatever its fold."""
        domain, general = ([model.score(line) for line in lines] for model in self._models)
        tokens = np.array([line.count(" ") + 2 for line in lines])
        difference: Floats = (np.array(general) - np.array(domain)) * math.log(10) / tokens
        return difference


@lru_cache(maxsize=1)
def load_differences(
    settings: SelectSettings, models: ModelFiles
) -> tuple[CrossEntropyDifference, ...]:
    """Load the models of each compared side; cached, so that a worker loads them once."""
    if models.folder is not None:
        folder = Path(models.folder)
        return tuple(NgramDifference(folder, SIDE_NAMES[side]) for side in settings.sides)
    pairs = zip(models.domain, models.general, strict=True)
    return tuple(KenlmDifference(domain, general) for domain, general in pairs)


@lru_cache(maxsize=4)
def _pipelines(text: TextConfig) -> tuple[TextPipeline, TextPipeline]:
    """Return both sides' pipelines; cached, so that a worker keeps their memos between blocks."""
    src = TextPipeline(text.src_language, text, None, reads_source=True)
    return src, TextPipeline(text.tgt_language, text, None)


def tokenize_block(
    settings: SelectSettings, block: JoinedPairs
) -> tuple[NDArray[np.bool_], tuple[list[str], ...]]:
    """Tokenise the selectable pairs of a block, on the sides that are compared.

    A pair with a blank side, or with a line that is not UTF-8, is not selectable.

    :return: a mask of the selectable pairs; their lines of tokens, for each side in the order of
        `settings.sides`.
    :raises DataError: a line is not UTF-8, and the settings refuse it.
    """
    strict = settings.invalid == "error"
    usable = np.ones(block.sides[0].count(b"\n") + 1, bool)
    texts = []
    for data, path in zip(block.sides, block.files, strict=True):
        lines, invalid = decode_lines(data, path, block.first, strict)
        texts.append(lines)
        usable[list(invalid)] = False
    words = {}
    for side in settings.sides:
        pipeline = _pipelines(settings.text)[side]
        words[side] = [pipeline.words(line) for line in texts[side]]
        if not settings.text.tokenized:
            words[side] = list(map(spaced_characters, words[side]))
    for side, lines in enumerate(texts):
        usable &= np.array([bool(line.strip()) for line in words.get(side, lines)])
    indices = np.flatnonzero(usable).tolist()
    return usable, tuple([words[side][index] for index in indices] for side in settings.sides)


def score_block(
    settings: SelectSettings, models: ModelFiles, block: JoinedPairs
) -> NDArray[np.void]:
    """Return the records of a block of pairs, of type RECORD."""
    usable, texts = tokenize_block(settings, block)
    records = np.zeros(len(usable), RECORD)
    records["score"] = np.inf
    if usable.any():
        scorers, folds = load_differences(settings, models), folds_of(texts)
        score = np.sum(
            [model.score(lines, folds) for model, lines in zip(scorers, texts, strict=True)],
            axis=0,
        )
        score[~np.isfinite(score)] = np.inf  # unknown words, and no <unk> in the model
        records["score"][usable] = score + 0.0  # 0 and -0 are the same score
        records["words"][usable] = [line.count(" ") + 1 for line in texts[0]]
    return records


def read_blocks(bitexts: Iterable[tuple[Source, Source]]) -> Iterator[JoinedPairs]:
    """Yield the blocks of several bitexts, one bitext after another.

    :raises DataError: a file cannot be read, or the sides of a bitext differ in length.
    """
    for files in bitexts:
        names, first = (str(files[0]), str(files[1])), 1
        for src, tgt in read_raw_blocks(BLOCK_LINES, *files):
            yield JoinedPairs(names, first, (b"\n".join(src), b"\n".join(tgt)))
            first += len(src)


def make_blocks(pairs: Iterable[tuple[bytes, bytes]]) -> Iterator[JoinedPairs]:
    """Divide pairs without line numbers into blocks."""
    stream = iter(pairs)
    while block := list(islice(stream, BLOCK_LINES)):
        src, tgt = (b"\n".join(side) for side in zip(*block, strict=True))
        yield JoinedPairs(("the sample", "the sample"), 1, (src, tgt))


def repeated_words(lines: Iterable[str]) -> Vocabulary:
    """Return a vocabulary of the words that occur at least twice, in code point order.

    :param lines: lines of tokens.
    """
    counts = Counter(word for line in lines for word in line.split(" "))
    repeated = {word for word, count in counts.items() if count > 1}
    return Vocabulary([*SPECIAL_WORDS, *sorted(repeated.difference(SPECIAL_WORDS))])


def count_raw_words(line: bytes) -> int:
    """Return the number of words of a line before it is tokenised."""
    return len(line.split())


def sample_pairs(
    blocks: Iterable[JoinedPairs], words: int, sides: Sequence[int], seed: int
) -> list[tuple[bytes, bytes]]:
    """Draw a random sample of pairs from a stream that has `words` words, or slightly more.

    Each pair gets a random number, and the pairs with the smallest numbers are the sample. Memory
    depends on the size of the sample only.

    :param words: number of words, before tokenisation.
    :param sides: sides on which words are counted; a pair with a blank line there is skipped.
    :param seed: seed of the random numbers.
    :return: the sample; all pairs if they have fewer words in total.
    """
    draw = random.Random(seed).random
    heap: list[tuple[float, int, bytes, bytes]] = []  # by the negated number: the largest is first
    total = 0
    for block in blocks:
        src_lines, tgt_lines = (side.split(b"\n") for side in block.sides)
        for pair in zip(src_lines, tgt_lines, strict=True):
            number = draw()
            if total >= words and number >= -heap[0][0]:
                continue
            counts = [count_raw_words(pair[side]) for side in sides]
            if not all(counts):
                continue
            heapq.heappush(heap, (-number, sum(counts), *pair))
            total += sum(counts)
            while total - heap[0][1] >= words:
                total -= heapq.heappop(heap)[1]
    return [(src, tgt) for _, _, src, tgt in sorted(heap, reverse=True)]


def folds_of(texts: Sequence[Sequence[str]]) -> Folds:
    """Return the fold of each pair, half of them in either; equal pairs are in the same one.

    :param texts: lines of tokens of each compared side.
    """
    pairs = ("\n".join(pair).encode() for pair in zip(*texts, strict=True))
    digests = (hashlib.blake2b(pair, digest_size=1).digest()[0] for pair in pairs)
    return np.fromiter(digests, np.int64) % len(FOLDS)


def token_ids(vocabulary: Vocabulary, lines: Sequence[str]) -> Ints:
    """Return the ids of lines of tokens, with `</s>` after each line. Shape: [tokens]."""
    text = "\n".join([*lines, ""])
    return np.fromiter(vocabulary.ids_of_lines(text), np.int64)


@lru_cache(maxsize=2)
def _vocabularies(settings: SelectSettings, folder: str) -> tuple[Vocabulary, ...]:
    return tuple(
        Vocabulary.load(Path(folder) / f"{SIDE_NAMES[side]}.words") for side in settings.sides
    )


def block_ids(settings: SelectSettings, folder: str, block: JoinedPairs) -> tuple[Ints, ...]:
    """Return the ids of the selectable pairs of a block, on each compared side.

    :param folder: the folder with the vocabularies.
    """
    _, texts = tokenize_block(settings, block)
    vocabularies = _vocabularies(settings, folder)
    return tuple(
        token_ids(vocabulary, lines) for vocabulary, lines in zip(vocabularies, texts, strict=True)
    )
