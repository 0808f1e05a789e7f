"""Windows of lines: what is refused or named before a search, and alignments after it."""

import pytest
import torch

from nmtkit.errors import ModelError
from nmtkit.inference import window_search
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.text.subword.bpe import BPE


def test_a_very_long_line_is_named_before_it_is_searched(translator, monkeypatch, caplog):
    monkeypatch.setattr(window_search, "LONG_LINE", 3)
    list(translator.translate(["a b c", "a b c d", "a"]))
    (message,) = [text for text in caplog.messages if "this may take minutes" in text]
    assert message.startswith("line 2: 4 tokens")


@pytest.mark.parametrize("call", [Translator.translate, Translator.sample])
def test_without_attention_what_needs_it_is_refused_before_a_line_is_read(make_model, call):
    """An unknown word may be in the last of a million translations."""
    loaded = make_model(1, sizes=RNNencConfig(embedding=6, hidden=8, maxout=4))
    plain = Translator(Ensemble((loaded,)))
    for translator, options in (
        (plain.with_replacements({}), {}),
        (plain, {"alignments": True}),
        (plain, {"coverage_penalty": 0.5}),
    ):
        with pytest.raises(ModelError, match="^a model in memory: the model has no alignment"):
            call(translator, [], **options)


def test_alignments_of_an_ensemble_do_not_depend_on_other_lines(make_model):
    """The second model splits `ab` into pieces, and reads `a b` as the first does."""
    words = make_model(1, src="ab a b")
    pieces = make_model(2, src="ab a b", bpe=BPE([]))
    translator = Translator(Ensemble((words, pieces)))
    [alone] = translator.translate(["a b"], alignments=True)
    [beside, _] = translator.translate(["a b", "ab"], alignments=True)
    torch.testing.assert_close(beside[0].alignment, alone[0].alignment)
