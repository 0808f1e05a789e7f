"""Gives every reader hostile files for so many seconds, and tells what broke the law.

    python tests/faults/fuzz.py --seconds 60
    python tests/faults/fuzz.py --seconds 3600 --only n-best-list tuning --seed 7

Each reader of `readers.py` first gets the cases of `hostile.py` that are the same each time, those
of megabytes among them, and then what hypothesis draws, until the time is over: seconds of a
processor, so that it is the same work where others use the machine. A reader may take
2 GiB beyond what the process has at the start, and 60 seconds of a processor for a file: beyond
that is a fault, as is every exception that is no NmtkitError, and every warning. Prints a line for
each reader; the status is 1 where there is a fault, and the content that shows it is printed, made
as small as hypothesis can.
"""

import argparse
import contextlib
import logging
import os
import resource
import signal
import sys
import tempfile
import time
import warnings
from collections import Counter
from collections.abc import Iterator
from pathlib import Path
from types import FrameType

import torch
from hypothesis import HealthCheck, Phase, given, seed, settings
from hypothesis.errors import HypothesisWarning

# As `python -m` would: the tests are no package that is installed.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.faults.hostile import contents, plain_cases  # noqa: E402
from tests.faults.readers import READERS, Fault, Reader, tried  # noqa: E402
from tests.faults.workshop import make_workshop  # noqa: E402

MEMORY = 2 << 30
"""Bytes that a reader may take."""

PATIENCE = 60
"""Seconds of a processor that a file may take."""

ROUND = 400
"""Contents drawn before the time is looked at again."""


class Impatience(BaseException):
    """A file takes too long; nothing that is called here takes it for an error of its own."""


class Target:
    """A reader, and what was tried with it.

    counts: contents taken and refused.
    """

    def __init__(self, reader: Reader, folder: Path) -> None:
        self.reader = reader
        self.folder = folder
        self.sound = (folder / reader.file).read_bytes()
        self.counts: Counter[bool] = Counter()
        self.end = 0.0

    def run(self, seconds: float, number: int) -> None:
        """Try for so long.

        :param seconds: of a processor.
        :param number: decides what is drawn.
        :raises Fault: the reader broke the law.
        """
        self.end = time.process_time() + seconds
        for content in plain_cases(self.sound, self.reader.large):
            self.give(content)
        while time.process_time() < self.end:
            self._draw(number)
            number += 1

    def give(self, content: bytes) -> None:
        """One content; a fault shows it."""
        with patience():
            try:
                self.counts[tried(self.reader, self.folder, content)] += 1
            except (Fault, Impatience) as fault:
                fault.add_note(f"with {content[:300]!r} ({len(content)} bytes)")
                raise

    def _draw(self, number: int) -> None:
        @seed(number)
        @settings(
            max_examples=ROUND,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(contents(self.sound))
        def draw(content: bytes) -> None:
            if time.process_time() < self.end:
                self.give(content)

        draw()


@contextlib.contextmanager
def patience() -> Iterator[None]:
    """What lasts longer than PATIENCE is a fault."""

    def over(_: int, __: FrameType | None) -> None:
        raise Impatience(f"not done after {PATIENCE} seconds")

    signal.signal(signal.SIGPROF, over)
    signal.setitimer(signal.ITIMER_PROF, PATIENCE)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def limit_memory() -> None:
    """What is asked for beyond MEMORY is refused by the system."""
    used = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (used + MEMORY, resource.RLIM_INFINITY))


def main() -> None:
    names = [reader.name for reader in READERS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="of a processor, for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="READER")
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    total: Counter[bool] = Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as work:
        folder = make_workshop(Path(work))
        limit_memory()
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", HypothesisWarning)  # what it shows of a fault may be long
        for reader in READERS:
            if reader.name not in options.only:
                continue
            target = Target(reader, folder)
            begin, told = time.process_time(), "no fault"
            try:
                target.run(options.seconds, options.seed * 1_000_003)
            except (Fault, Impatience) as fault:
                faults += 1
                told = f"FAULT {fault} {' '.join(fault.__notes__)}"
            counts = target.counts
            total += counts
            print(
                f"{reader.name}: {counts[True]} contents taken, {counts[False]} refused,"
                f" {time.process_time() - begin:.0f} s: {told}",
                flush=True,
            )
    print(f"{total.total()} bad inputs tried ({total[False]} refused): {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
