"""How long each recipe trains on a corpus, on this machine."""

import dataclasses
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import NamedTuple

from nmtkit.config import Config
from nmtkit.config_io import recipe_names
from nmtkit.data.corpus import Corpus
from nmtkit.data.corpus_size import CorpusSize, corpus_size
from nmtkit.data.manifest import corpus_segments, read_manifest
from nmtkit.durations import format_duration
from nmtkit.errors import is_out_of_memory
from nmtkit.model_folder import find_device
from nmtkit.new_model_folder import shortlists
from nmtkit.training.settings import make_config
from nmtkit.training.speed import fastest_speeds
from nmtkit.training.start_checks import check_prepared

MEASURED_TOKENS = 400
"""Target tokens of a batch that is measured; the largest recipes take a second or two for it."""


class RecipeTime(NamedTuple):
    """Time that the updates of a recipe take.

    seconds: None if it cannot train here.
    limit: what takes this time, such as "288,000 updates".
    problem: why it cannot train.
    """

    recipe: str
    seconds: float | None
    limit: str
    problem: str = ""

    def __str__(self) -> str:
        time = self.problem if self.seconds is None else format_duration(self.seconds)
        return f"{self.recipe}\t{time}\t{self.limit}"


def recipe_times(
    prepared: str | Path, overrides: Sequence[str] = (), device: str = "auto"
) -> Iterator[RecipeTime]:
    """Measure some updates of each recipe, and yield its time; validations come on top.

    :param prepared: a prepared folder with shortlists.
    :param overrides: settings as "section.key=value", for all recipes.
    :raises NmtkitError: the folder or a setting cannot be used.
    """
    check_prepared(Path(prepared))
    for name in recipe_names():
        yield _recipe_time(name, make_config(name, None, overrides), Path(prepared), device)


def _recipe_time(name: str, config: Config, prepared: Path, device: str) -> RecipeTime:
    """Measure some updates of a recipe."""
    src, tgt = shortlists(prepared, config.data)
    corpus = Corpus.open(prepared, "train", (src, tgt), config.data.sides)
    segments = corpus_segments(read_manifest(prepared), prepared)
    epoch = corpus_size(corpus, config.data.max_length, segments)
    tokens, limit = _training_tokens(config, epoch)
    if not epoch.pairs:
        problem = f"no pair has at most {config.data.max_length} tokens a side"
        return RecipeTime(name, None, limit, problem)
    data = dataclasses.replace(config.data, batch_size=MEASURED_TOKENS, batch_unit="tokens")
    measured = dataclasses.replace(config, data=data)
    try:
        [speed] = fastest_speeds([measured], corpus, (src, tgt), find_device(device), 0.0)
    except (RuntimeError, MemoryError) as error:
        if not is_out_of_memory(error):
            raise
        return RecipeTime(name, None, limit, "too little memory")
    return RecipeTime(name, tokens / speed.tokens_per_second, limit)


def _training_tokens(config: Config, epoch: CorpusSize) -> tuple[float, str]:
    """Return the target tokens that a training takes in, and what its limit is.

    :param epoch: what an epoch uses. No batch has more.
    """
    training, data, tokens = config.training, config.data, epoch.tgt_tokens
    if training.max_updates:
        of_unit = 1.0 if data.batch_unit == "tokens" else tokens / max(epoch.pairs, 1)
        in_update = training.gradient_accumulation * min(data.batch_size * of_unit, tokens)
        return training.max_updates * in_update, f"{training.max_updates:,} updates"
    if training.max_epochs:
        return training.max_epochs * tokens, f"{training.max_epochs:g} epochs"
    return tokens, "an epoch; it ends when the dev set does not get better"
