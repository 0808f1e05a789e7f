"""Every training and search step on a device: it computes as on the CPU, and waits where it must.

`EXPECTED` lists all places where the host waits for a GPU, with the reason; anything else fails.
What is run is what `make gpu` runs on a GPU.
"""

import dataclasses
from collections import Counter
from collections.abc import Sequence
from typing import Any

import device_checks as checks
import pytest
import torch
from gpu_training import SMALL_TEXT, RecipeRun, recipe_config

from nmtkit.config import SearchConfig
from nmtkit.config_io import recipe_names
from nmtkit.models import MODELS, kernels, model_name
from nmtkit.search.beam import beam_search
from tests.simulated_device import DEVICE, Wait, simulated_device

LIMIT = checks.LIMITS["float64"]
RNNSEARCH, FACTORED = "rnnsearch, groundhog", "rnnsearch, factored"
SEARCHED = [RNNSEARCH, "rnnenc", "deep-lstm", "cslm"]

EXPECTED = {
    "update": {
        Wait("value", "training/gradient.py:Gradient._sum_over_ranks"): (
            "cost, norm and stop signals of an update, all together: the next decision needs them"
        ),
    },
    "drawn words": {
        Wait("value", "models/softmax_sampling.py:WordSampler.draw"): (
            "the host draws the words of a batch, so that every device draws the same"
        ),
    },
    "search step": {
        Wait("value", "search/beam_step.py:find_done"): "whether a sentence is done, once a step",
    },
    "search": {  # once for each batch, refill or result, not for each step
        Wait(
            "value", "search/batched_beam.py:BatchedSearch._start_batch"
        ): "longest sentence of a batch",
        Wait("value", "search/batch_queue.py:BatchQueue.fits"): "longest waiting sentence",
        Wait(
            "value", "search/batched_beam.py:BatchedSearch.refill"
        ): "longest sentence after a refill",
        Wait("value", "models/rnnsearch.py:Encoded.trim_padding"): "width after a refill",
        Wait("value", "search/beam_history.py:_by_sentence"): "the result",
        Wait("value", "search/beam_history.py:BeamHistory._backtrack"): "the result",
    },
    "candidates": {
        Wait("shape", "models/fast/output_layer.py:UnionLayer.__init__"): (
            "size of the union of a batch's lists, which all its products use"
        ),
    },
    "constraints": {  # states are numbers of the host; each step moves them
        Wait("value", "search/batch_queue.py:EncodedBatch.select"): "whose constraints, once",
        Wait("value", "search/constrained_beam.py:ConstrainedRows.best"): "widest beam",
        Wait("value", "search/constrained_beam.py:ConstrainedRows._apply_rules"): (
            "hypotheses whose state forbids tokens"
        ),
        Wait("shape", "search/constrained_beam.py:ConstrainedRows._close_words"): (
            "hypotheses that must end a word"
        ),
        Wait("shape", "search/constrained_beam.py:ConstrainedRows._tokens"): (
            "hypotheses that can begin a term or go on with it"
        ),
        Wait("value", "search/beam_allocation.py:_places"): "hypotheses with as many terms",
        Wait("value", "search/beam_allocation.py:_allocate"): "places for each number of terms",
        Wait("value", "search/constrained_beam.py:ConstrainedRows.advance"): "the states' tokens",
    },
    "shared tokens": {
        Wait("value", "search/constrained_beam.py:ConstrainedRows._number_states"): (
            "attention, which says which of two terms a token begins"
        ),
    },
    "repeats": {
        Wait("value", "search/repeats.py:_trimmed"): "longest list of forbidden tokens",
    },
    "continuations": {
        Wait("value", "search/forced_decoding.py:decode_forced"): "log p of the prefix, once",
        Wait("value", "search/branches.py:_best_tokens"): "tokens and log p of the ways, each step",
    },
    "alignments": {
        Wait("value", "search/alignments.py:_matrices"): "the result, after the last step",
    },
    "sampling": {
        Wait("value", "search/sampling.py:sample_batch"): "longest samples, once",
        Wait("value", "search/sampling.py:draw"): "whether the model gives numbers, once a step",
        Wait("shape", "search/sampling.py:_draw_all"): "unfinished sentences, once a step",
        Wait("value", "search/sampling.py:_hypotheses"): "the result",
    },
    "compositions": {
        Wait("value", "models/grconv.py:GrConv.compositions"): "order of the batch's sentences",
    },
}


def expected(*names: str) -> set[Wait]:
    return {wait for name in names for wait in EXPECTED[name]}


@pytest.fixture(params=list(checks.CONFIGS))
def name(request: pytest.FixtureRequest) -> str:
    return str(request.param)


searched = pytest.mark.parametrize("name", SEARCHED)
both = pytest.mark.parametrize("fast", [False, True], ids=["plain", "for inference"])


# Training


def waits_in_training(name: str, training: checks.Training) -> Counter[Wait]:
    """Compare two updates of two batches with those on the CPU; return where the host waited."""
    config = checks.CONFIGS[name]
    on_cpu = checks.train(checks.make_model(config), training)
    with simulated_device() as device:
        model = checks.make_model(config, device=DEVICE)
        device.waits.clear()
        changes = checks.train(model, training)
        found = device.waits.copy()
        assert checks.difference(changes, on_cpu) <= LIMIT
    return found


def test_an_update_waits_once_for_its_figures(name: str) -> None:
    found = waits_in_training(name, checks.Training({}))
    assert found == dict.fromkeys(expected("update"), 2)  # two updates


@pytest.mark.parametrize("kind", ["adam", "sgd", "label smoothing"])
def test_no_optimizer_waits(kind: str) -> None:
    found = waits_in_training(RNNSEARCH, checks.TRAININGS[kind])
    assert found == dict.fromkeys(expected("update"), 2)


def test_rehearsed_batches_wait_for_nothing_else(name: str) -> None:
    found = waits_in_training(name, checks.TRAININGS["rehearsed"])
    assert found == dict.fromkeys(expected("update"), 2)


def test_drawn_words_wait_once_for_each_batch() -> None:
    found = waits_in_training(FACTORED, checks.TRAININGS["drawn words"])
    drawn = dict.fromkeys(expected("drawn words"), 4)
    assert found == dict.fromkeys(expected("update"), 2) | drawn


@pytest.mark.parametrize("kind", ["float32", "bfloat16"])
def test_dropout_and_low_precision_stay_on_the_device(name: str, kind: str) -> None:
    config = dataclasses.replace(checks.CONFIGS[name], dropout=0.3)
    with simulated_device() as device:
        model = checks.make_model(config, device=DEVICE, dtype=torch.float32)
        device.waits.clear()
        checks.train(model, checks.TRAININGS[kind])
    assert device.waits == dict.fromkeys(expected("update"), 2)


@pytest.mark.skipif(kernels.PLAIN, reason="compares both implementations")
def test_plain_implementations_run_on_the_device_too(name: str) -> None:
    with kernels.plain_pieces():
        waits_in_training(name, checks.Training({}))


@pytest.mark.parametrize("recipe", recipe_names())
def test_a_recipe_waits_once_an_update(recipe: str) -> None:
    with simulated_device() as device:
        run = RecipeRun(recipe_config(recipe, "float32", small=True), SMALL_TEXT, 100, DEVICE)
        device.waits.clear()
        updates = [run.update() for _ in range(2)]
    assert all(0 < update.cost < 1e6 for update in updates)
    (figures,) = expected("update")
    assert device.waits[figures] == 2 and set(device.waits) <= expected("update", "drawn words")


# Scoring and search


def waits_of(run: checks.Run, names: Sequence[str], fast: bool = True) -> Counter[Wait]:
    """Compare a run with the same on the CPU; return where the host waited."""
    configs = [checks.CONFIGS[name] for name in names]
    on_cpu = checks.run_models(run, configs, checks.CPU, fast)
    with simulated_device() as device:
        models = checks.ready_models(configs, DEVICE, fast)
        device.waits.clear()
        result = run(models, DEVICE)
        found = device.waits.copy()
        assert checks.difference(result, on_cpu) <= LIMIT
    return found


def assert_waits(name: str, found: Counter[Wait], *names: str) -> None:
    """Check that the host waited in all expected places and in no other.

    A source without positions has no padding to trim.
    """
    positions = {wait for wait in expected(*names) if wait.place.startswith("models/rnnsearch.py")}
    assert set(found) == expected(*names) - (set() if name == RNNSEARCH else positions)


@searched
@pytest.mark.parametrize("kind", ["greedy search", "beam search"])
def test_beam_search_waits_once_a_step(name: str, kind: str) -> None:
    found = waits_of(checks.RUNS[kind], [name])
    assert_waits(name, found, "search step", "search")
    others = sum(count for wait, count in found.items() if wait not in expected("search step"))
    assert others <= 4 * len(checks.SENTENCES) + 12  # for each refill and for the result


@both
@pytest.mark.parametrize("no_repeat_ngram", [0, 3])
def test_a_step_of_search_is_all_that_waits_more_often_for_long_translations(
    fast: bool, no_repeat_ngram: int
) -> None:
    counts = []
    for ratio in (4.0, 8.0):  # translations that do not end, of 20 and 40 words
        settings = SearchConfig(
            beam=2,
            min_length_ratio=ratio,
            max_length_ratio=ratio,
            no_repeat_ngram=no_repeat_ngram,
        )

        def search(
            models: list[Any], device: torch.device, settings: SearchConfig = settings
        ) -> Any:
            return beam_search(models, *checks.first_sentences(device, 1), settings)

        counts.append(waits_of(search, [RNNSEARCH], fast))
    (step,) = expected("search step")
    assert (counts[0][step], counts[1][step]) == (20, 40)
    assert counts[1] - counts[0] == {step: 20}


@searched
def test_candidates(name: str) -> None:
    found = waits_of(checks.RUNS["candidates"], [name])
    assert_waits(name, found, "search step", "search", "candidates")


@searched
@pytest.mark.parametrize("kind", ["constraints", "constraints, candidates"])
def test_constraints_wait_a_few_times_a_step(name: str, kind: str) -> None:
    found = waits_of(checks.RUNS[kind], [name])
    kinds = ["constraints", "repeats"] + (["candidates"] if "candidates" in kind else [])
    needed = expected("search step", "search", *kinds)
    once = expected("search") | expected("shared tokens")  # only where it comes to that
    assert needed - once <= set(found) <= needed | once
    (step,) = expected("search step")
    assert all(found[wait] <= 2 * found[step] for wait in expected("constraints"))


@searched
def test_continuations(name: str) -> None:
    found = waits_of(checks.continue_prefix, [name])
    allowed = expected("search step", "search", "constraints", "continuations")
    assert expected("continuations") <= set(found) <= allowed


def test_alignments_are_read_after_the_last_step() -> None:
    found = waits_of(checks.search_few, [RNNSEARCH])
    allowed = expected("search step", "search", "alignments")
    assert expected("alignments") <= set(found) <= allowed


ENSEMBLES = ["beam search", "candidates", "few sentences", "constraints"]


@pytest.mark.parametrize("kind", ENSEMBLES)
def test_ensembles_wait_as_often_as_one_model(kind: str) -> None:
    found = waits_of(checks.RUNS[kind], [RNNSEARCH, FACTORED])
    searches = expected("search step", "search", "candidates", "alignments")
    assert set(found) <= searches | expected("constraints", "shared tokens", "repeats")
    (step,) = expected("search step")
    assert found[step] <= 120


@searched
def test_samples(name: str) -> None:
    assert set(waits_of(checks.draw, [name])) == expected("sampling")


@both
@pytest.mark.parametrize(
    "kind", ["scores", "scores of an n-best list", "sentence vectors", "guided attention"]
)
def test_scores_vectors_and_guides_wait_for_nothing(name: str, kind: str, fast: bool) -> None:
    if checks.can_run(kind, checks.make_model(checks.CONFIGS[name])):
        assert not waits_of(checks.RUNS[kind], [name], fast)


def test_compositions() -> None:
    found = waits_of(checks.compositions, ["grconv"])
    assert found == dict.fromkeys(expected("compositions"), 1)


def test_every_model_is_run() -> None:
    assert {model_name(config) for config in checks.CONFIGS.values()} == set(MODELS)


def test_every_kind_of_run_is_compared_with_the_cpu() -> None:
    """The comparison itself, on the CPU, where nothing differs but the precision."""
    results = list(checks.check_device(checks.CPU, factor=2))
    assert all(check.holds for check in results), [c for c in results if not c.holds]
    assert {c.difference for c in results if c.name.endswith("search")} == {0.0}
    kinds = {check.name.split(": ")[1] for check in results}
    assert kinds == {*checks.TRAININGS, *checks.RUNS}
    low = [check.difference for check in results if check.name.endswith("bfloat16")]
    assert all(1e-4 < found for found in low)


def test_other_words_and_numbers_are_differences() -> None:
    ((first, *_), *_) = checks.run_models(
        checks.search_few, [checks.CONFIGS[RNNSEARCH]], checks.CPU
    )
    assert checks.difference([first], [first]) == 0
    changed = dataclasses.replace(first, ids=[*first.ids[:-1], 7])
    assert checks.difference([changed], [first]) == float("inf")
    values = torch.tensor([1.0, 2.0])
    assert checks.difference(values * 1.25, values) == pytest.approx(0.25)
    assert checks.difference(values * float("nan"), values) == float("inf")
