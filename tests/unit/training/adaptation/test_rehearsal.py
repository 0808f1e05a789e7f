"""Random lines with the old model's translations keep what it predicts elsewhere."""

import copy
import dataclasses
from itertools import islice

import numpy as np
import pytest
import torch

from nmtkit.config import TrainingConfig
from nmtkit.data.batching import Batches
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.special_symbols import EOS
from nmtkit.text.vocabulary import Vocabulary
from nmtkit.training.adaptation import rehearsal
from nmtkit.training.adaptation.corrections import batching, corpus_of
from nmtkit.training.adaptation.fine_tuning import FineTuner, FineTuningSettings
from nmtkit.training.adaptation.rehearsal import Rehearsal

TAGGED = {"src": "a b <t> d e f", "tags": ("<t>",)}


@pytest.fixture
def make_rehearsal(monkeypatch):
    """Return a function: `make_rehearsal(model)` rehearses blocks of 20 lines."""
    monkeypatch.setattr(rehearsal, "BLOCK", 20)
    return lambda model, seed=1: Rehearsal(model, model.model, 30, seed)


def counted(model, counts):
    words = Vocabulary(model.src_vocab.words, counts)
    return dataclasses.replace(model, src_vocab=words)


def brief(model):
    """Return the model with translations of a word or two, where only the sources count."""
    search = dataclasses.replace(model.config.search, max_length_ratio=0.01)
    return dataclasses.replace(model, config=dataclasses.replace(model.config, search=search))


def sentences(batches, count=60):
    """Return the distinct pairs of ids of some batches."""
    found = {}
    for batch in islice(batches, count):
        rows = zip(batch.src, batch.src_mask, batch.tgt, batch.tgt_mask, strict=True)
        for src, src_mask, tgt, tgt_mask in rows:
            found[tuple(src[src_mask].tolist())] = tuple(tgt[tgt_mask].tolist())
    return found


def test_targets_are_the_models_translations(make_model, make_rehearsal):
    model = make_model(1)
    translator, limit = Translator(Ensemble((model,))), model.config.data.max_length
    pairs = sentences(make_rehearsal(model))
    lines = [" ".join(model.src_vocab.tokens(src[:-1])) for src in pairs]
    for [best], tgt in zip(translator.translate(lines, beam=1), pairs.values(), strict=True):
        assert tgt == (*model.tgt_vocab.ids(best.tokens[:limit]), EOS)


def test_batches_are_rehearsed_without_dropout_and_keep_to_their_size(make_model, make_rehearsal):
    for batch in islice(make_rehearsal(make_model(1)), 60):
        assert batch.rehearsed and not batch.dropout
        assert batch.tgt.numel() <= 30 or len(batch.lines) == 1


def test_each_block_is_used_once(make_model, make_rehearsal):
    rows = [len(batch.lines) for batch in islice(make_rehearsal(make_model(1)), 60)]
    ends = np.cumsum(rows).tolist()
    assert {20, 40, 60} <= set(ends)
    batches = list(islice(make_rehearsal(make_model(1)), ends.index(40) + 1))
    first, second = batches[: ends.index(20) + 1], batches[ends.index(20) + 1 :]
    assert sentences(first).keys() != sentences(second).keys()


def test_the_same_seed_gives_the_same_batches(make_model, make_rehearsal):
    one, same, other = (sentences(make_rehearsal(make_model(1), seed), 30) for seed in (1, 1, 2))
    assert one == same != other


def test_words_are_as_frequent_as_in_the_training_data(make_model, make_rehearsal):
    model = counted(brief(make_model(1)), [100, 0, 600, 300, 100, 0, 0])  # </s> <unk> a b c d e
    drawn = [word for src in sentences(make_rehearsal(model), 300) for word in src[:-1]]
    counts = np.bincount(drawn, minlength=7)
    assert not counts[[0, 1, 5, 6]].any()
    assert counts[2] > 1.5 * counts[3] > 3 * counts[4] > 0


def test_words_without_counts_are_drawn_by_their_rank(make_model, make_rehearsal):
    model = brief(make_model(1))
    drawn = [word for src in sentences(make_rehearsal(model), 300) for word in src[:-1]]
    counts = np.bincount(drawn, minlength=7)
    assert counts[2] > counts[4] > counts[6] > 0 and not counts[:2].any()


def test_lines_are_as_long_as_those_of_the_training_in_the_mean(make_model, make_rehearsal):
    model = counted(brief(make_model(1)), [100, 0, 500, 0, 0, 100, 0])  # 6 words a sentence
    masks = [batch.src_mask for batch in islice(make_rehearsal(model), 300)]
    lengths = [int(length) - 1 for mask in masks for length in mask.sum(1)]
    assert max(lengths) == 12 and np.mean(lengths) == pytest.approx(6.5, abs=1.5)


def test_lines_are_no_longer_than_those_that_the_model_was_trained_on(make_model, make_rehearsal):
    model = make_model(1)
    data = dataclasses.replace(model.config.data, max_length=3)
    model = dataclasses.replace(model, config=dataclasses.replace(model.config, data=data))
    pairs = sentences(make_rehearsal(model), 100)
    assert max(map(len, pairs)) == 4 >= max(map(len, pairs.values()))


def test_some_lines_begin_with_a_tag_which_stands_nowhere_else(make_model, make_rehearsal):
    model = brief(make_model(1, **TAGGED))
    [tag] = model.src_vocab.ids(["<t>"])
    sources = sentences(make_rehearsal(model), 300)
    assert {src[0] == tag for src in sources} == {True, False}
    assert all(tag not in src[1:] for src in sources)


def test_a_rehearsing_model_changes_less_elsewhere_and_learns_the_corrections(
    make_model, make_rehearsal
):
    old = make_model(1)
    elsewhere = next(iter(make_rehearsal(old, seed=7)))
    corpus = corpus_of([((2, 3, 0), (6, 5, 4, 0)), ((4, 3, 6, 0), (2, 2, 0))], old, "test")
    costs, divergences = [], []
    for replay in (None, make_rehearsal(old)):
        model = copy.deepcopy(old.model).requires_grad_(True)
        corrections = Batches(corpus, batching(old.config.data, 30), 1)
        settings = FineTuningSettings(learning_rate=0.01, warmup=1)
        words = old.tgt_vocab
        tuner = FineTuner(model, corrections, replay, settings, TrainingConfig(), words)
        for _ in range(150):
            tuner.update()
        with torch.no_grad():
            model.eval()
            costs.append(float(model.loss(*next(iter(corrections))[:4])))
            divergences.append(float(model.divergence(*elsewhere[:4], old.model)))
    assert max(costs) < 1
    assert divergences[1] < 0.5 * divergences[0]
