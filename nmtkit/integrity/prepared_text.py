"""Facts about a prepared text, and the shortlist as a function of it."""

from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from nmtkit.integrity.findings import Finding, Progress, error, warning
from nmtkit.io.inputs import VerbatimFile
from nmtkit.io.lines import BLOCK_LINES, read_text_blocks
from nmtkit.special_symbols import SPECIAL_WORDS
from nmtkit.text.subword.sentence_piece import REQUIRED_PIECES
from nmtkit.text.vocabulary import Vocabulary

_WITHOUT_COUNT = {*SPECIAL_WORDS, *REQUIRED_PIECES}
"""Words that a shortlist has even if the text does not; it has the tags of corpora, too."""


@dataclass(frozen=True)
class TextFacts:
    """Size of a text, and how often the words of a vocabulary occur in it.

    tokens: number of tokens, as the manifest has it. words: as a shortlist counts them.
    counts: count of each word of the vocabulary, without the special ones.
    """

    lines: int
    tokens: int
    words: int
    counts: Counter[str]


def read_text(path: Path, vocabulary: frozenset[str], progress: Progress) -> TextFacts:
    """Read a text once, as a stream.

    :param vocabulary: words to count; memory grows with them alone.
    :raises DataError: the text cannot be read, or is not UTF-8.
    """
    lines, tokens, words = 0, 0, 0
    counts: Counter[str] = Counter()
    wanted = vocabulary.difference(SPECIAL_WORDS)
    for text in read_text_blocks(VerbatimFile(path), BLOCK_LINES):
        rows = text.split("\n")[:-1]
        lines += len(rows)
        tokens += text.count(" ") + len(rows) - rows.count("")
        if wanted:
            block = Counter(text.split())
            words += block.total()
            counts.update({word: count for word, count in block.items() if word in wanted})
        progress(len(rows))
    return TextFacts(lines, tokens, words, counts)


def compare_counts(
    path: Path,
    vocabulary: Vocabulary,
    text_name: str,
    text: TextFacts,
    tags: Sequence[str],
    remedy: str,
) -> Iterator[Finding]:
    """Compare a shortlist with the text that it is the shortlist of.

    If most counts agree, it is the shortlist of this text, and damaged; else it may be that of
    another text. A plain list of words has no counts to compare.

    :param path: file of the shortlist. text_name: name of the text in messages.
    :param tags: words of the shortlist that the text may lack.
    """
    if not any(vocabulary.counts):
        return
    known = text.counts.total()
    expected = [text.lines, text.words - known, *(text.counts[w] for w in vocabulary.words[2:])]
    rows = zip(vocabulary.words, vocabulary.counts, expected, strict=True)
    uncounted = _WITHOUT_COUNT.union(tags)
    wrong = [
        (number, word, count, correct)
        for number, (word, count, correct) in enumerate(rows, start=1)
        if count != correct or (not correct and word not in uncounted)
    ]
    if not wrong:
        return
    line, word, count, correct = wrong[0]
    if 2 * len(wrong) <= len(expected):
        problem = f"'{word}' has count {count}, but occurs {correct} times in {text_name}"
        more = f"; {len(wrong) - 1} more counts are wrong" if len(wrong) > 1 else ""
        yield error(path, f"{problem}{more}", remedy, line)
    else:
        problem = f"not the shortlist of {text_name}: {len(wrong)} counts differ"
        yield warning(path, problem, f"if this is not intended, {remedy}")
