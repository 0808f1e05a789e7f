"""Links of one pair by attention and a table of translations."""

from collections.abc import Callable

import numpy as np
import pytest
import torch

from nmtkit.inference.translated_links import PairIds, diagonal, link_weights, with_translations
from nmtkit.model_folder import LoadedModel
from nmtkit.special_symbols import EOS
from nmtkit.text.pair_cells import ATTENTION_EXPONENT, MIN_TRANSLATION
from nmtkit.text.translation_table import TranslationTable

SRC, TGT = "abcd", "wxyz"


@pytest.fixture
def model(make_model: Callable[..., LoadedModel]) -> LoadedModel:
    return make_model(1, src=" ".join(SRC), tgt=" ".join(TGT))


def table_of(model: LoadedModel, translations: dict[tuple[str, str], float]) -> TranslationTable:
    size = len(model.tgt_vocab)
    entries = sorted(
        (model.src_vocab.ids([x])[0] * size + model.tgt_vocab.ids([y])[0], value)
        for (x, y), value in translations.items()
    )
    keys, values = zip(*entries, strict=True)
    return TranslationTable(np.array(keys, np.int64), np.array(values), size)


def test_weights_are_those_of_the_formula(model: LoadedModel) -> None:
    translations = {("a", "w"): 0.5, ("b", "w"): 0.25, ("b", "x"): 0.75}
    ids = PairIds.of("ab", "wx", model)
    assert ids.src.tolist() == [*model.src_vocab.ids("ab"), EOS]
    attention = np.random.default_rng(1).dirichlet(np.ones(3), 2).astype(np.float32)
    found = link_weights(attention, ids, table_of(model, translations))
    for row, y in enumerate("wx"):
        weights = [
            float(attention[row, column]) ** ATTENTION_EXPONENT
            * translations.get((x, y), MIN_TRANSLATION)
            for column, x in enumerate(("a", "b", "</s>"))
        ]
        assert found[row].tolist() == pytest.approx([w / sum(weights) for w in weights], rel=1e-4)


def test_the_end_of_the_target_keeps_its_attention(model: LoadedModel) -> None:
    matrix = torch.tensor([[0.2, 0.3, 0.5], [0.6, 0.2, 0.2]])
    table = table_of(model, {("b", "w"): 0.9})
    found = with_translations(matrix, "ab", "w", model, table)
    assert torch.equal(found[1], matrix[1])
    assert found[0].argmax() == 1 and float(found[0].sum()) == pytest.approx(1)


@pytest.mark.parametrize(("target", "source"), [(0, 0), (3, 0), (0, 3), (2, 5), (5, 2), (4, 4)])
@pytest.mark.parametrize("finished", [True, False])
def test_diagonal_rows_are_distributions_and_go_forward(
    target: int, source: int, finished: bool
) -> None:
    matrix = diagonal(target, source, finished)
    assert matrix.shape == (target + finished, source + 1)
    assert torch.allclose(matrix.sum(1), torch.ones(len(matrix)))
    best = matrix.argmax(1).tolist()
    assert best == sorted(best)
    if target == source:
        assert best == list(range(len(best)))
