"""The pairs of a training corpus, or of a dev or test set, in any form."""

from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from dataclasses import replace

from nmtkit.io.bitext import PairBlock, line_blocks, read_bitext
from nmtkit.io.inputs import HashedFile, Source, copy_pipes, is_pipe
from nmtkit.io.temporary import temporary_folder
from nmtkit.preprocessing.corpora import TrainingCorpus
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.smt.phrase_table import read_phrase_blocks


def read_corpus(
    corpus: TrainingCorpus, settings: PrepareSettings, size: int
) -> Iterator[PairBlock]:
    """Yield the pairs of a corpus, `size` at a time.

    :raises DataError: a file cannot be read, or is no bitext.
    """
    if not corpus.is_phrase_table:
        languages = (settings.text.src_language, settings.text.tgt_language)
        return read_bitext(corpus.files, languages, size, corpus.columns)
    path = corpus.files[0]
    blocks = read_phrase_blocks(size, path, any_bytes=settings.invalid == "drop")
    return line_blocks((str(path), str(path)), blocks)


Splits = dict[str, Sequence[TrainingCorpus]]
"""The training corpora, under "train", and dev and test sets by their names."""


def readable_again(splits: Splits, stack: ExitStack) -> Splits:
    """Copy all pipes if a dev or test set is one, because those sets are read twice.

    All are copied at the same time, since one process may write them in turn.

    :param stack: removes the copies.
    :raises DataError: a pipe cannot be read or copied.
    """
    others = [split for name, split in splits.items() if name != "train"]
    if not any(is_pipe(file) for split in others for corpus in split for file in corpus.files):
        return splits
    folder = stack.enter_context(temporary_folder("nmtkit-prepare-"))
    files = [str(file) for split in splits.values() for corpus in split for file in corpus.files]
    copies = iter(copy_pipes(files, folder))
    return {
        name: [replace(c, files=tuple(next(copies) for _ in c.files)) for c in split]
        for name, split in splits.items()
    }


class Inputs:
    """The files that a prepared folder is made from, with the checksum of every byte read.

    :param stack: closes the files.
    """

    def __init__(self, stack: ExitStack) -> None:
        self._stack = stack
        self._files: list[HashedFile] = []

    def open(self, paths: Iterable[Source]) -> tuple[HashedFile, ...]:
        """Return files to read once."""
        files = tuple(self._stack.enter_context(HashedFile(path)) for path in paths)
        self._files += files
        return files

    def checksums(self) -> dict[str, str]:
        """Return the SHA-256 of every file, by its path."""
        return {str(file): file.sha256() for file in self._files}
