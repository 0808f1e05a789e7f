"""The pairs of a general corpus that are most like a domain, by its language models; from Python:

from nmtkit.preprocessing.select import SelectSettings, select
select(SelectSettings(pairs=100_000), [("crawl.en", "crawl.fr")], ("near.en", "near.fr"),
       domain=("news.en", "news.fr"))

The general corpus, the pool, is read as a stream: once for a sample, once to score its pairs, once
to write those that are taken (and once more to find the best cut). In memory are the domain's text,
the sample, which is as long, and their models; the score of every pair goes to a temporary file, 12
bytes a pair, in the folder that TMPDIR names. What is selected depends on inputs and settings
alone, not on the number of workers.
"""

import logging
import os
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from functools import partial
from pathlib import Path

import numpy as np
from tqdm import tqdm

from nmtkit.errors import ConfigError, DataError
from nmtkit.io.lines import STANDARD, open_output
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.cross_entropy import (
    NAMES,
    RECORD,
    Lines,
    Models,
    OwnDifference,
    blocks_of,
    ids_of_block,
    raw_words,
    read_blocks,
    sample,
    score_block,
    token_ids,
    tokenized,
    words_seen_twice,
)
from nmtkit.preprocessing.cross_entropy import SelectSettings as SelectSettings
from nmtkit.preprocessing.cutoff import ALL, Cut, Records, best, chunks, taken
from nmtkit.preprocessing.ngram_model import Ints, NgramModel
from nmtkit.special_symbols import EOS
from nmtkit.text.vocabulary import Vocabulary

LARGEST_PART = 1 << 24
"""Words of the largest part of the pool that a model is learned from, to find the best cut."""

_SMALLEST = 4
"""The first part is so many times smaller than the domain."""

Bitext = tuple[str | Path, str | Path]
"""The source file and the target file; line n of one belongs to line n of the other."""

logger = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class Selection:
    """What was selected.

    read: pairs of the pool. pairs, words: those taken; words are counted on the source, or on the
        target where that alone is compared.
    cut: up to where they were taken.
    """

    read: int
    pairs: int
    words: int
    cut: Cut


@dataclass(frozen=True)
class Part:
    """The best pairs of the pool as training data of a language model.

    words, pairs: how many there are. perplexity: of the dev set under that model, per token.
    """

    words: int
    pairs: int
    perplexity: float


def select(
    settings: SelectSettings,
    pool: Sequence[Bitext],
    output: Bitext,
    domain: Bitext | None = None,
    dev: Bitext | None = None,
    lms: tuple[Sequence[str], Sequence[str]] | None = None,
    scores: str | Path | None = None,
    workers: int = 1,
    force: bool = False,
) -> Selection:
    """Write the best pairs of the pool, in its order and as they are, both files or neither.

    :param pool: bitexts; none of their files can be stdin, as they are read more than once.
    :param domain: what the pairs shall be like. Left out where `lms` are given, unless the best cut
        is looked for.
    :param dev: text of the domain, not part of `domain`, to find the best cut with.
    :param lms: models that KenLM reads, of the domain and of general text, one for each side that
        is compared; without them models are learned from `domain` and from a sample of the pool.
    :param scores: a file for the score of every pair of the pool, one a line; the lowest is the
        best.
    :param workers: processes that share the work; the result is the same for any number.
    :param force: replace output that exists.
    :raises ConfigError: what is given contradicts itself.
    :raises DataError: a file cannot be read, is not UTF-8, or sides differ in length; there is
        nothing to select.
    :raises OutputError: an output exists and `force` is not given, or cannot be written.
    :raises ModuleNotFoundError: `lms` are given and the package kenlm is not installed.
    """
    settings.check()
    _check_inputs(settings, pool, domain, dev, lms)
    _check_outputs(*output, *([scores] if scores else []))
    if lms:
        import kenlm  # noqa: F401  (so that its want is told before any work)
    with ExitStack() as stack:
        files = [stack.enter_context(open_output(path, force)) for path in output]
        told = stack.enter_context(open_output(scores, force)) if scores else None
        folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="nmtkit-select-"))
        shared = stack.enter_context(ProcessPool(workers))
        selector = _Selector(settings, pool, Path(folder), shared)
        if domain:
            selector.read_domain(domain)
        records = selector.score(Models(None, *map(tuple, lms)) if lms else selector.learn())
        cut = selector.best_cut(records, dev) if dev else _wanted(settings, records)
        selection = _summary(records, cut)
        for lines in selector.taken(records, cut):
            for data, file in zip(lines.sides, files, strict=True):
                file.write(f"{data.decode()}\n")
        if told:
            for _, chunk in chunks(records):
                told.writelines(f"{score:.6f}\n" for score in chunk["score"].tolist())
        del records  # unmapped before its file goes
    _log(selection)
    return selection


def _check_inputs(
    settings: SelectSettings,
    pool: Sequence[Bitext],
    domain: Bitext | None,
    dev: Bitext | None,
    lms: tuple[Sequence[str], Sequence[str]] | None,
) -> None:
    if not pool:
        raise ConfigError("there is no pool to select from; give --pool")
    for path in (path for files in pool for path in files):
        if str(path) == STANDARD:
            raise DataError(
                "the pool cannot be stdin ('-'), as it is read more than once; write it to a file"
            )
    if settings.by_perplexity != bool(dev):
        raise ConfigError("a dev set is for the best cut, which needs one: give both or neither")
    if not domain and (settings.by_perplexity or not lms):
        raise ConfigError("the text of the domain is needed here; give --domain")
    if lms and domain and not settings.by_perplexity:
        raise ConfigError("the domain is known by its language models; leave --domain or them out")
    for files in lms or ():
        if len(files) != len(settings.sides):
            raise ConfigError(
                f"{len(settings.sides)} language models of the domain and as many of general text"
                f" are needed with side '{settings.side}': one for each side that is compared"
            )


def _check_outputs(*paths: str | Path) -> None:
    names = [str(path) for path in paths if str(path) != os.devnull]
    if len(set(names)) < len(names):
        raise ConfigError("the outputs need different names; give each file its own")


class _Selector:
    """The way from a domain and a pool to the records of all pairs, and back to the pairs.

    :param folder: for the models and the records.
    """

    def __init__(
        self, settings: SelectSettings, pool: Sequence[Bitext], folder: Path, workers: ProcessPool
    ) -> None:
        self.settings = settings
        self.pool = pool
        self.folder = folder
        self.workers = workers
        self.names = [NAMES[side] for side in settings.sides]
        self.raw_words = 0
        self.words = 0
        self.vocabularies: list[Vocabulary] = []
        self.domain: list[Ints] = []

    def read_domain(self, files: Bitext) -> None:
        """Take the text of the domain as ids, and its repeated words as the vocabulary."""
        blocks = list(read_blocks([files]))
        sides = self.settings.sides
        self.raw_words = sum(raw_words(block.sides[side]) for block in blocks for side in sides)
        texts = self._texts(self.settings, blocks)
        if not texts[0]:
            raise DataError(f"{files[0]}, {files[1]}: there is no pair with words on both sides")
        self.words = sum(line.count(" ") + 1 for line in texts[0])
        for name, lines in zip(self.names, texts, strict=True):
            vocabulary = words_seen_twice(lines)
            vocabulary.save(self.folder / f"{name}.words")
            self.vocabularies.append(vocabulary)
            self.domain.append(token_ids(vocabulary, lines))
        logger.info(
            "domain: %s pairs, %s words, of which %s different ones come up twice or more",
            f"{len(texts[0]):,}", f"{self.words:,}",
            " and ".join(f"{len(vocabulary) - 2:,}" for vocabulary in self.vocabularies),
        )  # fmt: skip

    def learn(self) -> Models:
        """Models of the domain, and of a sample of the pool that is as long."""
        order = self.settings.order
        pairs = sample(self._pool(), self.raw_words, self.settings.sides, self.settings.seed)
        # What is not UTF-8 there is told with its line number when the pool is scored.
        texts = self._texts(replace(self.settings, invalid="drop"), blocks_of(pairs))
        logger.info("pool: a sample of %s pairs for the general models", f"{len(texts[0]):,}")
        for name, vocabulary, domain, lines in zip(
            self.names, self.vocabularies, self.domain, texts, strict=True
        ):
            of_domain, of_pool = (
                NgramModel.train(ids, len(vocabulary), order)
                for ids in (domain, token_ids(vocabulary, lines))
            )
            OwnDifference.write(self.folder, name, of_domain, of_pool)
        return Models(str(self.folder))

    def score(self, models: Models) -> Records:
        """The records of all pairs, in a file that is mapped into memory."""
        path = self.folder / "records"
        scored = partial(score_block, self.settings, models)
        with open(path, "wb") as file, _bar("scoring") as bar:
            for records in self.workers.in_order(scored, self._pool()):
                file.write(records.tobytes())
                bar.update(len(records))
        if not path.stat().st_size:
            raise DataError(f"{self.pool[0][0]}: the pool is empty; there is nothing to select")
        return np.memmap(path, RECORD, "r")

    def taken(self, records: Records, cut: Cut) -> Iterator[Lines]:
        """The pairs within the cut, block by block as they are in the pool; no block is empty.

        :raises DataError: the pool is not what it was.
        """
        first = 0
        for block in self._pool():
            sides = tuple(side.split(b"\n") for side in block.sides)
            here = records[first : first + len(sides[0])]
            if len(here) < len(sides[0]):
                break
            places = np.flatnonzero(cut.takes(here, first)).tolist()
            first += len(here)
            if places:
                src, tgt = (b"\n".join([side[place] for place in places]) for side in sides)
                yield Lines(block.files, block.first, (src, tgt))
        else:
            if first == len(records):
                return
        raise DataError("the pool has changed while it was read; leave it alone and begin anew")

    def best_cut(self, records: Records, dev: Bitext) -> Cut:
        """The cut whose pairs make the best language model of the domain, judged by a dev set.

        Parts of 1/4, 1/2, 1, 2, 4, ... times the domain's words are tried, and the whole pool, as
        far as they have no more than LARGEST_PART words.
        """
        judged = [
            token_ids(vocabulary, lines)
            for vocabulary, lines in zip(
                self.vocabularies, self._texts(self.settings, read_blocks([dev])), strict=True
            )
        ]
        if not len(judged[0]):
            raise DataError(f"{dev[0]}, {dev[1]}: there is no pair with words on both sides")
        all_words = _summary(records, ALL).words
        sizes = _sizes(self.words, min(all_words, LARGEST_PART))
        largest = best(records, sizes[-1], "words")
        candidates = records[taken(records, largest)]
        texts = self._ids(self.taken(records, largest))
        parts = [
            self._part(best(candidates, size, "words"), candidates, texts, judged) for size in sizes
        ]
        for part in parts:
            logger.info(
                "the best %s words (%s pairs): dev perplexity %.2f",
                f"{part.words:,}", f"{part.pairs:,}", part.perplexity,
            )  # fmt: skip
        place = min(range(len(parts)), key=lambda number: parts[number].perplexity)
        if place == len(parts) - 1 and sizes[-1] < all_words:
            logger.warning(
                "the largest part that was tried is the best; still larger may be better"
            )
        return best(records, sizes[place], "words")

    def _part(
        self,
        cut: Cut,
        records: Records,
        texts: Sequence[Ints],
        judged: Sequence[Ints],
    ) -> Part:
        """How well a model of some pairs predicts the dev set, both sides together.

        :param texts: the ids of the pairs with these records. :param judged: those of the dev set.
        """
        inside = cut.takes(records, 0)
        cost = 0.0
        for vocabulary, ids, dev in zip(self.vocabularies, texts, judged, strict=True):
            part = ids[np.repeat(inside, _lengths(ids))]
            model = NgramModel.train(part, len(vocabulary), self.settings.order)
            cost -= float(model.log_probs(dev).sum())
        perplexity = float(np.exp(cost / sum(map(len, judged))))
        return Part(int(records["words"][inside].sum()), int(inside.sum()), perplexity)

    def _ids(self, blocks: Iterable[Lines]) -> list[Ints]:
        """The ids of pairs that can all be taken, on each side that is compared."""
        parts: list[list[Ints]] = [[] for _ in self.names]
        made = partial(ids_of_block, self.settings, str(self.folder))
        for block in self.workers.in_order(made, blocks):
            for part, ids in zip(parts, block, strict=True):
                part.append(ids)
        return [np.concatenate(part) for part in parts]

    def _texts(self, settings: SelectSettings, blocks: Iterable[Lines]) -> list[list[str]]:
        """The tokens of all pairs that can be taken, on each side that is compared."""
        texts: list[list[str]] = [[] for _ in self.names]
        for _, block in self.workers.in_order(partial(tokenized, settings), blocks):
            for text, lines in zip(texts, block, strict=True):
                text += lines
        return texts

    def _pool(self) -> Iterator[Lines]:
        return read_blocks(self.pool)


def _wanted(settings: SelectSettings, records: Records) -> Cut:
    """The cut at the number of pairs or words that is asked for."""
    if settings.pairs:
        cut = best(records, settings.pairs, "pairs")
    else:
        cut = best(records, settings.words, "words")
    if cut == ALL:
        logger.warning("the pool has no more than is asked for: all of it is taken")
    return cut


def _sizes(domain: int, most: int) -> list[int]:
    """The parts to try: from a quarter of the domain's words, doubled, to the most there may be."""
    sizes = [max(domain // _SMALLEST, 1)]
    while sizes[-1] < most:
        sizes.append(2 * sizes[-1])
    return [*sizes[:-1], most]


def _summary(records: Records, cut: Cut) -> Selection:
    """What the cut takes.

    :raises DataError: nothing.
    """
    pairs = words = 0
    for first, chunk in chunks(records):
        here = cut.takes(chunk, first)
        pairs += int(here.sum())
        words += int(chunk["words"][here].sum(dtype=np.int64))
    if not pairs:
        raise DataError(
            "no pair is selected: the pool has none with words on both sides, or the best has more"
            " words than are asked for"
        )
    return Selection(len(records), pairs, words, cut)


def _lengths(ids: Ints) -> Ints:
    """The tokens of each line, `</s>` included."""
    return np.diff(np.flatnonzero(ids == EOS), prepend=-1)


def _log(selection: Selection) -> None:
    share = 100 * selection.pairs / selection.read
    logger.info(
        "selected %s of %s pairs (%.2f %%), %s words%s",
        f"{selection.pairs:,}", f"{selection.read:,}", share, f"{selection.words:,}",
        "" if selection.cut == ALL else f"; scores up to {selection.cut.score:.4f}",
    )  # fmt: skip


def _bar(name: str) -> "tqdm[None]":
    """A progress bar; none where the log is quiet, or where stderr is no terminal."""
    quiet = not logger.isEnabledFor(logging.INFO)
    return tqdm(desc=name, unit=" pairs", disable=True if quiet else None)
