"""Models of SentencePiece with rules: text that these have written comes back from its pieces."""

import io
from collections.abc import Callable
from functools import cache
from typing import Any

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtkit.text.markers import MARKERS, SYMBOLS
from nmtkit.text.names import PLACEHOLDERS
from nmtkit.text.subword.normalization import Normalization, load_processor
from nmtkit.text.subword.sentence_piece import REQUIRED_PIECES, SentencePiece

TEXT = [
    "the cat sat on a mat",
    "a cat, the 12 mats",
    "that is the cat's mat",
    "on and on",
    "Ich bin",
]

KINDS: dict[str, dict[str, Any]] = {
    "default": {},
    "bytes": {"byte_fallback": True},
    "nfkc": {"normalization_rule_name": "nfkc", "model_type": "bpe"},
    "nmt_nfkc_cf": {"normalization_rule_name": "nmt_nfkc_cf", "model_type": "char"},
    "no blank before": {"add_dummy_prefix": False},
    "every blank": {"remove_extra_whitespaces": False, "add_dummy_prefix": False},
    "ids of Marian": {"eos_id": 0, "unk_id": 1, "bos_id": -1, "byte_fallback": True},
    "symbols": {"user_defined_symbols": ["<sep>", "ﬁ①"], "control_symbols": ["<ctl>"]},
    "words": {"model_type": "word", "normalization_rule_name": "identity"},
}


@cache
def proto_of(kind: str) -> bytes:
    output = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(TEXT * 20), model_writer=output, vocab_size=300,
        hard_vocab_limit=False, num_threads=1, minloglevel=3, **KINDS[kind]
    )  # fmt: skip
    return output.getvalue()


lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20)
odd = st.lists(
    st.sampled_from(
        [
            *(" ", "  ", "\t", "\u3000", "\xa0", "▁", "\xad", "\u200b", "\u200d", "\ufeff", "\x07"),
            *("\x00", "\r", "\x85", "\u2028", "Ａ", "ｶﾞ", "①", "ﬁ①", "ﬁ", "½", "…", "™", "´", "ﷺ"),
            *("ᄒ", "ᅡ", "ᆫ", "ㅎ", "한", "ﻼ", "لا", "e\u0301", "é", "\u0345", "İ", "ẞ", "ς", "㍍"),
            *("<sep>", "<ctl>", "<0x41>", "</s>", "<unk>", "the", " cat", "mat", "❶", "⦃", "￭"),
            *("\U0010ffff", "👩\u200d👩", "ไทย", "今天"),
        ]
    ),
    max_size=9,
).map("".join)
every_kind = pytest.mark.parametrize("kind", KINDS)


def restored(model: SentencePiece, pieces: list[str]) -> str:
    return " ".join(model.undo(pieces))


@every_kind
@settings(max_examples=60)
@given(line=lines | odd)
@example(line="<0x41>▁ ▁")
@example(line=" a")
def test_every_line_comes_back_from_known_pieces_whether_normalised_or_not(
    kind: str, line: str
) -> None:
    whole = SentencePiece(proto_of(kind))
    allowed = {"▁the", "▁c", "a", "t"}
    limited = SentencePiece(proto_of(kind), allowed)
    for text in (line, whole.normalization.normalize(line)):
        for model in (whole, limited):
            pieces = model.apply(text.split(" "))
            assert restored(model, pieces) == text
            assert " ".join(pieces).split() == pieces
            assert not {"</s>", "<unk>"} & set(pieces)
            spaced, joined = model.apply_behind(text.split(" "))
            if "▁" not in text:
                assert restored(model, ["x", *spaced]) == f"x {text}"
                assert restored(model, ["x", *joined]) == f"x{text}"
        assert set(limited.apply(text.split(" "))) <= {*allowed, *REQUIRED_PIECES}


@pytest.mark.parametrize("kind", ["bytes", "ids of Marian"])
@settings(max_examples=60)
@given(line=lines | odd)
def test_pieces_are_those_of_the_library(kind: str, line: str) -> None:
    model = SentencePiece(proto_of(kind))
    if "▁" not in (text := model.normalization.normalize(line)):
        special = ("</s>", "<unk>")
        assert any(one in text for one in special) or model.apply(
            text.split(" ")
        ) == load_processor(proto_of(kind)).encode(line, out_type=str)


@every_kind
@settings(max_examples=60)
@given(line=lines | odd)
def test_origins_go_through_the_line(kind: str, line: str) -> None:
    rules = Normalization(proto_of(kind))
    text, origins = rules.origins(line)
    assert text == rules.normalize(line)
    assert len(origins) == len(text) + 1 and list(origins) == sorted(origins)
    assert all(0 <= origin <= len(line) for origin in origins)


@settings(max_examples=60)
@given(line=lines | odd)
def test_a_model_that_is_learned_here_has_no_rules(line: str) -> None:
    rules = SentencePiece.learn({"cat": 9, "the": 9}, 300).normalization
    assert rules.origins(line) == (line, list(range(len(line) + 1)))
    assert not rules.folds_case


@pytest.mark.parametrize("kind", ["default", "nfkc", "nmt_nfkc_cf"])
def test_symbols_that_stand_for_names_and_markup_are_left(kind: str) -> None:
    rules = Normalization(proto_of(kind))
    joiner = "￭"  # put between words, after normalisation
    for symbol in (SYMBOLS | MARKERS | set(PLACEHOLDERS)) - {joiner}:
        assert rules.normalize(symbol) == symbol


def test_rules_are_those_of_the_model() -> None:
    written: dict[str, Callable[[str], str]] = {
        kind: Normalization(proto_of(kind)).normalize for kind in KINDS
    }
    assert written["default"](" Ａ  ﬁ…\u200bB ") == "A fi... B"
    assert written["every blank"](" Ａ  ﬁ ") == " A  fi "
    assert written["nmt_nfkc_cf"]("ＡB") == "ab"
    assert written["symbols"]("ﬁ① ﬁ") == "ﬁ① fi"
    assert written["words"](" ﬁ  Ａ") == "ﬁ Ａ"
    folding = [kind for kind in KINDS if Normalization(proto_of(kind)).folds_case]
    assert folding == ["nmt_nfkc_cf"]


def test_a_long_line_of_unknown_characters_is_split_at_once() -> None:
    model = SentencePiece(proto_of("default"))
    assert restored(model, model.apply(["猫" * 20_000])) == "猫" * 20_000
