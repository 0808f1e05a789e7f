"""Run `make wmt14 SIZE=smoke` undisturbed, then once more with faults, and compare the tables.

    python tests/faults/wmt14.py --work /some/folder -- make -j2 wmt14

The first run creates its own mirror and needs no network. The second run downloads from a server
of that mirror: one connection hangs and breaks, and everything is killed while it hangs; one
archive arrives with a wrong byte; another is damaged after its download; and everything is killed
while a model trains. After each fault the same command runs again. Every table and figure of the
papers must be there, with a made-up output of Moses, and at the end both tables must have the same
figures, except for hours. Otherwise the exit status is 1.
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
BROKEN_DOWNLOAD, DAMAGED_IN_TRANSIT, DAMAGED_ON_DISK = (
    "training-parallel-un.tgz",
    "training-giga-fren.tar",
    "dev.tgz",
)
CUT_AT = 4000  # bytes
KILL_TIMEOUT = 300.0
"""Seconds within which the moment to kill must come."""


class FaultError(Exception):
    """Something did not go as the recipe promises."""


def start(command: list[str], work: Path, *variables: str) -> subprocess.Popen[bytes]:
    """Start the command as a user would, in its own process group."""
    words = [*command, "SIZE=smoke", f"WORK={work}", *variables]
    print("$", *words, flush=True)
    with open(f"{work}.log", "ab") as log:
        return subprocess.Popen(words, stdout=log, stderr=log, start_new_session=True)


def run(command: list[str], work: Path, *variables: str) -> None:
    """Run the command to its end.

    :raises FaultError: it failed.
    """
    started = time.monotonic()
    status = start(command, work, *variables).wait()
    if status:
        tail = Path(f"{work}.log").read_text(encoding="utf-8", errors="replace")[-3000:]
        raise FaultError(f"status {status}:\n{tail}")
    print(f"  done in {time.monotonic() - started:.0f} s", flush=True)


def kill_when(
    command: list[str], work: Path, condition: Callable[[], bool], *variables: str
) -> None:
    """Start the command, and kill all its processes once the condition holds.

    :raises FaultError: the command ended first, or the condition did not hold in time.
    """
    process = start(command, work, *variables)
    deadline = time.monotonic() + KILL_TIMEOUT
    while not condition():
        if process.poll() is not None or time.monotonic() > deadline:
            raise FaultError("the command ended, or took too long, before it could be killed")
        time.sleep(0.01)
    os.killpg(process.pid, signal.SIGKILL)
    process.wait()
    print("  killed", flush=True)


@contextmanager
def serve(mirror: Path, log: Path) -> Iterator[str]:
    """Serve the mirror with one broken connection and one wrong byte, and yield its URL."""
    command = [
        sys.executable,
        str(RECIPE / "mini" / "mirror_server.py"),
        str(mirror),
        "--port",
        "0",
    ]
    faults = ["--cut", f"{BROKEN_DOWNLOAD}={CUT_AT}", "--damage", DAMAGED_IN_TRANSIT]
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
    """Return the rows of the tables without those of hours."""
    path = work / "results" / "tables.json"
    rows: list[dict[str, Any]] = json.loads(path.read_text(encoding="utf-8"))
    return [row for row in rows if row["measure"] != "hours"]


def absent(work: Path) -> list[str]:
    """Return the lines of the results that say why a table or figure is not there."""
    lines = (work / "results.md").read_text(encoding="utf-8").splitlines()
    return [line for line in lines if line.startswith(("Left out: ", "None of its systems"))]


def damage(archive: Path) -> None:
    """Change a byte in the middle."""
    content = bytearray(archive.read_bytes())
    content[len(content) // 2] ^= 1
    archive.write_bytes(content)


def has_checkpoint(model: Path) -> bool:
    """Return whether the model has a complete checkpoint and is still training."""
    names = [path.parent.name for path in model.glob("checkpoints/*/state.json")]
    return any(name.isdigit() for name in names) and not (model / "done").exists()


def download_is_cut(archives: Path) -> bool:
    """Return whether all bytes before the break of the connection have arrived."""
    try:
        return any(part.stat().st_size == CUT_AT for part in archives.glob(f"{BROKEN_DOWNLOAD}*"))
    except FileNotFoundError:  # the download was renamed meanwhile
        return False


def run_through_faults(command: list[str], work: Path, mirror: Path) -> None:
    """Run the command with all faults, and check in the logs that each one occurred."""
    log = Path(f"{work}.served")
    archives, model = work / "data" / "archives", work / "rnn" / "rnnsearch-50.1"
    with serve(mirror, log) as url:
        source = f"WMT_MIRROR={url}"
        kill_when(command, work, lambda: download_is_cut(archives), source)
        kill_when(command, work, lambda: any((work / "bitext").glob("train.??")), source)
        damage(archives / DAMAGED_ON_DISK)
        kill_when(command, work, lambda: has_checkpoint(model), source)
        run(command, work, source)
    requests = log.read_text(encoding="utf-8")
    check("the broken download was continued", f"bytes={CUT_AT}-" in requests)
    check(
        "the archive with a wrong byte was downloaded again",
        requests.count(f"/{DAMAGED_IN_TRANSIT}") > 1,
    )
    check(
        "the archive damaged on disk was downloaded again",
        requests.count(f"/{DAMAGED_ON_DISK}") > 1,
    )
    check("training was resumed", "resuming from update" in Path(f"{model}.log").read_text("utf-8"))


def check(statement: str, holds: bool) -> None:
    """Print the statement if it holds.

    :raises FaultError: it does not hold.
    """
    if not holds:
        raise FaultError(f"failed: {statement}")
    print(f"  {statement}", flush=True)


def main() -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--work", type=Path, required=True, metavar="DIR")
    parser.add_argument("command", nargs="+", metavar="-- COMMAND")
    options = parser.parse_args()
    work = options.work.resolve()
    undisturbed, faulty = work / "undisturbed", work / "faulty"
    options.work.mkdir(parents=True, exist_ok=True)
    try:
        run(options.command, undisturbed)
        check("there is a report", (undisturbed / "report.html").stat().st_size > 0)
        check("every table and figure is there", not absent(undisturbed))
        run_through_faults(options.command, faulty, undisturbed / "mirror")
        check("the tables have the same figures", figures(undisturbed) == figures(faulty))
    except FaultError as error:
        print(error, file=sys.stderr)
        return 1
    return 0


if __name__ == "__main__":
    sys.exit(main())
