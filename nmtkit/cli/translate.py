"""`nmtkit translate`: lines in, one translation per line out."""

import contextlib
import os
from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import TYPE_CHECKING, Any, NamedTuple, TextIO

import click

from nmtkit.cli.command import declare_command
from nmtkit.cli.console import line_bar, warn
from nmtkit.cli.document_options import FormatOptions
from nmtkit.cli.search_options import RENAMED_SEARCH
from nmtkit.cli.segment_options import SegmentOptions
from nmtkit.cli.shared_options import FILE
from nmtkit.cli.startup import configure_threads, importing, path_on_rank_0
from nmtkit.cli.translate_options import (
    RULES,
    ConfidenceOptions,
    ModelOptions,
    ResultOptions,
    SpeedOptions,
    WordOptions,
    translate_options,
)
from nmtkit.cli.writers import ConfidenceFormat, Format, alignment_line, translation_lines
from nmtkit.errors import counted

if TYPE_CHECKING:
    from nmtkit.inference.ensemble import Ensemble
    from nmtkit.inference.segmenter import Segmented
    from nmtkit.inference.stream_batching import LineStream
    from nmtkit.inference.translation import Translation


@declare_command(rules=RULES, renamed=RENAMED_SEARCH)
@click.argument("source", type=FILE, metavar="[INPUT]", default="-")
@translate_options
def command(
    source: str,
    output: str,
    models: ModelOptions,
    speed: SpeedOptions,
    search: dict[str, Any],
    words: WordOptions,
    results: ResultOptions,
    confidence: ConfidenceOptions,
    segmentation: SegmentOptions,
    document: FormatOptions,
    alignments: str | None,
    alignment_format: str,
    tokenized: bool,
    markup: str | None,
    protect: tuple[str, ...],
    prefix: str | None,
    threads: int,
    force: bool,
) -> None:
    """Translate the lines of INPUT, stdin by default.

    Each line of input has one line of output, in the same order; an empty line has an empty
    translation, or the text of --prefix, with the score 0. A line that arrives alone is translated
    at once, lines that arrive fast in batches. Bytes that are not UTF-8 become U+FFFD, with a
    warning. Processes that torchrun starts together share the lines, and one of them writes.

    A score is the natural logarithm of the probability of the tokens including </s>; 'nmtkit score'
    gives the same score to a finished translation whose text it splits into the same tokens. It
    adds the log-probability of </s> to an unfinished one, which has none. With --quantize scores
    differ by rounding to 8 bits, and in bfloat16 by rounding products to 9 bits; with --candidates
    probabilities are normalised over the candidates of a line, so that scores are slightly higher.
    The n-best format has a line

      NUMBER ||| TRANSLATION ||| nmtkit0= SCORE ||| SCORE / LENGTH^A

    for each translation, where NUMBER counts the lines of input from 0. --counts adds 'count= C'
    behind SCORE. The last field includes a coverage penalty; a term that a search for --terms puts
    in counts there by the attention to its source words, not by its log-probability. The list is
    sorted by that field, but translations that have all names to copy, symbols of markup or terms
    of --terms-mode soft may come before others whose field is higher. With --json a line of input
    has one object: its 'source_tokens', and its 'translations' with 'text', 'tokens', 'score',
    'ranking_score' (the last field), 'word_scores' of the tokens and </s>, and 'finished'.
    Alignments link words by their positions from 0: words of the input after tokenisation, and
    words of the translation before detokenisation. They have a line for each translation written.
    The soft format is a JSON object with the words, and for each target word the weights of the
    source words; both sides end with </s>.

    With --segment all spans of a line, up to --max-segment words, are translated, and scored by the
    --reverse-model: a line of 20 words takes about 200 times as long as otherwise. The score is the
    sum over the segments, each with its own </s>. --segments writes for each line a JSON list of
    objects with 'source' and 'target', both tokenised, 'score' and 'confidence'.

    With --markup and --protect the model reads the text alone, or, if it was prepared with markup,
    symbols in place of elements. What was taken out is put back where the model wrote the symbols,
    else by the alignment: each element and each protected part once, elements nested as they were.

    The glossary of --terms has lines 'SOURCE<TAB>TRANSLATION|TRANSLATION', or is TBX. Each term of
    a line, the longest first, has one of its translations in every hypothesis, begun where the
    model looks at the term. A third field may say 'case-sensitive', or 'forbidden' for words that
    no translation of the term may have. A line whose translation lacks a term is reported, and the
    term named in JSON in 'missing_terms'.

    --confidence writes the probability that a translation is good, as 'nmtkit calibrate' learned it
    from a dev set, before the translation, behind a score if there is one. In JSON there are
    'confidence' and 'word_confidences', the probability of each word that it is right; in the
    n-best format 'confidence= P' stands behind the score. With --min-confidence the translations
    below it are left empty, or followed by '<TAB>low confidence'; JSON has 'low_confidence': true.
    Their number is reported at the end. If a model has a calibration, a stream of lines that is
    unlike its dev set is reported once.

    With --format the output is INPUT with its texts translated, and every other byte as it was.
    Entries of PO, XLIFF and TMX are translated if they have no translation yet. What was left as it
    is is reported with its line.

    Line N of --prefix FILE is the beginning of translation N; it may end in the middle of a word,
    and is empty where there is none. All hypotheses begin with exactly this text.

    Examples:
      nmtkit translate -m model < test.en > test.fr
      echo 'A man is reading.' | nmtkit translate -m model
      nmtkit translate -m model1 -m model2 test.en --beam 5 -o test.fr
      nmtkit translate -m model test.en --fast
      nmtkit translate -m model page.txt --markup html
      nmtkit translate -m model page.html --format html -o page.fr.html
      nmtkit translate -m model test.en --terms glossary.tsv
      nmtkit translate -m model test.en --min-confidence 0.3
      nmtkit translate -m model test.en --quantize --candidates lexicon.gz
      nmtkit translate -m model test.en --segment --reverse-model back --beam 10

    """
    document = document.for_file(source)
    configure_threads(threads)
    with contextlib.ExitStack() as stack:
        from nmtkit.io.lines import open_binary_output, open_output

        unit = "sentences" if document.format else "lines"
        bar = stack.enter_context(
            line_bar("translate", unit, [source], output, has_total=not document.format)
        )
        if document.format:
            target = path_on_rank_0(output or os.devnull)
            translated = stack.enter_context(open_binary_output(target, force))
            output = ""
        streams = Outputs(
            *(
                stack.enter_context(open_output(path_on_rank_0(path or os.devnull), force))
                for path in (output, alignments, segmentation.segments)
            )
        )
        with importing():
            from nmtkit.inference.stream_batching import LineStream
            from nmtkit.parallel.process_group import join_process_group

        process_group = stack.enter_context(join_process_group(models.device))
        ensemble = models.ensemble()
        translator = words.apply(speed.translator(ensemble, models).with_search(**search))
        reverse = segmentation.reverse_scorer(models.batch_size, models.device, models.params)
        if confidence.are_wanted:
            translator = translator.with_confidence(reverse, models.models[0])
        if document.format:
            bar.follow(translator.lines_done.count)
            document.translate(source, translator, protect, translated, process_group)
            return
        lines = LineStream(source)
        if segmentation.segment:
            segmenter = segmentation.segmenter(translator, reverse, results.seed)
            segmented = segmenter.segment(lines, tokenized, process_group)
            _write_segmented(bar.track(segmented), lines, streams, results.format)
            return
        bar.follow(translator.lines_done.count)
        if markup or protect:
            from nmtkit.inference.markup_translator import MarkupTranslator, read_patterns

            keeper = MarkupTranslator(translator, markup, read_patterns(protect, bool(markup)))
            translations = keeper.translate(
                lines, results.n_best or 1, process_group, bool(alignments)
            )
        elif results.sample:
            translations = translator.sample(
                lines,
                results.sample,
                results.seed,
                tokenized,
                bool(alignments),
                process_group,
                temperature=results.temperature,
                top_k=results.top_k,
                top_p=results.top_p,
            )
        else:
            translations = translator.translate(
                lines,
                results.n_best or 1,
                tokenized,
                bool(alignments),
                process_group,
                prefixes=LineStream(prefix) if prefix else None,
            )
        if not results.sample:
            translations = _watched(translations, ensemble, models.models[0])
        _write_translations(
            bar.track(translations),
            lines,
            streams,
            results.format,
            alignment_format,
            confidence.format,
            translator.describe_missing,
        )


def _watched(
    translations: "Iterator[list[Translation]]", ensemble: "Ensemble", folder: str
) -> "Iterator[list[Translation]]":
    """Warn if the lines are unlike the dev set of the calibration in a folder, if it has one."""
    from nmtkit.io.folder_files import has_calibration

    if not has_calibration(folder):
        return translations
    from nmtkit.inference.confidence.familiarity import watched

    return watched(translations, ensemble, folder)


class Outputs(NamedTuple):
    """Output streams of translations, their alignments and the segments of lines."""

    translations: TextIO
    alignments: TextIO
    segments: TextIO

    def flush(self) -> None:
        """Write what is in memory, for programs that wait for it."""
        for stream in self:
            stream.flush()


def _write_translations(
    results: "Iterable[list[Translation]]",
    lines: "LineStream",
    streams: Outputs,
    format: Format,
    alignment_format: str,
    confidence: ConfidenceFormat,
    describe_missing: "Callable[[Sequence[str]], str]",
) -> None:
    """Write the translations of each line; flush when all lines read so far are translated.

    :param describe_missing: returns a sentence on the terms that a translation lacks.
    """
    number, unfinished, low = 0, 0, 0
    for number, translations in enumerate(results, start=1):
        formatted = translation_lines(number - 1, translations, format, confidence)
        _write(streams.translations, formatted)
        matrices = [translation.word_alignment for translation in translations]
        links = [alignment_line(m, alignment_format) for m in matrices if m is not None]
        _write(streams.alignments, links)
        unfinished += not translations[0].finished
        low += confidence.is_low(translations[0])
        if translations[0].missing_terms:
            warn(f"line {number}: {describe_missing(translations[0].missing_terms)}")
        if number == lines.lines_read:
            streams.flush()
    _warn_unfinished(unfinished, number)
    if low:
        done = "marked" if confidence.marks else "left empty"
        warn(f"{_share(low, number)} {done}: confidence is below {confidence.minimum:g}")


def _write_segmented(
    results: "Iterable[Segmented]", lines: "LineStream", streams: Outputs, format: Format
) -> None:
    """Write the translation and the segments of each line; see `_write_translations`."""
    from nmtkit.inference.segments_file import segments_line

    number, unfinished = 0, 0
    for number, line in enumerate(results, start=1):
        _write(streams.translations, translation_lines(number - 1, [line.translation], format))
        _write(streams.segments, [segments_line(line.segments)])
        unfinished += not line.translation.finished
        if number == lines.lines_read:
            streams.flush()
    _warn_unfinished(unfinished, number)


def _warn_unfinished(unfinished: int, number: int) -> None:
    if unfinished:
        warn(
            f"{_share(unfinished, number)} unfinished, at the maximum length;"
            " --max-length-ratio sets it"
        )


def _share(number: int, total: int) -> str:
    """Return how many of all translations are so, and the verb."""
    return f"{number:,} of {counted(total, 'translation')} {'is' if number == 1 else 'are'}"


def _write(stream: TextIO, lines: list[str]) -> None:
    stream.writelines(f"{line}\n" for line in lines)
