"""`nmtkit translate`: lines in, their translations out, one for one."""

import contextlib
import json
from collections.abc import Callable
from typing import TYPE_CHECKING, Any, TextIO

import click

from nmtkit.cli.common import (
    batch_size_option,
    configure_threads,
    device_option,
    force_option,
    importing,
    mixture_options,
    threads_option,
    warn,
)
from nmtkit.cli.segment_options import (
    Decode,
    Segmenting,
    segment_options,
    segmenting_decoder,
)

if TYPE_CHECKING:
    from nmtkit.aligner import Alignment
    from nmtkit.translator import Translation, Translator

Format = Callable[[int, "list[Translation]"], list[str]]
"""The number of a line, from 0, and its translations in; lines of output out."""


@click.command()
@click.argument("source", metavar="[INPUT]", default="-")
@click.option(
    "-m",
    "--model",
    "models",
    multiple=True,
    required=True,
    metavar="DIR",
    help="A model folder; given several times, the models translate together as an ensemble.",
)
@mixture_options
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where the translations are written."
)
@click.option(
    "-b",
    "--beam",
    type=click.IntRange(min=1),
    metavar="K",
    help="Hypotheses kept of each sentence.  [default: the model's]",
)
@click.option(
    "--rule",
    type=click.Choice(["shrinking", "bounded"]),
    help="What a finished hypothesis does to the beam: it takes its place with it, or leaves it"
    " to another.  [default: the model's]",
)
@click.option(
    "--length-penalty",
    type=click.FloatRange(min=0),
    metavar="A",
    help="The best translation is that of the highest score / length^A; 0 counts the score"
    " alone.  [default: the model's]",
)
@click.option(
    "--penalty",
    type=click.Choice(["power", "wu"]),
    help="What A is the power of: the length, or (5 + length) / 6 (Wu et al. 2016).  [default: the"
    " model's]",
)
@click.option(
    "--coverage-penalty",
    type=click.FloatRange(min=0),
    metavar="B",
    help="Of the translations that search has found, prefer one that leaves no source word out: B"
    " times the logarithms of what each was looked at, at most once, are added (Wu et al. 2016). "
    " [default: the model's]",
)
@click.option(
    "--min-length-ratio",
    type=click.FloatRange(min=0),
    metavar="R",
    help="No translation is shorter than R times the source length.  [default: the model's]",
)
@click.option(
    "--max-length-ratio",
    type=click.FloatRange(min=0, min_open=True),
    metavar="R",
    help="Search ends after R times the source length, but grants 10 tokens at least."
    "  [default: the model's]",
)
@click.option("--no-unk", is_flag=True, help="Never choose the unknown word.")
@click.option(
    "--n-best",
    type=click.IntRange(min=1),
    metavar="N",
    help="Write the N best translations of each line, in Moses's n-best format; fewer where"
    " search finds fewer. The beam must hold as many.",
)
@click.option(
    "--sample",
    type=click.IntRange(min=1),
    metavar="N",
    help="Draw N translations of each line at random from the model, instead of searching; more"
    " than one are written in the n-best format, in the order drawn.",
)
@click.option(
    "--counts",
    is_flag=True,
    help="With --sample: write each different translation once, the most frequent first, with the"
    " number of times that it was drawn.",
)
@click.option(
    "--seed",
    type=int,
    default=1,
    metavar="S",
    help="Decides what --sample draws, and random segments.",
)
@click.option(
    "--scores",
    is_flag=True,
    help="Write 'score<TAB>translation', and '<TAB>unfinished' behind a translation that met the"
    " longest length.",
)
@click.option("--alignments", metavar="FILE", help="Write the alignment of each translation.")
@click.option(
    "--alignment-format",
    type=click.Choice(["hard", "soft"]),
    default="hard",
    help="For --alignments: links 'i-j', or the whole matrix as JSON.",
)
@click.option(
    "--quantize",
    is_flag=True,
    help="Multiply with matrices of 8 bits: faster on a CPU, and nearly the same translations.",
)
@click.option(
    "--candidates",
    metavar="FILE",
    help="Make each translation of likely words alone, which is faster: those of this lexical"
    " table ('nmtkit align --lexicon' writes one, Moses's lex.f2e is another) and the most"
    " frequent ones.",
)
@click.option(
    "--replace-unk",
    metavar="copy|TABLE",
    help="Write in the place of each unknown word the source word that it owes most to ('copy'), or"
    " the likeliest translation of that word in a lexical table, if it has one.",
)
@segment_options
@click.option("--tokenized", is_flag=True, help="The input is tokenised, and the output shall be.")
@batch_size_option
@device_option
@threads_option
@force_option
def command(
    source: str,
    models: tuple[str, ...],
    weights: list[float],
    average: str,
    output: str,
    n_best: int | None,
    sample: int | None,
    counts: bool,
    seed: int,
    scores: bool,
    alignments: str | None,
    alignment_format: str,
    quantize: bool,
    candidates: str | None,
    replace_unk: str | None,
    segmenting: Segmenting,
    tokenized: bool,
    batch_size: int,
    device: str,
    threads: int,
    force: bool,
    **search: Any,
) -> None:
    """Translate the lines of INPUT, stdin by default.

    There is one line of output for each line of input, in the same order; an empty line has an
    empty translation. A line that arrives alone is translated at once, lines that arrive fast are
    translated many at a time. What is not UTF-8 is read as U+FFFD, with a warning.

    A score is the natural logarithm of the probability of the tokens chosen, of the end of the
    sentence, too, and so 0 or less; 'nmtkit score' gives the translation the same score. With
    --quantize that is so but for the rounding to 8 bits, and with --candidates probabilities are
    those among the candidates of a line, so that scores are a little higher. The n-best format
    has a line

    \b
      NUMBER ||| TRANSLATION ||| nmtkit0= SCORE ||| SCORE / LENGTH^A

    for each translation, NUMBER counting the lines of input from 0; --counts puts 'count= C' behind
    SCORE, and a coverage penalty is in the last field, too. Alignments are between words counted
    from 0, those of the input after tokenising and those of the translation before detokenising; a
    line of them belongs to each translation written. The soft form is a JSON object with the words,
    and for each target word the weights of the source words; both sides end with </s>.

    With --segment all spans of a line, up to --max-segment words, are translated, and scored by the
    --reverse-model: a line of 20 words takes some 200 times as long as without. The score is the
    sum over the segments, each of which has an end of its own. --segments writes for each line a
    JSON list of objects with 'source' and 'target', both tokenised, 'score' and 'confidence'.

    \b
    Examples:
      echo 'A man is reading.' | nmtkit translate --model model
      nmtkit translate -m model1 -m model2 test.en --beam 5 --output test.fr
      nmtkit translate -m model test.en --quantize --candidates model/lexicon.gz
      nmtkit translate -m model test.en --segment --reverse-model back --beam 10
    """
    if sample and n_best:
        raise click.UsageError("--sample and --n-best exclude each other.")
    if counts and not sample:
        raise click.UsageError("--counts is for --sample.")
    if counts and alignments:
        raise click.UsageError(
            "--counts joins translations whose alignments differ; leave one out."
        )
    listed = n_best is not None or (sample or 1) > 1 or counts
    if scores and listed:
        raise click.UsageError("The n-best format has the scores already; leave out --scores.")
    if alignments == output:
        raise click.UsageError("--output and --alignments need different files.")
    others = {"--n-best": n_best, "--sample": sample, "--alignments": alignments}
    segmenting.check(others, output)
    configure_threads(threads)
    search["forbid_unk"] = search.pop("no_unk") or None
    with contextlib.ExitStack() as stack:
        from nmtkit.text.lines import open_output

        results = stack.enter_context(open_output(output, force))
        aligned = stack.enter_context(open_output(alignments, force)) if alignments else None
        file = segmenting.segments
        segments = stack.enter_context(open_output(file, force)) if file else None

        with importing():
            from nmtkit.ensemble import Ensemble
            from nmtkit.streaming import read_windows
            from nmtkit.translator import Translator

        ensemble = Ensemble.load(models, device).averaged(weights, average == "logs")
        translator = Translator(ensemble, batch_size=batch_size, quantize=quantize).with_search(
            **{name: value for name, value in search.items() if value is not None}
        )
        if candidates:
            from nmtkit.text.lexicon import Lexicon

            translator = translator.with_candidates(Lexicon.load(candidates, translator.tgt_vocab))
        if replace_unk:
            from nmtkit.text.lexicon import best_translations

            table = {} if replace_unk == "copy" else best_translations(replace_unk)
            translator = translator.with_replacements(table)
        form = _form(counts, listed, scores)
        size = translator.window
        decode = _decoder(translator, n_best or 1, sample, seed, tokenized, bool(aligned))
        if segmenting.how:
            segmenter = segmenting.segmenter(translator, batch_size, device, seed)
            size, decode = segmenter.window, segmenting_decoder(segmenter, tokenized, segments)
        number, unfinished = 0, 0
        for window in read_windows(source, size):
            for translations in decode(window, number + 1):
                _write(results, form(number, translations))
                if aligned:
                    _write(aligned, [_alignment_line(t, alignment_format) for t in translations])
                unfinished += not translations[0].finished
                number += 1
            results.flush()
        if unfinished:
            warn(
                f"{unfinished} of {number} translations are unfinished: they met the longest"
                " length; --max-length-ratio sets it"
            )


def _write(stream: TextIO, lines: list[str]) -> None:
    stream.writelines(f"{line}\n" for line in lines)


def _decoder(
    translator: "Translator",
    n_best: int,
    sample: int | None,
    seed: int,
    tokenized: bool,
    aligned: bool,
) -> Decode:
    def search(window: list[str], _: int) -> "list[list[Translation]]":
        return translator.translate_window(window, n_best, tokenized, aligned)

    def draw(window: list[str], first: int) -> "list[list[Translation]]":
        return translator.sample_window(window, sample or 1, seed, tokenized, aligned, first)

    return draw if sample else search


def _form(counts: bool, listed: bool, scores: bool) -> Format:
    if counts:
        return counted_lines
    if listed:
        return n_best_lines
    return _scored_line if scores else _line


def _line(_: int, translations: "list[Translation]") -> list[str]:
    return [translations[0].text]


def _scored_line(_: int, translations: "list[Translation]") -> list[str]:
    best = translations[0]
    mark = "" if best.finished else "\tunfinished"
    return [f"{best.score:.6f}\t{best.text}{mark}"]


def n_best_lines(number: int, translations: "list[Translation]") -> list[str]:
    """Moses's format; the bars that part its fields are escaped in the text, as Moses does."""
    return [_n_best_line(number, t) for t in translations]


def counted_lines(number: int, translations: "list[Translation]") -> list[str]:
    """The same, each different translation once, with how often it is there."""
    from nmtkit.translator import counted

    return [_n_best_line(number, t, f" count= {times}") for t, times in counted(translations)]


def _n_best_line(number: int, t: "Translation", more: str = "") -> str:
    text = t.text.replace("|", "&#124;") if "|||" in t.text else t.text
    return f"{number} ||| {text} ||| nmtkit0= {t.score:.6f}{more} ||| {t.ranking_score:.6f}"


def _alignment_line(translation: "Translation", form: str) -> str:
    assert translation.word_alignment is not None
    return alignment_line(translation.word_alignment, form)


def alignment_line(alignment: "Alignment", form: str) -> str:
    """An alignment as Moses's links ("hard") or as JSON ("soft"), six digits a weight."""
    if form == "hard":
        return alignment.moses()
    weights = [[round(weight, 6) for weight in row] for row in alignment.matrix.tolist()]
    table = {"source": alignment.columns, "target": alignment.rows, "alignment": weights}
    return json.dumps(table, ensure_ascii=False)
