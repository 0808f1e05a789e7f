"""Results of lines as clients see them."""

from collections.abc import Callable
from typing import Any, Literal

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import LoadedModel
from nmtkit.models.rnnenc import RNNencConfig
from nmtkit.serve.piece import PieceTranslator
from nmtkit.serve.task import Task
from nmtkit.text.markers import SYMBOLS

TASK = Task(details=True, markup="html")

lines = st.lists(
    st.sampled_from(["a", "b", "<b>", "</b>", "<i x='a b'>", "</i>", "&amp;", "<br>", "%s"])
).map(" ".join)


@pytest.fixture(params=["none", "html"])
def pieces(make_model: Callable[..., LoadedModel], request: Any) -> PieceTranslator:
    """Return untrained models that read no markup, or its symbols."""
    symbols = " ".join(SYMBOLS)
    model = make_model(2, src=f"a b {symbols}", tgt=f"w x {symbols}", markup=request.param)
    return PieceTranslator(Translator(Ensemble((model,))).with_search(beam=2), {})


@given(line=lines)
def test_words_stand_in_lines_with_markup(pieces: PieceTranslator, line: str) -> None:
    (result,) = pieces.translate([line], None, TASK)
    for side, text in (("source_words", line), ("target_words", result["text"])):
        for word in result[side]:
            found = text[word["start"] : word["end"]].replace("&amp;", "&")
            assert found in (word["text"], "")
            assert text[: word["start"]].count("<") == text[: word["start"]].count(">")


def test_words_of_the_source_are_found(pieces: PieceTranslator) -> None:
    line = "a <b>b</b> &amp; a"
    (result,) = pieces.translate([line], None, TASK)
    words = [word for word in result["source_words"] if word["text"] not in SYMBOLS]
    assert [(word["start"], word["end"]) for word in words] == [(0, 1), (5, 6), (11, 16), (17, 18)]


@pytest.mark.parametrize("markup", [None, "html"])
def test_details_of_a_model_without_attention_are_empty(
    make_model: Callable[..., LoadedModel], markup: Literal["html"] | None
) -> None:
    model = make_model(2, src="a b", tgt="w x", sizes=RNNencConfig(6, 8, 4))
    pieces = PieceTranslator(Translator(Ensemble((model,))), {})
    (result,) = pieces.translate(["a <b>b</b>"], None, Task(details=True, markup=markup))
    assert result["alignment"] == [] and isinstance(result["text"], str)
