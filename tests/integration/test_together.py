"""Commands that several processes do together, and those that refuse to be."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from pathlib import Path

import pytest
from safetensors.torch import load_file

TIMES = ("seconds", "words_per_second")
LONGER = ["--set", "training.max_updates=6", "--set", "training.validate_every=3"]
NMTKIT = [sys.executable, "-m", "nmtkit"]
TORCHRUN = [sys.executable, "-m", "torch.distributed.run", "--nproc-per-node", "2"]


@pytest.fixture
def each(run_ranks, nmtkit):
    """`each(2, "score", ...)`: what every rank writes to stdout, and to stderr."""

    def call(size, *arguments, status=0, restarts=0, **options):
        def life():
            result = nmtkit(*arguments, status=status, **options)
            return result.stdout, result.stderr

        outcomes = run_ranks(size, life, restarts=restarts)
        assert [outcome.error for outcome in outcomes] == [None] * size
        return [outcome.value for outcome in outcomes]

    return call


def metrics(folder):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]


def names(folder):
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*"))


def assert_close(folder, other):
    """Two trainings were the same but for rounding."""
    assert names(folder) == names(other)
    for row, expected in zip(metrics(folder), metrics(other), strict=True):
        assert row.keys() == expected.keys()
        for key, value in row.items():
            wanted = expected[key]
            exact = not isinstance(wanted, float)
            assert value == (wanted if exact else pytest.approx(wanted, rel=1e-4)), key
    for name in ("params.best.safetensors", "params.last.safetensors"):
        found, wanted = load_file(folder / name), load_file(other / name)
        for key, value in found.items():
            assert value.allclose(wanted[key], rtol=1e-4, atol=1e-6), key


def training(prepared, folder, small, *options):
    settings = ["--recipe", "toy", "--device", "cpu", *small, *LONGER]
    settings += ["--set", "model.dropout=0.0", "--set", "training.average_checkpoints=2"]
    return ["train", prepared, "--output", folder, *settings, *options]


def test_several_processes_train_the_model_of_one(prepared, small, nmtkit, each, tmp_path):
    nmtkit(*training(prepared, tmp_path / "one", small))
    (_, told), *others = each(3, *training(prepared, tmp_path / "three", small))
    assert "3 processes train together" in told and "finished after 6 updates" in told
    assert others == [("", "")] * 2
    assert_close(tmp_path / "three", tmp_path / "one")
    assert metrics(tmp_path / "one")[0]["dev_bleu"] is not None


def test_a_restart_resumes_even_with_force(prepared, small, each, tmp_path):
    command = training(prepared, tmp_path / "model", small, "--force")
    each(2, *command)
    before = names(tmp_path / "model")
    (_, told), _ = each(2, *command, restarts=1)
    assert "training is finished after 6 updates" in told
    assert names(tmp_path / "model") == before


def test_errors_are_reported_by_rank_0(prepared, small, each, tmp_path):
    told = each(3, *training(tmp_path / "nowhere", tmp_path / "model", small), status=1)
    assert "nowhere/manifest.json: cannot be read" in told[0][1]
    assert told[1][1] == "nmtkit: error: rank 1: rank 0 has failed, and says why\n"
    assert not (tmp_path / "model").exists()


@pytest.fixture
def text(tmp_path):
    """Lines enough that each rank has some of a window, an empty one, and one of blanks."""
    words = ["one", "two three", "", "nine one two", "  ", "seven"]
    (tmp_path / "text").write_text("".join(f"{words[n % 6]}\n" for n in range(50)) + "four")
    return tmp_path / "text"


@pytest.mark.parametrize(
    "options",
    [
        ["--beam", 3, "--scores"],
        ["--n-best", 2, "--beam", 3],
        ["--sample", 2, "--counts"],
        ["--segment", "random-confidence"],
    ],
    ids=lambda options: options[0],
)
def test_translations_are_those_of_one_process(model, text, nmtkit, each, tmp_path, options):
    command = ["translate", "--model", model, "--device", "cpu", "--batch-size", 1, *options]
    expected = nmtkit(*command, text).stdout
    assert expected.count("\n") >= 51
    first, *others = each(3, *command, text)
    assert first[0] == expected
    assert others == [("", "")] * 2


def test_all_files_of_translate_equal_those_of_one_process(model, text, nmtkit, each, tmp_path):
    def command(name):
        files = {option: tmp_path / f"{name}{option}" for option in ("--output", "--segments")}
        words = [str(word) for pair in files.items() for word in pair]
        search = ["--segment", "random-confidence", "--batch-size", 1]
        return ["translate", "-m", model, "--device", "cpu", *search, *words, text]

    nmtkit(*command("one"))
    each(2, *command("two"))
    for option in ("--output", "--segments"):
        expected = (tmp_path / f"one{option}").read_bytes()
        assert expected.count(b"\n") == 51
        assert (tmp_path / f"two{option}").read_bytes() == expected


def test_alignments_and_stdin_too(model, text, nmtkit, each, tmp_path):
    command = ["translate", "-m", model, "--device", "cpu", "--beam", 2, "--alignments"]
    expected = nmtkit(*command, tmp_path / "one", text).stdout
    (found, _), _ = each(2, *command, tmp_path / "two", input=text.read_text())
    assert found == expected
    assert (tmp_path / "two").read_bytes() == (tmp_path / "one").read_bytes()


def test_scores_are_those_of_one_process(model, language_model, text, nmtkit, each):
    for files in ([model, text, text], [language_model, text]):
        command = ["score", "--device", "cpu", "--batch-size", 1, "--model", *files]
        alone = nmtkit(*command)
        (found, told), other = each(2, *command)
        assert found == alone.stdout and found.count("\n") == 51
        assert told == alone.stderr and other == ("", "")


def test_files_of_different_length_are_refused_by_rank_0(model, text, corpus, each):
    told = each(2, "score", "--device", "cpu", "-m", model, text, corpus / "dev.fr", status=1)
    assert "differ in their number of lines" in told[0][1]


@pytest.mark.parametrize(
    ("arguments", "reason"),
    [
        (["prepare"], "'prepare' runs in one process, and 2 were started together"),
        (["align", "--help"], "only train, translate, score can share their work"),
        (["score", "--model", "m", "--nbest", "list"], "'nbest' runs in one process"),
        (["score", "--model", "m", "--phrase-table", "t"], "'phrase-table' runs in one process"),
    ],
)
def test_commands_for_one_process_refuse_several(each, arguments, reason):
    for _, told in each(2, *arguments, status=2):
        assert reason in told


def test_python_m_nmtkit_is_the_command():
    done = subprocess.run([*NMTKIT, "--version"], capture_output=True, text=True, check=True)
    assert done.stdout.startswith("nmtkit ")


# With torchrun itself


NOTED = """trap : INT TERM
folder=$1; shift
"$@"
echo $? > "$folder/status.$RANK"
"""
"""A shell's script that runs a command, lives through the signals that end it, and notes its
status: torchrun does not tell those of ranks that it has ended itself."""


def started(*arguments, restarts=0, noted=None):
    """A command that torchrun starts twice over; each rank's status goes to the folder `noted`."""
    rank = [sys.executable, "-m", "nmtkit", *arguments]
    if noted is not None:
        rank = ["bash", "-c", NOTED, "noted", noted, *rank]
    command = [*TORCHRUN, "--max-restarts", restarts, "--no-python", *rank]
    return subprocess.Popen(
        list(map(str, command)),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
        env={**os.environ, "OMP_NUM_THREADS": "1", "GLOO_SOCKET_IFNAME": "lo"},
    )


def ranks_of(process):
    """The processes that torchrun has started."""
    found = Path(f"/proc/{process.pid}/task/{process.pid}/children").read_text().split()
    return [int(number) for number in found]


def until(folder, checkpoint, process):
    """Wait until a training has written a checkpoint of at least so many updates."""
    while not any(path.name >= f"{checkpoint:08d}" for path in folder.glob("checkpoints/[0-9]*")):
        assert process.poll() is None, process.stderr and process.stderr.read()
        time.sleep(0.05)


@pytest.mark.slow
def test_torchrun_restarts_a_training_whose_rank_was_killed(prepared, small, nmtkit, tmp_path):
    options = ["--set", "training.max_updates=300", "--set", "training.validate_every=20"]
    options += ["--set", "training.dev_bleu=false"]
    folder = tmp_path / "killed"
    process = started(*training(prepared, folder, small, *options), restarts=1)
    until(folder, 40, process)
    os.kill(ranks_of(process)[-1], signal.SIGKILL)
    _, told = process.communicate(timeout=120)
    assert process.returncode == 0, told
    assert "resuming from update" in told
    nmtkit(*training(prepared, tmp_path / "whole", small, *options))
    assert_close(folder, tmp_path / "whole")


@pytest.mark.slow
def test_a_killed_rank_ends_the_job_and_one_process_resumes(prepared, small, nmtkit, tmp_path):
    options = ["--set", "training.max_updates=300", "--set", "training.validate_every=20"]
    options += ["--set", "training.dev_bleu=false"]
    folder = tmp_path / "killed"
    process = started(*training(prepared, folder, small, *options))
    until(folder, 40, process)
    os.kill(ranks_of(process)[0], signal.SIGKILL)
    begun = time.monotonic()
    _, told = process.communicate(timeout=120)
    assert time.monotonic() - begun < 45
    assert process.returncode != 0 and "SIGKILL" in told
    gone_on = nmtkit(*training(prepared, folder, small, *options))
    assert "resuming from update" in gone_on.stderr
    nmtkit(*training(prepared, tmp_path / "whole", small, *options))
    assert_close(folder, tmp_path / "whole")


@pytest.mark.slow
@pytest.mark.parametrize("number", [signal.SIGTERM, signal.SIGINT])
def test_a_signal_to_torchrun_saves(prepared, small, tmp_path, number):
    options = ["--set", "training.max_updates=100000", "--set", "training.validate_every=50"]
    folder = tmp_path / "model"
    process = started(*training(prepared, folder, small, *options), noted=tmp_path)
    until(folder, 50, process)
    process.send_signal(number)
    _, told = process.communicate(timeout=60)
    assert process.returncode != 0
    statuses = [(tmp_path / f"status.{rank}").read_text() for rank in range(2)]
    assert statuses == [f"{128 + number}\n"] * 2, told
    told_of = re.search(r"saved at update (\d+); the same command resumes from there", told)
    assert told_of, told
    assert list(folder.glob(f"checkpoints/{int(told_of[1]):08d}*"))


@pytest.mark.slow
def test_torchrun_translates_stdin(model, text, nmtkit):
    command = ["translate", "--model", model, "--device", "cpu", "--beam", 2]
    process = started(*command)
    found, told = process.communicate(text.read_text(), timeout=60)
    assert process.returncode == 0, told
    assert found == nmtkit(*command, text).stdout
