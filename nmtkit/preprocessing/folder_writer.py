"""The files of a prepared folder: what is written, in which order, and what is learned between.

Words are written first if subwords are learned from them, or limited to what the training data has;
they are then split, and the files of words removed.
"""

import logging
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain, islice
from pathlib import Path
from typing import Any

from nmtkit.data.manifest import MANIFEST_FILE
from nmtkit.errors import DataError
from nmtkit.io.bitext import PairBlock
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import BLOCK_LINES
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.cleaning import DuplicateFilter, RawBlock, clean_block
from nmtkit.preprocessing.cleaning_report import REPORT_MARK, CleaningReport
from nmtkit.preprocessing.copied_names import learn_names
from nmtkit.preprocessing.corpora import TrainingCorpus
from nmtkit.preprocessing.corpus_counts import corpus_entries, log_corpora
from nmtkit.preprocessing.corpus_reading import Inputs, read_corpus
from nmtkit.preprocessing.language_check import LanguageCheck, checked_blocks
from nmtkit.preprocessing.languages import log_languages
from nmtkit.preprocessing.leakage import INDEX_FILE, write_index
from nmtkit.preprocessing.manifest_content import manifest_of, write_json
from nmtkit.preprocessing.model_text import ModelText
from nmtkit.preprocessing.segmentation import choose_method, choose_size, warn_of_rules
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.preprocessing.splits import SIDES, SplitCounts, hold_out
from nmtkit.preprocessing.subword_learning import (
    count_words,
    learn_models,
    learning_step,
    warn_of_unused_glossaries,
)
from nmtkit.preprocessing.truecasing import truecase_files
from nmtkit.progress_bar import ProgressBar
from nmtkit.text.subword import METHODS, PIECES, SubwordModel, load_normalization
from nmtkit.text.subword.normalization import Normalization
from nmtkit.text.subword.pieces import write_pieces

CorpusBlock = tuple[int, TrainingCorpus, PairBlock]
"""The index of a corpus, the corpus, and consecutive pairs of it."""

logger = logging.getLogger("nmtkit")


class FolderWriter:
    """Writes the files of one prepared folder, one split after another.

    :param model: a model whose subword models, truecasers and vocabularies are used, or None.
    """

    def __init__(
        self,
        settings: PrepareSettings,
        folder: Path,
        pool: ProcessPool,
        inputs: Inputs,
        model: ModelText | None,
    ) -> None:
        self.settings = settings
        self.folder = folder
        self.pool = pool
        self.inputs = inputs
        self.model = model
        self.checker: LanguageCheck | None = None
        self.subword_folder: str | None = None
        self.leak_index: Path | None = None
        self.report = CleaningReport(folder, settings)
        self.limited = True  # to the pieces of the training data, if there is a threshold

    def write(self, splits: Mapping[str, Sequence[TrainingCorpus]]) -> dict[str, Any]:
        """Write all files of the folder; return the manifest."""
        self._compare_with(splits)
        self._write_known()
        if self.settings.codes and not self._words_first:
            self.subword_folder = str(self.folder)
        corpora = splits["train"]
        with self.report:
            counts, corpus_counts = self._write_train(corpora)
        self._finish_report()
        log_languages(self.settings.text)
        if len(corpora) > 1:
            log_corpora(corpora, corpus_counts)
        _log_counts(counts)
        for name, bitexts in splits.items():
            if name != "train":
                (counts[name],) = self._write_split(name, self._open(bitexts))
                _log_counts({name: counts[name]})
        entries = corpus_entries(corpora, corpus_counts)
        manifest = manifest_of(self.settings, self.inputs.checksums(), counts, entries, self.folder)
        if self.model is not None:
            self.model.write_vocabularies(self.folder)  # which may change: no checksums of them
        return write_json(self.folder / MANIFEST_FILE, {**manifest, **self.report.manifest()})

    def write_report(self, splits: Mapping[str, Sequence[TrainingCorpus]]) -> dict[str, Any]:
        """Write only the report of cleaning; return its counts and settings."""
        self._compare_with(splits)
        known = self._write_known()
        corpora = splits["train"]
        with self.report:
            blocks = self._choose_method(self._corpus_blocks(self._open(corpora)))
            parts = self._write_split("train", corpora, clean=True, blocks=blocks)
        self._finish_report()
        _remove([*known, *self._paths("train")])
        log_languages(self.settings.text)
        counts = {"train": SplitCounts.sum(parts)}
        _log_counts(counts)
        entries = corpus_entries(corpora, parts)
        manifest = manifest_of(self.settings, self.inputs.checksums(), counts, entries, self.folder)
        return write_json(self.folder / REPORT_MARK, {**manifest, **self.report.manifest()})

    def _write_known(self) -> list[Path]:
        """Write the subword models and all else that is not learned here; return their paths."""
        present = {*self.folder.iterdir()}
        if self.model is not None:
            self.model.write(self.folder)
        if self.settings.codes:
            method = METHODS[self.settings.subword_method]
            self._save_subwords(
                [method.load(file) for file in self.inputs.open(self.settings.codes)]
            )
            warn_of_rules(self.settings.text, self._rules())
        return sorted({*self.folder.iterdir()} - present)

    def _rules(self) -> list[Normalization | None]:
        """Return the rules of each side's subword model, if it is known."""
        return [load_normalization(self.folder, side) for side in SIDES]

    @property
    def _learns_subwords(self) -> bool:
        known = self.settings.codes or self.model is not None
        return self.settings.text.subwords != "none" and not known

    @property
    def _words_first(self) -> bool:
        """Return whether all words of the training data must be known before they are split."""
        text = self.settings.text
        in_words = not self.settings.codes or bool(text.vocabulary_threshold) or text.copy_names
        return in_words and text.subwords != "none"

    def _finish_report(self) -> None:
        self.report.finish()
        if self.leak_index:
            self.leak_index.unlink()

    def _compare_with(self, splits: Mapping[str, Sequence[TrainingCorpus]]) -> None:
        """Have training pairs looked up in the dev and test sets.

        :raises DataError: one of them has no pairs.
        """
        others = {name: corpora[0] for name, corpora in splits.items() if name != "train"}
        for name, corpus in others.items():  # before the long work on the training data
            self._refuse_empty(name, corpus)
        columns = next((corpus.columns for corpus in others.values()), (1, 2))
        sets = {name: corpus.files for name, corpus in others.items()}
        text, path = self.settings.text, self.folder / INDEX_FILE
        if write_index(path, sets, (text.src_language, text.tgt_language), columns):
            self.leak_index = path

    def _refuse_empty(self, name: str, corpus: TrainingCorpus) -> None:
        if next(read_corpus(corpus, self.settings, 1), None) is None:
            files = ", ".join(map(str, corpus.files))
            kind = "dev set" if name == "dev" else f"test set '{name}'"
            raise DataError(f"{files}: the {kind} has no pairs; give files with some, or none")

    def _open(self, corpora: Sequence[TrainingCorpus]) -> list[TrainingCorpus]:
        """Return corpora whose files are read once, with their checksums."""
        return [replace(corpus, files=self.inputs.open(corpus.files)) for corpus in corpora]

    def _write_train(
        self, corpora: Sequence[TrainingCorpus]
    ) -> tuple[dict[str, SplitCounts], list[SplitCounts]]:
        """Tokenise and clean the training data; hold out dev pairs and learn BPE if requested.

        :return: counts of the training data and the dev set held out, and of each corpus.
        """
        blocks = self._choose_method(self._corpus_blocks(self._open(corpora)))
        settings = self.settings
        in_words = self._words_first
        train, dev = ("words", "held") if in_words else ("train", "dev")
        cleaned = "cleaned" if settings.held_out else train
        parts = self._write_split(cleaned, corpora, clean=True, blocks=blocks)
        counts = {"train": SplitCounts.sum(parts)}
        if not counts["train"].pairs:
            files = ", ".join(str(file) for corpus in corpora for file in corpus.files)
            read, reasons = f"{counts['train'].read:,}", counts["train"].reasons()
            raise DataError(
                f"{files}: no training pair is left of {read}{reasons}; look at the files, and at"
                " --max-length, --max-ratio, --clean and --leakage"
            )
        if settings.held_out:
            outputs = self._paths(train), self._paths(dev)
            pairs = self._paths(cleaned)
            dev_counts = hold_out(pairs, *outputs, settings.held_out, parts, settings.text.tags)
            counts = {"train": SplitCounts.sum(parts), "dev": dev_counts}
            _remove(pairs)
        if settings.text.case == "truecase":
            self._truecase((train, dev) if settings.held_out else (train,))
        if settings.text.copy_names and self.model is None:
            learn_names(self.folder, self._paths(train), self.pool, settings.text.tags)
        if self._learns_subwords:
            with ProgressBar("learn subwords", ""):
                self._learn_subwords(self._paths(train), counts["train"].pairs)
        if in_words:
            self.subword_folder = str(self.folder)
            counts["train"].tokens = self._split_train(self._paths(train))
            if settings.held_out:
                counts["dev"].tokens = self._split_words("dev", self._paths(dev))
                _remove(self._paths(dev))
        return counts, parts

    def _choose_method(self, blocks: Iterator[CorpusBlock]) -> Iterator[CorpusBlock]:
        """Choose the subword method by the first block if it is "auto"; return all blocks."""
        first = list(islice(blocks, 1))
        sides = [side for _, _, block in first for side in (block.src, block.tgt)] or [[], []]
        samples = [b"\n".join(lines).decode(errors="ignore").split("\n") for lines in sides]
        for lines, rules in zip(samples, self._rules(), strict=True):
            lines[:] = map(rules.normalize, lines) if rules else lines
        self.settings = choose_method(self.settings, *samples)
        return chain(first, blocks)

    def _split_train(self, words: tuple[Path, Path]) -> Counter[str]:
        """Split the training data's words, and list the pieces; return the numbers of tokens.

        A model's pieces are listed already. A threshold of 1 forbids no piece that the training
        data has.
        """
        threshold = 0 if self.model is not None else self.settings.text.vocabulary_threshold
        self.limited = not threshold
        tokens = self._split_words("train", words)
        self.limited = True
        for side, path in zip(SIDES, self._paths("train"), strict=True):
            if threshold:
                counts = count_words(path, self.pool, tags=self.settings.text.tags)
                write_pieces(self.folder / f"{PIECES}.{side}", counts, threshold)
        if threshold > 1:
            tokens = self._split_words("train", words)
        _remove(words)
        return tokens

    def _split_words(self, name: str, words: tuple[Path, Path]) -> Counter[str]:
        corpus = TrainingCorpus(tuple(map(VerbatimFile, words)))
        (counts,) = self._write_split(name, [corpus], tokenized=True)
        return counts.tokens

    def _paths(self, name: str) -> tuple[Path, Path]:
        return self.folder / f"{name}.src", self.folder / f"{name}.tgt"

    def _truecase(self, splits: Sequence[str]) -> None:
        """Apply a truecaser for each side, which is learned from the first of these splits."""
        text = self.settings.text
        languages = (text.src_language, text.tgt_language)
        for side, language, tags in zip(SIDES, languages, (text.tags, ()), strict=True):
            truecase_files(self.folder, side, language, splits, self.pool, tags)
        if text.subwords == "none":
            self.subword_folder = str(self.folder)

    def _learn_subwords(self, words: tuple[Path, Path], pairs: int) -> None:
        """Learn subwords from files of words: one model for both sides together, or one each.

        :param pairs: lines of each file.
        """
        self.settings = settings = choose_size(self.settings, pairs)
        step = learning_step(settings, pairs)
        tags = settings.text.tags
        counts = [count_words(path, self.pool, step, tags) for path in words]
        warn_of_unused_glossaries(settings.text.glossaries, counts)
        self._save_subwords(learn_models(settings, counts, step, self.pool))

    def _save_subwords(self, models: Sequence[SubwordModel]) -> None:
        """Save the subword models: one for both sides, or one for each."""
        name = self.settings.subword_method
        models[0].save(self.folder / f"{name}.src")
        models[-1].save(self.folder / f"{name}.tgt")

    def _write_split(
        self,
        name: str,
        corpora: Sequence[TrainingCorpus],
        clean: bool = False,
        tokenized: bool = False,
        blocks: Iterator[CorpusBlock] | None = None,
    ) -> list[SplitCounts]:
        """Prepare corpora into `name.src` and `name.tgt`; return the counts of each.

        :param clean: drop pairs, because this is training data.
        :param tokenized: the text is already tokenised; only subwords are applied.
        :param blocks: the files' lines if some were read already.
        """
        parts = [SplitCounts(clean=clean) for _ in corpora]
        duplicates = DuplicateFilter(grouped=not self.settings.dedup)
        blocks = blocks or self._corpus_blocks(corpora)
        raw_blocks = self._raw_blocks(blocks, clean, tokenized, training=name == "train")
        with ExitStack() as stack:
            outputs = [stack.enter_context(open(path, "wb")) for path in self._paths(name)]
            bar = stack.enter_context(ProgressBar(f"prepare {name}", "pairs"))
            for raw, block in self.pool.imap_with_items(clean_block, raw_blocks):
                if block.digests or block.near_digests:
                    duplicates.drop(block, raw)
                for text, output in zip((block.src, block.tgt), outputs, strict=True):
                    output.write(text)
                parts[block.corpus].add_block(block)
                if clean:
                    self.report.add(block)
                bar.update(block.read)
        return parts

    def _raw_blocks(
        self, blocks: Iterator[CorpusBlock], clean: bool, tokenized: bool, training: bool
    ) -> Iterator[RawBlock]:
        settings = self.settings if self.limited else self.settings.without_threshold()
        for index, corpus, block in blocks:
            yield RawBlock(
                settings,
                block.names,
                block.numbers,
                b"\n".join(block.src),
                b"\n".join(block.tgt),
                clean,
                tokenized,
                self.subword_folder,
                clean and (self.settings.dedup or corpus.is_phrase_table),
                index,
                corpus.tag,
                str(self.leak_index) if self.leak_index and clean else None,
                training,
                str(self.folder),
            )

    def _corpus_blocks(self, corpora: Sequence[TrainingCorpus]) -> Iterator[CorpusBlock]:
        for index, corpus in enumerate(corpora):
            blocks = read_corpus(corpus, self.settings, BLOCK_LINES)
            if self.checker is not None:
                blocks = checked_blocks(blocks, corpus, self.checker)
            for block in blocks:
                yield index, corpus, block


def _remove(paths: Sequence[Path]) -> None:
    for path in paths:
        path.unlink()


def _log_counts(counts: Mapping[str, SplitCounts]) -> None:
    for name, split_counts in counts.items():
        logger.info("%s", split_counts.summary(name))
