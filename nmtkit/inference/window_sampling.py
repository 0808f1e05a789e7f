"""Samples of the translations of a window of lines, each line with a seed of its own."""

from typing import NamedTuple

from nmtkit.inference.stream_batching import Batches
from nmtkit.inference.window_search import NBest, Window, WindowSearch
from nmtkit.search.sampling import SamplingConfig, sample_batch
from nmtkit.seeds import derive_seed


class LineSeeds(NamedTuple):
    """Seeds of lines: the seed of all, and the number from 1 of the first line."""

    seed: int
    first_line: int

    def of(self, number: int) -> int:
        """Return the seed of a line by its number among those translated, from 1."""
        return derive_seed(self.seed, self.first_line - 1 + number)


def sample_window(
    searcher: WindowSearch,
    window: Window,
    batches: Batches,
    n: int,
    seeds: LineSeeds,
    alignments: bool,
    sampling: SamplingConfig,
) -> list[NBest]:
    """Draw n translations of the sentences of some batches, in their order.

    :param searcher: has the models, and adds alignments.
    """
    ensemble = searcher.ensemble
    models, averaging = ensemble.models, ensemble.averaging
    samples: list[NBest] = []
    with ensemble.error_context():
        encoded = ensemble.encoded_batches(
            window.inputs, batches, searcher.candidates, done=window.done
        )
        for batch, encoded_batch in zip(batches, encoded, strict=True):
            batch_seeds = [seeds.of(window.first + number) for number in batch]
            batch_samples = sample_batch(
                models,
                encoded_batch,
                searcher.search,
                n,
                batch_seeds,
                averaging=averaging,
                sampling=sampling,
            )
            samples += searcher.with_alignments(window, batch, batch_samples, alignments)
    return samples
