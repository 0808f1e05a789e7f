"""BLEU as the papers measured it, and sacreBLEU's BLEU, chrF and TER.

Each figure carries its signature: without it a BLEU cannot be compared with another. The papers'
BLEU counts the words of tokenised text (`multi-bleu.perl`); sacreBLEU's, chrF and TER are meant
for text as people write it, and tokenise for themselves. All are cased but TER.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

from sacrebleu.metrics.base import Metric
from sacrebleu.metrics.bleu import BLEU
from sacrebleu.metrics.chrf import CHRF
from sacrebleu.metrics.ter import TER

from nmtkit.errors import DataError

NAMES = ("the hypotheses", "the references")
NOTHING = "none"

# Perl splits undecoded bytes, at ASCII white space alone; sacreBLEU with str.split(), at every
# kind of space. The other kinds become private characters here, so that both see the same words.
KEPT_IN_WORDS = {
    code: 0xF0000 + code
    for code in range(0x10000)
    if chr(code).isspace() and chr(code) not in " \t\n\v\f\r"
}


@dataclass(frozen=True)
class Rewriting:
    """A way to tokenise or detokenise a line of text, and its name in signatures."""

    name: str
    line: Callable[[str], str]


@dataclass(frozen=True)
class Measure:
    """One figure for a whole test set, and how it was measured.

    name: what the figure is, for people.
    value: in percent; TER is better when lower, the others when higher.
    signature: every choice that enters the figure, in sacreBLEU's form.
    """

    name: str
    value: float
    signature: str


@dataclass(frozen=True)
class Bleu(Measure):
    """BLEU with its parts.

    precisions: of 1-grams to 4-grams, in percent.
    brevity_penalty: exp(1 - reference_length / hypothesis_length), at most 1.
    hypothesis_length, reference_length: in words of the tokenisation that the signature names.
    """

    precisions: tuple[float, ...]
    brevity_penalty: float
    hypothesis_length: int
    reference_length: int


def tokenized_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    names: tuple[str, str] = NAMES,
    tokenization: str = NOTHING,
) -> Bleu:
    """BLEU as the papers measured it: equal to `multi-bleu.perl` on tokenised text.

    Papineni et al. 2002, over the corpus, cased, one reference, n-grams to 4, no smoothing:
        BLEU = min(1, exp(1 - r/c)) · (p_1 p_2 p_3 p_4)^(1/4)
    0 where no 4-gram is right, and so for a corpus that has none.

    :param hypotheses: One line for each sentence, words separated by spaces, no subwords.
    :param references: Their translations by people, tokenised likewise.
    :param names: What errors call the two, for example their files.
    :param tokenization: What the signature says about the tokenisation; "none": as given.
    :return: BLEU in percent.
    :raises DataError: There are no lines, or more on one side than on the other.
    """
    metric = BLEU(tokenize="none", smooth_method="none", force=True)
    both = (
        [line.translate(KEPT_IN_WORDS) for line in hypotheses],
        [line.translate(KEPT_IN_WORDS) for line in references],
    )
    return _bleu("BLEU (multi-bleu)", metric, both, names, {"tok": tokenization})


def sacrebleu_bleu(
    hypotheses: Sequence[str],
    references: Sequence[str],
    names: tuple[str, str] = NAMES,
    detokenization: str = NOTHING,
) -> Bleu:
    """SacreBLEU's default BLEU, with the tokenisation 13a of the WMT tables (Post 2018).

    :param hypotheses: One line for each sentence, detokenised.
    :param references: Their translations by people, detokenised.
    :param names: What errors call the two, for example their files.
    :param detokenization: How they were detokenised, for the signature; "none": as given.
    :return: BLEU in percent.
    :raises DataError: There are no lines, or more on one side than on the other.
    """
    both = (hypotheses, references)
    return _bleu("BLEU (sacreBLEU)", BLEU(force=True), both, names, _detok(detokenization))


def chrf(
    hypotheses: Sequence[str],
    references: Sequence[str],
    names: tuple[str, str] = NAMES,
    detokenization: str = NOTHING,
) -> Measure:
    """F-score of character 1-grams to 6-grams, recall twice as heavy (Popović 2015).

    :param hypotheses: One line for each sentence, detokenised.
    :param references: Their translations by people, detokenised.
    :param names: What errors call the two, for example their files.
    :param detokenization: How they were detokenised, for the signature; "none": as given.
    :return: chrF in percent.
    :raises DataError: There are no lines, or more on one side than on the other.
    """
    score, signature = _score(CHRF(), (hypotheses, references), names, _detok(detokenization))
    return Measure("chrF", score.score, signature)


def ter(
    hypotheses: Sequence[str],
    references: Sequence[str],
    names: tuple[str, str] = NAMES,
    detokenization: str = NOTHING,
) -> Measure:
    """Edits, moves of phrases among them, for each word of the reference (Snover et al. 2006).

    :param hypotheses: One line for each sentence, detokenised.
    :param references: Their translations by people, detokenised.
    :param names: What errors call the two, for example their files.
    :param detokenization: How they were detokenised, for the signature; "none": as given.
    :return: TER in percent, lower is better; above 100 where the hypotheses are much too long.
    :raises DataError: There are no lines, or more on one side than on the other.
    """
    score, signature = _score(TER(), (hypotheses, references), names, _detok(detokenization))
    return Measure("TER", score.score, signature)


def evaluate(
    hypotheses: Sequence[str],
    references: Sequence[str],
    names: tuple[str, str] = NAMES,
    tokenize: Rewriting | None = None,
    detokenize: Rewriting | None = None,
) -> tuple[Measure, ...]:
    """All measures of one test set, each on the text that it needs.

    :param hypotheses: One line for each sentence.
    :param references: Their translations by people.
    :param names: What errors call the two, for example their files.
    :param tokenize: For raw text: makes the tokenised text of the papers' BLEU.
    :param detokenize: For tokenised text: makes the raw text of the other measures.
    :return: The papers' BLEU, sacreBLEU's, chrF and TER.
    :raises DataError: There are no lines, or more on one side than on the other.
    """
    split, tokenization = rewrite(hypotheses, references, tokenize)
    raw, detokenization = rewrite(hypotheses, references, detokenize)
    return (
        tokenized_bleu(*split, names, tokenization),
        sacrebleu_bleu(*raw, names, detokenization),
        chrf(*raw, names, detokenization),
        ter(*raw, names, detokenization),
    )


def rewrite(
    hypotheses: Sequence[str], references: Sequence[str], rewriting: Rewriting | None
) -> tuple[tuple[Sequence[str], Sequence[str]], str]:
    """Both sides rewritten, and what that is called; as they are where there is no rewriting."""
    if rewriting is None:
        return (hypotheses, references), NOTHING
    both = [rewriting.line(h) for h in hypotheses], [rewriting.line(r) for r in references]
    return both, rewriting.name


def _bleu(
    name: str,
    metric: BLEU,
    both: tuple[Sequence[str], Sequence[str]],
    names: tuple[str, str],
    added: dict[str, str],
) -> Bleu:
    score, signature = _score(metric, both, names, added)
    return Bleu(
        name=name,
        value=min(score.score, 100.0),  # not 100.00000000000004
        signature=signature,
        precisions=tuple(score.precisions),
        brevity_penalty=score.bp,
        hypothesis_length=score.sys_len,
        reference_length=score.ref_len,
    )


def _detok(detokenization: str) -> dict[str, str]:
    """What sacreBLEU's signature lacks when the text was detokenised here."""
    return {} if detokenization == NOTHING else {"detok": detokenization}


def _score(
    metric: Metric,
    both: tuple[Sequence[str], Sequence[str]],
    names: tuple[str, str],
    added: dict[str, str],
) -> tuple[Any, str]:
    """SacreBLEU's own result and its signature, to which `added` is added."""
    hypotheses, references = both
    check_lines(hypotheses, references, names)
    score = metric.corpus_score(hypotheses, [references])
    return score, _signature(metric, added)


def check_lines(
    hypotheses: Sequence[str], references: Sequence[str], names: tuple[str, str] = NAMES
) -> None:
    """See that there is one hypothesis for each reference, and one at all.

    :raises DataError: there are no lines, or more on one side than on the other.
    """
    if len(hypotheses) != len(references):
        raise DataError(
            f"{len(hypotheses)} lines in {names[0]} but {len(references)} in {names[1]}; give one "
            "hypothesis for each reference, in the same order"
        )
    if not hypotheses:
        raise DataError(f"no lines in {names[0]} and {names[1]}; give at least one")


def signed(metric: Metric, detokenization: str) -> str:
    """The signature of a metric of sacreBLEU that has seen its references."""
    return _signature(metric, _detok(detokenization))


def _signature(metric: Metric, added: dict[str, str]) -> str:
    signature = metric.get_signature()
    for key, value in added.items():
        signature.update(key, value)
    return str(signature)
