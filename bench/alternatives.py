"""Measure how long `Translator.alternatives` takes, the answer to each key of someone who types.

    python bench/alternatives.py MODEL SRC TGT [--words 20 30] [--lines 50] [--n 5] [--threads 1]
        [--quantize] [--output FILE]

SRC and TGT are raw lines and their translations. Lines of 20 to 30 source words are asked about
with the beginning of the translation, of every tenth of its length, in mid-word too. *New line* is
the first question about a line, which encodes it and has no prefix. Times are those of the process,
so that a busy machine changes them little.
"""

import argparse
import time
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from timing import BenchError, exit_with, machine, positive, table, write_report

from nmtkit import Translator
from nmtkit.io.lines import read_parallel

PARTS = 10
"""Questions of each line."""

PERCENTILES = (50, 95)


def timed(translator: Translator, source: str, prefix: str, n: int) -> tuple[float, int]:
    """Return the milliseconds of a question, and how many alternatives came."""
    start = time.process_time()
    found = translator.alternatives(source, prefix, n)
    return 1000 * (time.process_time() - start), len(found)


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("model", type=Path, help="model folder")
    parser.add_argument("text", type=Path, nargs=2, help="raw lines, and their translations")
    parser.add_argument("--words", type=int, nargs=2, default=[20, 30], metavar=("MIN", "MAX"))
    parser.add_argument("--lines", type=positive, default=50, help="number of lines")
    parser.add_argument("--n", type=positive, default=5, help="number of alternatives")
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--quantize", action="store_true", help="8-bit matrix products")
    parser.add_argument("--output", type=Path)
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    least, most = options.words
    pairs = [pair for pair in read_parallel(*options.text) if least <= len(pair[0].split()) <= most]
    pairs = pairs[: options.lines + 1]
    if len(pairs) < 2:
        raise BenchError(f"{options.text[0]}: fewer than 2 lines have {least} to {most} words")
    translator = Translator.load(options.model, device="cpu", quantize=options.quantize)
    warm_up = pairs.pop(0)
    translator.alternatives(warm_up[0], warm_up[1][:9])  # allocates memory
    first: list[float] = []
    later: list[float] = []
    counts: list[int] = []
    for source, target in pairs:
        for part in range(PARTS):
            prefix = target[: len(target) * part // PARTS]
            spent, count = timed(translator, source, prefix, options.n)
            (later if part else first).append(spent)
            counts.append(count)
    words = np.mean([len(source.split()) for source, _ in pairs])
    heading = (
        f"{machine()}, threads: {options.threads}; {options.model}; {len(pairs)} lines of"
        f" {words:.1f} words; {np.mean(counts):.2f} of {options.n} alternatives"
    )
    rows = [
        [name, *(f"{np.percentile(times, p):.1f}" for p in PERCENTILES)]
        for name, times in (("new line", first), ("same line", later))
    ]
    header = ["question", *(f"{p} %, ms" for p in PERCENTILES)]
    write_report(
        options.output, f"{heading}\n\n{table(header, rows)}", {"first": first, "later": later}
    )
    return 0


if __name__ == "__main__":
    exit_with(main)
