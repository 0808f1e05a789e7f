"""A short run of every command on tiny files, for campaigns that disturb each of its system calls.

A run has a folder of its own: `in` with the inputs of `write_inputs`, `out` for the outputs, and
the file `stdout`. `CASES` must have every command; a test compares it with the commands' own list.
"""

import atexit
import contextlib
import io
import os
import shutil
import signal
import sys
import tempfile
import time
import traceback
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import NamedTuple

from nmtkit.training.train import train
from tests.faults import kill
from tests.faults.sample_files import write_sample_files
from tests.faults.shim import Fault, Shim

TIMEOUT = 60.0
"""Seconds after which a run is killed, and counts as one that hangs."""

UPDATES = 2 * kill.VALIDATE_EVERY
SMALL_TRAINING = [word for setting in kill.SETTINGS for word in ("--set", setting)]
MODEL = ["-m", "in/model", "--threads", "1"]
PICTURES = tuple(f"out/pictures/00000{number}.png" for number in range(1, 6))
TEXTS = ["in/text.src", "in/text.tgt"]


class Case(NamedTuple):
    """A command line.

    words: the command. arguments: the rest, without --force. outputs: files and folders that it
    writes, each of which must always be the old or the new one; none: it writes to stdout.
    copies: what `out` has at first, as (name in `in`, name in `out`).
    resumes: the output folder may be incomplete, and the same command goes on there.
    judges: what it cannot read is a finding in its output, and then its status is 1.
    """

    words: str
    arguments: list[str]
    outputs: tuple[str, ...] = ()
    copies: tuple[tuple[str, str], ...] = ()
    resumes: bool = False
    judges: bool = False

    @property
    def name(self) -> str:
        note = "" if self.outputs or self.resumes else " > stdout"
        return self.words + (", resumed" if ("half", "model") in self.copies else note)


CASES = (
    Case(
        "prepare",
        ["-s", "en", "-t", "fr", "--train", *TEXTS, "--dev", *TEXTS, "--bpe", "2",
         "--workers", "1", "-o", "out/prepared"],
        ("out/prepared",),
    ),
    Case(
        "select",
        ["-s", "en", "-t", "fr", "--tokenized", "--domain", *TEXTS, "--pool", *TEXTS,
         "--pairs", "2", "--workers", "1", "-o", "out/a", "out/b"],
        ("out/a", "out/b"),
    ),
    Case(
        "shortlist",
        ["out/prepared", "--size", "6"],
        ("out/prepared/vocab.src", "out/prepared/vocab.tgt"),
        (("unlisted", "prepared"),),
    ),
    Case("shortlist", ["in/text.src", "--size", "6"]),
    Case(
        "train",
        ["out/corpus", "-o", "out/model", "-r", "toy", *SMALL_TRAINING, "--threads", "1",
         "--set", f"training.max_updates={UPDATES}"],
        copies=(("corpus", "corpus"),),
        resumes=True,
    ),
    Case(
        "train",
        ["in/trained", "-o", "out/model", "-r", "toy", *SMALL_TRAINING, "--threads", "1",
         "--set", f"training.max_updates={UPDATES}"],
        copies=(("half", "model"),),
        resumes=True,
    ),
    Case(
        "adapt",
        ["in/model", "--data", *TEXTS, "--guard", *TEXTS, "-o", "out/adapted", "--updates", "2",
         "--allow-loss", "100", "--threads", "1"],
        ("out/adapted",),
    ),
    Case("curves", ["in/curves", "-o", "out/table", "--plot", "out/plot.svg"],
         ("out/table", "out/plot.svg")),
    Case("optimize", ["out/model", "--train", *TEXTS, "--dev", *TEXTS, "--max-loss", "100",
         "--threads", "1", "-o", "out/figures"], ("out/figures",), (("model", "model"),)),
    Case("calibrate", ["out/model", "--dev", *TEXTS, "--threads", "1", "-o", "out/figures"],
         ("out/figures",), (("model", "model"),)),
    Case("translate", [*MODEL, "in/text.src", "-o", "out/hyp", "--alignments", "out/links"],
         ("out/hyp", "out/links")),
    Case("translate", [*MODEL, "in/text.src"]),
    Case("score", [*MODEL, *TEXTS, "-o", "out/scores"], ("out/scores",)),
    Case("nbest score", ["-m", "in/lm", "--threads", "1", "in/list", "-o", "out/list.gz"],
         ("out/list.gz",)),
    Case("nbest rerank", ["in/list", "--weights-file", "in/weights", "-o", "out/best", "--list",
         "out/list"], ("out/best", "out/list")),
    Case("nbest tune", ["in/list", "in/references", "--method", "mira", "--epochs", "2", "-o",
         "out/weights"], ("out/weights",)),
    Case("phrase-table score", [*MODEL, "in/table", "-o", "out/table"], ("out/table",)),
    Case("phrase-table report", [*MODEL, "in/table", "--min-words", "1", "--top", "1", "-o",
         "out/report"], ("out/report",)),
    Case("align", [*MODEL, *TEXTS, "-o", "out/links", "--lexicon", "out/lexicon", "--plot",
         "out/pictures"], ("out/links", "out/lexicon", *PICTURES)),
    Case("embed", [*MODEL, "in/text.src", "-o", "out/vectors"], ("out/vectors",)),
    Case("map", ["in/vectors", "--method", "pca", "-o", "out/points", "--plot", "out/map.svg"],
         ("out/points", "out/map.svg")),
    Case("check", ["in/model", "-o", "out/findings"], ("out/findings",), judges=True),
    Case("check", ["in/list"], judges=True),
    Case("evaluate", [*TEXTS, "--tokenized", "--by", "length", "--source", "in/text.src", "-o",
         "out/figures", "--plot", "out/plot.svg"], ("out/figures", "out/plot.svg")),
    Case("report", [*MODEL, "--source", "in/text.src", "--reference", "in/text.tgt", "-o",
         "out/page.html"], ("out/page.html",)),
)  # fmt: skip


def write_inputs(folder: Path) -> None:
    """Write the inputs of all cases into a new folder."""
    folder.mkdir()
    write_sample_files(folder)
    (folder / "references").write_text("a b\nb\nab b\n")
    (folder / "curves").mkdir()
    for name in ("config.toml", "metrics.jsonl"):
        source = folder / ("model" if name == "config.toml" else "")
        shutil.copy(source / name, folder / "curves")
    shutil.copytree(folder / "prepared", folder / "unlisted")
    for side in ("src", "tgt"):
        (folder / "unlisted" / f"vocab.{side}").unlink()
    kill.prepare(folder / "corpus")
    kill.prepare(folder / "trained")
    overrides = [*kill.SETTINGS, f"training.max_updates={kill.VALIDATE_EVERY}"]
    train(folder / "trained", folder / "half", recipe="toy", overrides=overrides, device="cpu")


def new_run(inputs: Path, folder: Path, case: Case) -> None:
    """Make a folder for one run of a case."""
    shutil.rmtree(folder, ignore_errors=True)
    (folder / "out").mkdir(parents=True)
    shutil.copytree(inputs, folder / "in")
    for source, name in case.copies:
        shutil.copytree(inputs / source, folder / "out" / name)


@contextlib.contextmanager
def work_folder() -> Iterator[Path]:
    """Make a temporary folder, in memory if there is such a place."""
    memory = "/dev/shm" if os.access("/dev/shm", os.W_OK) else None
    with tempfile.TemporaryDirectory(dir=memory) as name:
        yield Path(name).resolve()


class Outcome(NamedTuple):
    """How a run ended: its status, negative for a signal, or None if it hung; and its stderr."""

    status: int | None
    stderr: str


def run_command(
    shim: Shim,
    folder: Path,
    words: list[str],
    fault: Fault | None = None,
    log: Path | None = None,
    data: bool = False,
    modules: Path | None = None,
    prepare: Callable[[], None] | None = None,
) -> Outcome:
    """Run a command in a fork of this process, in which the monotonic clock stands still.

    :param folder: where it runs; watched, with `stdout` in it.
    :param fault: watch the run, and disturb it as this says; None: do not watch.
    :param log: file for its calls, outside of the folder.
    :param data: log what is written, too.
    :param modules: file for the names of the modules that it imports.
    :param prepare: called in the fork, before the command.
    """
    messages = folder.with_name(f"{folder.name}.stderr")
    shim.reset()
    child = os.fork()
    if child:
        status = _wait(child)
        return Outcome(status, messages.read_text(encoding="utf-8", errors="replace"))
    code = 70
    try:
        atexit._clear()  # what this process would do at its end is not the fork's to do
        os.chdir(folder)
        for descriptor, path in enumerate((os.devnull, f"{folder}/stdout", f"{messages}")):
            flags = os.O_RDONLY if descriptor == 0 else os.O_WRONLY | os.O_CREAT | os.O_TRUNC
            opened = os.open(path, flags, 0o644)
            os.dup2(opened, descriptor)
            os.close(opened)
        # as Python opens them under PYTHONUNBUFFERED, and not as pytest has replaced them
        sys.stdout = io.TextIOWrapper(io.FileIO(1, "w", closefd=False), write_through=True)
        sys.stderr = open(2, "w", buffering=1, encoding="utf-8", closefd=False)  # noqa: SIM115
        sys.argv = ["nmtkit", *words]
        time.monotonic = lambda: 0.0  # times in the outputs are then the same in every run
        if modules is not None:
            atexit.register(lambda: modules.write_text("\n".join(sys.modules)))
        if fault is not None:
            shim.arm(folder, fault, log, data)
        if prepare is not None:
            prepare()
        from nmtkit.cli.main import main

        main()
    except SystemExit as end:
        code = end.code if isinstance(end.code, int) else 71
        atexit._run_exitfuncs()
    except BaseException:
        traceback.print_exc()
    finally:
        with contextlib.suppress(OSError):
            sys.stderr.flush()
        os._exit(code)


def _wait(child: int) -> int | None:
    """Return the exit status of a child; kill it after TIMEOUT and return None."""
    deadline = time.monotonic() + TIMEOUT
    while time.monotonic() < deadline:
        ended, status = os.waitpid(child, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        time.sleep(0.001)
    os.kill(child, signal.SIGKILL)
    os.waitpid(child, 0)
    return None
