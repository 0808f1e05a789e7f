"""Beam search and sampling with any model of `nmtkit.models`, or an ensemble."""
