"""Models that can form an ensemble, and models that cannot."""

import pytest
import torch

from nmtkit.errors import ConfigError, ModelError
from nmtkit.inference import ensemble as ensemble_module
from nmtkit.inference.ensemble import Ensemble, one_thread_if
from nmtkit.models import kernels


def test_no_model_is_an_error():
    with pytest.raises(ModelError, match="at least one"):
        Ensemble(())


@pytest.mark.parametrize(
    ("words", "message"),
    [
        ("vwxzy", "7 and 7 words; word 6 is 'y' in one, 'z' in the other"),
        ("vwxyzq", "7 and 8 words; one continues"),
    ],
)
def test_models_with_other_target_words_are_refused(make_model, words, message):
    with pytest.raises(ModelError, match=f"models 1 and 3 .*{message}"):
        Ensemble((make_model(1), make_model(2), make_model(3, tgt=words)))


def test_each_model_uses_its_own_source_vocabulary(make_model):
    ensemble = Ensemble((make_model(1, src="ab"), make_model(2, src="qba")))
    tokens = [ensemble.source_tokens(line) for line in ("a b", "b")]
    ids, mask = ensemble.source_batch(tokens, 0)
    assert ids.tolist() == [[2, 3, 0], [3, 0, 0]]
    assert mask.sum(1).tolist() == [3, 2]
    assert ensemble.source_batch(tokens, 1)[0].tolist() == [[4, 3, 0], [3, 0, 0]]


@pytest.mark.parametrize("weights", [(1e308, 1e308), (1e308, 1e-300), (1e-320, 1e10)])
def test_weights_whose_shares_vanish_are_refused(make_model, weights):
    models = Ensemble((make_model(1), make_model(2)))
    with pytest.raises(ConfigError, match="too large or too different"):
        models.averaged(weights)


@pytest.fixture
def two_threads():
    torch.set_num_threads(2)


@pytest.mark.parametrize(("small", "threads"), [(True, 1), (False, 2)])
def test_small_work_has_one_thread(two_threads, small, threads):
    with one_thread_if(small):
        assert torch.get_num_threads() == threads
    assert torch.get_num_threads() == 2


def test_the_number_is_restored_after_an_error(two_threads):
    with pytest.raises(ValueError), one_thread_if(True):
        raise ValueError
    assert torch.get_num_threads() == 2


@pytest.mark.parametrize(
    ("size", "multiplies", "expected"),
    [(1, True, True), (1, False, False), (512, True, False)],
)
def test_large_models_search_in_bfloat16_where_the_processor_multiplies_it(
    make_model, monkeypatch, size, multiplies, expected
):
    monkeypatch.setattr(ensemble_module, "BFLOAT16_SIZE", size)
    monkeypatch.setattr(ensemble_module, "multiplies_bfloat16", lambda device: multiplies)
    models = Ensemble((make_model(1), make_model(2)))
    for model in models.for_inference("auto").models:
        assert model.output_layer().rounds_shards == (expected and not kernels.PLAIN)
    assert not any(model.output_layer().rounds_shards for model in models.for_inference().models)
