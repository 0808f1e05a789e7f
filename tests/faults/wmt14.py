"""Runs `make wmt14 SIZE=smoke` from nothing, then once more through faults; compares the tables.

    python tests/faults/wmt14.py --work /some/folder -- make -j2 wmt14

The first run is left alone: it makes its own mirror, and needs no network. The second one fetches
from a server of that mirror. A connection hangs and breaks, and while it hangs everything is
killed; an archive arrives with a wrong byte; one that is there is damaged afterwards; everything is
killed while a model is trained. After each the same is typed again. At the end the tables must say
the same as those of the first run, figure for figure, but for hours; else the status is 1.
"""

import argparse
import json
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

RECIPE = Path(__file__).resolve().parents[2] / "examples" / "wmt14-en-fr"
CUT, DAMAGED, SPOILT = "training-parallel-un.tgz", "training-giga-fren.tar", "dev.tgz"
CUT_AT = 4000  # bytes
LATEST = 300.0
"""Seconds until what a fault waits for must have come."""


class FaultError(Exception):
    """Something did not go as the recipe promises."""


def typed(command: list[str], work: Path, *variables: str) -> subprocess.Popen[bytes]:
    """The command, as a user types it, in a process group of its own."""
    words = [*command, "SIZE=smoke", f"WORK={work}", *variables]
    print("$", *words, flush=True)
    with open(f"{work}.log", "ab") as log:
        return subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)


def completed(command: list[str], work: Path, *variables: str) -> None:
    """:raises FaultError: it failed."""
    started = time.monotonic()
    status = typed(command, work, *variables).wait()
    if status:
        tail = Path(f"{work}.log").read_text(encoding="utf-8", errors="replace")[-3000:]
        raise FaultError(f"status {status}:\n{tail}")
    print(f"  done in {time.monotonic() - started:.0f} s", flush=True)


def killed(command: list[str], work: Path, moment: Callable[[], bool], *variables: str) -> None:
    """Kill all that the command has started as soon as the moment is there.

    :raises FaultError: it never is.
    """
    process = typed(command, work, *variables)
    end = time.monotonic() + LATEST
    while not moment():
        if process.poll() is not None or time.monotonic() > end:
            raise FaultError("ended before it could be killed")
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    print("  killed", flush=True)


@contextmanager
def served(mirror: Path, log: Path) -> Iterator[str]:
    """A server of the mirror, with one broken connection and one wrong byte: its URL."""
    command = [sys.executable, str(RECIPE / "mini" / "serve.py"), str(mirror), "--port", "0"]
    faults = ["--cut", f"{CUT}={CUT_AT}", "--damage", DAMAGED]
    with open(log, "wb") as file:
        server = subprocess.Popen([*command, *faults], stdout=subprocess.PIPE, stderr=file)
    try:
        assert server.stdout is not None
        yield server.stdout.readline().decode().strip()
    finally:
        server.terminate()
        server.wait()
        assert server.stdout is not None
        server.stdout.close()


def figures(work: Path) -> list[dict[str, Any]]:
    """What the tables say, without what a clock says."""
    path = work / "results" / "tables.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [row for row in rows if row["measure"] != "hours"]


def spoil(archive: Path) -> None:
    """Change a byte in the middle."""
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)


def saved(model: Path) -> bool:
    """Whether a whole checkpoint is there, and the training is not over."""
    names = [path.parent.name for path in model.glob("checkpoints/*/state.json")]
    return any(name.isdigit() for name in names) and not (model / "done").exists()


def broken_off(archives: Path) -> bool:
    """Whether all has come that comes before the connection breaks."""
    try:
        return any(part.stat().st_size == CUT_AT for part in archives.glob(f"{CUT}*"))
    except FileNotFoundError:  # it has got its name meanwhile
        return False


def through_faults(command: list[str], work: Path, mirror: Path) -> None:
    """The second run."""
    log = Path(f"{work}.served")
    archives, model = work / "data" / "archives", work / "rnn" / "rnnsearch-50.1"
    with served(mirror, log) as url:
        source = f"WMT_MIRROR={url}"
        killed(command, work, lambda: broken_off(archives), source)
        killed(command, work, lambda: any((work / "bitext").glob("train.??")), source)
        spoil(archives / SPOILT)
        killed(command, work, lambda: saved(model), source)
        completed(command, work, source)
    told = log.read_text(encoding="utf-8")
    check("a download went on where it ended", f"bytes={CUT_AT}-" in told)
    check("a wrong archive was fetched again", told.count(f"/{DAMAGED}") > 1)
    check("a damaged archive was fetched again", told.count(f"/{SPOILT}") > 1)
    check("a training went on", "resuming from update" in Path(f"{model}.log").read_text("utf-8"))


def check(what: str, true: bool) -> None:
    """:raises FaultError: it is not."""
    if not true:
        raise FaultError(f"not so: {what}")
    print(f"  {what}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=Path, required=True, metavar="DIR")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND")
    options = parser.parse_args()
    whole, broken = options.work.resolve() / "whole", options.work.resolve() / "broken"
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        completed(options.command, whole)
        check("there is a report", (whole / "report.html").stat().st_size > 0)
        through_faults(options.command, broken, whole / "mirror")
        check("the tables say the same", figures(whole) == figures(broken))
    except FaultError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
