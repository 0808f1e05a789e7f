"""Sentence pairs whose names and numbers are placeholders, for models that copy them."""

import zlib
from collections.abc import Sequence
from random import Random

from nmtkit.text.names import PLACEHOLDERS, names_in_both
from nmtkit.text.pipeline import TextPipeline


def mask_pair(
    pipelines: tuple[TextPipeline, TextPipeline], src: str, tgt: str, training: bool
) -> tuple[str, str]:
    """Replace the names of a source by placeholders, and those of the target that equal them.

    In training data only names that stand in both sides are replaced, so that a model learns to
    use every placeholder that it reads. Their placeholders are drawn at random, in order, so that
    all are learned equally well; the draw depends on the source alone.

    :param src, tgt: words separated by blanks.
    """
    names = pipelines[0].names_in(src)
    if not names:
        return src, tgt
    placeholders: Sequence[str] = PLACEHOLDERS
    if training:
        names = names_in_both(src.split(" "), tgt.split(" "), names)
        draw = Random(zlib.crc32(src.encode()))
        placeholders = sorted(draw.sample(PLACEHOLDERS, len(names)))
    mask = TextPipeline.masked
    return mask(src, names, placeholders), mask(tgt, names, placeholders)


def pair_tokens(
    pipelines: tuple[TextPipeline, TextPipeline], src: str, tgt: str
) -> tuple[list[str], list[str]]:
    """Return the tokens of a raw sentence pair, the source as a translator will read it.

    :param pipelines: of source and target.
    """
    masked = mask_pair(pipelines, *_words(pipelines, src, tgt), training=False)
    src_pieces, tgt_pieces = (
        pipeline.pieces(text) for pipeline, text in zip(pipelines, masked, strict=True)
    )
    return _split(src_pieces), _split(tgt_pieces)


def translated_names(pipelines: tuple[TextPipeline, TextPipeline], src: str, tgt: str) -> list[str]:
    """Return the names of a raw source that a translator does not read, but the target lacks.

    A model cannot learn how they are translated: the placeholder also stands for other names.

    :param pipelines: of source and target.
    """
    words = _words(pipelines, src, tgt)
    written = set(words[1].split(" "))
    return [name for name in pipelines[0].names_in(words[0]) if name not in written]


def _words(pipelines: tuple[TextPipeline, TextPipeline], src: str, tgt: str) -> tuple[str, str]:
    """Return the words of a raw sentence pair, separated by blanks."""
    src, tgt = pipelines[0].readable_pair(src, tgt)
    return pipelines[0].words(src), pipelines[1].words(tgt)


def _split(pieces: str) -> list[str]:
    return pieces.split(" ") if pieces else []
