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
    languages = options.source_language, options.target_language
    test = RareWords.read(options.train, options.source, options.reference, languages)
    files = dict.fromkeys(options.translations, False) | dict.fromkeys(options.tokenized, True)
    figures = {file: test.figures(file, tokenized) for file, tokenized in files.items()}
    print(f"{'':24}{'all':>8}{f'{len(test.rare)} rare':>10}{'others':>8}{'kept, rare':>14}", end="")
    print(f"{'kept, all':>12}")
    for file, found in figures.items():
        print(f"{file[-24:]:24}{found.row()}")
    return 0


class RareFigures(NamedTuple):
    """Figures of a translation.

    bleu, rare_bleu, other_bleu: of all lines, those with a rare word, and the others.
    rare_kept, kept: names and numbers that the translation has, on lines with a rare word and on
        all. rare_names, names: of how many.
    """

    bleu: float
    rare_bleu: float
    other_bleu: float
    rare_kept: int
    rare_names: int
    kept: int
    names: int

    def row(self) -> str:
        """Return a line of the table."""
        cells = f"{self.bleu:8.2f}{self.rare_bleu:10.2f}{self.other_bleu:8.2f}"
        cells += f"{f'{self.rare_kept}/{self.rare_names}':>14}"
        return cells + f"{f'{self.kept}/{self.names}':>12}"


class RareWords(NamedTuple):
    """Which lines of a test set have words that the training data lacks, and which names."""

    language: str
    """Of the reference, and of translations."""
    reference: Sequence[Sequence[str]]
    rare: frozenset[int]
    """Lines with a source word that the training data lacks."""
    names: Sequence[tuple[int, str]]
    """Line and word of each name and number of the source that the reference keeps."""

    @classmethod
    def read(
        cls, train: str, source_file: str, reference_file: str, languages: tuple[str, str]
    ) -> "RareWords":
        """Look at a test set.

        :param train: file of the source side of the training data.
        :param source_file, reference_file: files of the test set.
        :raises BenchError: their numbers of lines differ, or all lines or none have a rare word.
        """
        src, tgt = (tokenizer(language) for language in languages)
        known = {word for line in read_lines(train) for word in src.tokenize(line)}
        source = [src.tokenize(line) for line in read_lines(source_file)]
        reference = [tgt.tokenize(line) for line in read_lines(reference_file)]
        if len(source) != len(reference):
            raise BenchError(
                f"{source_file}: {len(source)} lines, but {reference_file} has {len(reference)}"
            )
        rare = frozenset(i for i, words in enumerate(source) if not known.issuperset(words))
        names = [
            (line, word)
            for line, words in enumerate(source)
            for word in words
            if any(c.isupper() or c.isdigit() for c in word) and word in reference[line]
        ]
        if len(rare) in (0, len(source)):
            raise BenchError(
                f"{source_file}: {len(rare)} of {len(source)} lines have a word that"
                f" {train} lacks; there is nothing to compare"
            )
        return cls(languages[1], reference, rare, names)

    def figures(self, file: str, tokenized: bool) -> RareFigures:
        """Return the figures of one translation.

        :param file: raw text, or the tokens of Moses's tokeniser.
        :raises BenchError: it has not a line for each reference.
        """
        words = str.split if tokenized else tokenizer(self.language).tokenize
        translation = list(map(words, read_lines(file)))
        if len(translation) != len(self.reference):
            raise BenchError(f"{file}: {len(translation)} lines, not {len(self.reference)}")
        everywhere = range(len(self.reference))
        return RareFigures(
            self._bleu(translation, everywhere),
            self._bleu(translation, sorted(self.rare)),
            self._bleu(translation, sorted(set(everywhere) - self.rare)),
            *self._kept(translation, self.rare),
            *self._kept(translation, frozenset(everywhere)),
        )

    def _bleu(self, translation: Sequence[Sequence[str]], lines: Iterable[int]) -> float:
        chosen = list(lines)
        hypotheses, references = (
            [" ".join(text[i]) for i in chosen] for text in (translation, self.reference)
        )
        return tokenized_bleu(hypotheses, references).value

    def _kept(self, translation: Sequence[Sequence[str]], lines: frozenset[int]) -> tuple[int, int]:
        names = [(line, word) for line, word in self.names if line in lines]
        return sum(word in translation[line] for line, word in names), len(names)


def tokenizer(language: str) -> Tokenizer:
    """Return Moses's tokeniser, which splits at hyphens."""
    return Tokenizer(language, hyphens=True, escape=True)


if __name__ == "__main__":
    exit_with(main)
