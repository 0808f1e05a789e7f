"""Shortlists of a prepared folder or of a tokenised corpus: their files, and their coverage."""

import logging
from collections.abc import Sequence
from contextlib import ExitStack
from pathlib import Path

from nmtkit.data.manifest import read_manifest, text_config
from nmtkit.errors import DataError, OutputError
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import open_output
from nmtkit.preprocessing.splits import SIDES
from nmtkit.text.subword import required_pieces
from nmtkit.text.vocabulary import Shortlist, shortlist_of

logger = logging.getLogger("nmtkit")


def write_shortlist(
    corpus: str | Path, size: int, output: str | Path, force: bool = False
) -> Shortlist:
    """Write the shortlist of a tokenised corpus, and log its coverage of the corpus.

    :param size: vocabulary size, `</s>` and `<unk>` counted.
    :raises DataError: the corpus cannot be read, or the size is below 3.
    :raises OutputError: the file exists and `force` is not given, or cannot be written.
    """
    with open_output(output, force=force) as stream:
        result = shortlist_of(corpus, size)
        result.vocabulary.write(stream)
    _log_coverage(corpus, result)
    return result


def write_shortlists(
    folder: str | Path, src_size: int, tgt_size: int, force: bool = False
) -> tuple[Shortlist, Shortlist]:
    """Write `vocab.src` and `vocab.tgt` of a prepared folder, both or neither; log the coverage.

    The tags of source lines are always in it.

    :param src_size, tgt_size: vocabulary sizes, `</s>` and `<unk>` counted.
    :raises DataError: the folder is not a prepared one, or a size is below 3.
    :raises OutputError: a file exists and `force` is not given, or cannot be written.
    """
    tags = text_config(read_manifest(folder), folder).tags
    paths = [Path(folder) / f"train.{side}" for side in SIDES]
    outputs = [Path(folder) / f"vocab.{side}" for side in SIDES]
    _check_regular(paths, outputs)
    with ExitStack() as stack:
        streams = [stack.enter_context(open_output(path, force=force)) for path in outputs]
        src, tgt = (
            shortlist_of(VerbatimFile(path), size, [*required_pieces(folder, side), *always])
            for path, size, side, always in zip(
                paths, (src_size, tgt_size), SIDES, (tags, ()), strict=True
            )
        )
        for result, stream in zip((src, tgt), streams, strict=True):
            result.vocabulary.write(stream)
    for result, path in zip((src, tgt), paths, strict=True):
        _log_coverage(path, result)
    return src, tgt


def _check_regular(inputs: Sequence[Path], outputs: Sequence[Path]) -> None:
    """Check that files of a prepared folder can be read and written.

    :raises DataError: an input is missing, or is a FIFO, a device or a folder.
    :raises OutputError: an output would be written through a link or into a FIFO.
    """
    for path in inputs:
        if not path.is_file():
            raise DataError(
                f"{path}: cannot be read: missing, or not a regular file; prepare the folder again"
            )
    for path in outputs:
        if path.is_symlink() or (path.exists() and not path.is_file()):
            raise OutputError(f"{path}: not a regular file; remove it")


def _log_coverage(corpus: str | Path, result: Shortlist) -> None:
    logger.info(
        "%s: %s words cover %.2f %% of %s tokens, %.2f %% of %s types",
        corpus,
        f"{len(result.vocabulary):,}",
        100 * result.token_coverage,
        f"{result.tokens:,}",
        100 * result.type_coverage,
        f"{result.types:,}",
    )
