"""Adapting a model to corrections, for the command and for Python.

from nmtkit import adapt
result = adapt("model", ["corrections.tsv"], "adapted", guards=[("dev.en", "dev.fr")])
"""

import math
import time as clock
from collections.abc import Sequence
from pathlib import Path

import torch

from nmtkit.errors import ConfigError, ModelError
from nmtkit.model_folder import LoadedModel, load_model
from nmtkit.training.adaptation.adaptation import Adaptation, AdaptationResult
from nmtkit.training.adaptation.fine_tuning import FineTuningSettings
from nmtkit.training.adaptation.folder import check_output
from nmtkit.training.adaptation.request import AdaptationRequest
from nmtkit.value_types import NaturalInt, Seed, check_arguments, check_duration

DEFAULT_TIME = "5m"

MIN_SECONDS = 1.0
"""Least time that an adaptation can be given."""


@check_arguments
def adapt(
    model: str | Path,
    data: str | Path | Sequence[str | Path],
    output: str | Path,
    guards: Sequence[str | Path | Sequence[str | Path]] = (),
    time: float | str = DEFAULT_TIME,
    replay: str | Path | None = None,
    allow_loss: float = 1.0,
    tag: str = "",
    seed: Seed = 1,
    device: str = "auto",
    force: bool = False,
    started: float | None = None,
    settings: FineTuningSettings | None = None,
    updates: NaturalInt = 0,
    params: str | Path = "best",
) -> AdaptationResult:
    """Adapt a model to corrections: fine-tune it, and write it as a new model folder.

    :param model: a model folder.
    :param data: the corrections as raw text: the source file and the target file, or one file that
        holds both, TSV or TMX.
    :param output: the new model folder.
    :param guards: test sets that must not become worse, each as such files; by default a sample of
        the dev set of the replayed data.
    :param time: time for everything, from this call: seconds, or a text such as "5m".
    :param replay: prepared folder whose training pairs are replayed; by default that of the model's
        training, if it is still there.
    :param allow_loss: loss of BLEU on a guard beyond which nothing is written.
    :param tag: word to put before each source line, one of the model's tags.
    :param seed: of the order of the pairs and of dropout.
    :param device: "auto", "cpu", "cuda", "cuda:1" or "mps".
    :param force: replace an existing model folder `output`.
    :param started: when `time` began, by `time.monotonic()`; None: now.
    :param settings: of the fine-tuning; chosen by the model and the corrections if None.
    :param updates: number of updates, however long they take, so that the same call gives the same
        model; 0: as many as there is time for.
    :param params: parameters of the model to begin with: "best", "last", or a parameter file.
    :raises LossRefused: a guard has lost more than is allowed; its attribute `report` says what.
    :raises NmtkitError: model, corrections, guards or output cannot be used.
    """
    request = AdaptationRequest(
        Path(model),
        _files(data),
        Path(output),
        tuple(map(_files, guards)),
        check_duration(time, "time"),
        None if replay is None else Path(replay),
        allow_loss,
        seed,
        tag,
        force,
        clock.monotonic() if started is None else started,
        settings,
        updates,
        params,
    )
    if not math.isfinite(request.seconds):
        raise ConfigError(f"--time: {request.seconds} is no time; give seconds, or a text as '5m'")
    if not request.allow_loss >= 0:  # NaN is not either
        raise ConfigError(f"--allow-loss: {allow_loss} is no loss of BLEU; give at least 0")
    if request.seconds < MIN_SECONDS:
        raise ConfigError(
            f"--time: {request.seconds:g} seconds are too short; give at least {MIN_SECONDS:g}s"
        )
    check_output(request.output, request.model, force)
    with torch.random.fork_rng(devices=[]):  # the caller's own numbers are drawn as without it
        torch.manual_seed(seed)
        return Adaptation(request, _load(request, device)).run()


def _files(given: str | Path | Sequence[str | Path]) -> tuple[str | Path, ...]:
    """Return the files of a bitext, which may be one."""
    return (given,) if isinstance(given, str | Path) else tuple(given)


def _load(request: AdaptationRequest, device: str) -> LoadedModel:
    """Load the model that is adapted.

    :raises ModelError: it is damaged, or a language model.
    """
    loaded = load_model(request.model, device, request.params)
    if not loaded.model.reads_source:
        raise ModelError(
            f"{request.model}: a language model reads no source, so it has no corrections to learn;"
            " train it further with 'nmtkit train --from'"
        )
    return loaded
