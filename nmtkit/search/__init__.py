"""Beam search and sampling with any model of `nmtkit.models`, or an ensemble."""

from nmtkit.search.alignments import with_alignments
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.sampling import sample, sample_batch

__all__ = [
    "Hypothesis",
    "EncodedBatch",
    "beam_search",
    "sample",
    "sample_batch",
    "search_batches",
    "with_alignments",
]
