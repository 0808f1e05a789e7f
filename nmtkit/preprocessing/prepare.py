"""Preparation of a bitext: raw text in, a prepared folder of tokenised, cleaned text out.

The folder holds `train.src`, `train.tgt`, and likewise `dev` and each test set: tokens separated by
single blanks, one sentence per line; the subword models, `bpe` or `sentencepiece`, also if one was
learned on both sides together, with `pieces`, what a side may have; `truecase`, Moses's models;
`names`, the words that may be copied; `dropped.tsv.gz` and `cleaning.html`, what cleaning dropped;
and `manifest.json`: every setting, the versions of the tools, the checksum of every file read and
written and its own, and the number of pairs that each rule dropped. All that is learned may be that
of a model, with its vocabularies.

Training data may be several corpora, which follow one another: the manifest has the weight, the
counts and the range of each, and training draws pairs by the weights. Or it is a phrase table: its
pairs are tokenised, and each is kept once.

Only training pairs are cleaned. Dev and test sets keep every line in its place, empty lines too.
Pairs may be held out of the training data as a dev set. The folder's bytes depend on inputs and
settings alone, not on the number of workers. Memory does not grow with the corpus, except for the
counts of distinct words if subwords are learned, and eight bytes per pair if duplicates or near
duplicates are dropped from a bitext; duplicates in a phrase table are consecutive.
"""

import logging
import os
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from dataclasses import replace
from itertools import chain
from pathlib import Path
from typing import Any

from nmtkit.data.manifest import MANIFEST_FILE
from nmtkit.errors import ConfigError, OutputError
from nmtkit.io.atomic_folder import output_folder
from nmtkit.io.inputs import Source, refuse_repeated_pipes
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.cleaning_report import REPORT_FILES, REPORT_MARK
from nmtkit.preprocessing.corpora import TrainingCorpus, as_corpora, checked_corpora
from nmtkit.preprocessing.corpus_reading import Inputs, Splits, readable_again
from nmtkit.preprocessing.folder_writer import FolderWriter
from nmtkit.preprocessing.language_check import LanguageCheck, check_languages
from nmtkit.preprocessing.languages import with_checked_languages
from nmtkit.preprocessing.model_text import ModelText
from nmtkit.preprocessing.set_names import check_test_names
from nmtkit.preprocessing.settings import PrepareSettings

Bitext = tuple[str | Path, ...]
"""The source file and the target file; line n of one belongs to line n of the other. Or one file
that holds both: TSV, TMX, or a zip file of OPUS."""

PhraseTable = tuple[str | Path]
"""A phrase table of Moses, as training data."""

TrainingData = Bitext | PhraseTable | TrainingCorpus | Sequence[TrainingCorpus | Bitext]
"""One corpus, or several; a tuple of one file is a phrase table."""

logger = logging.getLogger("nmtkit")


def prepare(
    settings: PrepareSettings,
    output: str | Path,
    train: TrainingData,
    dev: Bitext | None = None,
    tests: Mapping[str, Bitext] | None = None,
    workers: int = 1,
    force: bool = False,
    language_check: bool = True,
    dry_run: bool = False,
    columns: tuple[int, int] = (1, 2),
) -> dict[str, Any]:
    """Prepare training, dev and test data into a folder, completely or not at all.

    :param output: the folder to write.
    :param train: a bitext; or a list of corpora; or a phrase table in a tuple of one, which needs
        `settings.text.tokenized`.
    :param tests: test sets by name; their files get that name.
    :param workers: processes that share the work; the result is the same for any number.
    :param force: replace an earlier prepared folder. A report of a dry run is always replaced.
    :param language_check: look at the text's languages first, if py3langid is installed.
    :param dry_run: write only the report of cleaning, instead of a prepared folder.
    :param columns: columns of source and target in dev and test sets that are TSV files.
    :return: the manifest.
    :raises ConfigError: settings contradict each other, a language is no code of ISO 639, or a test
        set's name is invalid.
    :raises DataError: a file cannot be read, is not UTF-8, the sides differ in length, no training
        pair is left, or a dev or test set has no pairs.
    :raises OutputError: the folder exists and `force` is not given, it is not a prepared folder, or
        a file to read is in it.
    """
    model = ModelText.read(settings.like) if settings.like else None
    if model is None:
        settings = replace(settings, text=with_checked_languages(settings.text))
    else:
        settings = replace(settings, text=model.text, subword_method=model.subword_method)
    settings.check()
    corpora = checked_corpora(as_corpora(train))
    if corpora[0].is_phrase_table and not settings.text.tokenized:
        raise ConfigError("a phrase table holds tokens already: text.tokenized must be true")
    if dev and settings.held_out:
        raise ConfigError("the dev set is either given or held out; leave --dev or --held-out out")
    tags = tuple(dict.fromkeys(corpus.tag for corpus in corpora if corpus.tag))
    if model is None:
        settings = replace(settings, text=replace(settings.text, tags=tags))
    else:
        _check_known(tags, settings.text.tags, settings.like)
    check_test_names(tests or {})
    bitexts = {**({"dev": dev} if dev else {}), **(tests or {})}
    others = {
        name: checked_corpora([TrainingCorpus(tuple(f), columns=columns)])
        for name, f in bitexts.items()
    }
    splits: Splits = {"train": corpora, **others}
    files = [file for split in splits.values() for corpus in split for file in corpus.files]
    refuse_repeated_pipes([*files, *settings.codes])
    _refuse_to_replace(files, output)
    if not (dev or settings.held_out or dry_run):
        logger.info("no dev set, without which 'nmtkit train' refuses: give --dev or --held-out")
    mark, kind = (REPORT_MARK, "report") if dry_run else (MANIFEST_FILE, "prepared folder")
    with (
        output_folder(output, mark, kind, force, replaceable=REPORT_FILES) as folder,
        ProcessPool(workers) as pool,
        ExitStack() as stack,
    ):
        splits = readable_again(splits, stack)
        writer = FolderWriter(settings, folder, pool, Inputs(stack), model)
        if language_check:
            text = settings.text
            writer.checker = LanguageCheck(text.src_language, text.tgt_language)
            check_languages(chain.from_iterable(splits.values()), settings, writer.checker)
        return writer.write_report(splits) if dry_run else writer.write(splits)


def _refuse_to_replace(files: Sequence[Source], output: str | Path) -> None:
    """Raise OutputError if a file to read is in the output folder, and would be gone with it."""
    folder = os.path.realpath(output)
    for file in files:
        if Path(os.path.realpath(str(file))).is_relative_to(folder):
            raise OutputError(
                f"{file}: is in the output folder, {output}, which would be replaced; move the"
                " file, or give another folder"
            )


def _check_known(tags: Sequence[str], known: Sequence[str], model: str) -> None:
    """Raise ConfigError for a tag that the model whose text this is like does not have."""
    for tag in tags:
        if tag not in known:
            raise ConfigError(
                f"{model}: the model has no tag '{tag}', as its vocabulary is fixed; leave the tag"
                " out, or use one of its tags"
                f" ({', '.join(known) or 'none'})"
            )
