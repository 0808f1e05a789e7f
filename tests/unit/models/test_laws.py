"""Properties of every model; a new model is tested by adding it to CASES."""

import dataclasses
from copy import deepcopy
from typing import Any

import pytest
import torch
from torch import Tensor

from nmtkit.data.batch import pad
from nmtkit.models import MODELS, kernels, model_name
from nmtkit.models.base import HasSourceVectors, HasTargetVectors, log_probs
from nmtkit.models.cslm import CSLMConfig
from nmtkit.models.deep_lstm import DeepLSTMConfig
from nmtkit.models.grconv import GrConvConfig
from nmtkit.models.phrase_rnn import PhraseRNNConfig
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.models.rnnsearch import RNNsearchConfig
from nmtkit.search import prefix_tree
from nmtkit.special_symbols import BOS
from tests.unit.models.growing_model import GrowingConfig, GrowingModel

SRC_SIZE, TGT_SIZE = 9, 7

fast_only = pytest.mark.skipif(kernels.PLAIN, reason="NMTKIT_PLAIN has neither oneDNN nor 8 bits")

CASES = {
    "rnnsearch, paper-v1": RNNsearchConfig(2, 3, 4, 2, decoder_variant="paper-v1"),
    "rnnsearch, paper-v2": RNNsearchConfig(2, 3, 4, 2, decoder_variant="paper-v2"),
    "rnnsearch, groundhog": RNNsearchConfig(2, 3, 4, 2, decoder_variant="groundhog"),
    "rnnsearch, paper-v1, tied": RNNsearchConfig(2, 3, 4, 2, decoder_variant="paper-v1", tied=True),
    "rnnsearch, groundhog, tied": RNNsearchConfig(
        2, 3, 4, 2, decoder_variant="groundhog", tied=True
    ),
    "rnnsearch, paper-v2, factored": RNNsearchConfig(
        2, 3, 4, 2, decoder_variant="paper-v2", softmax_rank=5
    ),
    "rnnsearch, groundhog, factored": RNNsearchConfig(2, 3, 4, 2, softmax_rank=3),
    "rnnsearch, lexical module": RNNsearchConfig(2, 3, 4, 2, tied=True, lexical_module=True),
    "rnnsearch, paper-v1, lexical module": RNNsearchConfig(
        2, 3, 4, 5, decoder_variant="paper-v1", lexical_module=True
    ),
    "rnnsearch, paper-v2, factored, lexical module": RNNsearchConfig(
        2, 3, 4, 2, decoder_variant="paper-v2", softmax_rank=5, lexical_module=True
    ),
    "rnnenc": RNNencConfig(2, 3, 2),
    "rnnenc, tied": RNNencConfig(2, 3, 2, tied=True),
    "phrase-rnn": PhraseRNNConfig(2, 3, 2, softmax_rank=3),
    "grconv": GrConvConfig(2, 4, 3, 2),
    "deep-lstm": DeepLSTMConfig(2, 3, layers=2),
    "deep-lstm, forward, one layer, no peepholes": DeepLSTMConfig(
        2, 3, layers=1, reverse=False, peepholes=False
    ),
    "deep-lstm, tied": DeepLSTMConfig(2, 3, layers=3, tied=True),
    "cslm": CSLMConfig(3, 2, 5, 4),
    "cslm, 2-gram": CSLMConfig(1, 2, 5, 4),
    "growing state, refillable": GrowingConfig(),
    "growing state, not refillable": GrowingConfig(refillable=False),
}

SOURCES = [[3, 8, 1, 4, 0], [0], [5, 2, 0], [2, 0]]
TARGETS = [[2, 6, 0], [4, 1, 3, 5, 0], [0], [6, 6, 0]]


def model_class(config):
    return GrowingModel if isinstance(config, GrowingConfig) else MODELS[model_name(config)]


def random_model(config, seed=1):
    """Return a model in float64 with random parameters, including biases, that all matter."""
    torch.manual_seed(seed)
    model = model_class(config)(config, SRC_SIZE, TGT_SIZE).double().eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return model


@pytest.fixture(params=list(CASES))
def model(request):
    return random_model(CASES[request.param])


@pytest.fixture
def batch():
    return (*pad(SOURCES), *pad(TARGETS))


def step_log_probs(model, src, src_mask, tgt):
    """Feed the target words to `step`, one after the other.

    :return: log-probabilities of all words [B, T_y, K]; alignments [B, T_y, T_x] or None.
    """
    encoded = model.encode(src, src_mask)
    state, prev = model.initial_state(encoded), torch.full_like(tgt[:, :1], BOS)
    result, alignments = [], []
    for position in range(tgt.size(1)):
        hidden, state, alignment = model.step(prev, state, encoded)
        result.append(log_probs(model.output_layer(), hidden))
        alignments.append(alignment)
        prev = tgt[:, position : position + 1]
    rows = None if alignments[0] is None else torch.cat(alignments, 1)
    return torch.cat(result, 1), rows


def tensors(state):
    """Return the tensors of a state or an encoded source."""
    result: list[Tensor] = []
    for value in vars(state).values():
        result += value if isinstance(value, tuple) else [value]
    return result


def log_probs_of_targets(values: Tensor, tgt: Tensor) -> Tensor:
    return values.gather(2, tgt.unsqueeze(2)).squeeze(2)


def with_source_vectors(model):
    if not isinstance(model, HasSourceVectors):
        pytest.skip("this model reads no source")
    return model


def add_padding(ids, mask, columns, garbage):
    """Add padding to the end of each sentence, with ids that are not 0."""
    more = torch.full((len(ids), columns), garbage)
    ids = torch.where(mask, ids, garbage)
    return torch.cat([ids, more], 1), torch.cat([mask, more < 0], 1)


def test_every_model_is_listed():
    classes = {model_class(config) for config in CASES.values()}
    assert classes == {*MODELS.values(), GrowingModel}


def test_the_default_config_builds_the_model_that_its_name_says():
    for name, kind in MODELS.items():
        assert model_name(kind.config_class()) == name


def test_next_words_have_probabilities_that_sum_to_1(model, batch):
    actual, _ = step_log_probs(model, batch[0], batch[1], batch[2])
    assert actual.shape == (4, 5, TGT_SIZE)
    torch.testing.assert_close(actual.exp().sum(2), torch.ones(4, 5).double())


@fast_only
def test_cost_and_gradients_are_the_same_by_onednn(model, batch, request, onednn_calls):
    if isinstance(model, GrowingModel):
        pytest.skip("its own products are always torch's")
    model.loss(*batch).backward()
    expected = [parameter.grad.float() for parameter in model.parameters()]
    model.zero_grad()
    request.getfixturevalue("always_onednn")
    model.float().loss(*batch).backward()
    actual = [parameter.grad for parameter in model.parameters()]
    torch.testing.assert_close(actual, expected, rtol=1e-3, atol=1e-4)
    assert len(onednn_calls) > 5


@pytest.mark.parametrize("smoothing", [0.0, 0.1, 0.5])
def test_loss_equals_repeated_step(model, batch, smoothing):
    src, src_mask, tgt, tgt_mask = batch
    actual, _ = step_log_probs(model, src, src_mask, tgt)
    target = (1 - smoothing) * log_probs_of_targets(actual, tgt) + smoothing * actual.mean(2)
    loss = model.loss(*batch, label_smoothing=smoothing)
    torch.testing.assert_close(loss, -target[tgt_mask].sum())


def test_translations_with_shared_prefixes_are_scored_as_each_alone(model, monkeypatch):
    monkeypatch.setattr(prefix_tree, "MAX_PREFIXES", 2)
    targets = [[2, 6, 0], [2, 6, 6, 1, 0], [0], [2, 6, 6, 1, 0], [4, 6, 0], [2, 0], [2, 6, 6, 2, 0]]
    tree = prefix_tree.PrefixTree(targets)
    for fast_model in (model, model.for_inference()):
        src, src_mask = pad(SOURCES[:1])
        actual = prefix_tree.tree_log_probs(fast_model, src, src_mask, tree)
        assert actual.shape == (tree.size,)
        for path, target in zip(tree.paths, targets, strict=True):
            alone = model.score(src, src_mask, *pad([target])).log_probs[0]
            torch.testing.assert_close(actual[path], alone)


def test_score_equals_repeated_step(model, batch):
    src, src_mask, tgt, tgt_mask = batch
    actual, alignment = step_log_probs(model, src, src_mask, tgt)
    scored = model.score(*batch)
    torch.testing.assert_close(
        scored.log_probs[tgt_mask], log_probs_of_targets(actual, tgt)[tgt_mask]
    )
    assert (scored.log_probs[~tgt_mask] == 0).all()
    assert (scored.alignment is None) == (alignment is None)
    if alignment is not None:
        torch.testing.assert_close(scored.alignment[tgt_mask], alignment[tgt_mask])


def test_loss_is_minus_the_sum_of_scores(model, batch):
    torch.testing.assert_close(model.loss(*batch), -model.score(*batch).log_probs.sum())


@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_padding_changes_nothing(model, batch, smoothing):
    src, src_mask, tgt, tgt_mask = batch
    wide = (*add_padding(src, src_mask, 3, 7), *add_padding(tgt, tgt_mask, 2, 5))
    torch.testing.assert_close(model.loss(*wide, smoothing), model.loss(*batch, smoothing))
    narrow, scored = model.score(*batch), model.score(*wide)
    torch.testing.assert_close(scored.log_probs[:, : tgt.size(1)], narrow.log_probs)
    assert (scored.log_probs[:, tgt.size(1) :] == 0).all()
    if narrow.alignment is not None:
        kept = scored.alignment[:, : tgt.size(1), : src.size(1)]
        torch.testing.assert_close(kept[tgt_mask], narrow.alignment[tgt_mask])
        assert (scored.alignment[:, :, src.size(1) :] == 0).all()


def test_padding_changes_no_gradient(model, batch):
    src, src_mask, tgt, tgt_mask = batch
    wide = (*add_padding(src, src_mask, 3, 7), *add_padding(tgt, tgt_mask, 2, 5))
    parameters = list(model.parameters())
    expected = torch.autograd.grad(model.loss(*batch), parameters)
    actual = torch.autograd.grad(model.loss(*wide), parameters)
    torch.testing.assert_close(actual, expected)


def test_steps_do_not_see_padding(model, batch):
    src, src_mask, tgt, _ = batch
    expected, _ = step_log_probs(model, src, src_mask, tgt)
    wide, wide_mask = add_padding(src, src_mask, 4, 8)
    actual, _ = step_log_probs(model, wide, wide_mask, tgt)
    torch.testing.assert_close(actual, expected)


def test_a_batch_of_n_is_n_batches_of_one(model, batch):
    together = model.score(*batch)
    apart = torch.zeros_like(together.log_probs)
    loss = torch.zeros(()).double()
    for row, (source, target) in enumerate(zip(SOURCES, TARGETS, strict=True)):
        alone = (*pad([source]), *pad([target]))
        apart[row, : len(target)] = model.score(*alone).log_probs[0]
        loss = loss + model.loss(*alone, label_smoothing=0.1)
    torch.testing.assert_close(together.log_probs, apart)
    torch.testing.assert_close(model.loss(*batch, label_smoothing=0.1), loss)


def test_targets_that_share_a_source_are_scored_as_if_each_had_its_own(model):
    rows = [2, 0, 2, 2]
    targets = pad(TARGETS)
    expected = model.score(*pad([SOURCES[row] for row in rows]), *targets)
    actual = model.score(*pad(SOURCES), *targets, torch.tensor(rows))
    torch.testing.assert_close(actual.log_probs, expected.log_probs)
    if expected.alignment is not None:
        width = expected.alignment.size(2)
        torch.testing.assert_close(actual.alignment[:, :, :width], expected.alignment)
        assert (actual.alignment[:, :, width:] == 0).all()


def test_gradient_equals_finite_differences(model):
    batch = (*pad(SOURCES[:3]), *pad(TARGETS[:3]))
    parameters = tuple(model.parameters())

    def loss(*_: Tensor) -> Tensor:
        return model.loss(*batch, label_smoothing=0.2)

    assert torch.autograd.gradcheck(loss, parameters, fast_mode=True)


def test_the_loss_depends_on_every_parameter(model, batch):
    gradients = torch.autograd.grad(model.loss(*batch), list(model.parameters()))
    for (name, _), gradient in zip(model.named_parameters(), gradients, strict=True):
        assert gradient.abs().max() > 0, name


def test_alignment_rows_sum_to_1_and_are_0_at_padding(model, batch):
    src, src_mask, tgt, tgt_mask = batch
    for alignment in (model.score(*batch).alignment, step_log_probs(model, src, src_mask, tgt)[1]):
        if alignment is None:
            continue
        assert alignment.shape == (4, tgt.size(1), src.size(1))
        torch.testing.assert_close(
            alignment.sum(2)[tgt_mask], torch.ones(int(tgt_mask.sum())).double()
        )
        at_padding = alignment.masked_select(~src_mask.unsqueeze(1))
        assert len(at_padding) and (at_padding == 0).all()
        assert (alignment.masked_select(src_mask.unsqueeze(1) & tgt_mask.unsqueeze(2)) > 0).all()


def state_after(model, encoded, prefixes):
    """Return the state after several prefixes of equal length per sentence, step by step.

    :param prefixes: Shape: [B, k, length].
    """
    prev = torch.full_like(prefixes[:, :, 0], BOS)
    state = model.initial_state(encoded).select_hypotheses(torch.zeros_like(prev))
    for position in range(prefixes.size(2)):
        _, state, _ = model.step(prev, state, encoded)
        prev = prefixes[:, :, position]
    return prev, state


@pytest.fixture
def prefixes():
    return torch.randint(0, TGT_SIZE, (4, 3, 2), generator=torch.Generator().manual_seed(3))


def test_initial_state_has_one_hypothesis(model, batch):
    encoded = model.encode(*batch[:2])
    for tensor in tensors(encoded):
        assert len(tensor) == 4
    for tensor in tensors(model.initial_state(encoded)):
        assert tensor.shape[:2] == (4, 1)


def test_k_hypotheses_are_k_separate_steps(model, batch, prefixes):
    encoded = model.encode(*batch[:2])
    together = model.step(*state_after(model, encoded, prefixes), encoded)
    for k in range(3):
        alone = model.step(*state_after(model, encoded, prefixes[:, k : k + 1]), encoded)
        torch.testing.assert_close(together.readout[:, k], alone.readout[:, 0])
        for ours, theirs in zip(tensors(together.state), tensors(alone.state), strict=True):
            torch.testing.assert_close(ours[:, k], theirs[:, 0])
        if together.alignment is not None:
            torch.testing.assert_close(together.alignment[:, k], alone.alignment[:, 0])


def test_selected_sentences_continue_independently(model, batch, prefixes):
    rows = torch.tensor([2, 0, 2])
    encoded = model.encode(*batch[:2])
    prev, state = state_after(model, encoded, prefixes)
    all_of_them = model.step(prev, state, encoded)
    some = model.step(prev[rows], state.select_sentences(rows), encoded.select_sentences(rows))
    torch.testing.assert_close(some.readout, all_of_them.readout[rows])


def test_selected_hypotheses_continue_from_their_parents(model, batch, prefixes):
    parents = torch.tensor([[2, 2, 0, 1], [0, 0, 0, 0], [1, 2, 0, 1], [2, 1, 1, 0]])
    encoded = model.encode(*batch[:2])
    prev, state = state_after(model, encoded, prefixes)
    before = model.step(prev, state, encoded)
    after = model.step(prev.gather(1, parents), state.select_hypotheses(parents), encoded)
    for sentence in range(4):
        for k in range(4):
            parent = before.readout[sentence, parents[sentence, k]]
            torch.testing.assert_close(after.readout[sentence, k], parent)


def test_trim_padding_changes_no_step(model, batch, prefixes):
    rows = torch.tensor([2, 3])  # of 3 and 2 words
    encoded = model.encode(*batch[:2]).select_sentences(rows)
    narrow = encoded.trim_padding()
    assert type(narrow) is type(encoded) and all(len(value) == 2 for value in tensors(narrow))
    prev, state = state_after(model, encoded, prefixes[:2])
    expected, actual = (model.step(prev, state, read) for read in (encoded, narrow))
    torch.testing.assert_close(actual.readout, expected.readout)
    if expected.alignment is not None:
        torch.testing.assert_close(actual.alignment, expected.alignment[..., :3])


def test_neither_step_nor_selection_changes_its_arguments(model, batch, prefixes):
    encoded = model.encode(*batch[:2])
    prev, state = state_after(model, encoded, prefixes)
    copies = [value.clone() for value in (prev, *tensors(state), *tensors(encoded))]
    model.step(prev, state, encoded)
    state.select_hypotheses(torch.zeros(4, 2, dtype=torch.int64))
    for value, copy in zip((prev, *tensors(state), *tensors(encoded)), copies, strict=True):
        assert torch.equal(value, copy)


def test_for_inference_takes_the_same_steps(model, batch):
    src, src_mask, tgt, _ = batch
    expected = step_log_probs(model, src, src_mask, tgt)
    fast_model = model.for_inference()
    for _ in range(2):  # the second time from the cache
        for actual, other in zip(
            step_log_probs(fast_model, src, src_mask, tgt), expected, strict=True
        ):
            torch.testing.assert_close(actual, other)
    again = fast_model.for_inference()
    torch.testing.assert_close(step_log_probs(again, src, src_mask, tgt)[0], expected[0])


@fast_only
@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_rounded_products_give_nearly_the_same_steps(model, batch, precision):
    if isinstance(model, GrowingModel):
        pytest.skip("only its output layer is rounded, in search")
    src, src_mask, tgt, tgt_mask = batch
    expected, _ = step_log_probs(model, src, src_mask, tgt)
    actual, alignment = step_log_probs(model.for_inference(precision), src, src_mask, tgt)
    error = (actual - expected).abs()[tgt_mask]
    assert 0 < error.mean() < 0.1
    torch.testing.assert_close(actual.exp().sum(2), torch.ones(4, 5).double())
    if alignment is not None:
        torch.testing.assert_close(alignment.sum(2), torch.ones(4, tgt.size(1)).double())


@fast_only
@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_rounding_keeps_sentences_and_hypotheses_apart(model, batch, prefixes, precision):
    model = model.for_inference(precision)
    encoded = model.encode(*batch[:2])
    prev, state = state_after(model, encoded, prefixes)
    together = model.step(prev, state, encoded)
    for row in range(4):
        rows = torch.tensor([row])
        second = state.select_sentences(rows).select_hypotheses(torch.tensor([[1]]))
        alone = model.step(prev[rows][:, 1:2], second, encoded.select_sentences(rows))
        torch.testing.assert_close(alone.readout[0, 0], together.readout[row, 1])


@fast_only
@pytest.mark.parametrize("precision", ["bfloat16", "int8"])
def test_rounding_is_the_same_for_a_line_that_is_alone(model, batch, precision):
    model = model.for_inference(precision)
    src, src_mask, tgt, _ = batch
    together, _ = step_log_probs(model, src, src_mask, tgt)
    for row in range(4):
        one, length = slice(row, row + 1), int(src_mask[row].sum())
        alone, _ = step_log_probs(model, src[one, :length], src_mask[one, :length], tgt[one])
        torch.testing.assert_close(alone[0], together[row], atol=1e-4, rtol=1e-4)


@fast_only
@pytest.mark.parametrize("precision", ["float32", "bfloat16", "int8"])
def test_a_model_for_inference_gives_the_same_evidence_of_translations(model, batch, precision):
    """Its steps may keep the source as nothing else can read it."""
    if not model.reads_source:
        pytest.skip("there is no source")
    expected = model.evidence(*batch, None)
    for actual, other in zip(
        model.for_inference(precision).evidence(*batch, None), expected, strict=True
    ):
        assert (actual is None) == (other is None)
        if actual is not None:
            torch.testing.assert_close(actual, other)


def test_a_model_has_vectors_of_what_it_reads(model):
    assert isinstance(model, HasSourceVectors) == model.reads_source
    assert isinstance(model, HasTargetVectors)


def test_a_summary_is_one_vector_for_each_sentence_whatever_its_batch(model, batch):
    src, src_mask = batch[:2]
    summary = with_source_vectors(model).summarise(src, src_mask)
    assert summary.dim() == 2 and len(summary) == len(SOURCES)
    torch.testing.assert_close(summary, model.summarise(*add_padding(src, src_mask, 3, 7)))
    for row, source in enumerate(SOURCES):
        torch.testing.assert_close(summary[row], model.summarise(*pad([source]))[0])


def test_summaries_depend_on_every_word_and_on_their_order(model):
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.mul_(0.3)  # so that no gate is closed to a word
    sources = [[3, 8, 1, 0], [8, 3, 1, 0], [3, 1, 8, 0], [3, 8, 2, 0], [5, 8, 1, 0]]
    first, *others = with_source_vectors(model).summarise(*pad(sources))
    assert all((first - other).abs().max() > 1e-6 for other in others)


def test_embeddings_are_rows_of_the_embedding_matrices(model):
    words = torch.tensor([[3, 1, 4], [0, 0, 2]])
    assert torch.equal(model.target_embeddings(words), model.E_y[words])
    actual = with_source_vectors(model).source_embeddings(words)
    assert torch.equal(actual, model.E_x[words])


def with_dropout(config):
    if "dropout" not in {field.name for field in dataclasses.fields(config)}:
        pytest.skip("this model has no dropout")
    return random_model(dataclasses.replace(config, dropout=0.5))


@pytest.mark.parametrize("name", list(CASES))
def test_dropout_works_in_training_only(name, batch):
    dropped = with_dropout(CASES[name])
    expected = random_model(CASES[name]).loss(*batch)
    assert torch.equal(dropped.loss(*batch), expected)
    dropped.train()
    torch.manual_seed(5)
    losses = [dropped.loss(*batch).item() for _ in range(3)]
    assert len({*losses, expected.item()}) == 4
    torch.manual_seed(5)
    assert [dropped.loss(*batch).item() for _ in range(3)] == losses
    assert torch.equal(dropped.eval().loss(*batch), expected)


@pytest.mark.parametrize("name", list(CASES))
def test_gradient_with_dropout_equals_finite_differences(name):
    model = with_dropout(CASES[name]).train()
    batch = (*pad(SOURCES[2:]), *pad(TARGETS[2:]))

    def loss(*_: Tensor) -> Tensor:
        torch.manual_seed(2)
        return model.loss(*batch)

    assert torch.autograd.gradcheck(loss, tuple(model.parameters()), fast_mode=True)


@pytest.mark.parametrize("name", list(CASES))
def test_initialisation_is_decided_by_the_seed(name):
    def initialised_model(seed):
        torch.manual_seed(seed)
        config: Any = CASES[name]
        return dict(model_class(config)(config, SRC_SIZE, TGT_SIZE).named_parameters())

    first, same, other = initialised_model(1), initialised_model(1), initialised_model(2)
    assert all(torch.equal(first[key], same[key]) for key in first)
    assert not all(torch.equal(first[key], other[key]) for key in first)


def test_the_divergence_from_itself_is_zero_and_moves_nothing(model, batch):
    teacher = deepcopy(model)
    divergence = model.divergence(*batch, teacher)
    divergence.backward()
    assert divergence.item() == pytest.approx(0, abs=1e-12)
    for parameter in model.parameters():
        assert parameter.grad is None or parameter.grad.abs().max() < 1e-12


@pytest.mark.parametrize("case", list(CASES))
def test_the_divergence_is_that_of_the_distributions_at_each_target_word(case, batch):
    model, teacher = random_model(CASES[case]), random_model(CASES[case], seed=2)
    src, src_mask, tgt, tgt_mask = batch
    with torch.no_grad():
        log_q, log_p = (step_log_probs(one, src, src_mask, tgt)[0] for one in (model, teacher))
    expected = (log_p.exp() * (log_p - log_q)).sum(2)[tgt_mask].sum()
    divergence = model.divergence(*batch, teacher)
    divergence.backward()
    assert divergence.item() == pytest.approx(float(expected), rel=1e-5)
    assert all(parameter.grad is None for parameter in teacher.parameters())
