"""Odd lines through `prepare` and `translate`, with a writer and a reader that are slow.

    python tests/faults/odd_lines.py --lines 200000

Lines are invalid UTF-8, control characters, markup, right-to-left text, blanks, long words. Each
line that goes into `translate` gives one line, and `prepare` counts each pair.
"""

import argparse
import json
import os
import random
import sys
import tempfile
import time
from collections.abc import Sequence
from pathlib import Path

import torch

from tests.faults.forked import in_background, run_forked
from tests.faults.hostile import PIECES
from tests.faults.sample_files import write_sample_files

STALL = 0.5
"""Seconds that the reader of the output waits before it reads, and the writer in between."""


PREPARATIONS = (["--tokenized"], ["--dedup"], ["--bpe", "20", "--escape", "--hyphens"])
"""Options of `prepare`, each for a run."""


def odd_lines(count: int, seed: int) -> bytes:
    """Return lines of one to eight pieces."""
    pieces = [piece for piece in PIECES if b"\n" not in piece and len(piece) < 1000]
    pieces += [b"a b", b"ab b a", b"x" * 300]
    chosen = random.Random(seed)
    return b"".join(
        b" ".join(chosen.choices(pieces, k=chosen.randint(1, 8))) + b"\n" for _ in range(count)
    )


def translate_slowly(folder: Path, data: bytes, timeout: float) -> int:
    """Translate lines that a slow process writes, to a slow reader; return the lines read."""
    reader, writer = os.pipe()
    source, output = folder / "lines", folder / "translations"
    os.mkfifo(source)

    def write() -> None:
        with open(source, "wb") as file:
            file.write(data[: len(data) // 2])
            file.flush()
            time.sleep(STALL)
            file.write(data[len(data) // 2 :])

    def read() -> None:
        os.close(writer)
        time.sleep(STALL)
        with open(reader, "rb") as stream, open(output, "wb") as file:
            while block := stream.read(4096):
                file.write(block)
        (folder / "done").touch()

    try:
        with in_background(write), in_background(read):
            os.close(reader)
            words = ["translate", "-q", "-m", str(folder / "model"), "--tokenized", str(source)]
            outcome = run_forked([*words, "--beam", "1"], stdout=writer, timeout=timeout)
            os.close(writer)
            assert outcome.status == 0, outcome.stderr[-2000:]
            deadline = time.monotonic() + timeout
            while not (folder / "done").exists() and time.monotonic() < deadline:
                time.sleep(0.01)
        return output.read_bytes().count(b"\n")
    finally:
        for path in (source, output, folder / "done"):
            path.unlink(missing_ok=True)


def prepare_pairs(
    folder: Path, sides: tuple[bytes, bytes], preparations: Sequence[list[str]], timeout: float
) -> int:
    """Prepare odd pairs with each of some options; return the pairs that were counted."""
    src, tgt = sides
    (folder / "odd.src").write_bytes(src)
    (folder / "odd.tgt").write_bytes(tgt)
    counts = set()
    for options in preparations:
        words = [
            "prepare",
            "-q",
            "-s",
            "en",
            "-t",
            "fr",
            "--train",
            str(folder / "odd.src"),
            str(folder / "odd.tgt"),
        ]
        words += [*options, "--invalid", "drop", "--workers", "1", "-o", str(folder / "odd")]
        outcome = run_forked([*words, "--force"], timeout=timeout)
        assert outcome.status == 0, outcome.stderr[-2000:]
        train = json.loads((folder / "odd" / "manifest.json").read_text())["splits"]["train"]
        assert train["pairs"] + sum(train["dropped"].values()) == train["read"]
        counts.add(train["read"])
    (count,) = counts
    return int(count)


def run(folder: Path, count: int, preparations: Sequence[list[str]] = PREPARATIONS) -> None:
    """Translate and prepare lines.

    :raises AssertionError: a line is lost, or a command failed or did not end in time.
    """
    timeout = 60 + count / 100
    src, tgt = odd_lines(count, 1), odd_lines(count, 2)
    assert translate_slowly(folder, src, timeout) == count
    assert prepare_pairs(folder, (src, tgt), preparations, timeout) == count


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").split("\n")[0])
    parser.add_argument("--lines", type=int, default=200_000)
    count = parser.parse_args().lines
    torch.set_num_threads(1)
    with tempfile.TemporaryDirectory() as folder:
        try:
            run(write_sample_files(Path(folder)), count)
        except AssertionError as error:
            sys.exit(f"odd lines: {error}")
    print(f"{count} odd lines translated and prepared: 0 lost")


if __name__ == "__main__":
    main()
