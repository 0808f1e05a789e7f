"""Looking for translations: beam search and sampling over any model of `nmtkit.models`."""

from nmtkit.search.beam import beam_search, search_encoded
from nmtkit.search.hypothesis import Hypothesis

__all__ = ["Hypothesis", "beam_search", "search_encoded"]
