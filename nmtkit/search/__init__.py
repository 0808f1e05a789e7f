"""Looking for translations: beam search and sampling over any model of `nmtkit.models`."""

from nmtkit.search.beam import beam_search, search_encoded
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.sampling import sample, sample_encoded

__all__ = ["Hypothesis", "beam_search", "sample", "sample_encoded", "search_encoded"]
