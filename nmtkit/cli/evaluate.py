"""`nmtkit evaluate`: translations and references in, figures with their signatures out."""

import json
from collections.abc import Iterator, Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING, Any

import click

from nmtkit.cli.bucket_options import comparison_options, strata_options
from nmtkit.cli.common import force_option, warn

if TYPE_CHECKING:
    from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
    from nmtkit.evaluation.comparison import ComparisonConfig
    from nmtkit.evaluation.metrics import MetricScore
    from nmtkit.evaluation.retokenize import Retokenizer


@click.command()
@click.argument("hypotheses", metavar="HYP")
@click.argument("references", metavar="REF")
@click.option(
    "--tokenize",
    "tokenize_language",
    metavar="LANG",
    help="The files are raw text: tokenise both as 'nmtkit prepare' does text of this language"
    " (such as fr), for the papers' BLEU alone.",
)
@click.option("--hyphens", is_flag=True, help="With --tokenize, split words at hyphens, too.")
@click.option(
    "--detokenize",
    "detokenize_language",
    metavar="LANG",
    help="The files are tokenised text: detokenise both as text of this language for all"
    " measures but the papers' BLEU.",
)
@comparison_options
@strata_options
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the parts of each BLEU.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["text", "json", "csv"]),
    help="How figures are printed; json as --json.  [default: text]",
)
@force_option
def command(
    hypotheses: str,
    references: str,
    tokenize_language: str | None,
    hyphens: bool,
    detokenize_language: str | None,
    as_json: bool,
    form: str | None,
    force: bool,
    **options: Any,
) -> None:
    """Compare the translations HYP with the references REF, line by line.

    Four figures in percent are printed, each with its signature, which says how it was measured:
    BLEU as the papers measured it, which is what multi-bleu.perl gives for tokenised text; and
    sacreBLEU's BLEU, chrF and TER, which are meant for raw text. TER is better when lower, the
    others when higher. Only figures with the same signature can be compared.

    Every measure is taken of the files as they are, unless --tokenize or --detokenize is given.
    HYP or REF may be '-' for stdin, or the name of a .gz file. A different number of lines is an
    error.

    More systems are set beside the first with --system: then each figure has its 95 % interval, and
    every two systems a p-value, both by bootstrap (Koehn 2004) with sacreBLEU's samples. --by tells
    the figures of parts of the test set, too, and --plot draws them.

    \b
    Examples:
      nmtkit translate --model model < test.en | nmtkit evaluate --tokenize fr - test.fr
      nmtkit evaluate --detokenize fr test.hyp.tok.fr test.tok.fr
      nmtkit evaluate a.fr test.fr --name A --system B b.fr --tokenize fr
      nmtkit evaluate a.tok test.tok.fr --source test.tok.en --by length --plot length.pdf
    """
    if tokenize_language and detokenize_language:
        raise click.UsageError("Text is raw or tokenised: give --tokenize or --detokenize.")
    if hyphens and not tokenize_language:
        raise click.UsageError("--hyphens belongs to --tokenize.")
    if as_json and form not in (None, "json"):
        raise click.UsageError(f"--json and --format {form} exclude each other.")
    form = form or ("json" if as_json else "text")
    from nmtkit.evaluation.retokenize import moses_detokenizer, moses_tokenizer

    rewritings = (
        moses_tokenizer(tokenize_language, hyphens) if tokenize_language else None,
        moses_detokenizer(detokenize_language) if detokenize_language else None,
    )
    if form == "csv" or any(value not in (None, (), False) for value in options.values()):
        _compare(hypotheses, references, rewritings, form, force, {**options, "hyphens": hyphens})
    else:
        _measure(hypotheses, references, rewritings, form)


Rewritings = tuple["Retokenizer | None", "Retokenizer | None"]


def _measure(hypotheses: str, references: str, rewritings: Rewritings, form: str) -> None:
    """One system, as it stands."""
    from nmtkit.evaluation.metrics import evaluate
    from nmtkit.io.lines import read_parallel

    pairs = list(read_parallel(hypotheses, references))
    hyps, refs = [hyp for hyp, _ in pairs], [ref for _, ref in pairs]
    names = (_spoken(hypotheses), _spoken(references))
    measures = evaluate(hyps, refs, names, *rewritings)
    for warning in _signs_of_form(hyps, refs, names, rewritings):
        warn(warning)
    click.echo(_json(names, len(pairs), measures) if form == "json" else _table(measures))


def _compare(
    hypotheses: str,
    references: str,
    rewritings: Rewritings,
    form: str,
    force: bool,
    options: dict[str, Any],
) -> None:
    """All that is asked for on request: several systems, intervals, strata, a picture."""
    from nmtkit.cli.comparison_writers import as_csv, as_json, table
    from nmtkit.evaluation.comparison import compare

    files = {options["name"] or _spoken(hypotheses): hypotheses}
    for system, file in options["systems"]:
        if system in files:
            raise click.UsageError(f"Two systems are called '{system}'; give each its own name.")
        files[system] = file
    config = _comparison_config(rewritings, len(files), options)
    lines, texts = _read(files, references, options)
    names = {system: _spoken(file) for system, file in files.items()} | {"": _spoken(references)}
    told: dict[str, None] = {}
    for system, hyps in lines.items():
        both = names[system], names[""]
        signs = _signs_of_form(hyps, texts.reference, both, rewritings, config.metrics)
        told.update(dict.fromkeys(signs))
    comparison = compare(lines, texts, config, names)
    for warning in told:
        warn(warning)
    if options["plot"]:
        from nmtkit.report.bucket_figures import plot_buckets

        plot_buckets(options["plot"], comparison, next(iter(comparison.whole.figures)), force)
    if form == "json":
        click.echo(as_json(comparison, names, names[""]))
    else:
        click.echo(table(comparison) if form == "text" else as_csv(comparison))


def _comparison_config(
    rewritings: Rewritings, systems: int, options: dict[str, Any]
) -> "ComparisonConfig":
    """What the options ask for, where they go together."""
    from nmtkit.evaluation.comparison import ComparisonConfig
    from nmtkit.evaluation.retokenize import moses_tokenizer
    from nmtkit.evaluation.significance import SAMPLES, SEED

    samples, seed = options["samples"], options["seed"]
    if samples is None:
        samples = SAMPLES if systems > 1 else 0
    if seed is not None and not samples:
        raise click.UsageError("--seed belongs to --bootstrap.")
    language = options["tokenize_source"]
    return ComparisonConfig(
        tokenize=rewritings[0],
        detokenize=rewritings[1],
        tokenize_source=moses_tokenizer(language, options["hyphens"]) if language else None,
        metrics=options["measures"],
        samples=samples,
        seed=SEED if seed is None else seed,
        no_unknown=options["no_unknown"],
        words=options["words"],
        bucketings=_bucketings(options),
    )


def _bucketings(options: dict[str, Any]) -> "tuple[Bucketing, ...]":
    """One for each side that counts; none without --by."""
    from nmtkit.evaluation.buckets import Bucketing

    by, sides, bounds = options["by"], options["sides"], options["bounds"]
    window, neighbours = options["window"], options["neighbours"]
    if by is None and (sides or bounds or window or neighbours or options["plot"]):
        raise click.UsageError("--of, --bounds, --window, --sorted and --plot belong to --by.")
    texts = ("tokenize_source", "source", "src_vocab", "tgt_vocab")
    used = by or options["no_unknown"] or options["words"]
    if not used and any(options[name] for name in texts):
        raise click.UsageError(
            "The source and vocabularies serve --by, --no-unk and --words; give one of these."
        )
    return tuple(
        Bucketing(by, of, bounds, window or 0, neighbours or 0)
        for of in (dict.fromkeys(sides) or ["source"])
        if by
    )


def _read(
    files: dict[str, str], references: str, options: dict[str, Any]
) -> tuple[dict[str, Sequence[str]], "EvaluationSet"]:
    """The lines of each system, and what strata are made of."""
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


def _spoken(path: str) -> str:
    return "stdin" if path == "-" else path


def _signs_of_form(
    hyps: Sequence[str],
    refs: Sequence[str],
    names: tuple[str, str],
    rewritings: Rewritings,
    measures: Sequence[str] = (),
) -> Iterator[str]:
    """Say where the text is not what a measure needs: many a low BLEU is only that.

    `measures` are those that are taken; all where empty.
    """
    from nmtkit.evaluation.text_checks import holds_subwords, looks_escaped, looks_tokenized

    tokenize, detokenize = rewritings
    for name, lines in zip(names, (hyps, refs), strict=True):
        if holds_subwords(lines):
            yield f"{name} holds subwords (@@) but BLEU counts words; undo BPE first"
    escaped = looks_escaped(hyps), looks_escaped(refs)
    yield from _signs_of_two_forms(names, *escaped, ("escaped", "unescaped"))
    tokenized = looks_tokenized(hyps), looks_tokenized(refs)
    if two := list(_signs_of_two_forms(names, *tokenized, ("tokenised", "raw"))):
        yield from two
        return
    if True in tokenized and not detokenize and set(measures) != {"bleu"}:
        yield (
            "the text reads as if tokenised already; leave out --tokenize"
            if tokenize
            else "the text reads as if tokenised, but sacreBLEU's BLEU, chrF and TER are meant for"
            " raw text; use --detokenize LANG for them"
        )
    if False in tokenized and not tokenize and ("bleu" in measures or not measures):
        yield (
            "the text reads as if raw already; leave out --detokenize"
            if detokenize
            else "the text reads as if raw, but the papers' BLEU is meant for tokenised text;"
            " use --tokenize LANG for it"
        )


def _signs_of_two_forms(
    names: tuple[str, str], hyp: bool | None, ref: bool | None, forms: tuple[str, str]
) -> Iterator[str]:
    """Say that one text is in the first form and the other in the second, where that is so."""
    if hyp is None or ref is None or hyp == ref:
        return
    first, second = forms if hyp else forms[::-1]
    yield f"{names[0]} reads as if {first} but {names[1]} as if {second}; bring both into one form"


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
