"""The pairs of a training corpus, or of a dev or test set, in any form."""

from collections.abc import Iterable, Iterator

from nmtkit.io.bitext import PairBlock, read_bitext
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
        return read_bitext(corpus.files, languages, size)
    any_bytes = settings.invalid == "drop"
    return _numbered(read_phrase_blocks(size, corpus.files[0], any_bytes), str(corpus.files[0]))


def _numbered(blocks: Iterable[tuple[list[bytes], ...]], name: str) -> Iterator[PairBlock]:
    """Yield the pairs of a phrase table with their numbers."""
    first = 1
    for src, tgt in blocks:
        yield PairBlock(src, tgt, (name, name), range(first, first + len(src)))
        first += len(src)
