"""`nmtkit evaluate` of several systems and parts of a test set, through the real command line."""

import csv
import json
import random
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import CliRunner, Result

from nmtkit.cli.main import cli
from nmtkit.columns import columns
from nmtkit.evaluation.metrics import tokenized_bleu
from nmtkit.text.tokenizer import Tokenizer
from tests.integration.evaluate_output import figures, signatures

Run = Callable[..., Result]

WORDS = ["le", "chien", "court", "sur", "la", "plage", "verte", "et", "dort", "zut"]
rng = random.Random(8)
REF = [" ".join([*rng.choices(WORDS, k=rng.randint(2, 24)), "."]) for _ in range(60)]
SRC = [line.upper() for line in REF]
SYSTEMS = {
    "good": [line.replace("plage verte", "verte plage") for line in REF],
    "bad": [line.replace("chien", "chat").replace("la ", "le ") for line in REF],
}
BOTH = ["good", "ref", "--system", "bad", "bad"]
BLEU = ["--measure", "bleu"]
VOCABULARY = ["--src-vocab", "vocab.src", "--tgt-vocab", "vocab.tgt"]


@pytest.fixture
def run(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Run:
    """Return a function that runs `nmtkit evaluate` in a folder with the files below."""
    files = {
        "ref": REF,
        "src": SRC,
        **SYSTEMS,
        "short": REF[:41],
        "vocab.src": ["</s>\t60", "<unk>\t9", *(f"{w.upper()}\t3" for w in WORDS[:9]), ".\t1"],
        "vocab.tgt": ["</s>\t60", "<unk>\t9", *(f"{w}\t3" for w in WORDS[:9]), ".\t1"],
        "vocab.bpe": ["</s>\t60", "<unk>\t9", "cha@@\t1", "peau\t1"],
    }
    for name, lines in files.items():
        (tmp_path / name).write_text("".join(line + "\n" for line in lines), "utf-8")
    monkeypatch.chdir(tmp_path)

    def invoke(*arguments: str, status: int = 0, stdin: str | None = None) -> Result:
        result = CliRunner().invoke(cli, ["evaluate", *arguments], input=stdin)
        assert result.exit_code == status, (result.stderr, result.exception)
        return result

    return invoke


def bleu(system: str, part: list[int] | None = None) -> float:
    part = list(range(60)) if part is None else part
    return tokenized_bleu([SYSTEMS[system][i] for i in part], [REF[i] for i in part]).value


def rows(result: Result) -> list[dict[str, str]]:
    return list(csv.DictReader(result.stdout.splitlines()))


def test_two_systems_as_text(run: Run) -> None:
    text = run(*BOTH, *BLEU, "--bootstrap", "50").stdout
    scores, differences, _ = text.rstrip("\n").split("\n\n")
    lines = scores.splitlines()[:-2]
    assert [line.split()[:3] for line in scores.splitlines()[-2:]] == [
        ["length", "ratio", system] for system in SYSTEMS
    ]
    assert signatures(text)["BLEU (multi-bleu)"].startswith("nrefs:1|bs:50|seed:12345|")
    for line, system in zip(lines, SYSTEMS, strict=True):
        match = re.fullmatch(r"BLEU \(multi-bleu\)  (\w+) +([\d.]+)  \[([\d.]+), ([\d.]+)\]", line)
        assert match and match[1] == system
        assert match[2] == f"{bleu(system):.2f}"
        assert float(match[3]) <= float(match[2]) <= float(match[4])
    difference = f"{bleu('bad') - bleu('good'):+.2f}"
    assert re.fullmatch(
        rf"bad - good +{re.escape(difference)} \(0\.\d{{3}}\)", differences.splitlines()[1]
    )


def test_bootstrap_gives_one_system_intervals(run: Run) -> None:
    plain, sampled = run("good", "ref"), run("good", "ref", "--bootstrap", "20")
    assert "bs:" not in plain.stdout and len(figures(plain.stdout)) == 4
    assert figures(plain.stdout) == figures(sampled.stdout)
    assert sampled.stdout.count("[") == 4
    longer = signatures(sampled.stdout)
    for name, signature in signatures(plain.stdout).items():
        assert signature.partition("|")[2] in longer[name]


def test_several_systems_have_1000_bootstrap_samples_by_default(run: Run) -> None:
    assert "|bs:1000|" in run(*BOTH, *BLEU).stdout
    text = run(*BOTH, *BLEU, "--bootstrap", "0").stdout
    assert "bs:" not in text and "difference" not in text


def test_json_has_all_figures(run: Run) -> None:
    options = ["--bootstrap", "9", "--seed", "4", "--by", "length", "--source", "src", "--json"]
    result = json.loads(run(*BOTH, "--name", "first", *options).stdout)
    assert (result["references"], result["lines"], result["sentences"]) == ("ref", 60, 60)
    assert [(s["name"], s["hypotheses"]) for s in result["systems"]] == [
        ("first", "good"),
        ("bad", "bad"),
    ]
    assert len(result["systems"][0]["measures"]) == 4
    first = result["systems"][0]["measures"][0]
    assert first["value"] == pytest.approx(bleu("good")) and len(first["precisions"]) == 4
    assert {"mean", "low", "high", "margin"} == set(first["interval"])
    assert "|bs:9|seed:4|" in first["signature"]
    assert {(p["first"], p["second"]) for p in result["pairs"]} == {("first", "bad")}
    assert [s["sentences"] for s in result["buckets"]][3:] == [0, 0, 0, 0]
    short = [i for i in range(60) if len(SRC[i].split()) <= 10]
    bucket = result["buckets"][0]
    assert (bucket["low"], bucket["high"], bucket["sentences"]) == (None, 10, len(short))
    value = bucket["figures"]["BLEU (multi-bleu)"]["bad"]["value"]
    assert value == pytest.approx(bleu("bad", short))


def test_csv_has_a_row_for_each_figure(run: Run) -> None:
    options = ["--by", "length", "--source", "src", "--bounds", "8,16", "--csv"]
    table = rows(run(*BOTH, *BLEU, *options, "--bootstrap", "9"))
    assert [(r["by"], r["low"], r["high"], r["system"]) for r in table] == [
        *(("", "", "", system) for system in SYSTEMS),
        *(("length", "", "8.0", system) for system in SYSTEMS),
        *(("length", "8.0", "16.0", system) for system in SYSTEMS),
        *(("length", "16.0", "", system) for system in SYSTEMS),
    ]
    for row in table:
        assert float(row["interval_low"]) <= float(row["interval_high"])
        assert (row["p"] == "") == (row["system"] == "good")
    long = [i for i in range(60) if len(SRC[i].split()) > 16]
    assert float(table[-1]["figure"]) == pytest.approx(bleu("bad", long))
    assert len(rows(run("good", "ref", "--csv"))) == 4


def test_buckets_as_text(run: Run) -> None:
    text = run(*BOTH, *BLEU, "--by", "length", "--source", "src", "--bootstrap", "0").stdout
    title, head, *lines = text.rstrip("\n").split("\n\n")[-2].splitlines()
    assert title == "BLEU (multi-bleu)"
    assert re.split("  +", head) == ["words of the source", "sentences", "good", "bad"]
    labels = ["to 10", "11-20", "21-30", "31-40", "41-50", "51-60", "over 60"]
    cells = [re.split("  +", line) for line in lines]
    assert [row[0] for row in cells] == labels
    middle = [i for i in range(60) if 10 < len(SRC[i].split()) <= 20]
    assert cells[1][1:] == [str(len(middle)), *(f"{bleu(s, middle):.2f}" for s in SYSTEMS)]
    assert cells[-1][1:] == ["0", "-", "-"]


def test_by_unknown_words_of_each_side(run: Run) -> None:
    options = ["--by", "unknown", *VOCABULARY, "--of", "reference", "--of", "both"]
    table = rows(run("bad", "ref", *BLEU, *options, "--source", "src", "--csv"))[1:]
    zut = [line.split().count("zut") for line in REF]
    for side in ("reference", "both"):
        of_side = [row for row in table if row["of"] == side]
        assert of_side
        for k, row in enumerate(of_side):
            part = [i for i in range(60) if zut[i] <= k]
            assert (row["sentences"], float(row["position"])) == (str(len(part)), k)
            assert float(row["figure"]) == pytest.approx(bleu("bad", part))


def test_by_rank_and_in_windows(run: Run) -> None:
    by_rank = ["--by", "rank", "--of", "reference", "--tgt-vocab", "vocab.tgt", "--sorted", "20"]
    table = rows(run("bad", "ref", *BLEU, *by_rank, "--csv"))[1:]
    assert {row["sentences"] for row in table} == {"20"} and len(table) == 21
    assert [float(r["position"]) for r in table] == sorted(float(r["position"]) for r in table)
    window = ["--by", "length", "--source", "src", "--window", "10"]
    table = rows(run("bad", "ref", *BLEU, *window, "--csv"))[1:]
    lengths = [len(line.split()) for line in SRC]
    part = [i for i in range(60) if min(lengths) <= lengths[i] < min(lengths) + 10]
    assert table[0]["sentences"] == str(len(part))
    assert float(table[0]["figure"]) == pytest.approx(bleu("bad", part))


def test_a_subset_without_unknown_words_of_10_to_20_words(run: Run) -> None:
    options = ["--source", "src", *VOCABULARY, "--no-unk", "--length", "10-20"]
    result = run("bad", "ref", *BLEU, *options)
    part = [i for i in range(60) if "zut" not in REF[i] and 10 <= len(REF[i].split()) <= 20]
    first, count, _ = result.stdout.rstrip("\n").split("\n\n")
    assert first.split()[2] == f"{bleu('bad', part):.2f}"
    assert "|subset:no-unk,words-10-20|" in signatures(result.stdout)["BLEU (multi-bleu)"]
    assert count == f"{len(part)} of 60 sentences"


def test_raw_text_is_tokenised_on_each_side(run: Run, tmp_path: Path) -> None:
    (tmp_path / "raw").write_text("Un chien, l'eau.\nOui.\n", "utf-8")
    options = ["-t", "fr", "--source", "raw", "--by", "length", "--of", "both"]
    table = rows(
        run(
            "raw",
            "raw",
            *BLEU,
            *options,
            "-s",
            "en",
            "--bounds",
            "2,7",
            "--csv",
        )
    )
    assert len(Tokenizer("fr").tokenize("Un chien, l'eau.")) == 6
    assert [row["sentences"] for row in table] == ["2", "1", "1", "0"]


def test_a_figure_of_each_kind(run: Run, tmp_path: Path) -> None:
    pytest.importorskip("matplotlib")
    for by in ("length", "unknown", "rank"):
        options = ["--by", by, "--of", "reference", "--tgt-vocab", "vocab.tgt", "--bootstrap", "9"]
        run(*BOTH, *BLEU, *options, "--plot", f"{by}.svg")
        assert (tmp_path / f"{by}.svg").read_bytes().startswith(b"<?xml")
    again = run(*BOTH, *BLEU, "--by", "length", "--of", "reference", "--plot", "rank.svg", status=1)
    assert "rank.svg: exists already; use --force" in again.stderr and not again.stdout
    forced = [*BOTH, *BLEU, "--by", "length", "--of", "reference", "--plot", "rank.svg", "--force"]
    assert run(*forced).stdout


def test_wide_characters_and_accents_do_not_break_the_columns(run: Run) -> None:
    names = ["--name", "\u7ffb\u8a33", "--system", "cafe\u0301", "bad"]
    wide, accented = run("good", "ref", *names, *BLEU, "--bootstrap", "0").stdout.split("\n")[:2]
    assert columns(wide) == columns(accented)


def test_stdin_is_one_of_the_systems(run: Run) -> None:
    result = run("-", "ref", *BLEU, "--system", "bad", "bad", stdin="\n".join(SYSTEMS["good"]))
    assert "stdin" in result.stdout and f"{bleu('good'):.2f}" in result.stdout


def test_a_subword_vocabulary_gives_a_warning(run: Run) -> None:
    options = ["--by", "unknown", "--of", "reference", "--tgt-vocab", "vocab.bpe"]
    assert "vocab.bpe holds subwords" in run("bad", "ref", *BLEU, *options).stderr


def test_warnings_concern_only_the_metrics_computed(run: Run) -> None:
    assert run("bad", "ref", *BLEU, "--bootstrap", "5").stderr == ""
    warnings = run(*BOTH, "--bootstrap", "5").stderr
    assert warnings.count("sacreBLEU's BLEU, chrF and TER are meant for raw text") == 1


def test_a_plot_that_cannot_be_written_is_refused_before_anything_is_read(run: Run) -> None:
    pytest.importorskip("matplotlib")
    result = run("missing", "ref", "--by", "length", "--source", "src", "--plot", "a.gif", status=1)
    assert "a.gif: unknown figure format" in result.stderr


@pytest.mark.parametrize(
    ("arguments", "message"),
    [
        (["good", "ref", "--system", "b", "short"], "good has 60, short has 41, ref has 60"),
        (["good", "short", "--bootstrap", "5"], "good has 60, short has 41"),
        (["good", "ref", "--by", "length", "--source", "short"], "ref has 60, short has 41"),
        (["good", "ref", "--by", "length"], "lengths of the source need the source"),
        (
            ["good", "ref", "--by", "rank", "--of", "reference"],
            "word ranks of the reference need its vocabulary; give --tgt-vocab",
        ),
        (["good", "ref", "--no-unk"], "unknown words of the source need the source"),
        (["good", "ref", "--length", "90-99", "--source", "src"], "none of the 60 sentences"),
        (["good", "ref", "--by", "rank", "--window", "10"], "cannot divide by rank"),
        (["good", "ref", "--by", "length", "--bounds", "9,3"], "must rise"),
        (["good", "ref", "--system", "b", "missing"], "missing: cannot be read"),
        (["good", "ref", "--no-unk", "--src-vocab", "none"], "none: cannot be read"),
        (["-", "ref", "--system", "b", "-"], "stdin"),
    ],
)
def test_incomparable_systems_fail_in_one_line(
    run: Run, arguments: list[str], message: str
) -> None:
    result = run(*arguments, status=1)
    assert result.stdout == ""
    assert message in result.stderr and result.stderr.count("\n") == 1


@pytest.mark.parametrize(
    "arguments",
    [
        ["--system", "good", "bad"],
        ["--of", "source"],
        ["--plot", "a.png"],
        ["--source", "src"],
        ["--seed", "3"],
        ["--seed", "3", "--system", "b", "bad", "--bootstrap", "0"],
        ["--length", "20-10"],
        ["--length", "ten"],
        ["--by", "length", "--bounds", "a,b"],
        ["--by", "length", "--bounds", "nan"],
        ["--json", "--csv"],
        ["--measure", "meteor"],
    ],
)
def test_wrong_usage(run: Run, arguments: list[str]) -> None:
    result = run("good", "ref", *arguments, status=2)
    assert result.stdout == ""
