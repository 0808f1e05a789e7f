"""`nmtkit evaluate` through the real command line."""

import gzip
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nmtkit.cli.main import cli
from nmtkit.evaluation.metrics import METRICS, tokenized_bleu
from nmtkit.text.tokenizer import Detokenizer, Tokenizer
from tests.integration.evaluate_output import rows

RAW_REF = [
    "L'homme porte un chapeau orange.",
    "Deux chiens jouent dans l'eau, près du quai.",
    "Est-ce que la petite fille dort ?",
    "Un garçon court sur la plage.",
    "Des gens attendent le train.",
    "Elle lit un livre sous l'arbre.",
    "Cette grand-mère arrose ses fleurs.",
]
RAW_HYP = [
    "L'homme a un chapeau orange.",
    "Deux chiens jouent dans l'eau, près d'un quai.",
    "La petite fille dort ?",
    "",
    "Des gens attendent le train.",
    "Elle lit un livre sous un arbre.",
    "La grand-mère arrose les fleurs.",
]
IDENTICAL = ["ref.fr", "ref.fr"]

Run = Callable[..., Result]


def tokenized(lines: list[str], hyphens: bool = False) -> list[str]:
    tokenizer = Tokenizer("fr", hyphens=hyphens)
    return [" ".join(tokenizer.tokenize(line)) for line in lines]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `nmtkit evaluate` in a folder with the files below."""
    files = {
        "hyp.fr": RAW_HYP,
        "ref.fr": RAW_REF,
        "hyp.tok": tokenized(RAW_HYP),
        "ref.tok": tokenized(RAW_REF),
        "escaped.tok": [line.replace("'", "&apos;") for line in tokenized(RAW_REF)],
        "bpe.tok": [line.replace("chapeau", "cha@@ peau") for line in tokenized(RAW_REF)],
        "short.fr": RAW_REF[:4],
        "empty": [],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, stdin: bytes | None = None) -> Result:
        return CliRunner().invoke(cli, ["evaluate", *arguments], input=stdin)

    return invoke


def table(result: Result) -> list[tuple[str, str, str]]:
    """Return name, figure and signature of each line."""
    assert result.exit_code == 0, result.output
    return rows(result.stdout)


def test_each_metric_has_a_figure_and_a_signature(run: Run) -> None:
    lines = table(run("hyp.tok", "ref.tok"))
    both = tokenized(RAW_HYP), tokenized(RAW_REF)
    expected = [metric.corpus_score(*both) for metric in METRICS.values()]
    assert lines == [(m.name, f"{m.value:.2f}", m.signature) for m in expected]
    assert [name for name, _, _ in lines] == [
        "BLEU (multi-bleu)",
        "BLEU (sacreBLEU)",
        "chrF",
        "TER",
    ]


def test_columns_are_aligned(run: Run) -> None:
    lines = run("hyp.tok", "ref.tok").stdout.split("\n\n")[0].splitlines()
    assert len({re.match(r".*?  +[\d.]+(?=$|  )", line).end() for line in lines[:4]}) == 1  # type: ignore[union-attr]


def test_the_ratio_of_lengths_is_that_of_bleu(run: Run) -> None:
    line = run("hyp.tok", "ref.tok").stdout.split("\n\n")[0].splitlines()[-1]
    hyp, ref = (len(" ".join(tokenized(lines)).split()) for lines in (RAW_HYP, RAW_REF))
    assert re.split("  +", line) == ["length ratio", f"{hyp / ref:.3f}", f"({hyp} / {ref} words)"]
    assert json.loads(run("hyp.tok", "ref.tok", "--json").stdout)["length_ratio"] == hyp / ref
    assert "length ratio" not in run("hyp.tok", "ref.tok", "--measure", "chrf").stdout


def test_json_has_the_figures_of_the_table(run: Run) -> None:
    result = json.loads(run("hyp.tok", "ref.tok", "--json").stdout)
    assert (result["hypotheses"], result["references"]) == ("hyp.tok", "ref.tok")
    assert result["lines"] == 7
    shown = [(m["name"], f"{m['value']:.2f}", m["signature"]) for m in result["measures"]]
    assert shown == table(run("hyp.tok", "ref.tok"))
    both = tokenized(RAW_HYP), tokenized(RAW_REF)
    assert result["measures"][0]["precisions"] == list(tokenized_bleu(*both).precisions)


@pytest.mark.parametrize("form", [[], ["--json"], ["--csv"]])
def test_figures_are_written_to_a_file(run: Run, form: list[str]) -> None:
    written = run("hyp.tok", "ref.tok", *form, "-o", "figures")
    assert (written.exit_code, written.stdout) == (0, "")
    assert Path("figures").read_text() == run("hyp.tok", "ref.tok", *form).stdout
    assert run("hyp.tok", "ref.tok", "-o", "figures").exit_code == 1
    assert run("hyp.tok", "ref.tok", "-o", "figures", "--force").exit_code == 0


def test_raw_text_is_tokenised_for_multi_bleu_only(run: Run) -> None:
    raw = table(run("hyp.fr", "ref.fr", "-t", "fr"))
    assert raw[0][1] == table(run("hyp.tok", "ref.tok"))[0][1]
    assert "|tok:moses-fr|" in raw[0][2]
    assert raw[1:] == table(run("hyp.fr", "ref.fr"))[1:]


def test_hyphens_splits_at_hyphens(run: Run) -> None:
    result = json.loads(run("hyp.fr", "ref.fr", "-t", "fr", "--hyphens", "--json").stdout)
    expected = tokenized_bleu(tokenized(RAW_HYP, hyphens=True), tokenized(RAW_REF, hyphens=True))
    assert result["measures"][0]["reference_length"] == expected.reference_length
    assert expected.reference_length == sum(map(len, map(str.split, tokenized(RAW_REF)))) + 4
    assert "|tok:moses-fr-hyphens|" in result["measures"][0]["signature"]


def test_tokenised_text_is_detokenised_for_the_other_metrics_only(run: Run) -> None:
    rows = table(run("hyp.tok", "ref.tok", "--tokenized", "-t", "fr"))
    detokenizer = Detokenizer("fr")
    both = (
        [detokenizer.detokenize(line.split()) for line in tokenized(RAW_HYP)],
        [detokenizer.detokenize(line.split()) for line in tokenized(RAW_REF)],
    )
    values = [
        f"{METRICS[name].corpus_score(*both).value:.2f}" for name in ("sacrebleu", "chrf", "ter")
    ]
    assert [value for _, value, _ in rows[1:]] == values
    assert all("|detok:moses-fr|" in signature for _, _, signature in rows[1:])
    assert rows[0] == table(run("hyp.tok", "ref.tok"))[0]


def test_stdin_and_gzip(run: Run, tmp_path: Path) -> None:
    lines = (tmp_path / "hyp.fr").read_bytes()
    with gzip.open(tmp_path / "hyp.gz", "wb") as stream:
        stream.write(lines)
    expected = table(run("hyp.fr", "ref.fr"))
    assert table(run("-", "ref.fr", stdin=lines)) == expected
    assert table(run("hyp.gz", "ref.fr")) == expected


def test_lines_end_at_newlines_alone(run: Run, tmp_path: Path) -> None:
    strange = "un\u2028deux\x85trois\x0c\rquatre cinq six sept huit\nneuf\n"
    (tmp_path / "strange").write_bytes(strange.encode())
    result = json.loads(run("strange", "strange", "--json").stdout)
    assert result["lines"] == 2
    assert [m["value"] for m in result["measures"]] == [100, 100, 100, 0]


@pytest.mark.parametrize(
    ("arguments", "warning"),
    [
        (["hyp.fr", "ref.fr"], "looks raw, .* add -t LANG"),
        (["hyp.tok", "ref.tok"], "looks tokenised, .* add --tokenized -t LANG"),
        (["hyp.fr", "ref.tok"], "hyp.fr looks raw but ref.tok looks tokenised"),
        (["ref.tok", "ref.fr"], "ref.tok looks tokenised but ref.fr looks raw"),
        (["ref.tok", "ref.tok", "-t", "fr"], "tokenised already; add --tokenized"),
        (["ref.fr", "ref.fr", "--tokenized", "-t", "fr"], "looks raw; leave out --tokenized"),
        (["ref.tok", "escaped.tok"], "ref.tok looks unescaped but escaped.tok looks escaped"),
        (["bpe.tok", "ref.tok"], "bpe.tok holds subwords"),
    ],
)
def test_text_in_the_wrong_form_gives_a_warning(
    run: Run, arguments: list[str], warning: str
) -> None:
    result = run(*arguments)
    assert len(table(result)) == 4
    assert re.search(warning, result.stderr)


@pytest.mark.parametrize(
    "arguments",
    [
        ["hyp.fr", "ref.fr", "-t", "fr"],
        ["hyp.tok", "ref.tok", "--tokenized", "-t", "fr"],
        ["escaped.tok", "escaped.tok", "--tokenized", "-t", "fr"],
    ],
)
def test_text_in_the_right_form_gives_no_warning(run: Run, arguments: list[str]) -> None:
    assert run(*arguments).stderr == ""


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["hyp.fr", "short.fr"], "hyp.fr has 7, short.fr has 4"),
        (["short.fr", "ref.fr"], "short.fr has 4, ref.fr has 7"),
        (["empty", "empty"], "no lines in empty and empty"),
        (["missing.fr", "ref.fr"], "missing.fr"),
    ],
)
def test_unmeasurable_text_fails_in_one_line(run: Run, arguments: list[str], message: str) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (1, "")
    assert message in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [["ref.fr"], [*IDENTICAL, "--hyphens"], [*IDENTICAL, "--tokenize", "fr", "--detokenize", "fr"]],
)
def test_wrong_usage(run: Run, arguments: list[str]) -> None:
    result = run(*arguments)
    assert (result.exit_code, result.stdout) == (2, "")


def test_help_needs_no_metric(run: Run) -> None:
    result = run("--help-all")
    assert result.exit_code == 0
    assert "multi-bleu" in result.stdout and "Examples:" in result.stdout
