"""Translations with given links."""

import numpy as np

from nmtkit.text.markup_placement import Aligned
from nmtkit.text.word_offsets import word_offsets


def aligned(source: str, target: str, links: str = "") -> Aligned:
    """Return a translation with links such as "0-0 1-2"."""
    src, tgt = source.split(), target.split()
    weights = np.zeros((len(tgt), len(src)), np.float32)
    for link in links.split():
        left, right = link.split("-")
        weights[int(right), int(left)] = 1
    return Aligned(target, word_offsets(src, source), word_offsets(tgt, target), weights)
