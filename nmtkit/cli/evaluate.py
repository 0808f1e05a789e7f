"""`nmtkit evaluate`: translations and references in, figures with their signatures out."""

import json
from collections.abc import Sequence
from dataclasses import asdict
from typing import TYPE_CHECKING

import click

from nmtkit.cli.common import warn

if TYPE_CHECKING:
    from nmtkit.evaluation.bleu import Measure, Rewriting


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
@click.option("--json", "as_json", is_flag=True, help="Print JSON, with the parts of each BLEU.")
def command(
    hypotheses: str,
    references: str,
    tokenize_language: str | None,
    hyphens: bool,
    detokenize_language: str | None,
    as_json: bool,
) -> None:
    """Compare the translations HYP with the references REF, line by line.

    Four figures in percent are printed, each with its signature, which says how it was measured:
    BLEU as the papers measured it, which is what multi-bleu.perl gives for tokenised text; and
    sacreBLEU's BLEU, chrF and TER, which are meant for raw text. TER is better when lower, the
    others when higher. Only figures with the same signature can be compared.

    Every measure is taken of the files as they are, unless --tokenize or --detokenize is given.
    HYP or REF may be '-' for stdin, or the name of a .gz file. A different number of lines is an
    error.

    \b
    Examples:
      nmtkit translate --model model < test.en | nmtkit evaluate --tokenize fr - test.fr
      nmtkit evaluate --detokenize fr test.hyp.tok.fr test.tok.fr
    """
    if tokenize_language and detokenize_language:
        raise click.UsageError("Text is raw or tokenised: give --tokenize or --detokenize.")
    if hyphens and not tokenize_language:
        raise click.UsageError("--hyphens belongs to --tokenize.")
    from nmtkit.evaluation.bleu import evaluate
    from nmtkit.text.lines import read_parallel

    pairs = list(read_parallel(hypotheses, references))
    hyps, refs = [hyp for hyp, _ in pairs], [ref for _, ref in pairs]
    names = (_spoken(hypotheses), _spoken(references))
    tokenize = _tokenizing(tokenize_language, hyphens) if tokenize_language else None
    detokenize = _detokenizing(detokenize_language) if detokenize_language else None
    measures = evaluate(hyps, refs, names, tokenize, detokenize)
    _warn_of_the_form(hyps, refs, names, tokenize is not None, detokenize is not None)
    click.echo(_json(names, len(pairs), measures) if as_json else _table(measures))


def _spoken(path: str) -> str:
    return "stdin" if path == "-" else path


def _tokenizing(language: str, hyphens: bool) -> "Rewriting":
    from nmtkit.evaluation.bleu import Rewriting
    from nmtkit.text.tokenizer import Tokenizer

    tokenizer = Tokenizer(language, hyphens=hyphens)
    name = f"moses-{language}-hyphens" if hyphens else f"moses-{language}"
    return Rewriting(name, lambda line: " ".join(tokenizer.tokenize(line)))


def _detokenizing(language: str) -> "Rewriting":
    from nmtkit.evaluation.bleu import Rewriting
    from nmtkit.text.tokenizer import Detokenizer

    detokenizer = Detokenizer(language)
    return Rewriting(f"moses-{language}", lambda line: detokenizer.detokenize(line.split()))


def _warn_of_the_form(
    hyps: Sequence[str],
    refs: Sequence[str],
    names: tuple[str, str],
    tokenize: bool,
    detokenize: bool,
) -> None:
    """Say where the text is not what a measure needs: many a low BLEU is only that."""
    from nmtkit.evaluation.form import holds_subwords, looks_escaped, looks_tokenized

    for name, lines in zip(names, (hyps, refs), strict=True):
        if holds_subwords(lines):
            warn(f"{name} holds subwords (@@) but BLEU counts words; undo BPE first")
    _warn_of_two_forms(names, looks_escaped(hyps), looks_escaped(refs), ("escaped", "unescaped"))
    tokenized = looks_tokenized(hyps), looks_tokenized(refs)
    if _warn_of_two_forms(names, *tokenized, ("tokenised", "raw")):
        return
    if True in tokenized and not detokenize:
        warn(
            "the text reads as if tokenised already; leave out --tokenize"
            if tokenize
            else "the text reads as if tokenised, but sacreBLEU's BLEU, chrF and TER are meant for"
            " raw text; use --detokenize LANG for them"
        )
    if False in tokenized and not tokenize:
        warn(
            "the text reads as if raw already; leave out --detokenize"
            if detokenize
            else "the text reads as if raw, but the papers' BLEU is meant for tokenised text;"
            " use --tokenize LANG for it"
        )


def _warn_of_two_forms(
    names: tuple[str, str], hyp: bool | None, ref: bool | None, forms: tuple[str, str]
) -> bool:
    """Say that one text is in the first form and the other in the second, where that is so."""
    if hyp is None or ref is None or hyp == ref:
        return False
    first, second = forms if hyp else forms[::-1]
    warn(f"{names[0]} reads as if {first} but {names[1]} as if {second}; bring both into one form")
    return True


def _table(measures: Sequence["Measure"]) -> str:
    widest = max(len(measure.name) for measure in measures)
    return "\n".join(f"{m.name:{widest}}  {m.value:6.2f}  {m.signature}" for m in measures)


def _json(names: tuple[str, str], lines: int, measures: Sequence["Measure"]) -> str:
    result = {
        "hypotheses": names[0],
        "references": names[1],
        "lines": lines,
        "measures": [asdict(measure) for measure in measures],
    }
    return json.dumps(result, ensure_ascii=False, indent=2)
