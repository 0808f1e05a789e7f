"""The steps of a selection: learning models, scoring a pool, and finding the best cutoff."""

import logging
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace
from functools import partial
from pathlib import Path

import numpy as np

from nmtkit.errors import DataError, counted
from nmtkit.io.inputs import Source
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.cross_entropy import (
    FOLDS,
    RECORD,
    SIDE_NAMES,
    JoinedPairs,
    ModelFiles,
    NgramDifference,
    SelectSettings,
    block_ids,
    count_raw_words,
    folds_of,
    make_blocks,
    read_blocks,
    repeated_words,
    sample_pairs,
    score_block,
    token_ids,
    tokenize_block,
)
from nmtkit.preprocessing.cutoff import (
    SELECT_ALL,
    Cutoff,
    Records,
    Subset,
    count_selected,
    find_cutoff,
    selected,
    subset_sizes,
)
from nmtkit.preprocessing.ngram_model import Ints, NgramModel, line_lengths
from nmtkit.progress_bar import ProgressBar
from nmtkit.text.vocabulary import Vocabulary

MAX_SUBSET_WORDS = 1 << 24
"""Maximum size in words of a subset of the pool that is tried to find the best cutoff."""

logger = logging.getLogger("nmtkit")


class PairSelector:
    """Scores the pairs of a pool by their similarity to a domain, and returns the best.

    :param folder: temporary folder for the models and the records.
    :param bar: shows how far each reading of the pool is.
    """

    def __init__(
        self,
        settings: SelectSettings,
        pool: Sequence[tuple[Source, Source]],
        folder: Path,
        processes: ProcessPool,
        bar: ProgressBar,
    ) -> None:
        self.bar = bar
        self.pool_pairs = 0
        self.settings = settings
        self.pool = pool
        self.folder = folder
        self.processes = processes
        self.names = [SIDE_NAMES[side] for side in settings.sides]
        self.raw_words = 0
        self.words = 0
        self.vocabularies: list[Vocabulary] = []
        self.domain: list[Ints] = []

    def read_domain(self, files: tuple[Source, Source]) -> None:
        """Read the domain's text, build vocabularies of its repeated words, and map it to ids."""
        blocks = list(read_blocks([files]))
        sides = self.settings.sides
        self.raw_words = sum(
            count_raw_words(block.sides[side]) for block in blocks for side in sides
        )
        texts = self._tokenize(self.settings, blocks)
        if not texts[0]:
            raise _without_words(files)
        self.words = sum(line.count(" ") + 1 for line in texts[0])
        for name, lines in zip(self.names, texts, strict=True):
            vocabulary = repeated_words(lines)
            vocabulary.save(self.folder / f"{name}.words")
            self.vocabularies.append(vocabulary)
            self.domain.append(token_ids(vocabulary, lines))
        logger.info(
            "domain: %s, %s; %s distinct words occur at least twice",
            counted(len(texts[0]), "pair"), counted(self.words, "word"),
            " and ".join(f"{len(vocabulary) - 2:,}" for vocabulary in self.vocabularies),
        )  # fmt: skip

    def learn(self) -> ModelFiles:
        """Train a model of the domain, and two of samples of the pool that are about as long."""
        words = len(FOLDS) * self.raw_words
        pairs = sample_pairs(self._pool("sample"), words, self.settings.sides, self.settings.seed)
        # Lines that are not UTF-8 are reported, with line numbers, when the pool is scored.
        texts = self._tokenize(replace(self.settings, invalid="drop"), make_blocks(pairs))
        folds = folds_of(texts)
        logger.info(
            "pool: samples of %s pairs for the general models",
            " and ".join(f"{np.count_nonzero(folds == fold):,}" for fold in FOLDS),
        )
        for name, vocabulary, domain, lines in zip(
            self.names, self.vocabularies, self.domain, texts, strict=True
        ):
            sample = token_ids(vocabulary, lines)
            fold_of_token = np.repeat(folds, line_lengths(sample))
            samples = (sample[fold_of_token != fold] for fold in FOLDS)
            domain_model, *general = (
                NgramModel.train(ids, len(vocabulary), self.settings.order)
                for ids in (domain, *samples)
            )
            NgramDifference.write(self.folder, name, domain_model, general)
        return ModelFiles(str(self.folder))

    def score(self, models: ModelFiles) -> Records:
        """Score all pairs of the pool; return their records as a memory-mapped array."""
        path = self.folder / "records"
        score = partial(score_block, self.settings, models)
        with open(path, "wb") as file:
            for records in self.processes.imap(score, self._pool("score")):
                file.write(records.tobytes())
        if not path.stat().st_size:
            raise DataError(f"{self.pool[0][0]}: the pool is empty; there is nothing to select")
        return np.memmap(path, RECORD, "r")

    def selected_blocks(self, records: Records, cutoff: Cutoff) -> Iterator[JoinedPairs]:
        """Yield the selected pairs in non-empty blocks, unchanged and in the pool's order.

        :raises DataError: the pool has changed since it was scored.
        """
        first = 0
        for block in self._pool("write"):
            sides = tuple(side.split(b"\n") for side in block.sides)
            block_records = records[first : first + len(sides[0])]
            if len(block_records) < len(sides[0]):
                break
            indices = np.flatnonzero(cutoff.selects(block_records, first)).tolist()
            first += len(block_records)
            if indices:
                src, tgt = (b"\n".join([side[index] for index in indices]) for side in sides)
                yield JoinedPairs(block.files, block.first, (src, tgt))
        else:
            if first == len(records):
                return
        raise DataError("the pool has changed while it was read; do not change it, and start again")

    def find_best_cutoff(self, records: Records, dev: tuple[Source, Source]) -> Cutoff:
        """Find the cutoff whose pairs train the language model with the lowest dev perplexity.

        Subsets of 1/4, 1/2, 1, 2, 4, ... times the domain's words are tried, then the whole pool,
        up to MAX_SUBSET_WORDS words.
        """
        dev_ids = [
            token_ids(vocabulary, lines)
            for vocabulary, lines in zip(
                self.vocabularies, self._tokenize(self.settings, read_blocks([dev])), strict=True
            )
        ]
        if not len(dev_ids[0]):
            raise _without_words(dev)
        _, all_words = count_selected(records, SELECT_ALL)
        sizes = subset_sizes(self.words, min(all_words, MAX_SUBSET_WORDS))
        largest = find_cutoff(records, sizes[-1], "words")
        candidates = records[selected(records, largest)]
        texts = self._token_ids(self.selected_blocks(records, largest))
        subsets = [
            self._evaluate_subset(
                find_cutoff(candidates, size, "words"), candidates, texts, dev_ids
            )
            for size in sizes
        ]
        for subset in subsets:
            logger.info(
                "the best %s words (%s pairs): dev perplexity %.2f",
                f"{subset.words:,}", f"{subset.pairs:,}", subset.perplexity,
            )  # fmt: skip
        best = min(range(len(subsets)), key=lambda index: subsets[index].perplexity)
        if best == len(subsets) - 1 and sizes[-1] < all_words:
            logger.warning(
                "the largest subset that was tried is the best; larger ones may be better"
            )
        return find_cutoff(records, sizes[best], "words")

    def _evaluate_subset(
        self, cutoff: Cutoff, records: Records, texts: Sequence[Ints], dev_ids: Sequence[Ints]
    ) -> Subset:
        """Train models on a subset; return it with the dev perplexity, both sides together.

        :param texts: ids of the pairs of `records`, on each compared side.
        :param dev_ids: ids of the dev set, likewise.
        """
        mask = cutoff.selects(records, 0)
        cost = 0.0
        for vocabulary, ids, dev in zip(self.vocabularies, texts, dev_ids, strict=True):
            subset_ids = ids[np.repeat(mask, line_lengths(ids))]
            model = NgramModel.train(subset_ids, len(vocabulary), self.settings.order)
            cost -= float(model.log_probs(dev).sum())
        perplexity = float(np.exp(cost / sum(map(len, dev_ids))))
        return Subset(int(records["words"][mask].sum()), int(mask.sum()), perplexity)

    def _token_ids(self, blocks: Iterable[JoinedPairs]) -> list[Ints]:
        """Return the ids of selectable pairs, on each compared side."""
        parts: list[list[Ints]] = [[] for _ in self.names]
        compute_ids = partial(block_ids, self.settings, str(self.folder))
        for block in self.processes.imap(compute_ids, blocks):
            for part, ids in zip(parts, block, strict=True):
                part.append(ids)
        return [np.concatenate(part) for part in parts]

    def _tokenize(self, settings: SelectSettings, blocks: Iterable[JoinedPairs]) -> list[list[str]]:
        """Return the lines of tokens of the selectable pairs, on each compared side."""
        texts: list[list[str]] = [[] for _ in self.names]
        for _, block in self.processes.imap(partial(tokenize_block, settings), blocks):
            for text, lines in zip(texts, block, strict=True):
                text += lines
        return texts

    def _pool(self, task: str) -> Iterator[JoinedPairs]:
        """Yield the blocks of the pool, and show how far a task is.

        :param task: what is done with them, for the progress bar.
        """
        self.bar.begin(task, self.pool_pairs or None)
        for block in read_blocks(self.pool):
            yield block
            self.bar.update(block.sides[0].count(b"\n") + 1)
        self.pool_pairs = self.bar.done


def _without_words(files: tuple[Source, Source]) -> DataError:
    return DataError(
        f"{files[0]}, {files[1]}: no pair has words on both sides; give files with text"
    )
