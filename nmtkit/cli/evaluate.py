"""`nmtkit evaluate`: translations and references in, figures with their signatures out."""

import json
import logging
from collections.abc import Sequence
from dataclasses import asdict
from pathlib import Path
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.bucket_options import TokenizerName, bucket_options, comparison_options
from nmtkit.cli.command import FILES, TEXT, declare_command, group, option
from nmtkit.cli.console import warn
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import exclusive, needs, one_stdin
from nmtkit.cli.shared_options import (
    FILE,
    force_option,
    json_option,
    language_option,
    more_references_option,
    output_option,
    tokenized_option,
)

if TYPE_CHECKING:
    from nmtkit.evaluation.bleu_tokenizer import BleuTokenizer
    from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
    from nmtkit.evaluation.comparison import ComparisonConfig
    from nmtkit.evaluation.metrics import MetricScore
    from nmtkit.evaluation.text_warnings import Conversion
    from nmtkit.text.vocabulary import Vocabulary

log = logging.getLogger("nmtkit")

NEED_BUCKETS = ("--of", "--bounds", "--window", "--sorted", "--plot")
USE_SOURCE = ("--by", "--no-unk", "--length")


@declare_command(
    rules=[
        needs("--hyphens", "--tgt-language"),
        exclusive("--hyphens", "--tokenized", because="it says how raw text is tokenised"),
        exclusive("--json", "--csv"),
        *(needs(name, "--by") for name in NEED_BUCKETS),
        *(
            needs(name, *USE_SOURCE)
            for name in ("--source", "--src-language", "--src-vocab", "--tgt-vocab")
        ),
        one_stdin("HYP", "REF", "--reference", "--source", "--src-vocab", "--tgt-vocab"),
    ],
    renamed=[
        Renamed("--tokenize {LANG}", "--tgt-language {LANG}", values="(?!zh)[a-z]{2}"),
        Renamed("--detokenize {LANG}", "--tokenized --tgt-language {LANG}"),
        Renamed("--tokenize-source {LANG}", "--src-language {LANG}"),
        Renamed("--words {LOW-HIGH}", "--length {LOW-HIGH}"),
        Renamed("--format json", "--json"),
        Renamed("--format csv", "--csv"),
        Renamed("--format text", ""),
    ],
)
@click.argument("hypotheses", type=FILE, metavar="HYP")
@click.argument("references", type=FILE, metavar="REF")
@group(
    FILES,
    more_references_option,
    output_option("File of the figures."),
    json_option("Print JSON. It has the parts of each BLEU, too."),
    option("--csv", "as_csv", is_flag=True, help="Print CSV, for spreadsheets."),
)
@group(
    TEXT,
    language_option(
        "tgt",
        "Language of HYP and REF, such as fr. Raw text is tokenised for the papers' BLEU as 'nmtkit"
        " prepare' does; with --tokenized, text is detokenised for the other metrics. Without -t"
        " all metrics take the text as it is. Of a language without spaces between words, such as"
        " zh, ja or th, chrF is the first figure, and both BLEUs count the words of --tokenize.",
    ),
    option(
        "--tokenize",
        "tokenizer",
        type=TokenizerName(),
        default="auto",
        common=True,
        help="Tokeniser of sacreBLEU's BLEU. The names are sacreBLEU's: 13a, intl, zh, ja-mecab,"
        " ko-mecab, char, flores101, flores200, spBLEU-1K and none. 'auto' is zh for Chinese;"
        " ja-mecab for Japanese and ko-mecab for Korean if they are installed; char or flores200"
        " for other languages without spaces; else 13a.",
    ),
    tokenized_option("HYP and REF are tokenised."),
    option(
        "--hyphens",
        is_flag=True,
        help="Split words at hyphens where text is tokenised.",
    ),
)
@comparison_options
@bucket_options
@force_option
def command(
    hypotheses: str,
    references: str,
    more_references: tuple[str, ...],
    output: str,
    tgt_language: str | None,
    tokenizer: str,
    tokenized: bool,
    hyphens: bool,
    as_json: bool,
    as_csv: bool,
    force: bool,
    **options: Any,
) -> None:
    """Compare the translations HYP with the references REF, line by line.

    Four figures in percent are printed, then the length of HYP in words divided by that of REF, and
    for each figure a signature that says how it was measured. The figures are BLEU as in the
    papers, which multi-bleu.perl computes on tokenised text; and sacreBLEU's BLEU, chrF
    and TER, which are meant for raw text. TER is better when lower, the
    others when higher. Only figures with the same signature can be compared.

    HYP or REF may be '-' for stdin, or compressed. A different number of lines is an error. Each
    --reference adds a reference of every line; all metrics are sacreBLEU's for several references.
    If there is no file REF, the files REF0, REF1 and so on are read, as Moses's scripts do.

    --system adds more systems: then each figure has its 95 % interval, and each pair of systems a
    p-value, both by bootstrap (Koehn 2004) with sacreBLEU's samples. --by adds the figures of parts
    of the test set, and --plot draws them.

    Examples:
      nmtkit evaluate test.hyp.fr test.fr -t fr
      nmtkit translate -m model < test.en | nmtkit evaluate - test.fr -t fr
      nmtkit evaluate test.hyp.tok.fr test.tok.fr --tokenized -t fr
      nmtkit evaluate test.hyp.zh test.zh -t zh
      nmtkit evaluate test.hyp.fr test.0.fr --reference test.1.fr -t fr
      nmtkit evaluate a.fr test.fr --name A --system B b.fr -t fr
      nmtkit evaluate a.tok test.tok.fr --source test.tok.en --by length --plot length.pdf

    """
    from nmtkit.evaluation.bleu_tokenizer import choose_tokenizer
    from nmtkit.evaluation.references import reference_files
    from nmtkit.io.lines import open_output

    format = "json" if as_json else "csv" if as_csv else "text"
    with open_output(output, force) as results:
        tgt_language = _checked(tgt_language, "-t")
        conversion = _conversion(
            tgt_language, tokenized, hyphens, choose_tokenizer(tgt_language, tokenizer)
        )
        files = reference_files([references, *more_references])
        if as_csv or any(
            value is not None and value is not False and value != () for value in options.values()
        ):
            options["hyphens"] = hyphens
            text = _compare(hypotheses, files, conversion, format, force, options)
        else:
            text = _measure(hypotheses, files, conversion, format)
        results.write(f"{text}\n")


def _checked(language: str | None, name: str) -> str | None:
    """Return a language if it is a code of ISO 639.

    :raises ConfigError: it is not; the message suggests one.
    """
    from nmtkit.text.languages import has_moses_rules

    if language is None or has_moses_rules(language):
        return language  # without loading the list of all languages
    from nmtkit.preprocessing.languages import checked_language

    return checked_language(language, name)


def _conversion(
    language: str | None, tokenized: bool, hyphens: bool, tokenizer: "BleuTokenizer"
) -> "Conversion":
    """Return the conversion of text, and log what is unusual about it."""
    from nmtkit.evaluation.retokenize import moses_detokenizer, word_tokenizer
    from nmtkit.evaluation.text_warnings import Conversion

    if tokenizer.note:
        log.info("%s%s", tokenizer.note, "" if tokenizer.spaced else "; chrF is the first figure")
    tokenize = None if tokenized else word_tokenizer(language, hyphens, tokenizer)
    detokenize = moses_detokenizer(language) if language and tokenized else None
    return Conversion(tokenize, detokenize, tokenizer)


def _measure(
    hypotheses: str, references: Sequence[str], conversion: "Conversion", format: str
) -> str:
    """Return the figures of one system."""
    from nmtkit.cli.comparison_writers import scores_table
    from nmtkit.evaluation.metrics import evaluate
    from nmtkit.evaluation.text_warnings import text_warnings
    from nmtkit.io.lines import read_parallel
    from nmtkit.io.text_content import shown_name
    from nmtkit.progress_bar import ProgressBar

    files = [hypotheses, *references]
    hyps, *refs = list(zip(*read_parallel(*files), strict=True)) or [()] * len(files)
    names = [shown_name(file) for file in files]
    tokenize, detokenize, tokenizer = conversion
    with ProgressBar("evaluate", ""):
        measures = evaluate(hyps, refs, names, tokenize, detokenize, (), tokenizer)
    for warning in text_warnings([hyps, *refs], names, conversion):
        warn(warning)
    return _json(names, len(hyps), measures) if format == "json" else scores_table(measures)


def _compare(
    hypotheses: str,
    references: Sequence[str],
    conversion: "Conversion",
    format: str,
    force: bool,
    options: dict[str, Any],
) -> str:
    """Return the figures of several systems with intervals and buckets; draw the plot."""
    from nmtkit.cli.comparison_writers import as_csv, as_json, table
    from nmtkit.evaluation.comparison import compare
    from nmtkit.evaluation.text_warnings import text_warnings
    from nmtkit.io.text_content import shown_name
    from nmtkit.progress_bar import ProgressBar

    if options["plot"]:
        from nmtkit.report.figure_io import check_figure_path

        check_figure_path(Path(options["plot"]), force)
    files = {options["name"] or shown_name(hypotheses): hypotheses}
    for system, file in options["systems"]:
        if system in files:
            raise click.UsageError(f"Two systems are called '{system}'; give each its own name.")
        files[system] = file
    config = _comparison_config(conversion, len(files), options)
    lines, texts = _read(files, references, options)
    reference_names = [shown_name(file) for file in references]
    names = {system: shown_name(file) for system, file in files.items()} | {"": reference_names[0]}
    warnings: dict[str, None] = {}
    for system, hyps in lines.items():
        file_names = [names[system], *reference_names]
        warnings |= dict.fromkeys(
            text_warnings([hyps, *texts.references], file_names, conversion, config.metrics)
        )
    with ProgressBar("evaluate", ""):
        comparison = compare(lines, texts, config, names)
    for warning in warnings:
        warn(warning)
    if options["plot"]:
        from nmtkit.report.bucket_figures import plot_buckets

        plot_buckets(options["plot"], comparison, next(iter(comparison.whole.figures)), force)
    if format == "json":
        return as_json(comparison, names, _one_or_all(reference_names))
    return table(comparison) if format == "text" else as_csv(comparison)


def _comparison_config(
    conversion: "Conversion", systems: int, options: dict[str, Any]
) -> "ComparisonConfig":
    """Convert the options to the settings of a comparison."""
    from nmtkit.evaluation.comparison import ComparisonConfig
    from nmtkit.evaluation.retokenize import word_tokenizer
    from nmtkit.evaluation.significance import SAMPLES, SEED

    samples, seed = options["samples"], options["seed"]
    if samples is None:
        samples = SAMPLES if systems > 1 else 0
    if seed is not None and not samples:
        raise click.UsageError("--seed needs --bootstrap.")
    language = _checked(options["src_language"], "-s")
    return ComparisonConfig(
        tokenize=conversion.tokenize,
        detokenize=conversion.detokenize,
        tokenizer=conversion.tokenizer,
        tokenize_source=word_tokenizer(language, options["hyphens"]) if language else None,
        metrics=options["measures"],
        samples=samples,
        seed=SEED if seed is None else seed,
        no_unknown=options["no_unknown"],
        words=options["length"],
        bucketings=_bucketings(options),
    )


def _bucketings(options: dict[str, Any]) -> "tuple[Bucketing, ...]":
    """Return the bucketings by each side; none without --by."""
    from nmtkit.evaluation.buckets import Bucketing

    by, sides, bounds = options["by"], options["sides"], options["bounds"]
    window, neighbours = options["window"], options["neighbours"]
    return tuple(
        Bucketing(by, side, bounds, window or 0, neighbours or 0)
        for side in (dict.fromkeys(sides) or ["source"])
        if by
    )


def _read(
    files: dict[str, str], references: Sequence[str], options: dict[str, Any]
) -> tuple[dict[str, Sequence[str]], "EvaluationSet"]:
    """Read the lines of each system, and the source, references and vocabularies."""
    from nmtkit.evaluation.buckets import EvaluationSet
    from nmtkit.io.lines import read_parallel

    source = [options["source"]] if options["source"] else []
    paths = [*files.values(), *references, *source]
    columns = list(zip(*read_parallel(*paths), strict=True)) or [()] * len(paths)
    src_vocab, tgt_vocab = (_load_vocabulary(options[side]) for side in ("src_vocab", "tgt_vocab"))
    reference, *more = columns[len(files) : len(files) + len(references)]
    source_lines = columns[-1] if source else ()
    texts = EvaluationSet(
        reference, source_lines, src_vocab, tgt_vocab, more_references=tuple(more)
    )
    return dict(zip(files, columns, strict=False)), texts


def _load_vocabulary(path: str | None) -> "Vocabulary | None":
    """Load a list of words; warn if it holds subwords."""
    from nmtkit.evaluation.text_checks import holds_subwords
    from nmtkit.text.vocabulary import Vocabulary

    vocabulary = Vocabulary.load(path, verbatim=False) if path else None
    if vocabulary and holds_subwords([f"{word} " for word in vocabulary]):
        warn(
            f"{path} holds subwords (@@ or ▁), but words are looked up whole; give a list of words"
        )
    return vocabulary


def _one_or_all(names: Sequence[str]) -> str | Sequence[str]:
    """Return the only name, or all names, for JSON."""
    return names[0] if len(names) == 1 else names


def _json(names: Sequence[str], lines: int, measures: Sequence["MetricScore"]) -> str:
    from nmtkit.evaluation.metrics import bleu_with_lengths

    bleu = bleu_with_lengths(measures)
    result = {
        "hypotheses": names[0],
        "references": _one_or_all(names[1:]),
        "lines": lines,
        "length_ratio": bleu.length_ratio if bleu else None,
        "measures": [asdict(measure) for measure in measures],
    }
    return json.dumps(result, ensure_ascii=False, indent=2)
