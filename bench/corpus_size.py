"""Measure prepare, shortlist and the start of training on a corpus of WMT'14's size.

    python bench/corpus_size.py [--pairs 12000000] [--updates 1000] [--threads 2] --output FILE.md

The corpus is generated, not downloaded: sentences as long as those of the papers' 12 million pairs
(304 million English and 348 million French words, 25.3 and 29 per sentence), with gamma-distributed
lengths (shape 2), targets slightly longer or shorter than their sources at random, and a million
words by Zipf's law. It is tokenised already. The steps are `prepare --tokenized`, `shortlist`, a
training of RNNsearch with n = 64, whose first update waits until the text has been converted to
ids, and one more update of the same training, which shows the cost of resuming. For each step the
table gives seconds, memory (see memory.py) and the size of the folder afterwards.
"""

import argparse
from collections.abc import Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt
from memory import MIB, MemoryCost, peak_memory
from timing import (
    NMTKIT,
    cpu_environment,
    exit_with,
    machine,
    positive,
    report_progress,
    table,
    write_report,
)

SIDES = ("en", "fr")
MEAN_WORDS = {"en": 25.3, "fr": 29.0}  # mean sentence length of the papers' corpus
GAMMA_SHAPE = 2.0  # of the gamma distribution of sentence lengths
RATIO_SD = 0.15  # standard deviation of the logarithm of the length ratio
MAX_WORDS = 200
VOCABULARY_SIZE = 1_000_000
ZIPF_EXPONENT = 1.05  # of Zipf's law
BLOCK_SENTENCES = 50_000  # sentences generated at a time
DEV_PAIRS = 10  # few, as validation is not what is measured
SIZE_SETTINGS = ("embedding", "hidden", "align", "maxout")
MODEL_SIZE = 64


@dataclass(frozen=True)
class Step:
    """Cost of a command, and the bytes of the prepared corpus or model after it."""

    name: str
    used: MemoryCost
    disk: int


def lengths(rng: np.random.Generator, sentences: int) -> dict[str, npt.NDArray[np.int64]]:
    """Return the number of words of each sentence, for both sides."""
    source = rng.gamma(GAMMA_SHAPE, MEAN_WORDS["en"] / GAMMA_SHAPE, sentences)
    ratio = (
        MEAN_WORDS["fr"] / MEAN_WORDS["en"] * rng.lognormal(-(RATIO_SD**2) / 2, RATIO_SD, sentences)
    )
    drawn = {"en": source, "fr": source * ratio}
    return {side: n.round().astype(np.int64).clip(1, MAX_WORDS) for side, n in drawn.items()}


def write_side(path: Path, side: str, sentences: int, seed: int) -> None:
    """Write one side of the corpus; both sides draw the same lengths for a block."""
    shares = np.arange(1, VOCABULARY_SIZE + 1, dtype=np.float64) ** -ZIPF_EXPONENT
    bounds = np.cumsum(shares / shares.sum())
    words = [f"{side[0]}{number:x}" for number in range(VOCABULARY_SIZE)]
    with open(path, "w", encoding="utf-8") as output:
        for start in range(0, sentences, BLOCK_SENTENCES):
            count = min(BLOCK_SENTENCES, sentences - start)
            sizes = lengths(np.random.default_rng([seed, start]), count)[side]
            rng = np.random.default_rng([seed, start, SIDES.index(side)])
            word_ids = np.searchsorted(bounds, rng.random(sizes.sum()) * bounds[-1]).tolist()
            ends = np.cumsum(sizes).tolist()
            begins = [0, *ends[:-1]]
            output.writelines(
                " ".join([words[word] for word in word_ids[begin:end]]) + "\n"
                for begin, end in zip(begins, ends, strict=True)
            )


def make_corpus(folder: Path, pairs: int) -> None:
    """Write `train.en`, `train.fr`, `dev.en`, `dev.fr` unless they exist."""
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "complete").is_file() and (folder / "complete").read_text() == f"{pairs}\n":
        return
    report_progress(f"generating {pairs:,} pairs in {folder}")
    with ProcessPoolExecutor(len(SIDES)) as pool:
        tasks = [
            pool.submit(write_side, folder / f"{name}.{side}", side, count, seed)
            for side in SIDES
            for name, count, seed in (("train", pairs, 1), ("dev", DEV_PAIRS, 2))
        ]
        for task in tasks:
            task.result()
    (folder / "complete").write_text(f"{pairs}\n")


def bytes_below(folder: Path) -> int:
    """Return the size of a folder's files in bytes, without links."""
    files = (path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    return sum(path.stat().st_size for path in files)


def measure(options: argparse.Namespace) -> list[Step]:
    """Run all steps in order."""
    folder: Path = options.work / "corpus_size"
    make_corpus(folder, options.pairs)
    prepared, model = folder / "prepared", folder / "model"
    text = {name: [folder / f"{name}.{side}" for side in SIDES] for name in ("train", "dev")}
    train = ["train", prepared, "--output", model, "--recipe", "rnnsearch-50"]
    for size in SIZE_SETTINGS:
        train += ["--set", f"model.{size}={MODEL_SIZE}"]
    train += ["--set", "training.dev_bleu=false", "--threads", options.threads]
    workers = ["--workers", options.threads]
    prepare = ["prepare", "--train", *text["train"], "--dev", *text["dev"], "-s", "en", "-t", "fr"]
    prepare += ["--tokenized", "--subword", "none", *workers, "--force", "--output", prepared]
    updates = "training.max_updates={}".format
    first = [*train, "--force"] if model.exists() else train
    commands = {
        "prepare --tokenized": (prepare, prepared),
        "shortlist": (["shortlist", prepared, "--size", "30000", "--force"], prepared),
        "train, 1 update": ([*first, "--set", updates(1)], prepared),
        f"train, to update {options.updates:,}": (
            [*train, "--set", updates(options.updates)],
            model,
        ),
        "train, 1 more update": ([*train, "--set", updates(options.updates + 1)], model),
    }
    return [
        measure_step(name, [str(word) for word in words], where, options)
        for name, (words, where) in commands.items()
    ]


def measure_step(name: str, words: list[str], where: Path, options: argparse.Namespace) -> Step:
    """Run one nmtkit command and measure it."""
    report_progress(name)
    environment = cpu_environment(options.threads)
    cost = peak_memory([*NMTKIT, "--quiet", *words], options.work / "corpus_size.log", environment)
    return Step(name, cost, bytes_below(where))


def rows(steps: list[Step]) -> list[list[str]]:
    """Return the rows of the table."""
    return [
        [
            step.name,
            f"{step.used.run.seconds:,.1f}",
            f"{step.used.run.cpu:,.1f}",
            f"{step.used.run.peak / MIB:,.0f}",
            f"{step.used.anonymous / MIB:,.0f}",
            f"{step.disk / MIB:,.0f}",
        ]
        for step in steps
    ]


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(
        prog="bench/corpus_size.py", description=__doc__.split("\n")[0]
    )
    parser.add_argument("--pairs", type=positive, default=12_000_000)
    parser.add_argument("--updates", type=positive, default=1000)
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--work", type=Path, default=Path("build/bench/work"))
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    options = options_of(arguments)
    steps = measure(options)
    header = ["step", "s", "processor s", "largest process, MiB"]
    header += ["all processes, anonymous, MiB", "folder, MiB"]
    heading = f"{machine()}, {options.threads} threads; {options.pairs:,} pairs."
    write_report(
        options.output, f"{heading}\n\n{table(header, rows(steps))}", list(map(asdict, steps))
    )
    return 0


if __name__ == "__main__":
    exit_with(main)
