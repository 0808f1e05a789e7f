"""Measure translations of sentences with words that the training data lacks.

    python bench/rare_words.py -s en -t fr --train train.en --source test.en --reference test.fr \\
        nmtkit.fr --tokenized moses.fr

Prints a row for each translation: BLEU of all lines, of those with a source word that the training
data lacks, and of the others (words of Moses's tokeniser, with hyphens split, so that the output of
Moses is comparable); then how many names and numbers of the source that the reference keeps are in
the translation, on the lines with such a word and on all: words with a capital or a digit that the
reference has, too.
"""

import argparse
from collections.abc import Iterable, Sequence
from typing import NamedTuple

from timing import BenchError, exit_with

from nmtkit.evaluation.metrics import tokenized_bleu
from nmtkit.io.lines import read_lines
from nmtkit.text.tokenizer import Tokenizer


def main(arguments: Sequence[str] | None = None) -> int:
    """Measure every translation given."""
    parser = argparse.ArgumentParser(description=__doc__.split("\n")[0])
    parser.add_argument("translations", nargs="*", metavar="FILE", help="raw translations")
    parser.add_argument("--tokenized", action="append", default=[], metavar="FILE")
    for name in ("train", "source", "reference"):
        parser.add_argument(f"--{name}", required=True, metavar="FILE")
    parser.add_argument("-s", "--source-language", required=True)
    parser.add_argument("-t", "--target-language", required=True)
    options = parser.parse_args(arguments)
    if not options.translations + options.tokenized:
        parser.error("name a file of translations")
    src = Tokenizer(options.source_language, hyphens=True, escape=True)
    tgt = Tokenizer(options.target_language, hyphens=True, escape=True)
    known = {word for line in read_lines(options.train) for word in src.tokenize(line)}
    source = [src.tokenize(line) for line in read_lines(options.source)]
    reference = [tgt.tokenize(line) for line in read_lines(options.reference)]
    if len(source) != len(reference):
        raise BenchError(
            f"{options.source}: {len(source)} lines, but {options.reference} has {len(reference)}"
        )
    test = RareWords.of(known, source, reference)
    if len(test.rare) in (0, len(source)):
        raise BenchError(
            f"{options.source}: {len(test.rare)} of {len(source)} lines have a word that"
            f" {options.train} lacks; there is nothing to compare"
        )
    texts = {file: list(map(tgt.tokenize, read_lines(file))) for file in options.translations}
    texts |= {file: list(map(str.split, read_lines(file))) for file in options.tokenized}
    for file, text in texts.items():
        if len(text) != len(source):
            raise BenchError(f"{file}: {len(text)} lines, not {len(source)}")
    print(f"{'':24}{'all':>8}{f'{len(test.rare)} rare':>10}{'others':>8}{'kept, rare':>14}", end="")
    print(f"{'kept, all':>12}")
    for file, text in texts.items():
        print(f"{file[-24:]:24}{test.row(text)}")
    return 0


class RareWords(NamedTuple):
    """Which lines of a test set have words that the training data lacks, and which names."""

    reference: Sequence[Sequence[str]]
    rare: frozenset[int]
    """Lines with a source word that the training data lacks."""
    names: Sequence[tuple[int, str]]
    """Line and word of each name and number of the source that the reference keeps."""

    @classmethod
    def of(
        cls,
        known: set[str],
        source: Sequence[Sequence[str]],
        reference: Sequence[Sequence[str]],
    ) -> "RareWords":
        """Look at a test set.

        :param known: the source words of the training data.
        :param source, reference: the words of each line.
        """
        rare = frozenset(i for i, words in enumerate(source) if not known.issuperset(words))
        names = [
            (line, word)
            for line, words in enumerate(source)
            for word in words
            if any(c.isupper() or c.isdigit() for c in word) and word in reference[line]
        ]
        return cls(reference, rare, names)

    def row(self, translation: Sequence[Sequence[str]]) -> str:
        """Return the figures of one translation.

        :param translation: the words of each line.
        """
        everywhere = range(len(self.reference))
        cells = [f"{self._bleu(translation, everywhere):8.2f}"]
        cells.append(f"{self._bleu(translation, sorted(self.rare)):10.2f}")
        cells.append(f"{self._bleu(translation, set(everywhere) - self.rare):8.2f}")
        cells.append(f"{self._kept(translation, self.rare):>14}")
        return "".join([*cells, f"{self._kept(translation, frozenset(everywhere)):>12}"])

    def _bleu(self, translation: Sequence[Sequence[str]], lines: Iterable[int]) -> float:
        chosen = list(lines)
        hypotheses, references = (
            [" ".join(text[i]) for i in chosen] for text in (translation, self.reference)
        )
        return tokenized_bleu(hypotheses, references).value

    def _kept(self, translation: Sequence[Sequence[str]], lines: frozenset[int]) -> str:
        names = [(line, word) for line, word in self.names if line in lines]
        return f"{sum(word in translation[line] for line, word in names)}/{len(names)}"


if __name__ == "__main__":
    exit_with(main)
