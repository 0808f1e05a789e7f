"""Give every reader hostile files for a given time, and report each fault.

    python tests/faults/fuzz.py --seconds 60
    python tests/faults/fuzz.py --seconds 3600 --only n-best-list tuning --seed 7

Each reader of `readers.py` first gets the fixed cases of `hostile.py`, including those of some
megabytes, and then random ones drawn by hypothesis until its time is over. Times are processor
time, so that a busy machine tries as much as an idle one. A reader may use 2 GiB of memory beyond
what the process has at the start, and 60 seconds for one file. A fault is more than that, any
exception that is not an NmtkitError, and any warning. Prints one line for each reader, and for a
fault the content that causes it, which hypothesis has made as small as it can. The exit status is
1 if there was a fault.
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

# The tests are not an installed package.
sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.faults.hostile import fixed_cases, random_cases  # noqa: E402
from tests.faults.readers import READERS, Fault, Reader, accepts  # noqa: E402
from tests.faults.sample_files import write_sample_files  # noqa: E402

MEMORY_LIMIT = 2 << 30
"""Bytes that a reader may allocate."""

FILE_TIME_LIMIT = 60
"""Seconds of processor time that a reader may spend on one file."""

CASES_PER_ROUND = 400
"""Random cases of one hypothesis run; the remaining time is checked between runs."""


class TimeLimitExceeded(BaseException):
    """A file took too long; a BaseException, so that no reader catches it as its own error."""


class Target:
    """A reader under test.

    counts: number of accepted (True) and refused (False) files.
    """

    def __init__(self, reader: Reader, folder: Path) -> None:
        self.reader = reader
        self.folder = folder
        self.valid = (folder / reader.file).read_bytes()
        self.counts: Counter[bool] = Counter()
        self.end = 0.0

    def run(self, seconds: float, number: int) -> None:
        """Try all fixed cases, and then random ones until the time is over.

        :param seconds: processor time.
        :param number: seed of the first round of random cases; later rounds count up from it.
        :raises Fault: the reader broke the law.
        """
        self.end = time.process_time() + seconds
        for content in fixed_cases(self.valid, self.reader.large):
            self.try_content(content)
        while time.process_time() < self.end:
            self._random_round(number)
            number += 1

    def try_content(self, content: bytes) -> None:
        """Give the reader one file; a fault is raised with a note that shows the content."""
        with time_limit():
            try:
                self.counts[accepts(self.reader, self.folder, content)] += 1
            except (Fault, TimeLimitExceeded) as fault:
                fault.add_note(f"with {content[:300]!r} ({len(content)} bytes)")
                raise

    def _random_round(self, number: int) -> None:
        @seed(number)
        @settings(
            max_examples=CASES_PER_ROUND,
            deadline=None,
            database=None,
            phases=[Phase.generate, Phase.shrink],
            suppress_health_check=list(HealthCheck),
        )
        @given(random_cases(self.valid))
        def try_random(content: bytes) -> None:
            if time.process_time() < self.end:
                self.try_content(content)

        try_random()


@contextlib.contextmanager
def time_limit() -> Iterator[None]:
    """Raise TimeLimitExceeded after FILE_TIME_LIMIT seconds of processor time."""

    def expire(_: int, __: FrameType | None) -> None:
        raise TimeLimitExceeded(f"not done after {FILE_TIME_LIMIT} seconds")

    signal.signal(signal.SIGPROF, expire)
    signal.setitimer(signal.ITIMER_PROF, FILE_TIME_LIMIT)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_PROF, 0)


def limit_memory() -> None:
    """Let allocations beyond MEMORY_LIMIT fail with a MemoryError."""
    allocated = int(Path("/proc/self/statm").read_text().split()[0]) * os.sysconf("SC_PAGE_SIZE")
    resource.setrlimit(resource.RLIMIT_AS, (allocated + MEMORY_LIMIT, resource.RLIM_INFINITY))


def main() -> None:
    names = [reader.name for reader in READERS]
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--seconds", type=float, default=10, help="processor time for each reader")
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--only", nargs="+", choices=names, default=names, metavar="READER")
    options = parser.parse_args()
    torch.set_num_threads(1)
    logging.disable(logging.WARNING)
    total: Counter[bool] = Counter()
    faults = 0
    with tempfile.TemporaryDirectory() as work:
        folder = write_sample_files(Path(work))
        limit_memory()
        warnings.simplefilter("error")
        warnings.simplefilter("ignore", HypothesisWarning)  # hypothesis warns of long notes
        for reader in READERS:
            if reader.name not in options.only:
                continue
            target = Target(reader, folder)
            begin, outcome = time.process_time(), "no fault"
            try:
                target.run(options.seconds, options.seed * 1_000_003)
            except (Fault, TimeLimitExceeded) as fault:
                faults += 1
                outcome = f"FAULT {fault} {' '.join(fault.__notes__)}"
            counts = target.counts
            total += counts
            print(
                f"{reader.name}: {counts[True]} files accepted, {counts[False]} refused,"
                f" {time.process_time() - begin:.0f} s: {outcome}",
                flush=True,
            )
    print(f"{total.total()} bad inputs tried ({total[False]} refused): {faults} faults")
    sys.exit(1 if faults else 0)


if __name__ == "__main__":
    main()
