"""Selection of the pairs of a general corpus that are most like a domain, by language models.

    from nmtkit.preprocessing.select import SelectSettings, select
    select(SelectSettings(pairs=100_000), [("crawl.en", "crawl.fr")], ("near.en", "near.fr"),
           domain=("news.en", "news.fr"))

The general corpus, the pool, is read as a stream: once for a sample, once to score its pairs, once
to write the selected ones (and once more to find the best cutoff). A pool from pipes or stdin is
first copied to a temporary folder. The domain's text, two samples about as long and their models
are in memory; the scores are in a temporary file, 12 bytes per pair, in the folder that TMPDIR
names. The selection depends on inputs and settings alone, not on the number of workers.
"""

import logging
import os
from collections.abc import Sequence
from contextlib import ExitStack
from dataclasses import dataclass, replace
from itertools import chain
from pathlib import Path

from nmtkit.errors import ConfigError
from nmtkit.io.inputs import copy_pipes, refuse_repeated_pipes
from nmtkit.io.lines import open_output
from nmtkit.io.temporary import temporary_folder
from nmtkit.parallel.process_pool import ProcessPool
from nmtkit.preprocessing.cross_entropy import ModelFiles
from nmtkit.preprocessing.cross_entropy import SelectSettings as SelectSettings
from nmtkit.preprocessing.cutoff import (
    SELECT_ALL,
    Cutoff,
    Records,
    count_selected,
    find_cutoff,
    record_blocks,
)
from nmtkit.preprocessing.languages import log_languages, with_checked_languages
from nmtkit.preprocessing.pair_selector import PairSelector
from nmtkit.progress_bar import ProgressBar

Bitext = tuple[str | Path, str | Path]
"""The source file and the target file; line n of one belongs to line n of the other."""

logger = logging.getLogger("nmtkit")


@dataclass(frozen=True)
class Selection:
    """The result of a selection.

    read: number of pairs of the pool.
    pairs, words: number of selected pairs, and of their words (on the source side, or on the target
        side if only it is compared).
    cutoff: position in the ranking; the pairs before it are selected.
    """

    read: int
    pairs: int
    words: int
    cutoff: Cutoff


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
    """Write the best pairs of the pool, unchanged and in its order, both files or neither.

    :param pool: bitexts; they are read more than once, so pipes and stdin are copied first.
    :param output: the source file and the target file to write.
    :param domain: text of the domain; None if `lms` are given, unless the best cutoff is searched.
    :param dev: held-out text of the domain, to find the best cutoff.
    :param lms: KenLM models of the domain and of general text, one for each side that is compared;
        by default models are trained on `domain` and on a sample of the pool.
    :param scores: file to write with the score of every pair of the pool, one per line; lower
        is better.
    :param workers: processes that share the work; the result is the same for any number.
    :param force: replace existing outputs.
    :raises ConfigError: arguments contradict each other, or a language is no code of ISO 639.
    :raises DataError: a file cannot be read, is not UTF-8, or the sides differ in length; or no
        pair is selected.
    :raises OutputError: an output exists and `force` is not given, or cannot be written.
    :raises ModuleNotFoundError: `lms` are given and the package kenlm is not installed.
    """
    settings.check()
    _check_inputs(settings, pool, domain, dev, lms)
    _check_outputs(*output, *([scores] if scores else []))
    settings = replace(settings, text=with_checked_languages(settings.text))
    if lms:
        import kenlm  # noqa: F401  (to fail before any work if it is not installed)
    with ExitStack() as stack:
        files = [stack.enter_context(open_output(path, force)) for path in output]
        scores_file = stack.enter_context(open_output(scores, force)) if scores else None
        folder = stack.enter_context(temporary_folder("nmtkit-select-"))
        processes = stack.enter_context(ProcessPool(workers))
        copies = copy_pipes([path for bitext in pool for path in bitext], folder)
        bitexts = list(zip(copies[::2], copies[1::2], strict=True))
        bar = stack.enter_context(ProgressBar("read the domain", "pairs"))
        selector = PairSelector(settings, bitexts, folder, processes, bar)
        if domain:
            selector.read_domain(domain)
        records = selector.score(ModelFiles(None, *map(tuple, lms)) if lms else selector.learn())
        cutoff = (
            selector.find_best_cutoff(records, dev) if dev else _requested_cutoff(settings, records)
        )
        selection = Selection(len(records), *count_selected(records, cutoff), cutoff)
        for lines in selector.selected_blocks(records, cutoff):
            for data, file in zip(lines.sides, files, strict=True):
                file.write(f"{data.decode()}\n")
        if scores_file:
            for _, chunk in record_blocks(records):
                scores_file.writelines(f"{score:.6f}\n" for score in chunk["score"].tolist())
        del records  # unmapped before its file goes
    log_languages(settings.text)
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
    refuse_repeated_pipes(chain(*pool, domain or (), dev or ()))
    if settings.by_perplexity != bool(dev):
        raise ConfigError(
            "the best cutoff, and nothing else, needs a dev set; give both or neither"
        )
    if not domain and (settings.by_perplexity or not lms):
        raise ConfigError("the text of the domain is missing; give --domain")
    if lms and domain and not settings.by_perplexity:
        raise ConfigError(
            "the language models replace the domain's text; leave --domain or them out"
        )
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


def _requested_cutoff(settings: SelectSettings, records: Records) -> Cutoff:
    """Return the cutoff at the requested number of pairs or words."""
    if settings.pairs:
        cutoff = find_cutoff(records, settings.pairs, "pairs")
    else:
        cutoff = find_cutoff(records, settings.words, "words")
    if cutoff == SELECT_ALL:
        logger.warning("the pool has no more than requested: all of it is selected")
    return cutoff


def _log(selection: Selection) -> None:
    share = 100 * selection.pairs / selection.read
    logger.info(
        "selected %s of %s pairs (%.2f %%), %s words%s",
        f"{selection.pairs:,}", f"{selection.read:,}", share, f"{selection.words:,}",
        "" if selection.cutoff == SELECT_ALL else f"; scores up to {selection.cutoff.score:.4f}",
    )  # fmt: skip
