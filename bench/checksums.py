"""Compare loading parameters and opening a corpus with and without their checksums.

    python bench/checksums.py [--rounds 9] [--parameters 90] [--pairs 500000]

Parameters of the given number of millions are loaded from a file, and a binarised corpus of the
given number of pairs is opened, in turns with checksums that cost nothing. The baseline of the
parameters is safetensors' own `load_file` with a copy of each tensor, since it maps the file. The
first round fills the system's file cache and does not count.
"""

import argparse
import hashlib
import statistics
import tempfile
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from unittest import mock

import torch
from safetensors.torch import load_file
from timing import (
    Spread,
    exit_with,
    in_turns,
    machine,
    positive,
    report_progress,
    table,
    with_spread,
    write_report,
)

from nmtkit.data.corpus import Corpus
from nmtkit.io import checksums
from nmtkit.io.parameters import Parameters, read_parameters, write_parameters
from nmtkit.text.vocabulary import Vocabulary

TENSORS = 30
WORDS_PER_LINE = 25
VOCABULARY = 30_000


class NoDigest:
    """A checksum that costs nothing."""

    def update(self, _: object) -> None:
        """Do nothing."""

    def digest(self) -> bytes:
        return b""

    def hexdigest(self) -> str:
        return ""


def without_checksums(run: Callable[[], object]) -> Callable[[], object]:
    """Return a function that runs another with free checksums."""

    def call() -> None:
        with (
            mock.patch.object(hashlib, "sha256", lambda *_: NoDigest()),
            mock.patch.object(hashlib, "file_digest", lambda *_: NoDigest()),
        ):
            run()

    return call


def timed(run: Callable[[], object]) -> Callable[[], float]:
    def call() -> float:
        start = time.perf_counter()
        run()
        return time.perf_counter() - start

    return call


def write_model(path: Path, millions: int) -> None:
    """Write random parameters, with a checksum and, beside them, without one."""
    rows = millions * 1_000_000 // TENSORS // 1000
    tensors = {f"W_{number}": torch.rand(rows, 1000) for number in range(TENSORS)}
    write_parameters(path, tensors)
    with mock.patch("nmtkit.io.parameters.tensors_sha256", lambda _: ""):
        write_parameters(path.with_suffix(".plain"), tensors)


def copy_of_mapped(path: Path) -> Parameters:
    return {name: value.clone() for name, value in load_file(path).items()}


def write_corpus(folder: Path, pairs: int) -> tuple[Vocabulary, Vocabulary]:
    """Write the text of a prepared folder, and binarise it with and without checksums."""
    words = [f"word{number}" for number in range(VOCABULARY - 2)]
    for side in ("src", "tgt"):
        with open(folder / f"train.{side}", "w", encoding="utf-8") as file:
            for number in range(pairs):
                start = number * 7919 % (len(words) - WORDS_PER_LINE)
                file.write(" ".join(words[start : start + WORDS_PER_LINE]) + "\n")
    vocabulary = Vocabulary(["</s>", "<unk>", *words])
    return vocabulary, vocabulary


def parameter_runs(folder: Path, millions: int) -> dict[str, Callable[[], object]]:
    path = folder / "params.safetensors"
    write_model(path, millions)
    return {
        "safetensors, copied": lambda: copy_of_mapped(path),
        "nmtkit": lambda: read_parameters(path),
        "nmtkit, checksums free": without_checksums(
            lambda: read_parameters(path.with_suffix(".plain"))
        ),
    }


def corpus_runs(folder: Path, pairs: int) -> dict[str, Callable[[], object]]:
    vocabularies = write_corpus(folder, pairs)
    plain = folder / "plain"
    plain.mkdir()
    for side in ("src", "tgt"):
        (plain / f"train.{side}").symlink_to(folder / f"train.{side}")
    open_plain = without_checksums(lambda: Corpus.open(plain, "train", vocabularies))
    open_plain()  # its description has the free checksums

    def open_anew() -> Corpus:
        checksums._sha256_of.cache_clear()  # as in a new process
        return Corpus.open(folder, "train", vocabularies)

    return {
        "nmtkit": open_anew,
        "nmtkit, checksums free": open_plain,
    }


def measure(
    runs: Mapping[str, Callable[[], object]], rounds: int, baseline: str
) -> tuple[list[list[str]], dict[str, list[float]]]:
    """Run all in turns; return rows with seconds and ratios to the baseline, and all seconds."""
    timers = {name: timed(run) for name, run in runs.items()}
    seconds = {n: s[1:] for n, s in in_turns(timers, rounds + 1, report_progress).items()}
    rows = []
    for name, values in seconds.items():
        ratios = [a / b for a, b in zip(values, seconds[baseline], strict=True)]
        rows.append([name, with_spread(Spread.of(values), 3), f"{statistics.median(ratios):.2f}"])
    return rows, seconds


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--rounds", type=positive, default=9)
    parser.add_argument("--parameters", type=positive, default=90, help="millions of parameters")
    parser.add_argument(
        "--pairs", type=positive, default=500_000, help="sentence pairs of the corpus"
    )
    parser.add_argument("--output", type=Path, help="also write the tables to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(1)
    parts, figures = [f"{machine()}; threads: 1; rounds: {options.rounds}\n"], {}
    with tempfile.TemporaryDirectory() as work:
        folder = Path(work)
        for title, runs, baseline in (
            (
                f"loading {options.parameters} million parameters",
                parameter_runs(folder, options.parameters),
                "safetensors, copied",
            ),
            (
                f"opening {options.pairs:,} pairs of {WORDS_PER_LINE} words",
                corpus_runs(folder, options.pairs),
                "nmtkit, checksums free",
            ),
        ):
            rows, figures[title] = measure(runs, options.rounds, baseline)
            parts.append(table([title, "seconds", "ratio"], rows))
    write_report(options.output, "\n".join(parts), figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
