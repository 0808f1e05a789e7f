"""examples/papers: the content of its tables, and the commands of its Makefile."""

import gzip
import math
import os
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import by_length
import measures
import pytest
import table
from corpora import CorpusError

FOLDER = Path(__file__).resolve().parents[3] / "examples" / "papers"
SOURCES = ["a b", "a b c d e", "a b c d f", "a b c d e f g"]
REFERENCES = ["u v w x", "u v w x y", "u v w x z", "w x y z u v"]


@pytest.fixture
def corpus(tmp_path: Path) -> Path:
    """Return a corpus with one set, two seeds of one model, and their outputs."""
    for name, lines in {
        "text/test.src": SOURCES,
        "text/test.tgt": REFERENCES,
        "model.1/test.5.hyp": REFERENCES,
        "model.2/test.5.hyp": [*REFERENCES[:3], "v u z y x w"],
        "model.1/test.scores": ["-1", "-2", "-4", "-5"],
        "model.1.cpu": ["60.5 29.5", "30 0"],
    }.items():
        path = tmp_path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("".join(line + "\n" for line in lines), encoding="utf-8")
    return tmp_path


def test_bleu_uses_the_references_of_the_set_in_the_file_name(corpus: Path) -> None:
    assert measures.bleu(corpus / "model.1/test.5.hyp") == pytest.approx(100)
    assert measures.bleu(corpus / "model.2/test.5.hyp") < 100


def test_nll_is_per_sentence_and_perplexity_per_word_with_eos(corpus: Path) -> None:
    scores = corpus / "model.1/test.scores"
    assert measures.nll(scores) == pytest.approx((1 + 2 + 4 + 5) / 4)
    words = sum(len(line.split()) + 1 for line in REFERENCES)
    assert measures.perplexity(scores) == pytest.approx(math.exp(12 / words))


def test_minutes_add_up_all_runs_of_a_training(corpus: Path) -> None:
    assert measures.minutes(corpus / "model.1.cpu") == pytest.approx(2)


def test_minutes_are_read_where_bash_writes_a_comma(tmp_path: Path) -> None:
    (tmp_path / "cpu").write_text("60,5 29,5\n30,0 0,000\n")  # as in LC_NUMERIC=fr_FR.UTF-8
    assert measures.minutes(tmp_path / "cpu") == pytest.approx(2)


def test_a_unicode_line_separator_does_not_end_a_line(tmp_path: Path) -> None:
    (tmp_path / "x").write_text("a\u2028b\nc\n", encoding="utf-8")
    assert measures.lines_of(tmp_path / "x") == ["a\u2028b", "c"]


def test_a_cell_is_mean_and_seeds_or_one_value_or_text(
    corpus: Path,
) -> None:
    both = [corpus / f"model.{seed}/test.5.hyp" for seed in (1, 2)]
    second = measures.bleu(both[1])
    assert (
        table.cell(f" bleu {both[0]} {both[1]} ") == f"{50 + second / 2:.1f} (100.0 {second:.1f})"
    )
    assert table.cell(f"minutes {corpus}/model.1.cpu") == "2.0"
    assert table.cell(" 4.7 ") == "4.7"
    assert table.cell("") == ""


def test_a_table_is_markdown(capsys: Any) -> None:
    table.main(["model | BLEU", "one | 26.17", "two |"])
    assert (
        capsys.readouterr().out == "| model | BLEU |\n| --- | ---: |\n| one | 26.17 |\n| two |  |\n"
    )


def test_notes_stand_below_a_table(corpus: Path, capsys: Any) -> None:
    table.main(["--note", "One.", "--note", "Two.", "model", "x"])
    assert capsys.readouterr().out == "| model |\n| --- |\n| x |\n\nOne. Two.\n"
    arguments = ["--lengths", "9", "--output", str(corpus / "fig"), "--note", "One."]
    by_length.main([*arguments, f"model | {corpus}/model.1/test.5.hyp"])
    assert (corpus / "fig.md").read_text() == capsys.readouterr().out
    assert (corpus / "fig.md").read_text().endswith(" |\n\nOne.\n")


def test_length_ranges_neither_overlap_nor_leave_gaps() -> None:
    ranges = by_length.ranges_of([2, 5, 9])
    assert [length for first, last in ranges for length in range(first, last + 1)] == [
        *range(1, 10)
    ]


def test_bleu_by_length_uses_sentences_in_the_range(corpus: Path) -> None:
    second = corpus / "model.2/test.5.hyp"
    assert by_length.bleu_of_range(second, 1, 5) == pytest.approx(100)  # only the long one is wrong
    assert by_length.bleu_of_range(second, 6, 9) == 0
    assert by_length.bleu_of_range(second, 1, 9) == pytest.approx(measures.bleu(second))


def test_bleu_by_length_is_written_as_table_csv_and_figure(corpus: Path, capsys: Any) -> None:
    both = f"{corpus}/model.1/test.5.hyp {corpus}/model.2/test.5.hyp"
    output = ["--output", str(corpus / "fig")]
    by_length.main(["--lengths", "1", "5", "9", "20", *output, f"model | {both}"])
    expected = (
        "| source words | 2-5 | 6-9 |\n| --- | ---: | ---: |\n"
        "| sentences | 3 | 1 |\n| model | 100.0 | 50.0 |\n"
    )
    assert (corpus / "fig.md").read_text() == capsys.readouterr().out == expected
    assert (corpus / "fig.csv").read_text().splitlines()[-1] == "model,6,9,2,0.000"
    texts = {text.text for text in ElementTree.parse(corpus / "fig.svg").iter()}
    assert {"source words", "BLEU", "2-5", "6-9"} <= texts
    assert "BLEU by the number of source words: model" in texts


def test_a_system_has_one_style_in_all_figures() -> None:
    bahdanau = by_length.style_indices(["rnnenc-30", "rnnenc-50", "rnnsearch-30", "rnnsearch-50"])
    canlaw = by_length.style_indices(["rnnenc-50", "seq2seq-lstm", "rnnsearch-50"])
    assert all(bahdanau[name] == canlaw[name] for name in bahdanau.keys() & canlaw.keys())
    ways = by_length.style_indices(["whole sentences", "random", "confidence", "rnnsearch-50"])
    for styles in (bahdanau, canlaw, ways):
        assert len(set(styles.values())) == len(styles)


make = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")


def commands(*arguments: str) -> str:
    """Return the commands that make would run, one per line."""
    words = ["make", "-n", "-C", str(FOLDER), "NMTKIT=nmtkit", "WORK=none", *arguments]
    completed = subprocess.run(words, capture_output=True, text=True, check=True)
    return completed.stdout.replace("\\\n", " ")


@make
@pytest.mark.parametrize("size", ["small", "paper"])
def test_every_target_in_the_help_exists(size: str) -> None:
    listed = [line.split()[0] for line in commands("help").splitlines() if "'  " in line]
    assert listed
    targets = [
        line.split("'")[1].split()[0] for line in commands("help").splitlines() if "'  " in line
    ]
    assert {"table1", "fig2", "ensembles"} <= set(targets)
    for target in targets:
        assert "nmtkit train" in commands(target, f"SIZE={size}")


@make
def test_small_models_differ_only_in_what_is_compared() -> None:
    trained = [
        line for line in commands("reversal", "SEEDS=1").splitlines() if "nmtkit train" in line
    ]
    forward, backward = sorted(line.replace("-forward", "") for line in trained)
    assert forward == backward


@make
def test_the_papers_size_uses_only_the_recipe() -> None:
    lines = commands("table1", "SIZE=paper", "SEEDS=1", "PREPARED=wmt", "TEST=news").splitlines()
    train = [line.split() for line in lines if "nmtkit train" in line]
    assert len(train) == 4
    for words in train:
        assert words[words.index("train") + 1] == "wmt"
        assert "--config" not in words
        assert [words[at + 1] for at, word in enumerate(words) if word == "--set"] == [
            "training.seed=1"
        ]


@make
def test_published_trainings_have_only_sizes_and_an_end_of_their_own() -> None:
    lines = [line for line in commands("published").splitlines() if "nmtkit train" in line]
    published = [line.split() for line in lines if "-published" in line]
    assert len(lines) == 4 and len(published) == 2
    for words in published:
        assert "--config" not in words
        settings = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
        changed = {setting.partition("=")[0] for setting in settings}
        allowed = {"training.max_updates", "training.validate_every", "training.seed"}
        assert {name for name in changed if not name.startswith("model.")} <= allowed
        assert changed & allowed and "model.hidden" in changed


@make
@pytest.mark.parametrize("seeds", ["SEEDS=1 2 3", "SEEDS_rnnsearch-50=2"])
def test_published_trainings_make_all_that_their_table_reads(seeds: str) -> None:
    output = commands("published", seeds)
    translations = {word for word in output.split() if word.endswith(".hyp")}
    made = {line.split()[-1] for line in output.splitlines() if "nmtkit translate" in line}
    assert len(made) == 8 and translations == made


@make
def test_members_of_an_ensemble_differ_in_their_seed() -> None:
    lines = commands("ensembles").splitlines()
    ensembles = [line for line in lines if "nmtkit translate" in line and "1+2+3+4+5" in line]
    assert len(ensembles) == 3
    for line in ensembles:
        assert [f"--model none/toy/seq2seq-lstm.{seed} " in line for seed in range(1, 6)] == [
            True
        ] * 5


@make
@pytest.mark.parametrize("params", ["last", "best"])
def test_every_table_says_with_which_parameters_it_was_made(params: str) -> None:
    lines = commands("all", f"PARAMS={params}").splitlines()
    for line in lines:
        expected = "best" if "cslm" in line else params
        if "nmtkit translate" in line or "nmtkit score" in line:
            assert f"--params {expected} " in line
        if "/table.py" in line or "/by_length.py" in line:
            assert f"--note 'Parameters: params.{expected} of each model" in line


@make
def test_the_workshop_papers_exclude_unknown_words() -> None:
    """Cho et al. 2014b, section 4.2.1; Bahdanau's table of the same models keeps them."""
    for target, excluded in (("grconv", True), ("segmentation", True), ("table1", False)):
        lines = commands(target, "SEEDS=1").splitlines()
        translated = [line for line in lines if "nmtkit translate" in line]
        tables = [line for line in lines if "/table.py" in line or "/by_length.py" in line]
        assert translated and tables
        assert {"--no-unk" in line for line in translated} == {excluded}
        assert {"Unknown words are never chosen." in line for line in tables} == {excluded}


@make
def test_beams_are_those_of_the_papers() -> None:
    settings = ("SIZE=paper", "SEEDS=1", "PREPARED=wmt", "TEST=news")
    for target, beams in (
        ("table1", {"10"}),
        ("reversal", {"12"}),
        ("ensembles", {"1", "2", "12"}),
    ):
        lines = [line for line in commands(target, *settings).splitlines() if " translate " in line]
        assert {line.split("--beam ")[1].split()[0] for line in lines} == beams


@make
def test_cslm_is_scored_on_text_held_out_from_its_training_text() -> None:
    lines = commands("cslm", "SEEDS=1").splitlines()
    [prepare] = [line for line in lines if "--held-out" in line]
    assert "/toy/prepared/train.tgt" in prepare and "--output none/cslm/prepared" in prepare
    [train] = [line for line in lines if "nmtkit train" in line]
    assert "nmtkit train none/cslm/prepared " in train and "--recipe cslm " in train
    [score] = [line for line in lines if "nmtkit score" in line]
    assert "none/cslm/text/dev.tgt" in score and "dev.src" not in score
    assert any("CSLM | 45.80 | perplexity none/cslm/cslm.1/dev.scores" in line for line in lines)


@make
def test_tables_are_made_with_the_python_of_the_checkout(tmp_path: Path) -> None:
    folder, python = tmp_path / "examples/papers", tmp_path / ".venv/bin/python"
    shutil.copytree(FOLDER, folder)
    shutil.copy(FOLDER.parent / "choices.mk", folder.parent)
    words = ["make", "-n", "-C", str(folder), "WORK=none", "cslm"]
    environment = {name: value for name, value in os.environ.items() if name != "PYTHON"}
    assert "&& python3 ./table.py" in subprocess.check_output(words, env=environment, text=True)
    python.parent.mkdir(parents=True)
    python.touch()
    output = subprocess.check_output(words, env=environment, text=True)
    assert "&& ./../../.venv/bin/python ./table.py" in output


@make
def test_a_missing_file_of_the_laws_ends_the_step(tmp_path: Path) -> None:
    for split in ("train", "test"):
        for side in ("en", "fr"):
            (tmp_path / f"{split}.{side}.gz").write_bytes(gzip.compress(b"a\n"))
    words = ["make", "-C", str(FOLDER), "NMTKIT=echo", f"CANLAW={tmp_path}", f"WORK={tmp_path}"]
    words.append(f"{tmp_path}/canlaw/prepared/vocab.tgt")
    completed = subprocess.run(words, capture_output=True, text=True)
    assert completed.returncode != 0 and "val.en.gz: No such file" in completed.stderr
    assert "\nprepare " not in completed.stdout


def test_files_without_a_measure_are_named(corpus: Path) -> None:
    (corpus / "model.1/test.5.hyp").write_text("u v w x\n")
    (corpus / "model.1/test.scores").write_text("")
    for cell in ("bleu test.5.hyp", "nll test.scores", "perplexity test.scores"):
        name, file = cell.split()
        with pytest.raises(CorpusError, match=f"{file}: has no {name}: "):
            table.cell(f"{name} {corpus}/model.1/{file}")
    lengths = ["--lengths", "9", "--output", str(corpus / "fig")]
    with pytest.raises(CorpusError, match=r"test\.5\.hyp: not a translation of its set"):
        by_length.main([*lengths, f"one | {corpus}/model.1/test.5.hyp"])
    with pytest.raises(SystemExit, match="^2$"):
        by_length.main([*lengths, "one"])


@pytest.mark.parametrize(
    ("program", "arguments"),
    [
        ("choose.py", ["none", "--output", "out"]),
        ("table.py", ["model | BLEU", "one | bleu none/test.5.hyp"]),
        ("by_length.py", ["--lengths", "9", "--output", "out", "one | none/test.5.hyp"]),
    ],
)
def test_a_missing_file_is_one_line(program: str, arguments: list[str], tmp_path: Path) -> None:
    command = [sys.executable, str(FOLDER / program), *arguments]
    path = {"PYTHONPATH": str(FOLDER.parents[1])}
    done = subprocess.run(
        command, cwd=tmp_path, env={**os.environ, **path}, capture_output=True, text=True
    )
    assert done.returncode == 1
    assert done.stderr.count("\n") == 1 and "No such file" in done.stderr
    assert done.stderr.startswith(f"{program.removesuffix('.py')}: ")
