"""Figures of a corpus as small as Multi30k."""

from nmtkit.training.plan import CorpusFigures

SMALL = CorpusFigures(29_000, 420_000, 450_000, 8_000, 8_000, 15_000)
