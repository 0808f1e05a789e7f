"""Vectors of lines and words come in order and do not depend on other lines."""

from typing import Literal

import pytest
import torch

from nmtkit.data.batch import pad
from nmtkit.errors import ModelError
from nmtkit.inference.embedder import Embedder
from nmtkit.models.cslm import CSLMConfig
from nmtkit.models.deep_lstm import DeepLSTMConfig
from nmtkit.models.grconv import GrConvConfig
from nmtkit.models.phrase_rnn import PhraseRNNConfig
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.special_symbols import EOS

SIZES = {
    "rnnsearch": (None, 8),
    "rnnenc": (RNNencConfig(6, 5, 4), 5),
    "phrase-rnn": (PhraseRNNConfig(6, 5, 4, softmax_rank=3), 5),
    "grconv": (GrConvConfig(6, 7, 5, 4), 7),
    "deep-lstm": (DeepLSTMConfig(6, 5, layers=3), 30),
}
LINES = ["a b c", "", "e", "a b", "b a", "z", "c d e a b"] * 5


@pytest.fixture(params=list(SIZES))
def loaded(request, make_model):
    sizes, _ = SIZES[request.param]
    return make_model(1, sizes=sizes) if sizes else make_model(1)


def test_vectors_of_lines_do_not_depend_on_batches(loaded, request):
    embeddings = list(Embedder(loaded, batch_size=3).embed(iter(LINES)))
    assert [text for text, _ in embeddings] == LINES
    width = SIZES[request.node.callspec.params["loaded"]][1]
    for line, (_, vector) in zip(LINES, embeddings, strict=True):
        alone = loaded.model.summarise(*pad([[*loaded.src_vocab.ids(line.split()), EOS]]))[0]
        assert len(vector) == width
        assert vector == pytest.approx(alone.tolist(), abs=1e-6)


def test_word_vectors_follow_the_vocabulary_without_special_symbols(loaded):
    sides: list[tuple[Literal["source", "target"], str, str]] = [
        ("source", "abcde", "E_x"),
        ("target", "vwxyz", "E_y"),
    ]
    for side, words, matrix in sides:
        embeddings = list(Embedder(loaded).embed_words(side))
        assert "".join(word for word, _ in embeddings) == words
        rows = getattr(loaded.model, matrix)[2:].tolist()
        assert [vector for _, vector in embeddings] == rows
        assert list(Embedder(loaded).embed_words(side, limit=2)) == embeddings[:2]
        assert list(Embedder(loaded).embed_words(side, limit=99)) == embeddings


def test_word_vectors_are_read_in_several_windows(make_model, monkeypatch):
    loaded = make_model(1)
    expected = list(Embedder(loaded).embed_words("source"))
    monkeypatch.setattr("nmtkit.inference.embedder.EMBEDDING_BATCH_SIZE", 2)
    assert list(Embedder(loaded).embed_words("source")) == expected


def test_a_language_model_has_target_word_vectors_only(make_model):
    loaded = make_model(1, sizes=CSLMConfig(2, 3, 4, 5))
    assert [word for word, _ in Embedder(loaded).embed_words("target")] == list("vwxyz")
    for call in (
        lambda: list(Embedder(loaded).embed(["a"])),
        lambda: Embedder(loaded).embed_words("source"),
    ):
        with pytest.raises(ModelError, match="reads no source.*--vocabulary target"):
            list(call())


def test_dropout_does_not_change_vectors(make_model):
    """Without dropout and gradients, the same line has the same vector twice."""
    loaded = make_model(1, sizes=RNNencConfig(6, 5, 4, dropout=0.5))
    assert list(Embedder(loaded).embed(["a b"])) == list(Embedder(loaded).embed(["a b"]))
    assert torch.is_grad_enabled()
