"""`nmtkit evaluate` of languages without spaces, and with several references."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
import sacrebleu
from click.testing import CliRunner, Result

from nmtkit.cli.main import cli
from tests.integration.evaluate_output import rows

REF = ["单击「确定」按钮。", "打开 Writer 文档", "关闭窗口", "选择「文件」菜单。", "输入名称"]
HYP = ["请单击「确定」。", "打开 Writer 文档", "关闭此窗口", "选择「文件」菜单。", "名称"]
OTHER = ["请按「确定」。", "打开文档", "", "选择文件菜单。", "请输入名称"]

Run = Callable[..., Result]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `nmtkit evaluate` in a folder with the files below."""
    files = {"hyp": HYP, "ref": REF, "other": OTHER, "moses0": REF, "moses1": OTHER}
    for name, lines in {**files, "short": REF[:2]}.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, status: int = 0) -> Result:
        result = CliRunner().invoke(cli, ["evaluate", *arguments])
        assert result.exit_code == status, (result.stderr, result.exception)
        return result

    return invoke


def names(result: Result) -> list[str]:
    return [name for name, _, _ in rows(result.stdout)]


def test_chrf_is_the_first_figure_of_chinese_and_bleu_has_words(run: Run) -> None:
    result = run("hyp", "ref", "-t", "zh")
    assert names(result) == ["chrF", "BLEU (multi-bleu)", "BLEU (sacreBLEU)", "TER"]
    theirs = sacrebleu.BLEU(tokenize="zh")
    bleu = theirs.corpus_score(HYP, [REF]).score
    _, papers, sacrebleus, _ = rows(result.stdout)
    assert sacrebleus[1:] == (f"{bleu:.2f}", str(theirs.get_signature()))
    assert papers[1] == f"{bleu:.2f}"
    assert papers[2].startswith("nrefs:1|case:mixed|eff:no|tok:zh|smooth:none|")
    assert "words of 'zh' in BLEU are" in result.stderr and "chrF is the first" in result.stderr


def test_comparisons_lead_with_chrf_and_count_characters_as_words(run: Run) -> None:
    options = ["-t", "zh", "--system", "b", "other", "--bootstrap", "9", "--by", "length"]
    result: Any = json.loads(run("hyp", "ref", *options, "--of", "reference", "--json").stdout)
    assert [m["name"] for m in result["systems"][0]["measures"]][0] == "chrF"
    assert result["pairs"][0]["measure"] == "chrF"
    assert [part["sentences"] for part in result["buckets"]][:2] == [5, 0]
    bounds = [*options, "--of", "reference", "--bounds", "4,8", "--csv"]
    assert ",2,1.0" not in run("hyp", "ref", *bounds).stdout


def test_text_without_spaces_and_without_its_language_gives_a_warning(run: Run) -> None:
    result = run("hyp", "ref")
    assert names(result)[0] == "BLEU (multi-bleu)" and "|tok:13a|" in result.stdout
    assert (
        "the script of ref has no spaces between words, but BLEU counts words; give its -t"
        in result.stderr
    )


@pytest.mark.parametrize("name", ["char", "intl", "none"])
def test_a_tokeniser_can_be_chosen(run: Run, name: str) -> None:
    theirs = sacrebleu.BLEU(tokenize=name)
    figure = f"{theirs.corpus_score(HYP, [REF]).score:.2f}"
    result = run(*_both(), "--tokenize", name)
    assert (figure, str(theirs.get_signature())) in [row[1:] for row in rows(result.stdout)]


def _both() -> list[str]:
    return ["hyp", "ref"]


@pytest.mark.parametrize("side", ["-t", "-s"])
def test_what_is_no_language_is_refused(run: Run, side: str) -> None:
    source = ["--source", "ref", "--by", "length"] if side == "-s" else []
    result = run(*_both(), side, "German", *source, status=1)
    assert (result.stdout, result.stderr.count("\n")) == ("", 1)
    assert f"{side} German: not a language code; did you mean {side} de?" in result.stderr


def test_the_old_spelling_of_the_language_still_works(run: Run) -> None:
    result = run("hyp", "ref", "--tokenize", "fr")
    assert "--tokenize LANG is now --tgt-language LANG" in result.stderr
    assert "tok:moses-fr|" in result.stdout


def test_a_tokeniser_whose_model_is_missing_fails_in_one_line(
    run: Run, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", "nowhere")
    result = run("hyp", "ref", "--tokenize", "flores200", status=1)
    assert result.stdout == "" and result.stderr.count("\n") == 1
    assert "the tokeniser flores200 needs" in result.stderr
    assert (
        "'klingon' is not one of 'auto', '13a'"
        in run(*_both(), "--tokenize", "klingon", status=2).stderr
    )


def test_several_references_are_sacrebleus(run: Run) -> None:
    result = run("hyp", "ref", "--reference", "other", "-t", "zh")
    for metric in (sacrebleu.BLEU(tokenize="zh"), sacrebleu.CHRF()):
        figure = f"{metric.corpus_score(HYP, [REF, OTHER]).score:.2f}"
        assert (figure, str(metric.get_signature())) in [row[1:] for row in rows(result.stdout)]
    assert run("hyp", "moses", "-t", "zh").stdout == result.stdout
    several = json.loads(run("hyp", "ref", "--reference", "other", "--json").stdout)
    assert several["references"] == ["ref", "other"]
    both = run("hyp", "ref", "--reference", "other", "--system", "b", "ref", "--bootstrap", "5")
    assert "nrefs:2|bs:5|" in both.stdout


def test_references_of_another_length_are_refused_with_all_counts(run: Run) -> None:
    result = run("hyp", "ref", "--reference", "short", status=1)
    assert "hyp has 5, ref has 5, short has 2" in result.stderr
