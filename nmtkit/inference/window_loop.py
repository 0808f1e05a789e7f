"""The loop over windows of lines: each is read, searched on all cores, and put back in order."""

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Sequence

import torch

from nmtkit.inference.ensemble import one_thread_if
from nmtkit.inference.stream_batching import Batches, LinesDone, share_batches
from nmtkit.inference.translation import Translation
from nmtkit.inference.window_search import NBest, Window, WindowSearch
from nmtkit.parallel.process_group import ProcessGroup

MIN_LINES_PER_CORE = 8
"""Minimum number of lines per core; with fewer lines in a window, fewer cores are used."""

Find = Callable[[Window, Batches], list[NBest]]
"""Function that returns the hypotheses of a window's batches, in their order."""


def translate_windows(
    windows: Iterable[Sequence[tuple[str, str]]],
    searcher: WindowSearch,
    find: Find,
    tokenized: bool,
    process_group: ProcessGroup,
    lines_done: LinesDone,
    batch_size: int,
    copies: int = 1,
) -> Iterator[list[Translation]]:
    """Yield the translations of each line of some windows, in the order of the lines.

    :param windows: lines, and the prefixes of their translations.
    :param searcher: reads windows, and makes translations of hypotheses.
    :param tokenized: the lines are already tokenised, and the translations stay tokenised.
    :param process_group: shares the lines.
    :param lines_done: counts the lines that are searched.
    :param batch_size: sentences searched together; see `sentences_per_batch`.
    :param copies: number of samples of each line.
    """
    for shard in process_group.shards(windows):
        done = lines_done.begin(shard.first, len(shard.items))
        window = searcher.read(shard.items, shard.first, tokenized, done)
        shares = _share_among_cores(searcher, window, batch_size, copies)
        with one_thread_if(len(window.lines) == 1):
            hypotheses = _on_all_cores(
                [functools.partial(find, window, batches) for batches in shares]
            )
        found = _by_line(len(window.lines), shares, hypotheses)
        yield from process_group.gather(searcher.converted(window, found, tokenized, copies))


def _share_among_cores(
    searcher: WindowSearch, window: Window, batch_size: int, copies: int
) -> list[Batches]:
    """Divide the sentences that have words among the cores, and into batches.

    :param copies: samples of each line, which take longer than one translation.
    """
    on_cpu = all(member.device.type == "cpu" for member in searcher.ensemble.members)
    cores = torch.get_num_threads() if on_cpu else 1
    size = batch_size * (2 if searcher.search.beam == 1 else 1)
    lengths = [len(tokens[0]) for tokens in window.sources]
    return share_batches(lengths, cores, max(MIN_LINES_PER_CORE // copies, 1), size)


def _by_line(lines: int, shares: list[Batches], hypotheses: list[list[NBest]]) -> list[NBest]:
    """Return the hypotheses of each line, none for a line without words."""
    found: list[NBest] = [[] for _ in range(lines)]
    for batches, n_best_lists in zip(shares, hypotheses, strict=True):
        numbers = itertools.chain.from_iterable(batches)
        for number, n_best in zip(numbers, n_best_lists, strict=True):
            found[number] = n_best
    return found


def _on_all_cores(searches: list[Callable[[], list[NBest]]]) -> list[list[NBest]]:
    """Run searches at the same time, one on each core; a single search runs in this process."""
    if len(searches) == 1:
        return [searches[0]()]
    from nmtkit.parallel.fork import run_parallel  # a single line starts faster without it

    return run_parallel(searches)
