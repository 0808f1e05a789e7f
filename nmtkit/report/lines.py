"""Lines of a report as text and as words, in the form in which a reader sees them.

A model's words may be in another case than the text, escaped, or markers that stand for spacing
and case (`nmtkit.text.markers`). The page shows none of that: its words are pieces of the text.
"""

from collections.abc import Sequence
from dataclasses import dataclass

from nmtkit.inference.word_alignment import Alignment
from nmtkit.text.detokenizer import unescaped
from nmtkit.text.markers import HYPHEN
from nmtkit.text.pipeline import TextPipeline

NO_BREAK_SPACE = "\N{NO-BREAK SPACE}"


@dataclass(frozen=True)
class TokenizedLine:
    """A sentence as text and as words."""

    text: str
    words: list[str]


def split_text(text: str, words: Sequence[str], pipeline: TextPipeline) -> TokenizedLine:
    """Split a text at the words of a model; together its words are the text without blanks.

    :param words: those of `TextPipeline.words`.
    """
    starts = [start for start, _ in _places(text, words, pipeline)]
    bounds = [0, *starts[1:], len(text)] if starts else []
    pieces = zip(bounds, bounds[1:], strict=False)
    # a blank within a piece is beside characters that no word has; words must have none
    return TokenizedLine(text, [NO_BREAK_SPACE.join(text[a:b].split()) for a, b in pieces])


def split_line(text: str, pipeline: TextPipeline, raw: bool) -> TokenizedLine:
    """Split a text that is not a model's output at the words that alignments have.

    :param raw: the model reads raw text; then its subwords make the words, because not all scripts
        write blanks between words.
    """
    if raw:
        words, _ = pipeline.join(pipeline.tokens(text, names=()))
    else:
        words = pipeline.words(text).split()
    return split_text(text, words, pipeline)


def tokenized_line(text: str, escaped: bool) -> TokenizedLine:
    """Return a line of tokenised text, with `@-@` undone.

    :param escaped: also undo the escapes of special characters.
    """
    words = [unescaped(word) for word in text.split()] if escaped else text.split()
    return TokenizedLine(text, ["-" if word == HYPHEN else word for word in words])


def align_shown_words(
    alignment: Alignment, texts: tuple[str, str], pipelines: tuple[TextPipeline, TextPipeline]
) -> Alignment:
    """Return an alignment of the words that `split_text` shows, without markers.

    :param texts: source and translation. pipelines: of both sides.
    """
    (src, tgt), (src_text, tgt_text) = pipelines, texts
    columns = [index for _, index in _places(src_text, alignment.src_words, src)]
    rows = [index for _, index in _places(tgt_text, alignment.tgt_words, tgt)]
    if len(columns) == len(alignment.src_words) and len(rows) == len(alignment.tgt_words):
        return alignment
    end = range(len(alignment.tgt_words), len(alignment.matrix))  # `</s>`, if it is there
    matrix = alignment.matrix[[*rows, *end]][:, [*columns, len(alignment.src_words)]]
    src_words, tgt_words = alignment.src_words, alignment.tgt_words
    return Alignment([src_words[i] for i in columns], [tgt_words[i] for i in rows], matrix)


def _places(text: str, words: Sequence[str], pipeline: TextPipeline) -> list[tuple[int, int]]:
    """Return for each word that stands in a text where it begins, and the word's index."""
    offsets = pipeline.offsets(words, text)
    return [(start, index) for index, (start, end) in enumerate(offsets) if end > start]
