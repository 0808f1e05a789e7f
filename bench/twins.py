"""Measure the speed of each fast implementation in the models against its plain twin.

    python bench/twins.py [--size small] [--threads 2] [--rounds 3] [--seconds 0.5] [--output FILE]

Each piece is timed at the size of one update (80 sentences of 14 words) or of one step of search
(64 sentences, beam 5), plain and fast in turns: forward and backward for pieces that training uses,
forward alone for those of search. A time is the median of the rounds; in a round the piece runs
again and again for --seconds. A ratio above 1 means that the fast one is faster.
"""

import argparse
import math
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import torch
from operations import SIZES, Sizes, grconv_units
from timing import (
    Spread,
    exit_with,
    in_turns,
    machine,
    positive,
    report_progress,
    table,
    write_report,
)
from torch import Tensor

from nmtkit.models import deep_lstm, grconv, layers, rnnsearch
from nmtkit.models.base import OutputLayer
from nmtkit.models.cslm import CSLM, CSLMConfig
from nmtkit.models.deep_lstm import DeepLSTM, DeepLSTMConfig
from nmtkit.models.fast.embedding_cache import EmbeddingCache
from nmtkit.models.fast.output_layer import output_layer
from nmtkit.models.kernels import Twin, plain_pieces
from nmtkit.models.packing import Packing
from nmtkit.models.rnnenc import RNNenc, RNNencConfig
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.special_symbols import BOS

BATCH, LENGTH = 80, 14
SENTENCES, BEAM = 64, 5
WORDS, CANDIDATES, FREQUENT_CANDIDATES = 10_000, 300, 100
SHARD_WORDS, SHARD_MULTIPLE = 2048, 1024  # as search cuts the output layer

Run = Callable[[], object]


@dataclass(frozen=True)
class Case:
    """One piece to time: its name and input shapes for the table, and functions to run it."""

    name: str
    shapes: str
    plain: Run
    fast: Run


def training_case(name: str, shapes: str, twin: Twin[..., Any], *arguments: Any) -> Case:
    """Time a twin forward and backward.

    :param arguments: of the twin; gradients are computed for floating point tensors.
    """
    inputs = [value for value in flatten(arguments) if value.is_floating_point()]
    for value in inputs:
        value.requires_grad_()

    def run(plain: bool) -> None:
        with plain_pieces(plain):
            results = flatten([twin(*arguments)])
            cost = torch.stack([value.sum() for value in results if value.requires_grad]).sum()
            torch.autograd.grad(cost, inputs, allow_unused=True)

    return Case(name, f"{shapes}, with gradients", lambda: run(True), lambda: run(False))


def search_case(name: str, shapes: str, plain: Run, fast: Run) -> Case:
    """Time two runs without gradients."""

    def without_gradients(run: Run) -> Run:
        def in_inference_mode() -> None:
            with torch.inference_mode():
                run()

        return in_inference_mode

    return Case(name, shapes, without_gradients(plain), without_gradients(fast))


def flatten(values: Sequence[Any]) -> list[Tensor]:
    """Return the tensors in nested sequences."""
    tensors: list[Tensor] = []
    for value in values:
        if isinstance(value, Tensor):
            tensors.append(value)
        elif isinstance(value, (tuple, list)):
            tensors += flatten(value)
    return tensors


def training_cases(sizes: Sizes) -> list[Case]:
    """Return the twins of training, at the size of one update."""
    m, n, align, pool = sizes.embedding, sizes.hidden, sizes.align, sizes.maxout
    rows, units = BATCH * LENGTH, grconv_units(sizes)
    packing = Packing.of(torch.ones(BATCH, LENGTH, dtype=torch.bool), torch.device("cpu"))
    lengths = torch.arange(BATCH) % LENGTH + LENGTH // 2 + 1  # as without sorting
    mixed_mask = torch.arange(int(lengths.max())) < lengths.unsqueeze(1)
    mixed_positions = f"{BATCH} x {int(lengths.min())} to {int(lengths.max())} positions"
    mixed = Packing.of(mixed_mask, torch.device("cpu"))
    mask = torch.ones(BATCH, LENGTH, dtype=torch.bool)
    memory = random(BATCH, LENGTH, align), random(BATCH, LENGTH, 3 * n), mask
    weights = random(n, align + 2 * n), random(n, n), random(align)
    positions = f"{BATCH} x {LENGTH} positions"
    return [
        training_case(
            "addmm", f"{rows} x {m} by {m} x {6 * n}", layers.addmm,
            random(6 * n), random(rows, m), random(m, 6 * n),
        ),
        training_case(
            "gru_scan", f"2 directions, {positions}, n = {n}", layers.gru_scan,
            random(2, rows, 3 * n), random(2, BATCH, n), random(2, n, 2 * n), random(2, n, n),
            packing,
        ),
        training_case(
            "decoder_scan", f"{positions}, n = n' = {n}, T_x = {LENGTH}", rnnsearch.decoder_scan,
            random(rows, 3 * n), random(BATCH, n), memory, weights, packing,
        ),
        training_case(
            "lstm_scan", f"{positions}, n = {n}", deep_lstm.lstm_scan,
            random(rows, 4 * n), (random(BATCH, n), random(BATCH, n)), random(n, 4 * n),
            random(3, n), packing,
        ),
        training_case(
            "compose", f"{positions}, {units} units", grconv.compose,
            random(rows, units), random(units, 2 * (units + 3)), random(units + 3), packing,
        ),
        training_case(
            "compose, mixed lengths", f"{mixed_positions}, {units} units", grconv.compose,
            random(int(lengths.sum()), units), random(units, 2 * (units + 3)), random(units + 3),
            mixed,
        ),
        training_case(
            "softmax_cost", f"{rows} rows, l = {pool}, K = {WORDS:,}", layers.softmax_cost,
            random(rows, pool), random(WORDS, pool), random(WORDS), words_of(rows), 0.1,
        ),
        training_case("dropout", f"{rows} x {2 * n}", layers.dropout, random(rows, 2 * n), 0.2),
    ]  # fmt: skip


def search_cases(sizes: Sizes) -> list[Case]:
    """Return the twins of search, at the size of one step."""
    n, align, pool = sizes.hidden, sizes.align, sizes.maxout
    rows, beam = SENTENCES * BEAM, f"{SENTENCES} x {BEAM} hypotheses"
    W, bias, readout = random(WORDS, pool), random(WORDS), random(rows, pool)
    scored = W, bias, words_of(rows)
    plain_layer, fast_layer = OutputLayer(W, bias), output_layer(W, bias)
    lists = candidate_lists()
    beams = readout.view(SENTENCES, BEAM, pool)
    attention, mask = rnnsearch.attention, torch.ones(SENTENCES, LENGTH, dtype=torch.bool)
    query_keys = (
        random(SENTENCES, BEAM, align),
        random(SENTENCES, LENGTH, align),
        random(align),
        mask,
    )
    log_probs, evidence = layers.target_log_probs, layers.target_evidence
    table_of_words, W_dec = random(WORDS, n), random(n, 3 * n)

    def compute(words: Tensor) -> Tensor:
        return table_of_words[words.clamp(min=0)] @ W_dec

    cache, words = EmbeddingCache(compute, WORDS), words_of(rows)
    by_layer = [
        (plain_layer.shards(SHARD_WORDS, SHARD_MULTIPLE), plain_layer.for_candidates(lists)),
        (fast_layer.shards(SHARD_WORDS, SHARD_MULTIPLE), fast_layer.for_candidates(lists)),
    ]
    (plain_shards, plain_lists), (fast_shards, fast_lists) = by_layer
    all_words, some_words = f"{rows} rows, K = {WORDS:,}", f"{beam}, {CANDIDATES} candidates"
    return [
        search_case(
            "attention", f"{beam}, T_x = {LENGTH}, n' = {align}",
            lambda: attention.plain(*query_keys), lambda: attention.fast(*query_keys),
        ),
        search_case(
            "target_log_probs", all_words,
            lambda: log_probs.plain(readout, *scored), lambda: log_probs.fast(readout, *scored),
        ),
        search_case(
            "target_evidence", all_words,
            lambda: evidence.plain(readout, *scored), lambda: evidence.fast(readout, *scored),
        ),
        search_case(
            "OutputLayer.shards", all_words,
            lambda: [shard.logits(readout) for shard in plain_shards],
            lambda: [shard.logits(readout) for shard in fast_shards],
        ),
        search_case(
            "OutputLayer.for_candidates", some_words,
            lambda: plain_lists.logits(beams), lambda: fast_lists.logits(beams),
        ),
        search_case(
            "EmbeddingCache", f"{rows} words, {n} x {3 * n}",
            lambda: compute(words), lambda: cache(words),
        ),
        *(step_case(model) for model in models_of(sizes)),
    ]  # fmt: skip


def step_case(model: Any) -> Case:
    """Time `encode` and as many steps as a sentence has words, the first with one hypothesis."""
    src = words_of(SENTENCES, LENGTH)
    mask = torch.ones_like(src, dtype=torch.bool)
    with torch.inference_mode():
        ready = model.for_inference()
    tokens = words_of(LENGTH, SENTENCES, BEAM)
    parents = torch.zeros(SENTENCES, BEAM, dtype=torch.long)

    def run(searched: Any) -> None:
        encoded = searched.encode(src, mask)
        state, prev = searched.initial_state(encoded), torch.full((SENTENCES, 1), BOS)
        for position in range(LENGTH):
            state = searched.step(prev, state, encoded).state.select_hypotheses(parents)
            prev = tokens[position]

    def run_plain() -> None:
        with plain_pieces():
            run(model)

    shapes = f"{SENTENCES} x {BEAM} hypotheses, {LENGTH} steps"
    return search_case(
        f"{type(model).__name__} encode, step", shapes, run_plain, lambda: run(ready)
    )


def models_of(sizes: Sizes) -> list[Any]:
    """Return one model for each way to encode or step."""
    m, n, align, pool = sizes.embedding, sizes.hidden, sizes.align, sizes.maxout
    return [
        RNNsearch(RNNsearchConfig(m, n, align, pool), WORDS, WORDS).eval(),
        RNNenc(RNNencConfig(m, n, pool), WORDS, WORDS).eval(),
        DeepLSTM(DeepLSTMConfig(m, n, layers=2), WORDS, WORDS).eval(),
        CSLM(CSLMConfig(6, m, 3 * m, 2 * m), WORDS, WORDS).eval(),
    ]


def random(*shape: int) -> Tensor:
    """Return random numbers, scaled like the weights of a layer with `shape[-2]` inputs."""
    scale: float = (shape[-2] if len(shape) > 1 else shape[0]) ** -0.5
    return scale * torch.randn(*shape)


def words_of(*shape: int) -> Tensor:
    """Return random words, as frequent as by Zipf's law."""
    frequencies = 1 / torch.arange(1, WORDS + 1).double()
    drawn = torch.multinomial(frequencies, math.prod(shape), replacement=True)
    return drawn.view(*shape)


def candidate_lists() -> Tensor:
    """Return the candidates of each sentence: the most frequent words, and others by Zipf's law.

    Shape: [SENTENCES, CANDIDATES].
    """
    frequent = torch.arange(FREQUENT_CANDIDATES).expand(SENTENCES, -1)
    rare = 1 / torch.arange(FREQUENT_CANDIDATES, WORDS).double()
    drawn = torch.multinomial(rare.expand(SENTENCES, -1), CANDIDATES - FREQUENT_CANDIDATES)
    return torch.cat([frequent, drawn.sort(dim=1).values + FREQUENT_CANDIDATES], dim=1)


def seconds_of(run: Run, seconds: float) -> float:
    """Run again and again for some seconds; return the seconds of one run."""
    run()
    started, count = time.perf_counter(), 0
    while count == 0 or time.perf_counter() - started < seconds:
        run()
        count += 1
    return (time.perf_counter() - started) / count


def measure(case: Case, rounds: int, seconds: float) -> dict[str, Spread]:
    """Time plain and fast in turns; return the seconds of one run of each."""
    runs = {
        "plain": lambda: seconds_of(case.plain, seconds),
        "fast": lambda: seconds_of(case.fast, seconds),
    }
    taken = in_turns(runs, rounds, lambda line: report_progress(f"{case.name}: {line}"))
    return {name: Spread.of(values) for name, values in taken.items()}


def row_of(case: Case, times: dict[str, Spread]) -> list[str]:
    """Return a row of the table."""
    plain, fast = times["plain"].median, times["fast"].median
    milliseconds = [f"{1000 * value:,.2f}" for value in (plain, fast)]
    return [f"`{case.name}`", case.shapes, *milliseconds, f"{plain / fast:.2f}"]


def options_of(arguments: Sequence[str]) -> argparse.Namespace:
    """Parse the command line."""
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("--size", choices=list(SIZES), default="small", help="sizes of the model")
    parser.add_argument("--threads", type=positive, default=2)
    parser.add_argument("--rounds", type=positive, default=3)
    parser.add_argument("--seconds", type=float, default=0.5, help="time of one piece in a round")
    parser.add_argument("--output", type=Path, help="write the table here and the figures beside")
    return parser.parse_args(arguments)


def main(arguments: Sequence[str]) -> int:
    """Measure and report."""
    options = options_of(arguments)
    torch.set_num_threads(options.threads)
    torch.manual_seed(1)
    sizes = SIZES[options.size]
    results = [
        (case, measure(case, options.rounds, options.seconds))
        for case in training_cases(sizes) + search_cases(sizes)
    ]
    head = f"{machine()}, {options.threads} threads, size {options.size.upper()}.\n\n"
    header = ["piece", "shapes", "plain, ms", "fast, ms", "plain / fast"]
    figures = {
        case.name: {name: vars(spread) for name, spread in times.items()} for case, times in results
    }
    write_report(
        options.output, head + table(header, [row_of(*result) for result in results]), figures
    )
    return 0


if __name__ == "__main__":
    exit_with(main)
