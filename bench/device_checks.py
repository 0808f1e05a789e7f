"""Training, scoring and search of every model on a device, compared with the CPU.

`check_device` does all of it; `tests/unit/test_device.py` does the same on a simulated device.
Models have random parameters that all matter. In float64 nothing may differ but rounding, so that
translations and samples are equal; in float32 and bfloat16 costs and gradients are about equal.
"""

import copy
import dataclasses
import math
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any, NamedTuple

import torch
from torch import Tensor

from nmtkit.config import SearchConfig, TrainingConfig
from nmtkit.data.batch import Batch, make_batch, pad
from nmtkit.models import MODELS, Model, model_name
from nmtkit.models.attention_guide import AttentionGuide
from nmtkit.models.base import HasComposition, HasSourceVectors
from nmtkit.models.cslm import CSLMConfig
from nmtkit.models.deep_lstm import DeepLSTMConfig
from nmtkit.models.grconv import GrConvConfig
from nmtkit.models.phrase_rnn import PhraseRNNConfig
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.models.softmax_sampling import WordSampler
from nmtkit.search.batch_queue import EncodedBatch, source_lengths
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.branches import find_branches
from nmtkit.search.constraints import Constraints
from nmtkit.search.forced_decoding import decode_forced
from nmtkit.search.forced_prefix import PrefixNode, chain
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.model_averaging import EQUAL_WEIGHTS
from nmtkit.search.next_token import scorer_of
from nmtkit.search.prefix_tree import PrefixTree, tree_log_probs
from nmtkit.search.sampling import sample
from nmtkit.search.word_boundaries import WordBoundaries
from nmtkit.training.cost_gradient import Teacher
from nmtkit.training.gradient import Gradient
from nmtkit.training.optimizers import make_optimizer

CPU = torch.device("cpu")
SRC_SIZE, TGT_SIZE = 9, 11

CONFIGS: dict[str, Any] = {
    "rnnsearch, groundhog": RNNsearchConfig(2, 3, 4, 2),
    "rnnsearch, paper-v1, tied": RNNsearchConfig(2, 3, 4, 2, decoder_variant="paper-v1", tied=True),
    "rnnsearch, factored": RNNsearchConfig(2, 3, 4, 2, softmax_rank=5),
    "rnnsearch, lexical module": RNNsearchConfig(2, 3, 4, 2, tied=True, lexical_module=True),
    "rnnenc": RNNencConfig(2, 3, 2),
    "phrase-rnn": PhraseRNNConfig(2, 3, 2, softmax_rank=3),
    "grconv": GrConvConfig(2, 4, 3, 2),
    "deep-lstm": DeepLSTMConfig(2, 3, layers=2),
    "cslm": CSLMConfig(3, 2, 5, 4),
}
"""Every model, in its smallest size."""

SIZES = ("embedding", "hidden", "align", "maxout", "softmax_rank", "units", "second")
"""Settings that `scaled` multiplies."""

SENTENCES = [[3, 8, 1, 4, 0], [5, 2, 7, 0], [6, 2, 0], [1, 8, 0], [2, 0], [7, 0], [0], [0]]
CANDIDATES = torch.tensor([[0, 1, 2, 4, 5, -1], [0, 1, 3, 6, 8, 9]] * 4)
SHORT = ([[3, 8, 1, 4, 0], [0], [5, 2, 0]], [[2, 6, 0], [4, 1, 3, 5, 0], [0]])
LONG = ([[3, 8, 1] * 4 + [0], [5, 2, 0]], [[2, 9, 6, 7] * 4 + [0], [4, 0]])
BATCH_SENTENCES = 3
BOUNDARIES = WordBoundaries([(token % 2 == 1, True) for token in range(TGT_SIZE)])
"""Words end with an even token."""

CONSTRAINTS = [
    Constraints((((3, 4), (6,)), ((4,),)), ((0, 1), (2,))),  # two terms, one with alternatives
    Constraints(prefix=chain((5, 4))),
    Constraints(),
    Constraints((((8,),),), ((0,),), forbidden=((2,), (7, 6))),
    Constraints((((2,), (9, 10)),), ((0,),), strict=False),
    Constraints((((6,),),), ((0,),), prefix=PrefixNode({3: chain((4,)), 8: None})),
    Constraints((((4,),), ((4,),)), ((0,), (0,))),  # terms that a token begins alike
    Constraints(forbidden=((4,),)),
]
"""Of each sentence: terms, words that are forbidden, beginnings."""

ALLOWED = torch.tensor([[*range(7), 8, 9, 10, -1], list(range(TGT_SIZE))] * 4)
"""Candidates with the tokens of these."""

BEAM = SearchConfig(beam=3, max_length_ratio=4.0)
GREEDY = SearchConfig(beam=1, max_length_ratio=4.0)
NO_REPEATS = SearchConfig(beam=3, max_length_ratio=4.0, no_repeat_ngram=3)

LIMITS = {"float64": 1e-6, "float32": 1e-4, "bfloat16": 0.05}
"""Largest relative difference from the CPU's result in float64."""

SMALLEST_NORM = 1e-3
"""Norm below which a difference counts as it is."""

Run = Callable[[list[Any], torch.device], Any]
"""Runs models on the device that they are on."""


@dataclass(frozen=True)
class Check:
    """A comparison with the CPU. difference: relative; infinite where other words were found."""

    name: str
    difference: float
    limit: float

    @property
    def holds(self) -> bool:
        return self.difference <= self.limit


class Training(NamedTuple):
    """Settings of some updates.

    sampled: the softmax is over drawn words. rehearsed: another model's predictions are learned.
    """

    settings: dict[str, Any]
    dtype: torch.dtype = torch.float64
    sampled: bool = False
    rehearsed: bool = False


TRAININGS = {
    "adadelta": Training({}),
    "without graphs": Training({"cuda_graphs": False}),
    "adam": Training({"optimizer": "adam"}),
    "sgd": Training({"optimizer": "sgd"}),
    "label smoothing": Training({"label_smoothing": 0.1}),
    "drawn words": Training({}, sampled=True),
    "rehearsed": Training({}, rehearsed=True),
    "float32": Training({}, torch.float32),
    "bfloat16": Training({"precision": "bfloat16"}, torch.float32),
}


def scaled(config: Any, factor: int) -> Any:
    """Return the config of a larger model."""
    sizes = {name: getattr(config, name) * factor for name in SIZES if hasattr(config, name)}
    return dataclasses.replace(config, **sizes)


def make_model(
    config: Any,
    seed: int = 1,
    device: torch.device = CPU,
    dtype: torch.dtype = torch.float64,
    factor: int = 1,
    std: float = 0.7,
) -> Model:
    """Return a model with parameters that all matter, drawn on the CPU.

    :param factor: by which the sizes are multiplied.
    :param std: of the parameters of the smallest size.
    """
    torch.manual_seed(seed)
    config = scaled(config, factor)
    model: Model = MODELS[model_name(config)](config, SRC_SIZE, TGT_SIZE).double()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=std / math.sqrt(factor))
    return model.to(dtype).to(device)


def make_batches() -> list[Batch]:
    return [make_batch(*SHORT, [1, 2, 3]), make_batch(*LONG, [4, 5])]


def changed(model: Model) -> Model:
    """Return a copy of a model whose predictions are others."""
    model = copy.deepcopy(model).requires_grad_(False)
    for parameter in model.parameters():
        parameter.mul_(1.2)
    return model


def train(model: Model, training: Training, updates: int = 2) -> list[Tensor]:
    """Update a model by two batches at a time; return how much each parameter changed."""
    before = [parameter.detach().clone() for parameter in model.parameters()]
    config = TrainingConfig(**training.settings)
    optimizer = make_optimizer(model, config)
    gradient = Gradient(model, optimizer, config)
    if training.sampled:
        torch.manual_seed(2)
        gradient.sample_words(WordSampler(range(TGT_SIZE, 0, -1), 4))
    batches = make_batches()
    if training.rehearsed:
        gradient.learn_from(Teacher(changed(model), 2.0))
        batches[1] = batches[1]._replace(rehearsed=True)
    for number in range(updates):
        update = gradient.compute(batches, number + 1, None)
        gradient.scale(0.5 / update.norm)
        optimizer.step()
    pairs = zip(model.parameters(), before, strict=True)
    return [parameter.detach() - old for parameter, old in pairs]


def gradient_of(model: Model, training: Training) -> Tensor:
    """Return the gradient of two batches as one vector."""
    config = TrainingConfig(**training.settings)
    gradient = Gradient(model, make_optimizer(model, config), config)
    gradient.compute(make_batches(), 1, None)
    return torch.cat([p.grad.flatten() for p in model.parameters() if p.grad is not None])


def guided_cost(models: list[Any], device: torch.device) -> Tensor:
    """Return the cost of a batch whose attention is guided."""
    keys, strengths = torch.tensor([13, 35, 90]), torch.tensor([0.5, 1.0, 0.25]).double()
    guide = AttentionGuide(
        keys.to(device, non_blocking=True), strengths.to(device, non_blocking=True), TGT_SIZE
    )
    cost: Tensor = models[0].loss(*make_batch(*SHORT, [1, 2, 3]).to(device)[:4], guide=guide)
    return cost


def first_sentences(device: torch.device, count: int = 3) -> tuple[Tensor, Tensor]:
    src, src_mask = pad(SENTENCES[:count])
    return src.to(device, non_blocking=True), src_mask


def encoded_batches(
    models: list[Any],
    device: torch.device,
    candidates: Tensor | None,
    constraints: Sequence[Constraints],
) -> Iterable[EncodedBatch]:
    """Encode a few sentences at a time; search refills rows with those that wait."""
    for start in range(0, len(SENTENCES), BATCH_SENTENCES):
        rows = slice(start, start + BATCH_SENTENCES)
        src, src_mask = pad(SENTENCES[rows])
        src = src.to(device, non_blocking=True)
        lists = None if candidates is None else candidates[rows].to(device, non_blocking=True)
        encoded = [model.encode(src, src_mask) for model in models]
        yield EncodedBatch(encoded, source_lengths(src, src_mask), lists, constraints[rows])


def search_all(
    models: list[Any],
    device: torch.device,
    settings: SearchConfig = BEAM,
    candidates: Tensor | None = None,
    constraints: Sequence[Constraints] = (),
) -> list[list[Hypothesis]]:
    batches = encoded_batches(models, device, candidates, constraints)
    boundaries = BOUNDARIES if constraints else None
    return search_batches(models, batches, settings, 1, boundaries=boundaries)


def continue_prefix(models: list[Any], device: torch.device) -> list[Any]:
    """Find continuations of a prefix, and the best translation that begins with it."""
    src, src_mask = first_sentences(device, 1)
    encoded = [model.encode(src, src_mask) for model in models]
    batch = EncodedBatch(encoded, source_lengths(src, src_mask))
    scorer = scorer_of([model.output_layer() for model in models], None, EQUAL_WEIGHTS)
    begun = decode_forced(models, batch, scorer, (5, 4))
    rest = PrefixNode({3: chain((6,)), 8: None})
    spellings = [b"", b"", *(b"%d " % token for token in range(2, TGT_SIZE))]
    branches = find_branches(models, batch, scorer, BEAM, begun, rest, 3, spellings)
    behind = batch._replace(begun=begun, constraints=[Constraints(prefix=rest)])
    continued = search_batches(models, [behind], BEAM, 1, boundaries=BOUNDARIES)
    tokens = [torch.tensor([*branch.tokens, branch.cost]) for branch in branches]
    return [torch.tensor(begun.scores), *tokens, *continued]


def search_few(models: list[Any], device: torch.device) -> list[list[Hypothesis]]:
    """Translate a few sentences, with alignments if there are any."""
    aligned = models[0].has_attention
    return beam_search(models, *first_sentences(device), BEAM, 2, alignments=aligned)


def draw(models: list[Any], device: torch.device) -> list[list[Hypothesis]]:
    return sample(models, *first_sentences(device), BEAM, 2, [1, 2, 3])


def score(models: list[Any], device: torch.device) -> Tensor:
    """Score translations, of which two share a source."""
    tgt, tgt_mask = pad([[2, 6, 0], [4, 1, 3, 5, 0], [0], [7, 0]])
    sources = torch.tensor([2, 0, 2, 1]).to(device, non_blocking=True)
    pairs = (*first_sentences(device), tgt.to(device, non_blocking=True), tgt_mask)
    log_probs: Tensor = models[0].score(*pairs, sources).log_probs
    return log_probs


def score_tree(models: list[Any], device: torch.device) -> Tensor:
    """Score translations of one sentence with shared prefixes."""
    tree = PrefixTree([[2, 6, 0], [2, 6, 6, 1, 0], [0]])
    return tree_log_probs(models[0], *first_sentences(device, 1), tree)


def source_vectors(models: list[Any], device: torch.device) -> Tensor:
    vectors: Tensor = models[0].summarise(*first_sentences(device))
    return vectors


def compositions(models: list[Any], device: torch.device) -> list[list[Tensor]]:
    nodes: list[list[Tensor]] = models[0].compositions(*first_sentences(device))
    return nodes


RUNS: dict[str, Run] = {
    "beam search": search_all,
    "greedy search": partial(search_all, settings=GREEDY),
    "candidates": partial(search_all, candidates=CANDIDATES),
    "few sentences": search_few,
    "constraints": partial(search_all, settings=NO_REPEATS, constraints=CONSTRAINTS),
    "constraints, candidates": partial(
        search_all, settings=NO_REPEATS, candidates=ALLOWED, constraints=CONSTRAINTS
    ),
    "continuations": continue_prefix,
    "sampling": draw,
    "scores": score,
    "scores of an n-best list": score_tree,
    "sentence vectors": source_vectors,
    "compositions": compositions,
    "guided attention": guided_cost,
}


def can_run(name: str, model: Model) -> bool:
    """Return whether a model does what one of `RUNS` needs."""
    if name == "guided attention":
        return model.has_attention
    needed = {"sentence vectors": HasSourceVectors, "compositions": HasComposition}
    return isinstance(model, needed.get(name, object))


def run_models(
    run: Run, configs: Sequence[Any], device: torch.device, fast: bool = True, factor: int = 1
) -> Any:
    """Run models with given configs on a device."""
    return run(ready_models(configs, device, fast, factor), device)


def ready_models(
    configs: Sequence[Any], device: torch.device, fast: bool = True, factor: int = 1
) -> list[Any]:
    """Return models on a device; `fast`: as `for_inference` returns them."""
    models = [
        make_model(config, seed, device, factor=factor).eval().requires_grad_(False)
        for seed, config in enumerate(configs)
    ]
    return [model.for_inference() for model in models] if fast else models


def difference(actual: Any, expected: Any) -> float:
    """Return the largest L2 norm of a tensor's error, relative to the norm of the expected."""
    if isinstance(expected, Hypothesis):
        if actual.ids != expected.ids:
            return math.inf
        pairs = torch.tensor([actual.word_scores, expected.word_scores])
        return max(difference(*pairs), difference(actual.alignment, expected.alignment))
    if isinstance(expected, list):
        parts = zip(actual, expected, strict=True)
        return max((difference(*pair) for pair in parts), default=0.0)
    if expected is None or not expected.numel():
        return 0.0
    ours, theirs = actual.cpu().double(), expected.cpu().double()
    found = float((ours - theirs).norm() / theirs.norm().clamp(min=SMALLEST_NORM))
    return math.inf if math.isnan(found) else found


def check_device(device: torch.device, factor: int = 1) -> Iterator[Check]:
    """Compare all trainings and runs of all models on a device with the CPU.

    :param factor: by which the sizes of the models are multiplied.
    """
    for name, config in CONFIGS.items():
        for kind, training in TRAININGS.items():
            yield check_training(f"{name}: {kind}", config, training, device, factor)
        model = make_model(config)
        for kind, run in RUNS.items():
            if can_run(kind, model):
                yield check_run(f"{name}: {kind}", [config], run, device, factor)
    ensemble = [CONFIGS["rnnsearch, groundhog"], CONFIGS["rnnsearch, factored"]]
    for kind in ("beam search", "candidates", "few sentences", "constraints", "sampling"):
        yield check_run(f"ensemble: {kind}", ensemble, RUNS[kind], device, factor)


def check_training(
    name: str, config: Any, training: Training, device: torch.device, factor: int
) -> Check:
    """Compare updates in float64, or the gradient in less, with the CPU's in float64."""
    exact = training.dtype == torch.float64
    work: Callable[[Model, Training], Any] = train if exact else gradient_of
    precision = "float64" if exact else training.settings.get("precision", "float32")
    std = 0.7 if exact else 0.3  # so that rounding does not grow from level to level
    expected = work(make_model(config, factor=factor, std=std), training if exact else Training({}))
    model = make_model(config, 1, device, training.dtype, factor, std)
    return Check(name, difference(work(model, training), expected), LIMITS[precision])


def check_run(
    name: str, configs: Sequence[Any], run: Run, device: torch.device, factor: int
) -> Check:
    """Compare a run in float64 with the CPU's."""
    actual, expected = (run_models(run, configs, place, True, factor) for place in (device, CPU))
    return Check(name, difference(actual, expected), LIMITS["float64"])
