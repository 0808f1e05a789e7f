"""Commands as documented for 0.1.0 still work, with one warning that names the new spelling."""

import gzip
import shlex
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]

LIST = (
    "0 ||| un deux ||| LM0= -4 RNN0= -3 ||| -4\n"
    "0 ||| deux ||| LM0= -5 RNN0= -1 ||| -5\n"
    "1 ||| trois ||| LM0= -2 RNN0= -2 ||| -2\n"
)
INI = "[weight]\nLM0= 1\nRNN0= 0\n"
TABLE = "".join(
    f"{' '.join(source)} ||| {' '.join(target)} ||| 0.1 0.2 0.3 0.4 ||| ||| 9 9 9\n"
    for source, target in (
        (["one", "two"], ["un", "deux"]),
        (["one", "two"], ["un"]),
        (["three", "six"], ["trois", "six"]),
        (["three", "six"], ["trois"]),
    )
)


@pytest.fixture
def folder(
    tmp_path: Path,
    corpus: Path,
    prepared: Path,
    model: Path,
    language_model: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> Path:
    """Fill and enter a folder with the files that the README of 0.1.0 names."""
    for name, split in (("train", "train"), ("dev", "dev"), ("news", "test"), ("crawl", "train")):
        for side in ("en", "fr"):
            text = (corpus / f"{split}.{side}").read_text()
            (tmp_path / f"{name}.{side}").write_text(text)
            (tmp_path / f"{name}.{side}.gz").write_bytes(gzip.compress(text.encode()))
    for name in ("model", "model-1", "model-2", "other-model", "rnn", "back"):
        (tmp_path / name).symlink_to(model)
    (tmp_path / "cslm").symlink_to(language_model)
    (tmp_path / "prepared").symlink_to(prepared)
    for name in ("moses.100best.gz", "dev.1000best.gz", "test.1000best.gz"):
        (tmp_path / name).write_bytes(gzip.compress(LIST.encode()))
    (tmp_path / "moses.ini").write_text(INI)
    (tmp_path / "tuned").write_text(INI)
    (tmp_path / "test.fr").write_text("un deux\ntrois\n")
    (tmp_path / "two.fr").write_text("un deux\ntrois\n")
    (tmp_path / "phrase-table.gz").write_bytes(gzip.compress(TABLE.encode()))
    for name in ("news.out", "a.out", "b.out"):
        (tmp_path / name).write_text((corpus / "test.fr").read_text())
    monkeypatch.chdir(tmp_path)
    return tmp_path


SMALL = "--pairs 2 --phrases 1 --min-words 1 --top 1 --samples 2"

README = [
    (
        "prepare --train train.en train.fr --dev dev.en dev.fr --test news news.en news.fr"
        " -s en -t fr --bpe 10 --output prepared-again",
        [],
    ),
    ("shortlist prepared-again", []),
    ("evaluate news.out news.fr --tokenize fr", ["--tokenize LANG is now --tgt-language LANG"]),
    (
        "select -s en -t fr --domain news.en news.fr --pool crawl.en.gz crawl.fr.gz --words 20"
        " --output near.en near.fr",
        [],
    ),
    ("score --model model news.en news.fr", []),
    ("score --model cslm news.fr", []),
    (
        "score -m cslm --nbest moses.100best.gz",
        ["'nmtkit score --nbest LIST' is now 'nmtkit nbest score LIST'"],
    ),
    (
        "tune dev.1000best.gz two.fr --start moses.ini -o tuned-again",
        ["'nmtkit tune' is now 'nmtkit nbest tune'"],
    ),
    (
        "rerank test.1000best.gz --weights tuned",
        [
            "'nmtkit rerank' is now 'nmtkit nbest rerank'",
            "--weights FILE is now --weights-file FILE",
        ],
    ),
    (
        "rerank test.1000best.gz --average RNN0",
        [
            "'nmtkit rerank' is now 'nmtkit nbest rerank'",
            "--average NAME is now --mean-with NAME",
        ],
    ),
    (
        "rerank test.1000best.gz --oracle test.fr",
        ["'nmtkit rerank' is now 'nmtkit nbest rerank'"],
    ),
    ("align --model model news.en news.fr --soft", []),
    ("curves model-1 model-2", []),
    ("embed --model model news.en", []),
    ("embed --model model --words target", ["--words SIDE is now --vocabulary SIDE"]),
    ("translate -m model-1 -m model-2 news.en", []),
    ("translate -m model --n-best 10 --beam 12 news.en", []),
    (
        "evaluate a.out news.fr --name A --system B b.out --tokenize fr",
        ["--tokenize LANG is now --tgt-language LANG"],
    ),
    ("align -m model train.en train.fr --lexicon lexicon.gz", []),
    ("translate -m model --segment random-confidence news.en", []),
    ("train --list-recipes", []),
    ("train --show-config --recipe rnnsearch-50", []),
    (
        "score -m rnn --phrase-table phrase-table.gz --count-unknown -o with-rnn.gz",
        ["'nmtkit score --phrase-table TABLE' is now 'nmtkit phrase-table score TABLE'"],
    ),
]
"""The commands in the README of 0.1.0 and their warnings."""

REPORTS = [
    (
        f"report --phrase-table phrase-table.gz --model rnn --output report {SMALL}",
        [
            "'nmtkit report --phrase-table TABLE' is now 'nmtkit phrase-table report TABLE'",
            "--samples N is now --sample N",
        ],
    ),
    (
        "report model --test news.en news.fr -o report.html --bootstrap 2",
        ["--test SRC REF is now --source SRC --reference REF"],
    ),
]


@pytest.mark.parametrize(("line", "warnings"), README, ids=lambda value: str(value)[:40])
def test_commands_of_the_readme_of_0_1_0_work(
    line: str, warnings: list[str], folder: Path, nmtkit: Nmtkit
) -> None:
    if line.startswith("shortlist"):
        nmtkit(*shlex.split(README[0][0]))
    assert spelling_warnings(nmtkit(*shlex.split(line))) == warnings


@pytest.mark.skipif(not find_spec("matplotlib"), reason="draws figures")
@pytest.mark.parametrize(("line", "warnings"), REPORTS, ids=["phrase table", "page"])
def test_reports_of_the_readme_of_0_1_0_work(
    line: str, warnings: list[str], folder: Path, nmtkit: Nmtkit
) -> None:
    result = nmtkit(*shlex.split(line))
    assert spelling_warnings(result) == warnings and result.stdout == ""


def spelling_warnings(result: Result) -> list[str]:
    """Return the warnings about old spellings."""
    lines = [line.removeprefix("nmtkit: warning: ") for line in result.stderr.splitlines()]
    return [line for line in lines if " is now " in line or "is the default now" in line]


@pytest.mark.parametrize(
    ("old", "new"),
    [
        (
            "translate -m model news.en --rule bounded",
            "translate -m model news.en --beam-mode bounded",
        ),
        (
            "train --show-config -r toy -s training.seed=7",
            "train --show-config -r toy -S training.seed=7",
        ),
        ("score -m model news.en news.fr --raw", "score -m model news.en news.fr"),
        (
            "score -m cslm --nbest moses.100best.gz --raw",
            "nbest score -m cslm moses.100best.gz --no-tokenized",
        ),
        ("evaluate a.out news.fr --detokenize fr", "evaluate a.out news.fr --tokenized -t fr"),
        ("evaluate a.out news.fr --format json", "evaluate a.out news.fr --json"),
        ("evaluate a.out news.fr --format csv", "evaluate a.out news.fr --csv"),
        ("evaluate a.out news.fr --format=text", "evaluate a.out news.fr"),
        (
            "evaluate a.out news.fr --source news.en --tokenize-source en --words 2-3",
            "evaluate a.out news.fr --source news.en -s en --length 2-3",
        ),
        (
            "curves model --by updates --plot a.svg -o -",
            "curves model --x-axis updates --plot b.svg -o -",
        ),
        (
            "align -m model news.en news.fr --reference links",
            "align -m model news.en news.fr --gold links",
        ),
    ],
    ids=lambda value: str(value)[:30],
)
def test_old_and_new_spellings_print_the_same(
    old: str, new: str, folder: Path, nmtkit: Nmtkit
) -> None:
    if "--plot" in old:
        pytest.importorskip("matplotlib")
    (folder / "links").write_text("0-0\n" * 4)
    before, after = nmtkit(*shlex.split(old)), nmtkit(*shlex.split(new))
    assert before.stdout == after.stdout != ""
    assert spelling_warnings(before) and not spelling_warnings(after)


def test_select_writes_scores_with_the_old_option(folder: Path, nmtkit: Nmtkit) -> None:
    line = "select -s en -t fr --domain news.en news.fr --pool crawl.en crawl.fr --pairs 3 --force"
    line += " -o x.en x.fr"
    nmtkit(*line.split(), "--scores", "old")
    nmtkit(*line.split(), "--scores-file", "new")
    assert (folder / "old").read_text() == (folder / "new").read_text() != ""


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("rerank --nonsense", "See: nmtkit nbest rerank --help"),
        ("evaluate a b --tokenize fr --detokenize fr", "exclude each other"),
        ("train prepared -o model -s en", "No such option '-s'"),
        ("score --phrase-table", "No such option '--phrase-table'"),
    ],
)
def test_wrong_usage_of_old_spellings(line: str, message: str, nmtkit: Nmtkit) -> None:
    result = nmtkit(*line.split(), status=2)
    assert message in result.stderr and result.stdout == ""


def test_quiet_does_not_hide_warnings_about_spellings(folder: Path, nmtkit: Nmtkit) -> None:
    result = nmtkit("-q", "rerank", "test.1000best.gz")
    assert spelling_warnings(result) == ["'nmtkit rerank' is now 'nmtkit nbest rerank'"]


@pytest.mark.parametrize("words", [["-q", "score"], ["score", "-q"], ["score", "--quiet"]])
def test_quiet_works_before_and_after_the_command(
    words: list[str], folder: Path, nmtkit: Nmtkit
) -> None:
    assert nmtkit(*words, "-m", "model", "news.en", "news.fr").stderr == ""


def test_quiet_excludes_verbose_wherever_they_stand(nmtkit: Nmtkit) -> None:
    assert "exclude each other" in nmtkit("-q", "score", "-v", "x", "y", status=2).stderr
