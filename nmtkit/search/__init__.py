"""Looking for translations: beam search and sampling over any model of `nmtkit.models`."""

from nmtkit.search.alignments import with_alignments
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.sampling import sample, sample_read

__all__ = [
    "Hypothesis",
    "EncodedBatch",
    "beam_search",
    "sample",
    "sample_read",
    "search_batches",
    "with_alignments",
]
