"""Run commands in turns and measure them; shared by all benchmarks.

Compare speeds only between runs taken in turns (`in_turns`) in one session, so that other load
affects all alike. The median of several rounds counts; reports also give the lowest and the highest
(`Spread`).
"""

import argparse
import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NoReturn, TypeVar

Result = TypeVar("Result")
ROOT = Path(__file__).resolve().parent.parent

NMTKIT = [
    sys.executable,
    "-c",
    f"import sys; sys.path.insert(0, {str(ROOT)!r}); from nmtkit.cli.main import main; main()",
]
"""How to start the nmtkit of this checkout; its options follow."""
CLOCKS = {"wall": "second", "cpu": "second of processor time"}
"""Clocks by name, with their unit; on a busy machine processor time of one thread is steadier."""


class BenchError(Exception):
    """A run that is impossible or failed; the message is one line for the user."""


@dataclass(frozen=True)
class CommandCost:
    """Cost of a command.

    seconds: wall clock; cpu: processor seconds of all threads and children; peak: peak memory in
    bytes of its largest process, or of this process at the start of it if that was larger.
    """

    seconds: float
    cpu: float
    peak: int

    def by(self, clock: str) -> float:
        """Return seconds of one of `CLOCKS`."""
        return self.seconds if clock == "wall" else self.cpu


@dataclass(frozen=True)
class Spread:
    """Median, lowest and highest of several measurements, and their number."""

    median: float
    low: float
    high: float
    count: int

    @classmethod
    def of(cls, values: Iterable[float]) -> "Spread":
        """Summarise values.

        :raises ValueError: there is no value.
        """
        values = list(values)
        if not values:
            raise ValueError("no measurement")
        return cls(statistics.median(values), min(values), max(values), len(values))


def run_command(
    command: Sequence[str | Path],
    log: Path,
    environment: Mapping[str, str] | None = None,
    stdin: Path | None = None,
    stdout: Path | None = None,
) -> CommandCost:
    """Run a command to its end.

    :param log: Gets its stderr, and its stdout unless `stdout` is given.
    :param environment: Added to the current environment.
    :raises BenchError: The command cannot be started, or failed; quotes the end of its log.
    """
    log.parent.mkdir(parents=True, exist_ok=True)
    words = [str(word) for word in command]
    with (
        open(log, "wb") as err,
        open(stdin or os.devnull, "rb") as source,
        open(stdout, "wb") if stdout else err as out,
    ):
        started = time.perf_counter()
        try:
            process = subprocess.Popen(
                words,
                stdin=source,
                stdout=out,
                stderr=err,
                env={**os.environ, **(environment or {})},
            )
        except OSError as error:
            raise BenchError(f"{words[0]}: cannot be run: {error.strerror}") from error
        try:
            _, status, usage = os.wait4(process.pid, 0)
        except BaseException:
            process.kill()
            process.wait()
            raise
        process.returncode = os.waitstatus_to_exitcode(status)
        seconds = time.perf_counter() - started
    if process.returncode:
        last = log.read_text(encoding="utf-8", errors="replace").strip().splitlines()[-1:]
        raise BenchError(
            f"{' '.join(words[:4])} ...: exit status {process.returncode}: "
            f"{' '.join(last) or 'no output'} (full log: {log})"
        )
    unit = 1 if sys.platform == "darwin" else 1024  # of ru_maxrss
    return CommandCost(seconds, usage.ru_utime + usage.ru_stime, usage.ru_maxrss * unit)


def cpu_environment(threads: int) -> dict[str, str]:
    """Return environment variables that set the number of threads and hide GPUs.

    The peers are set to train and translate on the CPU; nmtkit would take a GPU where there is one.
    """
    names = ("OMP_NUM_THREADS", "MKL_NUM_THREADS", "OPENBLAS_NUM_THREADS")
    return {**{name: str(threads) for name in names}, "CUDA_VISIBLE_DEVICES": ""}


def in_turns(
    runs: Mapping[str, Callable[[], Result]], rounds: int, report: Callable[[str], None]
) -> dict[str, list[Result]]:
    """Run each command `rounds` times in turns; each round starts with the next one.

    A command that fails is reported and left out of later rounds and of the results.
    """
    results: dict[str, list[Result]] = {name: [] for name in runs}
    for number in range(rounds):
        names = list(results)
        first = number % max(len(names), 1)
        for name in names[first:] + names[:first]:
            report(f"round {number + 1} of {rounds}: {name}")
            try:
                results[name].append(runs[name]())
            except BenchError as error:
                report(f"{name} is skipped: {error}")
                del results[name]
    return results


def exit_with(main: Callable[[Sequence[str]], int]) -> NoReturn:
    """End this process with the status of a benchmark's main, or with its error in one line.

    Errors are those of benchmarks and of nmtkit, files that cannot be read, and an interruption.
    """
    from nmtkit.errors import NmtkitError  # here, since `timing` needs nothing but this folder

    try:
        sys.exit(main(sys.argv[1:]))
    except (BenchError, NmtkitError) as error:
        sys.exit(f"bench: {error}")
    except UnicodeDecodeError as error:
        sys.exit(f"bench: a text is not valid UTF-8 ({error.reason}, byte {error.start + 1})")
    except OSError as error:
        if error.filename is None:
            raise
        sys.exit(f"bench: {error.filename}: {error.strerror}")
    except KeyboardInterrupt:
        report_progress("interrupted")
        sys.exit(130)


def positive(text: str) -> int:
    """Return the number in an option that counts something, at least 1."""
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError(f"{text} is less than 1")
    return number


def check_settings(folder: Path, settings: Mapping[str, Any]) -> None:
    """Check that figures kept in a folder were measured with the same settings.

    The first call writes the settings to FOLDER/settings.json.

    :param settings: values by the name that the user knows them by.
    :raises BenchError: a setting had another value.
    """
    record = folder / "settings.json"
    now: dict[str, Any] = json.loads(json.dumps(settings, default=str))
    before = json.loads(record.read_text(encoding="utf-8")) if record.is_file() else {}
    for name, value in now.items():
        if name in before and before[name] != value:
            raise BenchError(
                f"{folder}: has figures of {name} {before[name]}, not {value}; remove it, or name"
                " another --work"
            )
    folder.mkdir(parents=True, exist_ok=True)
    text = json.dumps({**before, **now}, indent=1, ensure_ascii=False)
    record.write_text(f"{text}\n", encoding="utf-8")


def select_names(
    names: Sequence[str], wanted: Sequence[str] | None, whole: bool = False
) -> list[str]:
    """Return the names that an option `--only` selects, in their order; None: all.

    A word selects all systems whose names begin with it.

    :param whole: where a system has this very name, select it alone.
    :raises BenchError: a word selects none.
    """
    if wanted is None:
        return list(names)
    selected: set[str] = set()
    for word in wanted:
        found = {name for name in names if name.startswith(word)}
        if whole and word in names:
            found = {word}
        if not found:
            raise BenchError(f"--only {word}: no such system; there are {', '.join(names)}")
        selected |= found
    return [name for name in names if name in selected]


def report_progress(line: str) -> None:
    """Print a line about the progress of a benchmark to stderr."""
    print(f"bench: {line}", file=sys.stderr, flush=True)


def table(header: Sequence[str], rows: Iterable[Sequence[str]]) -> str:
    """Return a Markdown table with all columns but the first aligned right."""
    lines = [header, ["---"] + ["---:"] * (len(header) - 1), *rows]
    return "".join(f"| {' | '.join(cells)} |\n" for cells in lines)


def with_spread(spread: Spread, digits: int = 0) -> str:
    """Return "4,050 (3,990–4,102)": the median, and the lowest and highest in brackets."""
    if spread.count == 1:
        return f"{spread.median:,.{digits}f}"
    return f"{spread.median:,.{digits}f} ({spread.low:,.{digits}f}–{spread.high:,.{digits}f})"


def write_lines(path: Path, lines: Iterable[str]) -> None:
    """Write lines to a file, in a folder that is made if it is missing."""
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def write_report(output: Path | None, markdown: str, figures: Any) -> None:
    """Print the Markdown; with `output`, also write it there, and all figures as JSON beside it."""
    print(markdown)
    if output is not None:
        output.parent.mkdir(parents=True, exist_ok=True)
        output.write_text(markdown + "\n", encoding="utf-8")
        text = json.dumps(figures, indent=1, ensure_ascii=False)
        output.with_suffix(".json").write_text(text + "\n", encoding="utf-8")


def machine() -> str:
    """Describe the processor and the part of it that this process may use."""
    name = "unknown processor"
    try:
        for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
            if line.startswith("model name"):
                name = line.partition(":")[2].strip()
                break
    except OSError:
        pass
    return f"{name}, {len(os.sched_getaffinity(0))} cores"
