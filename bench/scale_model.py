"""Measure training and translation as functions of model size, beam and sentence length.

    python bench/scale_model.py [--threads 2] [--rounds 3] --output model.md --plot model.svg

Training: seconds per target word of one update (80 sentences of random words, all of one length)
against n, K and length. Translation: seconds per output word of a search (64 sentences that run to
their maximum length, as with an untrained model) against beam and length. Other sizes are those of
SMALL, K = 10,000 and 14 words. Dotted lines show the expected cost: against n and K the operations
counted by `operations.py`, at the speed of the last point; otherwise a straight line through the
first and the last point, because every word attends to every source position, a cost that the
counted products barely show.
"""

import argparse
import dataclasses
import time
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import torch
from operations import SMALL, Sizes, rnnsearch, training_operations
from plotting import Panel, draw
from timing import (
    CLOCKS,
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

from nmtkit.config import DataConfig, SearchConfig, TrainingConfig
from nmtkit.data.batch import Batch, make_batch
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.search.beam import beam_search
from nmtkit.training.optimizers import make_optimizer

WORDS, LENGTH, BEAM = 10_000, 14, 5
BATCH_SENTENCES = 64  # sentences translated together
POINTS: dict[str, tuple[int, ...]] = {
    "training, n": (64, 128, 256, 512, 1024),
    "training, K": (1_000, 5_000, 10_000, 20_000, 40_000, 80_000),
    "training, length": (5, 10, 20, 40, 60, 80, 100),
    "translating, beam": (1, 2, 4, 8, 12, 16, 24),
    "translating, length": (10, 20, 40, 60, 80, 100),
}


@dataclasses.dataclass(frozen=True)
class Setting:
    """A model and the sentences that it reads and writes; `words` is K, for both sides."""

    sizes: Sizes = SMALL
    words: int = WORDS
    length: int = LENGTH
    beam: int = BEAM


def setting_of(name: str, value: int) -> Setting:
    """Return one point of a curve of `POINTS`."""
    parameter = name.split(", ")[1]
    if parameter == "n":
        return Setting(sizes=dataclasses.replace(SMALL, hidden=value))
    if parameter == "K":
        return Setting(words=value)
    return Setting(beam=value) if parameter == "beam" else Setting(length=value)


def model_of(setting: Setting) -> RNNsearch:
    """Return an untrained model; the same for the same setting."""
    torch.manual_seed(1)
    sizes = dataclasses.asdict(setting.sizes)
    return RNNsearch(RNNsearchConfig(**sizes), setting.words, setting.words)


def batch_of(setting: Setting, sentences: int) -> Batch:
    """Return random words; each sentence ends with `</s>`, which its length includes."""
    ids = torch.randint(2, setting.words, (2, sentences, setting.length)).tolist()
    src, tgt = ([[*line[:-1], 0] for line in side] for side in ids)
    return make_batch(src, tgt, list(range(1, sentences + 1)))


def seconds_of(function: Callable[[], int], clock: str) -> float:
    """Return seconds per word of a call, after one call that does not count."""
    read = time.perf_counter if clock == "wall" else time.process_time
    function()
    started = read()
    words = function()
    return (read() - started) / words


def train(setting: Setting, clock: str) -> float:
    """Return seconds per target word of an update."""
    model = model_of(setting)
    # With a rate that diverges, recomputed probabilities near 0 and slow denormal numbers would
    # distort the time.
    optimizer = make_optimizer(model, TrainingConfig(optimizer="adam", learning_rate=1e-3))
    src, src_mask, tgt, tgt_mask = batch_of(setting, DataConfig().batch_size)[:4]
    words = int(tgt_mask.sum())

    def update() -> int:
        optimizer.zero_grad(set_to_none=True)
        (model.loss(src, src_mask, tgt, tgt_mask) / words).backward()  # type: ignore[no-untyped-call]
        optimizer.step()
        return words

    return seconds_of(update, clock)


def translate(setting: Setting, clock: str) -> float:
    """Return seconds per output word of a search that never ends before its limit."""
    model = model_of(setting).eval()
    src, src_mask, *_ = batch_of(setting, BATCH_SENTENCES)
    search = SearchConfig(beam=setting.beam, max_length_ratio=1.0)

    def search_all() -> int:
        beam_search([model], src, src_mask, search)
        return BATCH_SENTENCES * max(10, setting.length)

    return seconds_of(search_all, clock)


def measure(options: argparse.Namespace) -> dict[str, dict[int, Spread]]:
    """Return seconds per word by curve and value; every round measures every point."""
    settings = {
        (name, value): setting_of(name, value)
        for name in options.curves
        for value in POINTS[name]
        if value <= options.largest
    }

    def runner(name: str, setting: Setting) -> Callable[[], float]:
        run = train if name.startswith("training") else translate
        return lambda: run(setting, options.clock)

    runs = {f"{name} {key}": runner(name, at) for (name, key), at in settings.items()}
    readings = in_turns(runs, options.rounds, report_progress)
    curves: dict[str, dict[int, Spread]] = {name: {} for name in options.curves}
    for name, value in settings:
        curves[name][value] = Spread.of(readings[f"{name} {value}"])
    return curves


def operations(name: str, value: int) -> float:
    """Return the operations of training per target word at a point."""
    at = setting_of(name, value)
    return training_operations(rnnsearch(at.sizes, at.words), at.length, at.length)


def expected(name: str, points: Mapping[int, Spread]) -> list[tuple[float, float]]:
    """Return the points of a curve by the expected law."""
    first, last = min(points), max(points)
    if name in ("training, n", "training, K"):
        rate = points[last].median / operations(name, last)
        return [(value, rate * operations(name, value) * 1e6) for value in points]
    low, high = points[first].median, points[last].median
    slope = (high - low) / max(last - first, 1)
    return [(value, (low + slope * (value - first)) * 1e6) for value in points]


def in_microseconds(spread: Spread) -> Spread:
    """Convert seconds to microseconds."""
    return Spread(1e6 * spread.median, 1e6 * spread.low, 1e6 * spread.high, spread.count)


def rows(curves: Mapping[str, Mapping[int, Spread]]) -> list[list[str]]:
    """Return the rows of the table."""
    cells = []
    for name, points in curves.items():
        for value, spread in points.items():
            row = [name, f"{value:,}", with_spread(in_microseconds(spread), 1)]
            if name.startswith("training"):
                needed = operations(name, value)
                row += [f"{needed / 1e6:.1f}", f"{needed / spread.median / 1e9:.1f}"]
            cells.append(row + [""] * (5 - len(row)))
    return cells


def panels(curves: Mapping[str, Mapping[int, Spread]]) -> list[Panel]:
    """Return one panel per curve."""
    figures = []
    for name, points in curves.items():
        job, parameter = name.split(", ")
        lines = {name: [(value, in_microseconds(spread)) for value, spread in points.items()]}
        up = "µs a target word" if job == "training" else "µs an output word"
        figures.append(Panel(job, parameter, up, lines, {name: expected(name, points)}))
    return figures


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(prog="bench/scale_model.py", description="Cost against size.")
    parser.add_argument("--curves", nargs="+", choices=list(POINTS), default=list(POINTS))
    parser.add_argument("--largest", type=int, default=80_000, help="leave larger points out")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--clock", choices=list(CLOCKS), default="wall")
    parser.add_argument("--output", type=Path, help="Markdown file; JSON is put beside it")
    parser.add_argument("--plot", type=Path, help="SVG file")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    options = options_of(arguments)
    torch.set_num_threads(options.threads)
    curves = measure(options)
    if not all(curves.values()):
        raise BenchError(f"--largest {options.largest}: leaves no point of a curve")
    header = ["curve", "value", f"µs a word ({options.clock})", "MFLOP a word", "GFLOP/s"]
    heading = f"{machine()}, {options.threads} threads; median of {options.rounds} rounds taken in"
    heading += (
        f" turns (lowest–highest). Otherwise SMALL, K = {WORDS:,}, {LENGTH} words, beam {BEAM}."
    )
    figures = {
        name: {str(value): dataclasses.asdict(spread) for value, spread in points.items()}
        for name, points in curves.items()
    }
    write_report(options.output, f"{heading}\n\n{table(header, rows(curves))}", figures)
    if options.plot:
        draw(
            options.plot,
            panels(curves),
            "Time per word against the size of the model and the search",
        )
    return 0


if __name__ == "__main__":
    exit_with(main)
