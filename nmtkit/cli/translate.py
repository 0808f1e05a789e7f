"""`nmtkit translate`: lines in, their translations out, one for one."""

import contextlib
import os
from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from nmtkit.cli.common import (
    averaging_options,
    batch_size_option,
    configure_threads,
    device_option,
    force_option,
    importing,
    threads_option,
    warn,
    written_by_first,
)
from nmtkit.cli.search_options import search_options
from nmtkit.cli.segment_options import Segmenting, segment_options
from nmtkit.cli.writers import Format, alignment_line, translation_lines

if TYPE_CHECKING:
    from nmtkit.inference.segmenter import Segmented
    from nmtkit.inference.stream_batching import LineStream
    from nmtkit.inference.translation import Translation
    from nmtkit.inference.translator import Translator


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
@averaging_options
@click.option(
    "-o", "--output", default="-", metavar="FILE", help="Where the translations are written."
)
@search_options
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
    search: dict[str, Any],
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
) -> None:
    """Translate the lines of INPUT, stdin by default.

    There is one line of output for each line of input, in the same order; an empty line has an
    empty translation. A line that arrives alone is translated at once, lines that arrive fast are
    translated many at a time. What is not UTF-8 is read as U+FFFD, with a warning. Processes that
    torchrun starts together share the lines, and one of them writes.

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
    listed = n_best is not None or (sample or 1) > 1 or counts
    _check(n_best, sample, counts, listed and scores, alignments, output)
    others = {"--n-best": n_best, "--sample": sample, "--alignments": alignments}
    segmenting.check(others, output)
    format: Format
    format = "counts" if counts else "n-best" if listed else "scores" if scores else "text"
    configure_threads(threads)
    with contextlib.ExitStack() as stack:
        from nmtkit.io.lines import open_output

        streams = Outputs(
            *(
                stack.enter_context(open_output(written_by_first(path or os.devnull), force))
                for path in (output, alignments, segmenting.segments)
            )
        )
        with importing():
            from nmtkit.inference.ensemble import Ensemble
            from nmtkit.inference.stream_batching import LineStream
            from nmtkit.inference.translator import Translator
            from nmtkit.parallel.process_group import join_process_group

        process_group = stack.enter_context(join_process_group(device))
        ensemble = Ensemble.load(models, device).averaged(weights, average == "logs")
        translator = Translator(ensemble, batch_size=batch_size, quantize=quantize)
        translator = _with_tables(translator.with_search(**search), candidates, replace_unk)
        lines, aligned = LineStream(source), bool(alignments)
        if segmenting.how:
            segmenter = segmenting.segmenter(translator, batch_size, device, seed)
            segmented = segmenter.segment(lines, tokenized, process_group)
            _write_segmented(segmented, lines, streams, format)
        else:
            found = (
                translator.sample(lines, sample, seed, tokenized, aligned, process_group)
                if sample
                else translator.translate(lines, n_best or 1, tokenized, aligned, process_group)
            )
            _write_translations(found, lines, streams, format, alignment_format)


class Outputs(NamedTuple):
    """Where translations, their alignments and the segments of lines are written."""

    translations: TextIO
    alignments: TextIO
    segments: TextIO


def _write_translations(
    found: "Iterable[list[Translation]]",
    lines: "LineStream",
    streams: Outputs,
    format: Format,
    alignment_format: str,
) -> None:
    """Write the translations of each line, and flush when all lines read so far are answered."""
    number, unfinished = 0, 0
    for number, translations in enumerate(found, start=1):
        _write(streams.translations, translation_lines(number - 1, translations, format))
        matrices = [translation.word_alignment for translation in translations]
        links = [alignment_line(m, alignment_format) for m in matrices if m is not None]
        _write(streams.alignments, links)
        unfinished += not translations[0].finished
        if number == lines.lines_read:
            streams.translations.flush()
    _warn_unfinished(unfinished, number)


def _write_segmented(
    found: "Iterable[Segmented]", lines: "LineStream", streams: Outputs, format: Format
) -> None:
    """Write the translation and the segments of each line; see `_write_translations`."""
    from nmtkit.inference.segmenter import segments_line

    number, unfinished = 0, 0
    for number, line in enumerate(found, start=1):
        _write(streams.translations, translation_lines(number - 1, [line.translation], format))
        _write(streams.segments, [segments_line(line.segments)])
        unfinished += not line.translation.finished
        if number == lines.lines_read:
            streams.translations.flush()
    _warn_unfinished(unfinished, number)


def _warn_unfinished(unfinished: int, number: int) -> None:
    if unfinished:
        warn(
            f"{unfinished} of {number} translations are unfinished: they met the longest"
            " length; --max-length-ratio sets it"
        )


def _check(
    n_best: int | None,
    sample: int | None,
    counts: bool,
    scores_twice: bool,
    alignments: str | None,
    output: str,
) -> None:
    """Refuse options that exclude each other."""
    if sample and n_best:
        raise click.UsageError("--sample and --n-best exclude each other.")
    if counts and not sample:
        raise click.UsageError("--counts is for --sample.")
    if counts and alignments:
        raise click.UsageError(
            "--counts joins translations whose alignments differ; leave one out."
        )
    if scores_twice:
        raise click.UsageError("The n-best format has the scores already; leave out --scores.")
    if alignments == output:
        raise click.UsageError("--output and --alignments need different files.")


def _with_tables(
    translator: "Translator", candidates: str | None, replace_unk: str | None
) -> "Translator":
    """Return the translator with the lexical tables that were named."""
    from nmtkit.text.lexicon import Lexicon, best_translations

    if candidates:
        translator = translator.with_candidates(Lexicon.load(candidates, translator.tgt_vocab))
    if replace_unk:
        words = translator.ensemble.first.src_vocab
        table = {} if replace_unk == "copy" else best_translations(replace_unk, words)
        translator = translator.with_replacements(table)
    return translator


def _write(stream: TextIO, lines: list[str]) -> None:
    stream.writelines(f"{line}\n" for line in lines)
