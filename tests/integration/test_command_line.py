"""Behaviour common to all commands: help, exit statuses, streams, complete or absent outputs.

What each command computes is tested in its own file.
"""

import gzip
import json
import logging
import os
import shutil
import signal
import subprocess
import sys
from collections.abc import Callable
from importlib.util import find_spec
from pathlib import Path

import pytest
from click.testing import Result

from nmtkit.cli.command_group import walk_commands
from nmtkit.cli.main import cli

Nmtkit = Callable[..., Result]

COMMANDS = [path for path, _ in walk_commands(cli)]

ODD_LINES = [
    b"one two",
    b"",
    b"three\rfour",
    b"five\xe2\x80\xa8six",  # U+2028
    b"\x0c",
    b"   ",
    b"</s> <unk> seven",
    b"eight\x00nine \xc2\x85 one",  # U+0085
    b"one " * 100,
    b"two\r",
    b"no newline at the end",
]


def run_process(*arguments: object, input: bytes = b"") -> "subprocess.CompletedProcess[bytes]":
    """Run the command in its own process, as a shell starts it."""
    return subprocess.run(argv(*arguments), input=input, capture_output=True)


def argv(*arguments: object) -> list[str]:
    code = "from nmtkit.cli.main import main; main()"
    return [sys.executable, "-c", code, *map(str, arguments)]


@pytest.mark.parametrize("path", COMMANDS, ids=" ".join)
def test_an_unknown_option_is_wrong_usage(path: tuple[str, ...], nmtkit: Nmtkit) -> None:
    result = nmtkit(*path, "--no-such-option", status=2)
    assert result.stdout == ""
    assert result.stderr.startswith("nmtkit: error: ") and result.stderr.count("\n") == 1
    assert f"nmtkit {' '.join(path)} --help" in result.stderr


@pytest.mark.parametrize(
    "arguments",
    [
        "prepare -s en -t fr --output out --train no.en no.fr --dev no.en no.fr".split(),
        ["shortlist", "no.en", "--size", "10", "--output", "out"],
        ["train", "no-folder", "--output", "out", "--recipe", "toy"],
        ["translate", "--model", "no-model"],
        ["score", "--model", "no-model", "no.en", "no.fr"],
        ["nbest", "rerank", "no.list"],
        ["nbest", "tune", "no.list", "no.fr"],
        ["align", "--model", "no-model", "no.en", "no.fr"],
        ["evaluate", "no.hyp", "no.ref"],
        pytest.param(
            ["phrase-table", "report", "no.gz", "--model", "no-model", "--output", "out"],
            marks=pytest.mark.skipif(not find_spec("matplotlib"), reason="draws pictures"),
        ),
    ],
    ids=lambda arguments: " ".join(arguments[:2]),
)
def test_a_missing_input_is_one_line_and_no_output(
    arguments: list[str], nmtkit: Nmtkit, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    result = nmtkit("--quiet", *arguments, input="", status=1)
    assert result.stdout == ""
    assert result.stderr.startswith("nmtkit: error: no") and result.stderr.count("\n") == 1
    assert list(tmp_path.iterdir()) == []


def test_each_line_in_gives_one_line_out(model: Path, nmtkit: Nmtkit) -> None:
    lines = b"\n".join(ODD_LINES)
    result = nmtkit("translate", "--model", model, "--beam", 2, input=lines)
    translations = result.stdout_bytes.split(b"\n")
    assert len(translations) == len(ODD_LINES) + 1 and translations[-1] == b""
    assert translations[1] == b""


def test_a_separate_process_gives_the_same_translations(model: Path, nmtkit: Nmtkit) -> None:
    lines = b"one two three\n\nfour five\n"
    arguments = ["translate", "--model", model, "--device", "cpu", "--threads", "1"]
    completed = run_process(*arguments, input=lines)
    assert completed.returncode == 0
    assert completed.stdout == nmtkit(*arguments, input=lines).stdout_bytes


def test_stdout_carries_results_only(model: Path, corpus: Path) -> None:
    completed = run_process(
        "--verbose", "score", "--model", model, corpus / "dev.en", corpus / "dev.fr"
    )
    assert completed.returncode == 0
    assert all(float(line) < 0 for line in completed.stdout.splitlines())
    assert len(completed.stdout.splitlines()) == 6
    assert b"\r" not in completed.stderr  # progress bars appear on terminals only


def test_a_pipe_closed_early_is_quiet(tmp_path: Path) -> None:
    words = tmp_path / "words"
    words.write_text("".join(f"word{number}\n" for number in range(50_000)))
    with subprocess.Popen(
        argv("--quiet", "shortlist", words, "--size", 60_000, "--output", "-"),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
    ) as running:
        assert running.stdout is not None and running.stderr is not None
        assert running.stdout.readline() == b"</s>\t50000\n"
        running.stdout.close()
        assert running.stderr.read() == b""
    assert running.returncode == 141


def test_an_interrupt_is_quiet(model: Path) -> None:
    restore_handler = "import signal; signal.signal(signal.SIGINT, signal.default_int_handler)"
    command = argv("--quiet", "translate", "--model", model, "--max-length-ratio", 1)
    command[2] = (
        f"{restore_handler}; {command[2]}"  # a test run in the background ignores interrupts
    )
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
    ) as running:
        assert running.stdin is not None and running.stdout is not None
        running.stdin.write(b"one two\n")
        running.stdin.flush()
        assert running.stdout.readline().endswith(b"\n")  # now it waits for the next line
        running.send_signal(signal.SIGINT)
        assert running.wait(timeout=60) == 130
        assert running.stderr is not None and b"Traceback" not in running.stderr.read()


def test_a_full_disk_is_one_line(tmp_path: Path) -> None:
    if not os.path.exists("/dev/full"):
        pytest.skip("this system has no device that is always full")
    words = tmp_path / "words"
    words.write_text("one two\n")
    with open("/dev/full", "wb") as full:
        completed = subprocess.run(
            argv("--quiet", "shortlist", words, "--size", "10", "--output", "-"),
            stdout=full,
            stderr=subprocess.PIPE,
        )
    assert completed.returncode == 1
    assert completed.stderr.startswith(b"nmtkit: error: ") and completed.stderr.count(b"\n") == 1
    assert b"No space left on device" in completed.stderr


def test_existing_output_is_refused_unless_forced(
    corpus: Path, prepared: Path, small: list[str], nmtkit: Nmtkit, tmp_path: Path
) -> None:
    train = ["--train", corpus / "train.en", corpus / "train.fr"]
    dev = ["--dev", corpus / "dev.en", corpus / "dev.fr"]
    commands: list[tuple[Path, list[object]]] = [
        (tmp_path / "p", ["prepare", *train, *dev, "-s", "en", "-t", "fr", "--subword", "none"]),
        (tmp_path / "s", ["shortlist", corpus / "train.en", "--size", 10]),
    ]
    for output, arguments in commands:
        nmtkit(*arguments, "--output", output)
        before = contents(output)
        message = nmtkit(*arguments, "--output", output, status=1).stderr
        assert str(output) in message and "--force" in message
        assert contents(output) == before
        nmtkit(*arguments, "--output", output, "--force")
        assert set(contents(output)) == set(before)


def contents(path: Path) -> dict[str, bytes]:
    files = [path] if path.is_file() else [file for file in path.rglob("*") if file.is_file()]
    return {str(file): file.read_bytes() for file in files}


def test_gzip_by_name(corpus: Path, nmtkit: Nmtkit, tmp_path: Path) -> None:
    text = (corpus / "train.en").read_bytes()
    (tmp_path / "train.en.gz").write_bytes(gzip.compress(text))
    plain, zipped = tmp_path / "plain", tmp_path / "zipped.gz"
    nmtkit("shortlist", corpus / "train.en", "--size", 10, "--output", plain)
    nmtkit("shortlist", tmp_path / "train.en.gz", "--size", 10, "--output", zipped)
    assert gzip.decompress(zipped.read_bytes()) == plain.read_bytes()


def test_names_that_are_not_utf8_are_escaped(
    corpus: Path,
    model: Path,
    small: list[str],
    nmtkit: Nmtkit,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """The byte 0xFF of a name is the half of a surrogate pair in Python, which no output has.

    Nothing is logged, because a report of the test could not be sent to another process.
    """
    monkeypatch.setattr(logging.root.manager, "disable", logging.CRITICAL)
    text, folder = tmp_path / "tr\udcff.en", tmp_path / "prep\udcff"
    shutil.copy(corpus / "train.en", text)
    shutil.copytree(model, tmp_path / "mod\udcff")
    pairs = ["--train", text, corpus / "train.fr", "--dev", corpus / "dev.en", corpus / "dev.fr"]
    nmtkit("prepare", *pairs, *"-s en -t fr --subword none -o".split(), folder)
    assert r"tr\udcff.en" in (folder / "manifest.json").read_text()
    assert str(text) in json.loads((folder / "manifest.json").read_text())["inputs"]
    nmtkit("shortlist", folder, "--size", 12)
    nmtkit("train", folder, "-o", tmp_path / "new\udcff", *small)
    assert r"prep\udcff" in (tmp_path / "new\udcff/origin.json").read_text()
    for path in (folder, tmp_path / "new\udcff"):
        assert r"\udcff" in nmtkit("check", path).stdout
    plot = ["--plot", tmp_path / "curves.svg"]
    assert r"mod\udcff" in nmtkit("curves", tmp_path / "mod\udcff", *plot, "-o", "-").stdout
    assert "mod\ufffd" in (tmp_path / "curves.svg").read_text(encoding="utf-8")
    files = [text, corpus / "train.en"]
    measured = json.loads(nmtkit("evaluate", *files, "-t", "en", "--json").stdout)
    assert str(text) in json.dumps(measured, ensure_ascii=False)
    test = ["--source", corpus / "test.en", "--reference", corpus / "test.fr"]
    shutil.copy(corpus / "test.fr", text)
    nmtkit("report", model, "--system", "mine", text, *test, "-o", tmp_path / "report.html")
    assert r"tr\udcff.en" in (tmp_path / "report.html").read_text(encoding="utf-8")
