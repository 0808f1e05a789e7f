"""The Makefile of examples/wmt14-en-fr runs the right commands, and repeats no finished ones.

A stand-in for nmtkit writes similar files at once; tests/faults/wmt14.py runs the real one.
"""

import json
import math
import os
import re
import shlex
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import cells
import pytest

from nmtkit.config_io import recipe_names
from nmtkit.training.settings import make_config

RECIPE = Path(__file__).resolve().parents[3] / "examples" / "wmt14-en-fr"
pytestmark = pytest.mark.skipif(shutil.which("make") is None, reason="make is not installed")

STAND_IN = """#!{python} -IS
import json, os, sys
command, *words = sys.argv[1:]
with open(os.environ["CALLS"], "a") as calls:
    calls.write(" ".join(sys.argv[1:]) + "\\n")
group = command if command in ("nbest", "phrase-table") else ""
if group:
    command, *words = words
def after(*names):
    return next(words[at + 1] for at, word in enumerate(words) if word in names)
def read(path):
    return open(path).read().splitlines()
def write(path, text):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    open(path, "w").write(text)
if command == "select":
    at = words.index("--domain")
    for source, target in zip(words[at + 1 : at + 3], words[words.index("--output") + 1 :]):
        write(target, open(source).read())
elif command == "prepare":
    out, lines = after("--output"), {{}}
    write(out + "/manifest.json", "{{}}")
    if "--phrase-table" in words:
        for side in ("src", "tgt"):
            write(out + "/train." + side, "a b c d\\n")
    if "--held-out" in words:
        for name, rows in (("dev", slice(1)), ("train", slice(1, None))):
            for side, path in zip(("src", "tgt"), words[words.index("--train") + 2 :]):
                lines[side] = lines.get(side) or read(path)
                write(out + "/" + name + "." + side, "\\n".join([*lines[side][rows], ""]))
    elif "--train" in words:
        sets = [(name, words.index("--" + name) + 1) for name in ("train", "dev")]
        sets += [(words[at + 1], at + 2) for at, word in enumerate(words) if word == "--test"]
        for name, at in sets:
            for side, path in zip(("src", "tgt"), words[at:]):
                write(out + "/" + name + "." + side, open(path).read())
elif command == "shortlist" and "-o" in words:
    write(after("-o"), "</s>\\t1\\n")
elif command == "shortlist":
    for side in ("src", "tgt"):
        write(words[0] + "/vocab." + side, "</s>\\t1\\n")
elif command == "train":
    out = after("--output")
    line = dict(kind="validation", update=1, epoch=1.0, seconds=1.0)
    write(out + "/metrics.jsonl", json.dumps(line) + "\\n")
    for name in ("config.toml", "vocab.src", "vocab.tgt"):
        write(out + "/" + name, "")
    for name in ("params.best.safetensors", "params.last.safetensors", "checkpoints/1/state.json"):
        write(out + "/" + name, "")
    if os.environ.get("BREAK") and os.environ["BREAK"] in out:
        sys.exit("nmtkit: error: broken")
elif command == "translate":
    sources = [word for word in words if word.endswith((".src", "obama.en"))]
    if "--segments" in words:
        segments = [[dict(source=line)] for line in read(sources[0])]
        write(after("--segments"), "".join(json.dumps(line) + "\\n" for line in segments))
    if "--n-best" in words:
        print("0 ||| ||| nmtkit0= -1.5 ||| -1.5")
    else:
        print("".join(line + "\\n" for line in read(sources[0])), end="")
elif command == "score":
    if group:
        write(after("-o"), "")
    else:
        print("\\n".join("-1" for _ in read(words[-1])))
elif command == "rerank":
    print("x")
elif command == "tune":
    write(after("-o"), "")
elif command == "align":
    soft = dict(source=["a"], target=["b"], alignment=[[1]])
    write(after("--lexicon", "--output"), json.dumps(soft) + "\\n")
    if "--plot" in words:
        write(after("--plot") + "/000001.svg", "<svg/>")
elif command == "embed":
    if "--vocabulary" not in words:
        print("\\n".join(line + "\\t1\\t2" for line in read(words[-1])))
elif command == "map":
    points = (sys.stdin if words[0] == "-" else open(words[0])).read()
    write(after("--plot", "--output"), points)
elif command == "evaluate":
    if "--plot" in words:
        write(after("--plot"), "<svg/>")
    if "--csv" in words:
        print("by,high,system,figure\\nunknown,0,whole,3\\nunknown,1,whole,2")
        sys.exit()
    names = ("BLEU (multi-bleu)", "BLEU (sacreBLEU)")
    measures = [dict(name=name, value=1.0, signature="s") for name in names]
    print(json.dumps(dict(sentences=1, systems=[dict(measures=measures)])))
elif command == "report":
    out = after("-o")
    write(out if out.endswith(".html") else out + "/phrases.md", "")
else:
    sys.exit("unknown command " + command)
"""


class Run:
    """The example in a separate folder, with the stand-in.

    :param like: A run whose corpora are copied.
    """

    def __init__(self, folder: Path, like: "Run | None" = None) -> None:
        self.work, self.calls = folder / "work", folder / "calls"
        self.nmtkit = folder / "nmtkit"
        self.nmtkit.write_text(STAND_IN.format(python=sys.executable))
        self.nmtkit.chmod(0o755)
        if like:
            for name in ("toy", "mirror", "data", "bitext"):
                shutil.copytree(like.work / name, self.work / name)

    def make(self, *words: str, size: str = "smoke", **environment: str) -> tuple[int, str]:
        """Run make, without Moses if no word is a setting of it; return status and output."""
        words = words if any("MOSES" in word for word in words) else ("MOSES_OUTPUT=", *words)
        command = ["make", "-f", str(RECIPE / "Makefile"), f"SIZE={size}", f"WORK={self.work}"]
        command += [f"NMTKIT={self.nmtkit}", f"PYTHON={sys.executable}", *words]
        variables = {**os.environ, "CALLS": str(self.calls), **environment}
        for name in ("MAKEFLAGS", "MAKELEVEL", "MFLAGS"):
            variables.pop(name, None)
        completed = subprocess.run(
            command, capture_output=True, text=True, env=variables, check=False
        )
        return completed.returncode, completed.stdout + completed.stderr

    def new_calls(self) -> list[str]:
        """Return the commands since the last call."""
        lines = self.calls.read_text().splitlines() if self.calls.exists() else []
        self.calls.write_text("")
        return lines


@pytest.fixture(scope="module")
def finished(tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the example to its end with two jobs."""
    run = Run(tmp_path_factory.mktemp("wmt"))
    status, output = run.make("-j2")
    assert status == 0, output
    return run


@pytest.fixture(scope="module")
def with_moses(finished: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run it with the output of Moses that SIZE=smoke makes up by default."""
    run = Run(tmp_path_factory.mktemp("moses"), finished)
    status, output = run.make("-j2", "MOSES=")
    assert status == 0, output
    return run


def test_finished_steps_are_not_repeated(finished: Run) -> None:
    calls = finished.new_calls()
    assert len(set(calls)) == len(calls)
    for name in ("results.md", "results/tables.md", "results/bahdanau-figure-2.svg", "report.html"):
        assert (finished.work / name).is_file()
    assert not list(finished.work.rglob("*.part"))
    assert finished.make("-q")[0] == 0
    assert finished.make()[0] == 0
    assert finished.new_calls() == []


def test_results_have_every_figure_or_its_reason(finished: Run) -> None:
    text = (finished.work / "results.md").read_text()
    variables = finished.make("-p", "-n", "-q")[1]
    titles = dict(re.findall(r"^(\S+)_title := (.+)$", variables, re.MULTILINE))
    titles |= {table["key"]: table["title"] for table in cells.published()}
    names = set(names_in_help(finished)) - {"cho-phrases-table-2", "cho-phrases-table-3"}
    assert names <= set(titles)  # these two are in the page of figure 3
    left_out = set()
    for name in names:
        made, head = finished.work / "results" / f"{name}.md", f" {titles[name]}\n"
        if made.is_file():
            assert made.read_text().split("\n")[0] in text
        elif f"\nLeft out: {titles[name]}: needs " in text:
            assert head not in text
            left_out.add(name)
        else:  # a table that is in tables.md
            section = text.split(f"\n##{head}")[1].split("\n## ")[0]
            assert "\n| " in section or "- left out: " in section
    assert left_out == {
        "cho-properties-figure-5",
        *(f"cho-phrases-figure-{number}" for number in (3, 4, 5)),
    }
    assert "Left out: Cho et al. 2014b, figure 5: BLEU of Moses by length" in text
    pictures = re.findall(r"^!\[.*\]\((.*)\)$", text, re.MULTILINE)
    assert len(pictures) > 10
    assert not [name for name in pictures if not (finished.work / name).is_file()]


def test_retraining_a_model_rebuilds_only_its_outputs(finished: Run) -> None:
    finished.new_calls()
    (finished.work / "rnn/grconv.1/done").unlink()
    os.utime(finished.work / "rnn/grconv.1/config.toml")
    assert finished.make("train-grconv")[0] == 0
    assert [call.split()[0] for call in finished.new_calls()] == ["train"]
    assert finished.make()[0] == 0
    calls = finished.new_calls()
    assert calls and not [call for call in calls if call.startswith("train")]
    assert all("grconv" in call for call in calls if call.split()[0] in ("translate", "score"))


def test_a_missing_lexicon_is_rebuilt(finished: Run) -> None:
    folder = finished.work / "rnn/rnnsearch-50-long.1"
    for path in [folder / "lexicon.gz", *folder.glob("*replaced*")]:
        path.unlink()
    finished.new_calls()
    assert finished.make(str(folder / "test.5.replaced.out.json"))[0] == 0
    align, translate, evaluate = finished.new_calls()
    assert align.startswith("align") and evaluate.startswith("evaluate")
    assert f"--replace-unk {folder}/lexicon.gz" in translate


def test_another_selection_rebuilds_what_depends_on_it(finished: Run) -> None:
    assert finished.make()[0] == 0  # whatever the tests before have rebuilt
    status, output = finished.make("-n", "SELECT_WORDS=20001")
    assert status == 0 and " select " in output.replace("\\\n", " ")
    assert " train " in output and " prepare " in output
    assert "warning" not in output and "Circular" not in output
    assert finished.make("-q")[0] == 0


@pytest.mark.parametrize(
    "choice",
    [
        "SYSTEMS=rnnenc-30 rnnsearch-50",
        "SEEDS=1 2",
        "BEAM=3",
        "PARAMS=best",
        "MOSES_OUTPUT=made-up",
    ],
)
def test_another_choice_makes_tables_and_figures_again(finished: Run, choice: str) -> None:
    """Also in a folder where all is finished, and there is nothing to be done without it."""
    assert finished.make()[0] == 0  # whatever the tests before have rebuilt
    status, output = finished.make("-n", choice)
    assert status == 0 and "warning" not in output
    for made in ("/tables.py", "bahdanau-figure-2.md", "results.md"):
        assert made in output
    assert finished.make("-q")[0] == 0


OF_CHOICE = {
    "PARAMS=best": "translate score align embed map report evaluate nbest-score nbest-rerank"
    " phrase-table-report",
    "SEARCH=--max-length-ratio 2": "translate align evaluate",
    "TUNE=--method mert": "nbest-tune nbest-rerank evaluate",
    "ZOOM_WORDS=Monday": "embed map",
}
"""The commands that each choice repeats."""


@pytest.mark.parametrize("choice", OF_CHOICE)
def test_a_choice_makes_anew_what_depends_on_it(with_moses: Run, choice: str) -> None:
    """Else a table would say that it is of parameters and a search that it is not of."""
    before, lines = (commands(with_moses, "MOSES=", word) for word in ("-B", choice))
    assert nmtkit_commands(lines) == set(OF_CHOICE[choice].split())
    for name in nmtkit_commands(lines) & {"translate", "score", "report"}:  # CSLM's are the best
        counts = [Counter(map(nmtkit_command, some))[name] for some in (before, lines)]
        assert counts[0] == counts[1], name
    assert with_moses.make("-q", "MOSES=")[0] == 0


def test_lists_are_scored_anew_by_another_seed(with_moses: Run) -> None:
    for model in ("seq2seq-lstm", "cslm"):
        choice = f"SEEDS_{model.removeprefix('seq2seq-')}=2"
        lines = commands(with_moses, "MOSES=", choice)
        scored = [line for line in lines if nmtkit_command(line) == "nbest-score"]
        assert scored and any(f"/{model}.2 " in line for line in scored)


def nmtkit_command(line: str) -> str:
    """Return the command of nmtkit that a line runs; empty if it runs none."""
    found = re.search(r"/nmtkit ((?:nbest |phrase-table )?[a-z]+)", line)
    return found[1].replace(" ", "-") if found else ""


def nmtkit_commands(lines: list[str]) -> set[str]:
    return {*map(nmtkit_command, lines)} - {""}


def test_another_output_of_moses_takes_the_place_of_the_made_up_one(
    with_moses: Run, tmp_path: Path
) -> None:
    """However old its files are; and a made-up one is not written through links to them."""
    run = Run(tmp_path, with_moses)
    assert run.make("MOSES=", "cho-properties-figure-5")[0] == 0
    lists = run.work / "smt/moses/dev.1000best.gz"
    assert lists.is_file() and not lists.is_symlink()
    moses = moses_output(tmp_path / "moses")
    for path in moses.rglob("*"):
        os.utime(path, (1.6e9, 1.6e9))
    settings = settings_for(moses)
    assert run.make("cho-properties-figure-5", *settings)[0] == 0
    assert lists.resolve() == moses / "nbest/val.1000best.gz"
    assert run.make("MOSES=", "cho-properties-figure-5")[0] == 0
    assert not lists.is_symlink() and (moses / "nbest/val.1000best.gz").read_bytes() == b""


def test_moses_with_other_tokens_is_said_to_be_measured_otherwise(
    finished: Run, tmp_path: Path
) -> None:
    """Its rows in the tables have its own reference, the figure has that of the models."""
    run, moses = Run(tmp_path, finished), moses_output(tmp_path / "moses")
    settings = settings_for(moses)
    page, said = run.work / "results/sutskever-figure-3.md", "a reference of other tokens"
    assert run.make("SYSTEMS=lstm", "sutskever-figure-3", *settings)[0] == 0
    assert page.read_text().count(said) == 1
    for side, ours in (("en", "src"), ("fr", "tgt")):
        text = (run.work / f"rnn/prepared/test.{ours}").read_text()
        (moses / f"corpus/test2016.tok.{side}").write_text(text)
    assert run.make("SYSTEMS=lstm", "sutskever-figure-3", *settings)[0] == 0
    assert said not in page.read_text()


def test_a_lexicon_of_other_pairs_replaces_words_again(finished: Run) -> None:
    assert finished.make()[0] == 0
    lines = commands(finished, "LEXICON_PAIRS=150")
    assert any("text/lexicon --words" in line and "--random 150" in line for line in lines)
    translated = [line for line in lines if "nmtkit translate " in line]
    assert translated and all(".replaced." in line for line in translated)


def test_segments_are_translated_again_with_another_beam(finished: Run) -> None:
    """Their files have no beam in their names; those of the LSTM have theirs."""
    assert finished.make()[0] == 0
    lines = [line for line in commands(finished, "BEAM=3") if " translate " in line]
    written = {line.split(" > ")[1].split(".part")[0].split("/work/")[1] for line in lines}
    assert {f"rnn/rnnenc-30.1/test-segmented.{way}.seg" for way in SEGMENTED} <= written
    assert "rnn/rnnenc-30.1/test.3.hyp" in written
    assert not [name for name in written if name.startswith("lstm/")]


SEGMENTED = ("confidence", "unpenalised", "forward", "random", "random-confidence")


@pytest.mark.parametrize("name", ["published.toml", "tables.py", "cells.py", "orders.py"])
def test_tables_are_made_again_by_a_changed_program(finished: Run, name: str) -> None:
    output = finished.make("-n", "-W", str(RECIPE / name), "tables")[1]
    assert "--output" in output and "/tables.py" in output


def test_outputs_keep_the_translations_behind_the_tables(finished: Run) -> None:
    status, output = finished.make("outputs")
    assert status == 0, output
    kept = finished.work / "outputs"
    names = {str(path.relative_to(kept)) for path in kept.rglob("*.gz")}
    tables = finished.make("-n", "-B", str(finished.work / "results/tables.md"))[1]
    of_tables = re.findall(r"\S+\.(?:hyp|seg|out|scores)\b", tables)
    translated = {name.split("/work/")[1] for name in of_tables}
    measured = {name.removesuffix(".gz") for name in names}
    assert "rnn/rnnsearch-50.1/test.5.hyp" in measured and measured <= translated
    assert {"rnn/rnnsearch-50.1/dev.scores", "lstm/seq2seq-lstm.1/test.scores"} <= measured
    record = json.loads((kept / "rnn/rnnenc-30.1/test.5.no-unk.hyp.json").read_text())
    options = [figure["computation"][3:] for figure in record["figures"]]
    assert ["-t", "fr"] in [words[1:3] for words in options]
    assert [{"file": "rnn/text/test.src"} for words in options if "--length" in words] == [
        {"file": word["file"]} for words in options for word in words if isinstance(word, dict)
    ]
    assert finished.make("-q", "outputs")[0] == 0


def test_outputs_name_the_settings_that_made_them(tmp_path: Path) -> None:
    settings = ["BEAM=7", "PARAMS=best", "DOMAIN=", "EXTRA=--set a='b'", "THREADS=3"]
    lines = commands(Run(tmp_path), "outputs", *settings, size="night")
    [kept] = [line for line in lines if "kept_outputs.py keep" in line]
    words = shlex.split(kept)
    command = words[words.index("--command") + 1]
    assert command == (
        """make wmt14 SIZE=night DOMAIN="" EXTRA="--set a='b'" BEAM="7" PARAMS="best" """
        'MOSES_OUTPUT=""'
    )


def test_samples_of_the_training_data_are_not_its_beginning(finished: Run) -> None:
    train = (finished.work / "rnn/prepared/train.src").read_text().splitlines()
    sample = (finished.work / "rnn/text/lexicon.src").read_text().splitlines()
    lines = [int(line) for line in (finished.work / "rnn/text/lexicon.lines").read_text().split()]
    assert sample == [train[line - 1] for line in lines] and len(sample) == 200
    assert max(lines) > 0.9 * len(train)
    calls = commands(finished, "-B", str(finished.work / "rnn/text/train30.src"))
    [call] = [line for line in calls if "text/train30" in line and "choose.py" in line]
    assert "--words 0-30 --random 2000" in call


def test_a_failed_step_is_resumed(finished: Run, tmp_path: Path) -> None:
    run = Run(tmp_path, finished)
    status, output = run.make("SYSTEMS=rnnsearch-50", BREAK="rnnsearch-50.1")
    assert status != 0 and "nmtkit: error: broken" in output
    before = run.new_calls()
    status, output = run.make("SYSTEMS=rnnsearch-50")
    assert status == 0, output
    again = run.new_calls()
    shared = set(before) & set(again)
    assert [call.split()[0] for call in shared] == ["train"]
    assert "rnnsearch-50.1 " in shared.pop()


def test_the_longer_training_resumes_the_shorter(finished: Run) -> None:
    output = finished.make("-n", "-B", str(finished.work / "rnn/rnnsearch-50-long.1/done"))[1]
    copied, trained = output.index("cp -R"), output.rindex("rnnsearch-50-long.1.log")
    assert copied < trained
    assert "training.max_updates=60" in output and "training.max_updates=40" in output


def test_the_longer_training_of_another_seed_resumes_the_shorter(tmp_path: Path) -> None:
    settings = ["SEEDS_rnnsearch-50-long=4", "SEEDS_unk-replacement=5"]
    lines = commands(Run(tmp_path), *settings, size="paper")
    for seed in "45":
        folder = f"/rnn/rnnsearch-50.{seed}"
        assert any(f"{folder}/checkpoints" in line and line.startswith("cp -R") for line in lines)


def test_a_longer_training_is_not_thrown_away(finished: Run, tmp_path: Path) -> None:
    """If what it resumed is trained again, the user decides about the training of weeks."""
    run = Run(tmp_path, finished)
    assert run.make("SYSTEMS=rnnsearch-50-long")[0] == 0
    short, long = (run.work / f"rnn/{name}.1" for name in ("rnnsearch-50", "rnnsearch-50-long"))
    later = os.stat(long / "config.toml").st_mtime + 5
    os.utime(short / "done", (later, later))
    status, output = run.make("SYSTEMS=rnnsearch-50-long")
    assert status != 0 and f"{long} resumed a training of {short} that was replaced" in output
    assert (long / "config.toml").is_file() and (long / "done").is_file()
    shutil.rmtree(long)
    assert run.make("SYSTEMS=rnnsearch-50-long")[0] == 0


def test_figures_are_of_each_systems_first_seed(tmp_path: Path) -> None:
    settings = ["SEEDS=1", "SEEDS_grconv=2", "SEEDS_lstm=3", "SEEDS_segmentation=4"]
    lines = commands(Run(tmp_path), *settings, *moses_settings(tmp_path / "moses"), size="paper")
    trained = {line.split("--output ")[1].split()[0] for line in lines if "--recipe" in line}
    names = {Path(name).name for name in trained}
    assert {"grconv.2", "seq2seq-lstm.3", "rnnenc-30.4", "rnnenc-30-reverse.4"} <= names
    assert not {"grconv.1", "rnnenc-30-reverse.1"} & names
    used = [line for line in lines if "nbest score" in line and "--ensemble" in line]
    assert any("seq2seq-lstm.3" in line for line in used)


def commands(run: Run, *words: str, **settings: str) -> list[str]:
    """Return the commands of a run from scratch, one per line."""
    status, output = run.make("-n", *words, **settings)
    assert status == 0, output
    return output.replace("\\\n", " ").splitlines()


def test_the_papers_size_uses_only_the_recipe(tmp_path: Path) -> None:
    lines = commands(Run(tmp_path), size="paper")
    trained = [line.split() for line in lines if " train " in line and "--recipe" in line]
    assert len(trained) == 14
    for words in trained:
        settings = [words[at + 1] for at, word in enumerate(words) if word == "--set"]
        name = Path(words[words.index("--output") + 1]).name
        long = ["training.max_updates=667000"] if "-long" in name else []
        seed = f"training.seed={name.rpartition('.')[2]}"
        assert settings == ["training.dev_bleu=false", *long, seed]
        assert "--config" not in words
    sizes = [line.split("prepared ")[1] for line in lines if " shortlist " in line]
    assert sorted(sizes) == [
        "--size 15000 --force",
        "--size 30000 --force",
        "--src-size 160000 --tgt-size 80000 --force",
    ]


def test_cslm_is_validated_on_a_thousandth_of_its_training_text(finished: Run) -> None:
    """Cho et al. 2014, section 4.1.2: no sentence of the dev set is trained on."""
    prepared, text = finished.work / "cslm/prepared", finished.work / "rnn/prepared/train.tgt"
    lines = text.read_text().splitlines()
    dev, train = ((prepared / f"{name}.tgt").read_text().splitlines() for name in ("dev", "train"))
    assert sorted(dev + train) == sorted(lines)
    output = finished.make("-n", "-B", str(prepared / "vocab.tgt"))[1]
    [command] = [line for line in output.replace("\\\n", " ").splitlines() if "--held-out" in line]
    arithmetic = command.split("--held-out ")[1].split(" --force")[0]
    count = subprocess.check_output(["bash", "-c", f"echo {arithmetic}"], text=True)
    assert int(count) == math.ceil(len(lines) / 1000) > 0
    scored = finished.make("-n", "-B", str(finished.work / "cslm/cslm.1/dev.scores"))[1]
    [score] = [line for line in scored.splitlines() if " score --model" in line]
    assert score.count("/text/dev.") == 1 and "cslm/text/dev.tgt >" in score  # it has no source
    assert "| CSLM | 45.8 | " in (finished.work / "results/tables.md").read_text()


def test_ensembles_have_two_and_five_members_and_the_papers_beams(tmp_path: Path) -> None:
    lines = [line for line in commands(Run(tmp_path), size="paper") if " translate " in line]
    ensembles = {
        (line.count("--model "), line.split("--beam ")[1].split()[0])
        for line in lines
        if "lstm.1 " in line and "lstm.2 " in line
    }
    assert ensembles == {(2, "12"), (5, "1"), (5, "2"), (5, "12")}


def test_tables_are_made_with_the_parameters_that_a_training_ended_with(tmp_path: Path) -> None:
    run = Run(tmp_path)
    settings = ("MOSES=/opt/moses", "FAST_ALIGN=/opt/align")
    kinds = ("translate", "score", "align", "embed", "report", "nbest score", "phrase-table")
    for params in ("last", "best"):
        lines = commands(run, *settings, f"PARAMS={params}", size="paper")
        loading = [line for line in lines if any(f"nmtkit {kind} " in line for kind in kinds)]
        assert len(loading) > 40
        for line in loading:
            assert f"--params {'best' if 'cslm.1 ' in line else params} " in line
        assert any("/tables.py" in line and f"--params {params} " in line for line in lines)


def test_the_workshop_papers_exclude_unknown_words_from_every_translation(tmp_path: Path) -> None:
    lines = [line for line in commands(Run(tmp_path), size="paper") if " translate " in line]
    written = {line.split(" > ")[1].split(".part")[0]: "--no-unk" in line for line in lines}
    names = {path.split("/work/")[1]: no_unk for path, no_unk in written.items()}
    excluded = {name for name, no_unk in names.items() if no_unk}
    assert excluded == {name for name in names if ".no-unk." in name or name.endswith(".seg")}
    for folder in ("rnnenc-30.1", "grconv.1"):
        for split in ("dev", "test", "dev-known", "test-known"):
            assert names[f"rnn/{folder}/{split}.10.no-unk.hyp"]
    assert not names["rnn/rnnenc-30.1/test.10.hyp"]
    assert "rnn/grconv.1/test.10.hyp" not in names


def test_segmentation_has_its_controls_and_the_rows_of_table_2(tmp_path: Path) -> None:
    lines = [line for line in commands(Run(tmp_path), size="paper") if "--segment " in line]
    runs = [(Path(line.split(" > ")[1].split(".part")[0]).name, line) for line in lines]
    controls = {"test-segmented.random.seg", "test-segmented.random-confidence.seg"}
    ways = "forward", "unpenalised", "confidence"
    sets = [f"{name}{known}" for name in ("dev", "test") for known in ("", "-known")]
    rows = {f"{name}-segmented.{way}.seg" for name in sets for way in ways}
    rows.add("very-long.confidence.seg")  # table 3
    assert {name for name, _ in runs} == rows | controls and len(runs) == len(rows | controls)
    for name, line in runs:
        assert "--no-unk" in line
        assert ("--no-segment-penalty" in line) == (".forward." in name or ".unpenalised." in name)
        assert ("--reverse-model" in line) == (".unpenalised." in name or ".confidence." in name)
    written = [line.split("--segments ")[1].split()[0] for line in lines if "--segments " in line]
    read = [line.split("--segment-lengths ")[1].split()[0] for line in lines if "-lengths " in line]
    assert set(read) < set(written)


def test_no_two_commands_write_the_same_file(tmp_path: Path) -> None:
    lines = [line for line in commands(Run(tmp_path), size="paper") if "samples.py" not in line]
    words = [(line.split(), at) for line in lines for at in range(len(line.split()))]
    options = ("--segments", "--lexicon", "--plot")
    written = [line[at + 1] for line, at in words if line[at] in options]
    written += [line[at + 1].removesuffix(".part") for line, at in words if line[at] == ">"]
    assert len(written) > 50
    assert [name for name, times in Counter(written).items() if times > 1] == []


def test_a_figure_needs_only_its_systems(tmp_path: Path) -> None:
    lines = commands(Run(tmp_path), "cho-properties-figure-6", size="paper")
    trained = [line for line in lines if " train " in line and "--recipe" in line]
    assert len(trained) == 1 and "--recipe grconv" in trained[0]


def names_in_help(run: Run) -> list[str]:
    """Return the tables and figures that `make help` lists."""
    return re.findall(r"^  ([a-z]+(?:-[a-z]+)*-(?:table|figure)-\d)$", run.make("help")[1], re.M)


PAPERS = {  # tables and figures of each paper, illustrations of architectures left out
    "bahdanau": "table-1 table-2 table-3 figure-2 figure-3",
    "cho-phrases": "table-1 table-2 table-3 figure-3 figure-4 figure-5",
    "cho-properties": "table-1 table-2 figure-4 figure-5 figure-6",
    "segmentation": "table-1 table-2 table-3 table-4 figure-2 figure-3",
    "sutskever": "table-1 table-2 table-3 figure-2 figure-3",
}


def test_every_table_and_figure_of_the_papers_is_a_target(tmp_path: Path) -> None:
    expected = {f"{paper}-{name}" for paper, names in PAPERS.items() for name in names.split()}
    run, moses = Run(tmp_path), moses_settings(tmp_path / "moses")
    assert set(names_in_help(run)) == expected
    readme = (RECIPE / "README.md").read_text()
    assert not [name for name in expected if f"`{name}`" not in readme]
    lines = commands(run, *sorted(expected), *moses, size="paper")
    for name in expected:
        both = name in ("cho-phrases-table-2", "cho-phrases-table-3")  # in the page of figure 3
        page = f"{run.work}/results/{'cho-phrases-figure-3' if both else name}.md"
        assert f"cat {page}" in lines
        assert any(line.endswith(f".part {page}") for line in lines)


def test_the_longest_sentences_are_aligned_and_translated(tmp_path: Path) -> None:
    """As in figure 3 and section 5.2.2 of Bahdanau et al."""
    run = Run(tmp_path)
    lines = commands(run, "bahdanau-figure-3", "bahdanau-table-3", size="paper")
    longest = f"{run.work}/rnn/text/longest"
    assert any(line.endswith(f"--output {longest} --longest 3") for line in lines)
    [aligned] = [line for line in lines if re.match(r"cat .*/aligned.src$", line)]
    assert f"{longest}.src >" in aligned
    [page] = [line for line in lines if "table 3: sentences" in line and "samples.py" in line]
    for system in ("rnnenc-50", "rnnsearch-50"):
        assert f"--system {system} {run.work}/rnn/{system}.1/longest.10.hyp" in page


@pytest.mark.parametrize("params", ["last", "best"])
def test_pages_say_their_parameters_and_whether_words_may_be_unknown(
    tmp_path: Path, params: str
) -> None:
    """As the tables do. Moses alone has no such parameters, and the other pages no translations."""
    moses = [*moses_settings(tmp_path / "moses"), f"PARAMS={params}"]
    names = [f"{paper}-{name}" for paper, names in PAPERS.items() for name in names.split()]
    lines = commands(Run(tmp_path), *names, *moses, size="paper")
    heads = [line for line in lines if "printf '### %s" in line]
    said = dict(re.findall(r"printf '### %s.n' '([^:]+:[^']+)'(.*)", "\n".join(heads)))
    assert len(said) == len(heads) == 17
    unknown: dict[bool | None, list[str]] = {True: [], False: [], None: []}
    for title, command in said.items():
        parameters = f"Parameters: params.{params}, of the first seed where a system is one model."
        assert (parameters in command) == ("BLEU of Moses" not in title)
        may, never = (
            f"Unknown words {verb} chosen." in command for verb in ("may be", "are never")
        )
        allowed = may if may or never else None
        unknown[allowed].append(title)
    workshop = ("Cho et al. 2014b", "Pouget-Abadie")
    assert len(unknown[False]) == 6 and all(title.startswith(workshop) for title in unknown[False])
    assert len(unknown[True]) == 5
    assert not any(title.startswith(workshop) for title in unknown[True])
    assert not any("table" in title and "figure" not in title for title in unknown[None])


def test_a_figure_whose_systems_are_not_run_gives_the_reason(tmp_path: Path) -> None:
    run = Run(tmp_path)
    status, output = run.make("cho-properties-figure-5")
    assert status != 0 and "needs the output of Moses" in output
    status, output = run.make("cho-properties-figure-6", "SYSTEMS=lstm")
    assert status != 0 and "needs one of the systems grconv" in output
    assert not run.calls.exists()


def test_curves_are_by_source_reference_and_both_of_all_three_news_sets(tmp_path: Path) -> None:
    moses = moses_settings(tmp_path / "moses")
    names = ["cho-properties-figure-4", "cho-properties-figure-5", "segmentation-figure-2"]
    lines = commands(Run(tmp_path), *names, *moses, size="paper")
    drawn = {
        line.split("/results/")[1].split(".svg")[0]: line for line in lines if "--plot" in line
    }
    panels = ["4a", "4b", "4c", "5"], ["2a", "2b", "2c"]
    assert set(drawn) == {
        *(f"cho-properties-figure-{panel}" for panel in panels[0]),
        *(f"segmentation-figure-{panel}" for panel in panels[1]),
    }
    for name, line in drawn.items():
        assert "--of source --of reference --of both" in line
        assert ("--by unknown" if name.endswith("4c") else "--by length") in line
        assert re.search(r"/text/news(-segmented)?\.tgt ", line)


def test_the_decrease_by_unknown_words_is_of_whole_sentences_and_of_segments(
    tmp_path: Path,
) -> None:
    """Figure 3 of Pouget-Abadie et al.: unknown words in source and target."""
    lines = commands(Run(tmp_path), "segmentation-figure-3", size="paper")
    [measured] = [line for line in lines if "--csv" in line]
    words = measured.split()
    assert words[words.index("--by") + 1 : words.index("--by") + 4] == ["unknown", "--of", "both"]
    assert words.count("--of") == 1
    kinds = (".hyp", ".seg", ".tgt", ".src")
    files = {Path(word).name for word in words if word.endswith(kinds)}
    assert files == {
        "news-segmented.10.no-unk.hyp",
        "news-segmented.confidence.seg",
        "news-segmented.tgt",
        "news-segmented.src",
        "vocab.src",
        "vocab.tgt",
    }
    assert words[words.index("--name") + 1] == "whole" and "--system segmented" in measured


def test_samples_of_moses_are_its_lines_of_the_same_sentences(tmp_path: Path) -> None:
    settings = [*moses_settings(tmp_path / "moses"), "SYSTEMS=rnnenc-30"]
    lines = commands(Run(tmp_path), "cho-properties-table-2", *settings, size="paper")
    chosen = [line for line in lines if line.startswith("awk 'NR == FNR")]
    assert len(chosen) == 2 and all("-known.lines" in line for line in chosen)
    [shown] = [line for line in lines if "above-30-known --system" in line.replace("  ", " ")]
    assert "--system Moses" in shown and "--system grconv" not in shown


def test_gpus_are_distributed(tmp_path: Path) -> None:
    lines = commands(Run(tmp_path), "GPUS=0 1", size="paper")
    trained = [line for line in lines if " train " in line and "--recipe" in line]
    assert all("device.py --gpus '0 1' --locks" in line for line in trained)


def test_without_moses_its_systems_give_the_reason(finished: Run) -> None:
    text = (finished.work / "results/tables.md").read_text()
    assert "Moses (paper: all 33.3, no UNK 35.63): needs the output of Moses: set MOSES" in text


@pytest.mark.parametrize(
    ("setting", "message"),
    [
        ("SIZE=huge", "SIZE=huge: must be paper, night, mini or smoke"),
        ("SYSTEMS=lstn", "'lstn'"),
        ("UPDATES=20 SIZE=paper", "SIZE=paper has"),
    ],
)
def test_unknown_systems_are_refused(tmp_path: Path, setting: str, message: str) -> None:
    status, output = Run(tmp_path).make("-n", *setting.split())
    assert status != 0 and message in output


def test_make_n_works_without_an_environment(tmp_path: Path) -> None:
    status, output = Run(tmp_path).make("-n", f"PYTHON={tmp_path}/no/python")
    assert status == 0 and "nmtkit train" in output


def test_the_folder_of_the_project_may_have_a_blank(tmp_path: Path) -> None:
    """Make cannot name a file with a blank, so that all names are relative to the project."""
    shutil.copytree(RECIPE.parent, tmp_path / "my project/examples", ignore=lambda *_: {"outputs"})
    words = ["make", "-n", "--no-print-directory", "-f", "examples/wmt14-en-fr/Makefile"]
    settings = ["SIZE=smoke", "WORK=work"]
    output = subprocess.check_output([*words, *settings], cwd=tmp_path / "my project", text=True)
    assert "work/lstm/prepared" in output and "my project" not in output


def moses_output(folder: Path, dev_lines: int = 200, test_lines: int = 100) -> Path:
    """Create the output of Moses for sets of so many sentences; return its folder."""
    (folder / "nbest").mkdir(parents=True)
    (folder / "corpus").mkdir()
    for name, lines in (("val", dev_lines), ("test2016", test_lines)):
        (folder / f"nbest/{name}.1000best.gz").write_text("")
        for side in ("en", "fr"):
            (folder / f"corpus/{name}.tok.{side}").write_text("x\n" * lines)
    for name in ("phrase-table.gz", "moses.tuned.ini"):
        (folder / name).write_text("")
    return folder


def moses_settings(folder: Path) -> list[str]:
    """Create the output of Moses for a test set of 3,003 sentences; return the settings."""
    return settings_for(moses_output(folder, 6003, 3003))


def settings_for(moses: Path) -> list[str]:
    """Return the settings that use an output of Moses."""
    return [f"MOSES_OUTPUT={moses}", "MOSES_DEV=val", "MOSES_TEST=test2016"]


def test_moses_output_is_rescored_tuned_and_reported(finished: Run, tmp_path: Path) -> None:
    run, moses = Run(tmp_path, finished), moses_output(tmp_path / "moses")
    settings = settings_for(moses)
    status, output = run.make("-j2", "SYSTEMS=lstm lstm-forward ensemble-5", *settings)
    assert status == 0, output
    calls = run.new_calls()
    reranked = [call for call in calls if call.startswith("nbest rerank")]
    for words in (
        "--mean-with RNN0",
        "--oracle",
        "--weights-file",
    ):
        assert any(words in call for call in reranked)
    assert not any("RNN1" in call for call in reranked)  # half and half, also with five models
    rescored = [call for call in calls if call.startswith("nbest score") and "--ensemble" in call]
    assert sorted(call.count("-m ") for call in rescored) == [1, 1, 1, 5]  # backwards: dev, too
    assert any(call.startswith("nbest tune") and "--start" in call for call in calls)
    assert any(call.startswith("phrase-table report") for call in calls)
    text = (run.work / "results/tables.md").read_text()
    assert "| oracle (paper: about 45) | 45 | 1.00 |" in text
    assert "RNN (paper: dev 31.2, test 33.87): needs the decoder of Moses: set MOSES." in text


def test_with_a_made_up_moses_every_table_and_figure_is_there(with_moses: Run) -> None:
    text = (with_moses.work / "results.md").read_text()
    assert "Left out" not in text and "None of its systems was run" not in text
    assert "of Moses are made up" in text
    titles = {table["key"]: table["title"] for table in cells.published()}
    for paper, names in PAPERS.items():
        for name in (f"{paper}-{name}" for name in names.split()):
            if name in titles:
                assert f"## {titles[name]}\n\n| " in text
            elif name not in ("cho-phrases-table-2", "cho-phrases-table-3"):  # of figure 3
                assert (with_moses.work / "results" / f"{name}.md").read_text() in text.replace(
                    "](results/", "]("
                )


@pytest.mark.parametrize(("size", "made_up"), [("mini", True), ("night", False), ("paper", False)])
def test_moses_is_made_up_where_figures_mean_nothing(
    tmp_path: Path, size: str, made_up: bool
) -> None:
    lines = commands(Run(tmp_path), "MOSES=", "WMT_MIRROR=/mirror", size=size)
    assert any("mini/moses.py" in line for line in lines) == made_up
    settings = ["MOSES=/opt/moses", "FAST_ALIGN=/opt/align", "DOMAIN="]
    lines = commands(Run(tmp_path), *settings, "WMT_MIRROR=/mirror", size=size)
    assert not any("mini/moses.py" in line for line in lines)


@pytest.mark.parametrize("size", ["paper", "mini"])
@pytest.mark.parametrize("moses", ["MOSES=/opt/moses", "MOSES_OUTPUT="])
def test_every_training_ends(tmp_path: Path, size: str, moses: str) -> None:
    """By a limit of the Makefiles or of its recipe."""
    settings = [moses, "FAST_ALIGN=/opt/align", "WMT_MIRROR=/mirror"]
    lines = commands(Run(tmp_path), *settings, size=size)
    trained = [line.split() for line in lines if " train " in line and "--recipe" in line]
    recipes = {words[words.index("--recipe") + 1] for words in trained}
    assert ("phrase-rnn" in recipes) == ("=/opt" in moses)
    assert recipes <= set(recipe_names()) and len(recipes) >= 8
    for words in trained:
        limits = [word.partition("=")[2] for word in words if "training.max_updates=" in word]
        training = make_config(words[words.index("--recipe") + 1]).training
        limits = limits or [str(training.max_updates or training.max_epochs or training.patience)]
        assert all(float(limit) > 0 for limit in limits)
        assert "--config" not in words or "training.max_updates=" in " ".join(words)


def test_a_made_up_moses_is_refused_where_figures_mean_something(tmp_path: Path) -> None:
    for size in ("night", "paper"):
        status, output = Run(tmp_path).make("-n", "MOSES_OUTPUT=made-up", "DOMAIN=", size=size)
        assert status != 0 and f"SIZE=smoke and mini, not of {size}" in output


def test_the_shortlist_of_phrases_counts_the_corpus_and_not_the_table(
    finished: Run, tmp_path: Path
) -> None:
    """Cho et al. 2014, section 4.1: the most frequent words, of a text where words repeat."""
    run, moses = Run(tmp_path, finished), moses_output(tmp_path / "moses")
    settings = settings_for(moses)
    run.make(str(run.work / "phrases/prepared/vocab.tgt"), *settings)
    counted = [call for call in run.new_calls() if call.startswith("shortlist")]
    assert [call for call in counted if "phrases" in call] == [
        f"shortlist {run.work}/rnn/prepared/train.{side} --size 1000 --force"
        f" -o {run.work}/phrases/prepared/vocab.{side}"
        for side in ("src", "tgt")
    ]


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        ((200, 7), "7 lines, but the test set has 100"),
        ((7, 100), "7 lines, but the dev set has 200"),
    ],
)
def test_lists_of_another_set_are_refused(
    finished: Run, tmp_path: Path, lines: tuple[int, int], message: str
) -> None:
    moses = moses_output(tmp_path / "moses", *lines)
    settings = settings_for(moses)
    status, output = Run(tmp_path, finished).make("SYSTEMS=rnnenc-30", *settings)
    assert status != 0 and message in output


def test_a_file_missing_from_moses_output_is_named(tmp_path: Path) -> None:
    status, output = Run(tmp_path).make("-n", f"MOSES_OUTPUT={tmp_path}")
    assert status != 0 and "has no dev.1000best.gz" in output


def test_moses_is_trained_tuned_and_gets_neural_scores(tmp_path: Path) -> None:
    lines = commands(Run(tmp_path), "MOSES=/opt/moses", "FAST_ALIGN=/opt/align", size="paper")
    text = "\n".join(lines)
    for program in ("lmplz", "train-model.perl", "filter-model-given-input.pl"):
        assert text.count(f"/{program} ") == 1
    assert "lmplz -o 4 " in text and f"-lm 0:4:{tmp_path}" in text  # Cho et al. 2014b
    assert text.count("/mert-moses.pl ") == 3  # the baseline, with RNN, with RNN and WP
    assert text.count("-n-best-list ") == 6
    assert "s/num-features=4/num-features=5/" in text and "--count-unknown" in text


# ---- SIZE=night: three seeds where the papers' order is close, and a test set of the domain


def test_a_night_trains_systems_whose_orders_are_close_with_three_seeds_and_adam(
    tmp_path: Path,
) -> None:
    lines = commands(Run(tmp_path), size="night")
    trained = [line.split() for line in lines if " train " in line and "--recipe" in line]
    names = [Path(words[words.index("--output") + 1]).name for words in trained]
    by_system = Counter(name.rpartition(".")[0] for name in names)
    once = {"grconv", "cslm", "rnnenc-30-reverse", "seq2seq-lstm-forward"}
    assert by_system.pop("seq2seq-lstm") == 2  # the second for the ensemble
    assert all(number == (1 if name in once else 3) for name, number in by_system.items())
    assert once < set(by_system)
    for words, name in zip(trained, names, strict=True):
        settings = dict(
            words[at + 1].split("=") for at, word in enumerate(words) if word == "--set"
        )
        assert words[words.index("--config") + 1].endswith("small.toml")
        assert settings["model.hidden"] == "256"
        updates, cooldown = (int(settings[f"training.{n}"]) for n in ("max_updates", "cooldown"))
        shared = updates // (2 if "-long" in name else 1)  # with the training that it resumes
        assert updates >= 1000 and cooldown == shared // 3, name
    more = commands(Run(tmp_path), "SEEDS=4 6", "SEEDS_cslm=7 8 9", size="night")
    trained = [line.split() for line in more if " train " in line and "--recipe" in line]
    names = [Path(words[words.index("--output") + 1]).name for words in trained]
    assert {"grconv.4", "cslm.7", "cslm.8", "cslm.9", "rnnenc-50.4", "rnnenc-50.6"} <= set(names)
    assert not {"grconv.6", "cslm.4"} & set(names)
    short = commands(Run(tmp_path), "UPDATES=20", size="night")
    numbers = {word for line in short for word in line.split() if "max_updates=" in word}
    assert numbers == {"training.max_updates=20", "training.max_updates=40"}  # and -long


def test_a_night_measures_the_domain_that_it_held_out(finished: Run, tmp_path: Path) -> None:
    run = Run(tmp_path)
    small = [f"WMT_MIRROR={finished.work / 'mirror'}", "TEST_LINES=", "SELECT_WORDS=20000"]
    small += ["DOMAIN=40", "SEEDS=1", "-j2"]
    status, output = run.make(*small, size="night")
    assert status == 0, output
    text = (run.work / "results.md").read_text()
    assert "| all: paper | domain | newstest2014 | sacreBLEU |" in text
    assert "## The papers' orders" in text and "held out of the training text" in text
    sizes = {name: len((run.work / f"bitext/{name}.en").read_text().splitlines())
             for name in ("selected", "domain", "train")}  # fmt: skip
    assert sizes["domain"] == 40 and sizes["train"] <= sizes["selected"] - 40
    plotted = [call for call in run.new_calls() if call.startswith("evaluate") and "--plot" in call]
    assert plotted and all("/domain" in call or "/news" in call for call in plotted)
    assert (run.work / "rnn/text/news.src").read_text() == (
        run.work / "rnn/text/domain.src"
    ).read_text()
    assert run.make("-q", *small, size="night")[0] == 0
    again = run.make("-n", *small, "DOMAIN=30", size="night")[1]
    assert "hold_out.py" in again and " select " not in again


def test_moses_has_no_pairs_of_the_domain(tmp_path: Path) -> None:
    settings = ["MOSES=/opt/moses", "FAST_ALIGN=/opt/align"]
    status, output = Run(tmp_path).make("-n", *settings, size="night")
    assert status != 0 and "set DOMAIN= to leave these out" in output
    assert Run(tmp_path).make("-n", *settings, "DOMAIN=", size="night")[0] == 0
