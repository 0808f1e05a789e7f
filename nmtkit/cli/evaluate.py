"""`nmtkit evaluate`: translations and references in, figures with their signatures out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.bucket_options import bucket_options, comparison_options
from nmtkit.cli.command import FILES, TEXT, declare_command, group, option
from nmtkit.cli.console import warn
from nmtkit.cli.old_spellings import Renamed
from nmtkit.cli.rules import exclusive, needs
from nmtkit.cli.shared_options import (
    FILE,
    force_option,
    json_option,
    language_option,
    output_option,
    tokenized_option,
)

if TYPE_CHECKING:
    from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
    from nmtkit.evaluation.comparison import ComparisonConfig
    from nmtkit.evaluation.metrics import MetricScore
    from nmtkit.evaluation.retokenize import Retokenizer


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
    ],
    renamed=[
        Renamed("--tokenize {LANG}", "--tgt-language {LANG}"),
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
    output_option("File of the figures."),
    json_option("Print JSON. It has the parts of each BLEU, too."),
    option("--csv", "as_csv", is_flag=True, common=True, help="Print CSV, for spreadsheets."),
)
@group(
    TEXT,
    language_option(
        "tgt",
        None,
        "Language of HYP and REF, such as fr. Raw text is tokenised for the papers' BLEU as 'nmtkit"
        " prepare' does; with --tokenized, text is detokenised for the other metrics. Without it"
        " all metrics take the text as it is.",
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
    output: str,
    tgt_language: str | None,
    tokenized: bool,
    hyphens: bool,
    as_json: bool,
    as_csv: bool,
    force: bool,
    **options: Any,
) -> None:
    """Compare the translations HYP with the references REF, line by line.

    Four figures in percent are printed, each with a signature that says how it was measured: BLEU
    as in the papers, which multi-bleu.perl computes on tokenised text; and sacreBLEU's BLEU, chrF
    and TER, which are meant for raw text. TER is better when lower, the
    others when higher. Only figures with the same signature can be compared.

    HYP or REF may be '-' for stdin, or a .gz file. A different number of lines is an error.

    --system adds more systems: then each figure has its 95 % interval, and each pair of systems a
    p-value, both by bootstrap (Koehn 2004) with sacreBLEU's samples. --by adds the figures of parts
    of the test set, and --plot draws them.

    Examples:
      nmtkit evaluate test.hyp.fr test.fr -t fr
      nmtkit translate -m model < test.en | nmtkit evaluate - test.fr -t fr
      nmtkit evaluate test.hyp.tok.fr test.tok.fr --tokenized -t fr
      nmtkit evaluate a.fr test.fr --name A --system B b.fr -t fr
      nmtkit evaluate a.tok test.tok.fr --source test.tok.en --by length --plot length.pdf

    """
    from nmtkit.evaluation.retokenize import moses_detokenizer, moses_tokenizer
    from nmtkit.io.lines import open_output

    retokenizers = (
        moses_tokenizer(tgt_language, hyphens) if tgt_language and not tokenized else None,
        moses_detokenizer(tgt_language) if tgt_language and tokenized else None,
    )
    format = "json" if as_json else "csv" if as_csv else "text"
    with open_output(output, force) as results:
        if as_csv or any(value not in (None, (), False) for value in options.values()):
            options["hyphens"] = hyphens
            text = _compare(hypotheses, references, retokenizers, format, force, options)
        else:
            text = _measure(hypotheses, references, retokenizers, format)
        results.write(f"{text}\n")


Retokenizers = tuple["Retokenizer | None", "Retokenizer | None"]
"""The tokenizer of raw text and the detokenizer of tokenised text, or None."""


def _measure(hypotheses: str, references: str, retokenizers: Retokenizers, format: str) -> str:
    """Return the figures of one system."""
    from nmtkit.evaluation.metrics import evaluate
    from nmtkit.io.lines import read_parallel

    pairs = list(read_parallel(hypotheses, references))
    hyps, refs = [hyp for hyp, _ in pairs], [ref for _, ref in pairs]
    names = (_display_name(hypotheses), _display_name(references))
    measures = evaluate(hyps, refs, names, *retokenizers)
    for warning in _text_warnings(hyps, refs, names, retokenizers):
        warn(warning)
    return _json(names, len(pairs), measures) if format == "json" else _table(measures)


def _compare(
    hypotheses: str,
    references: str,
    retokenizers: Retokenizers,
    format: str,
    force: bool,
    options: dict[str, Any],
) -> str:
    """Return the figures of several systems with intervals and buckets; draw the plot."""
    from nmtkit.cli.comparison_writers import as_csv, as_json, table
    from nmtkit.evaluation.comparison import compare

    files = {options["name"] or _display_name(hypotheses): hypotheses}
    for system, file in options["systems"]:
        if system in files:
            raise click.UsageError(f"Two systems are called '{system}'; give each its own name.")
        files[system] = file
    config = _comparison_config(retokenizers, len(files), options)
    lines, texts = _read(files, references, options)
    names = {system: _display_name(file) for system, file in files.items()} | {
        "": _display_name(references)
    }
    warnings: dict[str, None] = {}
    for system, hyps in lines.items():
        file_names = names[system], names[""]
        warnings |= dict.fromkeys(
            _text_warnings(hyps, texts.reference, file_names, retokenizers, config.metrics)
        )
    comparison = compare(lines, texts, config, names)
    for warning in warnings:
        warn(warning)
    if options["plot"]:
        from nmtkit.report.bucket_figures import plot_buckets

        plot_buckets(options["plot"], comparison, next(iter(comparison.whole.figures)), force)
    if format == "json":
        return as_json(comparison, names, names[""])
    return table(comparison) if format == "text" else as_csv(comparison)


def _comparison_config(
    retokenizers: Retokenizers, systems: int, options: dict[str, Any]
) -> "ComparisonConfig":
    """Convert the options to the settings of a comparison."""
    from nmtkit.evaluation.comparison import ComparisonConfig
    from nmtkit.evaluation.retokenize import moses_tokenizer
    from nmtkit.evaluation.significance import SAMPLES, SEED

    samples, seed = options["samples"], options["seed"]
    if samples is None:
        samples = SAMPLES if systems > 1 else 0
    if seed is not None and not samples:
        raise click.UsageError("--seed needs --bootstrap.")
    language = options["src_language"]
    return ComparisonConfig(
        tokenize=retokenizers[0],
        detokenize=retokenizers[1],
        tokenize_source=moses_tokenizer(language, options["hyphens"]) if language else None,
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
    files: dict[str, str], references: str, options: dict[str, Any]
) -> tuple[dict[str, Sequence[str]], "EvaluationSet"]:
    """Read the lines of each system, and the source, references and vocabularies."""
    from nmtkit.evaluation.buckets import EvaluationSet
    from nmtkit.io.lines import read_parallel
    from nmtkit.text.vocabulary import Vocabulary

    source = [options["source"]] if options["source"] else []
    rows = list(read_parallel(*files.values(), references, *source))
    columns = list(zip(*rows, strict=True)) or [()] * (len(files) + 1 + len(source))
    vocabularies = []
    for path in (options["src_vocab"], options["tgt_vocab"]):
        vocabulary = Vocabulary.load(path) if path else None
        if vocabulary and any(word.endswith("@@") for word in vocabulary):
            warn(f"{path} holds subwords (@@), but words are looked up whole; give a list of words")
        vocabularies.append(vocabulary)
    texts = EvaluationSet(columns[len(files)], columns[-1] if source else (), *vocabularies)
    return dict(zip(files, columns, strict=False)), texts


def _display_name(path: str) -> str:
    return "stdin" if path == "-" else path


def _text_warnings(
    hyps: Sequence[str],
    refs: Sequence[str],
    names: tuple[str, str],
    retokenizers: Retokenizers,
    measures: Sequence[str] = (),
) -> Iterator[str]:
    """Yield warnings about text that is not in the form that a metric needs.

    :param measures: names of the metrics; all if empty.
    """
    from nmtkit.evaluation.text_checks import holds_subwords, looks_escaped, looks_tokenized

    tokenize, detokenize = retokenizers
    for name, lines in zip(names, (hyps, refs), strict=True):
        if holds_subwords(lines):
            yield f"{name} holds subwords (@@) but BLEU counts words; undo BPE first"
    escaped = looks_escaped(hyps), looks_escaped(refs)
    yield from _mismatch_warnings(names, *escaped, ("escaped", "unescaped"))
    tokenized = looks_tokenized(hyps), looks_tokenized(refs)
    mismatches = list(_mismatch_warnings(names, *tokenized, ("tokenised", "raw")))
    if mismatches:
        yield from mismatches
        return
    if True in tokenized and not detokenize and set(measures) != {"bleu"}:
        yield (
            "the text looks tokenised already; add --tokenized"
            if tokenize
            else "the text looks tokenised, but sacreBLEU's BLEU, chrF and TER are meant for"
            " raw text; add --tokenized -t LANG"
        )
    if False in tokenized and not tokenize and ("bleu" in measures or not measures):
        yield (
            "the text looks raw; leave out --tokenized"
            if detokenize
            else "the text looks raw, but the papers' BLEU is meant for tokenised text; add -t LANG"
        )


def _mismatch_warnings(
    names: tuple[str, str], hyp: bool | None, ref: bool | None, forms: tuple[str, str]
) -> Iterator[str]:
    """Yield a warning if one text is in the first form and the other in the second."""
    if hyp is None or ref is None or hyp == ref:
        return
    first, second = forms if hyp else forms[::-1]
    yield f"{names[0]} looks {first} but {names[1]} looks {second}; bring both into one form"


def _table(measures: Sequence["MetricScore"]) -> str:
    widest = max(len(measure.name) for measure in measures)
    return "\n".join(f"{m.name:{widest}}  {m.value:6.2f}  {m.signature}" for m in measures)


def _json(names: tuple[str, str], lines: int, measures: Sequence["MetricScore"]) -> str:
    result = {
        "hypotheses": names[0],
        "references": names[1],
        "lines": lines,
        "measures": [asdict(measure) for measure in measures],
    }
    return json.dumps(result, ensure_ascii=False, indent=2)
