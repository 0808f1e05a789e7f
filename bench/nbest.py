"""Compare scoring n-best lists as prefix trees with scoring each hypothesis alone.

    python bench/nbest.py MODEL LIST [SRC] [--sentences 20] [--rounds 3] [--threads 1]

MODEL is a model folder, LIST a Moses n-best list, SRC its source sentences if the model reads a
source. The first 1,000, 100, ... distinct hypotheses of each sentence are scored both ways, in
turns; ratios are of processor time.
"""

import argparse
import itertools
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import NamedTuple

import torch
from timing import (
    BenchError,
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

from nmtkit.inference.scorer import Scorer
from nmtkit.smt.nbest import distinct_hypotheses, group_by_sentence, read_nbest

LIST_LENGTHS = (1000, 100, 32, 10)
"""Lengths to which the lists are cut."""


class List(NamedTuple):
    """A source sentence and its distinct hypotheses."""

    source: str
    hypotheses: list[str]


def read_lists(path: Path, sources: Path | None, sentences: int) -> list[List]:
    """Return the lists of the first sentences.

    :raises BenchError: there is no list, or the source of one is missing.
    """
    lines = None if sources is None else sources.read_text(encoding="utf-8").split("\n")[:-1]
    lists = []
    for group in itertools.islice(group_by_sentence(read_nbest(path)), sentences):
        number = group[0].sentence
        if lines is not None and number >= len(lines):
            raise BenchError(f"{sources}: {len(lines):,} lines, but {path} has sentence {number}")
        source = "" if lines is None else lines[number]
        lists.append(List(source, distinct_hypotheses(group)))
    if not lists:
        raise BenchError(f"{path}: has no hypotheses")
    return lists


def score_each_alone(scorer: Scorer, lists: Sequence[List]) -> int:
    """Score every hypothesis alone, in batches; return their number."""
    pairs = [(entry.source, text) for entry in lists for text in entry.hypotheses]
    return sum(1 for _ in scorer.score(pairs, tokenized=True))


def score_as_trees(scorer: Scorer, lists: Sequence[List]) -> int:
    """Score list after list as trees; return the number of hypotheses."""
    return sum(len(scorer.score_list(*entry, tokenized=True)) for entry in lists)


def distinct_prefix_share(lists: Sequence[List]) -> float:
    """Return the number of distinct prefixes as a share of all words, `</s>` included."""
    words = different = 0
    for entry in lists:
        texts = [(*text.split(), "</s>") for text in entry.hypotheses]
        words += sum(map(len, texts))
        different += len({text[: end + 1] for text in texts for end in range(len(text))})
    return different / words


def measure(scorer: Scorer, lists: Sequence[List], rounds: int) -> dict[str, Spread]:
    """Return hypotheses per second of processor time for both ways."""

    def timer(score: Callable[[Scorer, Sequence[List]], int]) -> Callable[[], float]:
        def run() -> float:
            begin = time.process_time()
            count = score(scorer, lists)
            return count / (time.process_time() - begin)

        return run

    runs = {"each alone": timer(score_each_alone), "as a tree": timer(score_as_trees)}
    return {
        name: Spread.of(rates) for name, rates in in_turns(runs, rounds, report_progress).items()
    }


def main(arguments: Sequence[str]) -> int:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("model", type=Path)
    parser.add_argument("list", type=Path)
    parser.add_argument("sources", type=Path, nargs="?")
    parser.add_argument("--sentences", type=positive, default=20)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--threads", type=positive, default=1)
    parser.add_argument("--output", type=Path, help="also write the table to this file")
    options = parser.parse_args(arguments)
    torch.set_num_threads(options.threads)
    full_lists = read_lists(options.list, options.sources, options.sentences)
    scorer = Scorer.load(options.model, device="cpu")
    score_as_trees(scorer, full_lists[:1])  # warm up: some things are computed once per process
    rows, figures = [], {}
    for length in LIST_LENGTHS:
        lists = [List(entry.source, entry.hypotheses[:length]) for entry in full_lists]
        rates = measure(scorer, lists, options.rounds)
        alone, tree = rates.values()
        speeds = [with_spread(alone), with_spread(tree), f"{tree.median / alone.median:.2f}"]
        rows.append([f"{length:,}", f"{distinct_prefix_share(lists):.2f}", *speeds])
        figures[length] = {name: vars(spread) for name, spread in rates.items()}
    header = ["hypotheses", "distinct prefixes per word", "each alone", "as a tree", "ratio"]
    text = f"{machine()}; threads: {options.threads}; hypotheses a second of processor time"
    write_report(options.output, f"{text}\n\n{table(header, rows)}", figures)
    return 0


if __name__ == "__main__":
    exit_with(main)
