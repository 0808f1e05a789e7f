"""How the figures of an output are computed, by the kind of the output.

- `evaluate OUTPUT REFERENCE ...`: translations have the figures of `nmtkit evaluate`.
- `aer LINKS GOLD`: links of words have an alignment error rate.
- `score SCORES [REFERENCE]`: the output of `nmtkit score` has a mean cost of a sentence and, with
  the tokenised reference, a perplexity of its tokens, `</s>` counted.
- `by-length OUTPUT REFERENCE SOURCE FIRST-LAST ...`: tokenised translations have BLEU by words of
  the source.
- `equal OUTPUT REFERENCE`: as many lines as come out as they are there, as corrections should.
- `markup OUTPUT SOURCE REFERENCE LANGUAGE`: lines with markup have the shares of bench/markup.py,
  and sacreBLEU and chrF of their text.
- `rare-words OUTPUT REFERENCE SOURCE TRAIN SRC-TGT [tokens]`: translations have the figures of
  bench/rare_words.py; `tokens`: they are Moses's tokens.
"""

import hashlib
import json
import math
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

from corpora import CorpusError

sys.path.insert(0, str(Path(__file__).resolve().parent / "papers"))
sys.path.append(str(Path(__file__).resolve().parents[1] / "bench"))
from measures import bleu_within, mean_cost, perplexity_of
from timing import BenchError

from nmtkit.evaluation.aer import MOSES_LINK, alignment_error_rate, read_gold_links
from nmtkit.io.lines import read_data, read_lines, read_parallel

OPTIONS = frozenset(
    "-t --tgt-language -s --src-language --tokenized --tokenize --measure --reference --source"
    " --length --no-unk --src-vocab --tgt-vocab --json".split()
)
"""Options of `nmtkit evaluate` that a computation may have: none of them writes a file."""

AER, NLL, PERPLEXITY, EQUAL = "AER", "NLL", "perplexity", "equal lines"

Figures = dict[str, dict[str, Any]]
"""Value and signature by the name of a measure."""


@dataclass(frozen=True)
class Computation:
    """How figures are computed: words of a command, files among them.

    words: the program and its arguments; a file is {"file": name, "sha256": checksum}, the kept
        output {"output": name}.
    paths: the files here, by their position in `words`.
    """

    words: list[Any]
    paths: dict[int, Path]

    @classmethod
    def parse(cls, words: Sequence[str], root: Path) -> "Computation":
        """Read a command; words that are files become references to them.

        :param root: folder left out of the names of files.
        :raises CorpusError: there is no such computation, or its output is no file.
        """
        if not words or words[0] not in KINDS:
            usages = ", ".join(f"{name} {kind.usage}" for name, kind in KINDS.items())
            raise CorpusError(f"after -- expected one of: {usages}")
        kind = KINDS[words[0]]
        if not kind.fewest < len(words) <= kind.most + 1 or not Path(words[1]).is_file():
            raise CorpusError(f"{' '.join(words)}: expected files as in: {words[0]} {kind.usage}")
        paths = {at: Path(word) for at, word in enumerate(words) if at and Path(word).is_file()}
        named: list[Any] = list(words)
        for at, path in paths.items():
            file = {"file": name_in(root, path), "sha256": content_sha256(path)}
            named[at] = {"output": file["file"]} if at == 1 else file
        return cls(named, paths)

    @property
    def output(self) -> Path:
        """Return the file that is kept."""
        return self.paths[1]

    def run(self) -> Figures:
        """Compute the figures.

        :raises CorpusError: an option is not among `OPTIONS`, or the computation fails.
        """
        for word in self.words:
            if isinstance(word, str) and word.startswith("-") and word not in OPTIONS:
                raise CorpusError(f"{word}: a computation cannot have this option")
        words = [str(self.paths.get(at, word)) for at, word in enumerate(self.words)]
        try:
            return KINDS[words[0]].compute(*words[1:])
        except BenchError as error:
            raise CorpusError(f"{words[1]}: {error}") from error


def evaluation(*arguments: str) -> Figures:
    """Return the figures of `nmtkit evaluate`.

    :raises CorpusError: It fails; has its message.
    """
    words = [word for word in arguments if word != "--json"]
    command = [sys.executable, "-m", "nmtkit", "evaluate", *words, "--json"]
    done = subprocess.run(command, capture_output=True, text=True, check=False)
    if done.returncode:
        raise CorpusError(done.stderr.strip().split("\n")[-1] or "nmtkit evaluate failed")
    return figures_of(json.loads(done.stdout))


def figures_of(result: Mapping[str, Any]) -> Figures:
    """Return the figures in the JSON of `nmtkit evaluate`; none if no sentence was measured."""
    return {
        measure["name"]: {"value": measure["value"], "signature": measure["signature"]}
        for measure in result["systems"][0]["measures"]
    }


def error_rate(links: str, gold: str) -> Figures:
    """Return the alignment error rate of links, as `nmtkit align --gold` does."""
    found = [
        {(int(link[1]), int(link[3])) for link in map(MOSES_LINK.fullmatch, line.split()) if link}
        for line in read_lines(links)
    ]
    rate = alignment_error_rate(found, read_gold_links(read_lines(gold), gold, len(found)))
    return {AER: {"value": rate.value, "signature": "Och and Ney 2003"}}


def costs(scores: str, reference: str = "") -> Figures:
    """Return the mean cost of a sentence, and with a tokenised reference the perplexity.

    :raises CorpusError: a line is not a number, the file is empty, or the reference has another
        number of lines.
    """
    lines = list(read_lines(scores))
    try:
        figures = {NLL: {"value": mean_cost(lines), "signature": "natural logarithm"}}
        if reference:
            value = perplexity_of(lines, list(read_lines(reference)))
            figures[PERPLEXITY] = {"value": value, "signature": "tokens of the reference and </s>"}
    except (ValueError, ZeroDivisionError) as error:
        raise CorpusError(f"{scores}: {error}") from error
    return figures


def bleu_by_length(output: str, reference: str, source: str, *ranges: str) -> Figures:
    """Return BLEU of the sentences within each range of source words.

    :raises CorpusError: no sentence is within one, or numbers of lines differ.
    """
    hypotheses, references, sources = (
        list(read_lines(file)) for file in (output, reference, source)
    )
    figures: Figures = {}
    for words in ranges:
        try:
            first, last = map(int, words.split("-"))
            value = bleu_within((hypotheses, references, sources), first, last)
        except ValueError as error:
            raise CorpusError(f"{output}: {words} words of the source: {error}") from error
        figures[f"BLEU, {words} words"] = {"value": value, "signature": "multi-bleu"}
    return figures


def equal_lines(output: str, reference: str) -> Figures:
    """Return how many lines are those of the reference, but for blanks at their ends.

    :raises DataError: their numbers differ.
    """
    equal = [line.strip() == right.strip() for line, right in read_parallel(output, reference)]
    return {EQUAL: {"value": sum(equal), "signature": f"of {len(equal)} lines"}}


def markup_shares(output: str, source: str, reference: str, language: str) -> Figures:
    """Return the shares, in percent, that bench/markup.py measures, and those of the text alone.

    :raises BenchError: no element has contents, or numbers of lines differ.
    """
    from markup import MarkupShares, text_scores
    from scoring import bleu_tokenizer

    pairs = [(src, tgt) for src, tgt in read_parallel(source, reference)]
    outputs = list(read_lines(output))
    shares = MarkupShares.of(outputs, pairs)
    chrf, bleu = text_scores(outputs, pairs, language)
    signature = f"of {shares.elements} elements with contents"
    return {
        "lines with all markup": {"value": shares.lines, "signature": f"of {len(pairs)} lines"},
        "elements with the reference's words": {"value": shares.words, "signature": signature},
        "BLEU of the text": {"value": bleu, "signature": f"sacreBLEU, {bleu_tokenizer(language)}"},
        "chrF of the text": {"value": chrf, "signature": "sacreBLEU"},
    }


def rare_words(
    output: str, reference: str, source: str, train: str, pair: str, form: str = ""
) -> Figures:
    """Return the figures that bench/rare_words.py measures.

    :raises BenchError: no line has a rare word, or numbers of lines differ.
    """
    from rare_words import RareWords

    src, _, tgt = pair.partition("-")
    test = RareWords.read(train, source, reference, (src, tgt))
    found = test.figures(output, form == "tokens")
    lines, rare = len(test.reference), len(test.rare)
    return {
        "BLEU, all": {"value": found.bleu, "signature": f"of {lines} lines"},
        "BLEU, rare": {"value": found.rare_bleu, "signature": f"of {rare} lines"},
        "BLEU, others": {"value": found.other_bleu, "signature": f"of {lines - rare} lines"},
        "names kept, rare": {"value": found.rare_kept, "signature": f"of {found.rare_names}"},
        "names kept, all": {"value": found.kept, "signature": f"of {found.names}"},
    }


class Kind(NamedTuple):
    """A computation, and how many words it has, and which; the first is the output."""

    compute: Callable[..., Figures]
    fewest: int
    most: float
    usage: str


KINDS = {
    "evaluate": Kind(evaluation, 2, math.inf, "OUTPUT REFERENCE ..."),
    "aer": Kind(error_rate, 2, 2, "LINKS GOLD"),
    "score": Kind(costs, 1, 2, "SCORES [REFERENCE]"),
    "by-length": Kind(bleu_by_length, 4, math.inf, "OUTPUT REFERENCE SOURCE FIRST-LAST ..."),
    "equal": Kind(equal_lines, 2, 2, "OUTPUT REFERENCE"),
    "markup": Kind(markup_shares, 4, 4, "OUTPUT SOURCE REFERENCE LANGUAGE"),
    "rare-words": Kind(rare_words, 5, 6, "OUTPUT REFERENCE SOURCE TRAIN SRC-TGT [tokens]"),
}


def name_in(root: Path, path: Path) -> str:
    """Return the path inside a folder, or the name of a file elsewhere."""
    path, root = path.resolve(), root.resolve()
    return str(path.relative_to(root)) if path.is_relative_to(root) else path.name


def content_sha256(path: Path) -> str:
    """Return the checksum of a file's content, without its compression."""
    return hashlib.sha256(read_data(path)).hexdigest()
