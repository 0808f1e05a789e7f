"""BPE-dropout: random segmentations of the same words, which a key decides."""

import random
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.text.subword.bpe import BPE, undo_bpe
from nmtkit.text.subword.bpe_dropout import DropoutRequest, DropoutSide, Sentences, bpe_dropout
from nmtkit.text.vocabulary import Vocabulary

MERGES = [("a", "b</w>"), ("b", "a"), ("ba", "ab</w>"), ("b", "b</w>")]
PIECES = ["a", "b", "c", "a@@", "b@@", "c@@", "ab", "ba@@", "baab", "bb"]
VOCABULARY = Vocabulary(["</s>", "<unk>", *PIECES, "<bt>"])


@pytest.fixture(scope="module")
def side(tmp_path_factory: pytest.TempPathFactory) -> DropoutSide:
    path = tmp_path_factory.mktemp("bpe") / "bpe.src"
    BPE(MERGES).save(path)
    return DropoutSide(path, VOCABULARY.words, unsplit=("<bt>",))


def sentences(texts: list[str]) -> Sentences:
    bpe = BPE(MERGES)
    tokens = [
        [t if t == "<bt>" else p for t in text.split() for p in bpe.apply([t])] for text in texts
    ]
    return Sentences.of([*VOCABULARY.ids(line), 0] for line in tokens)


def tokens(drawn: Sentences) -> list[list[str]]:
    parts = np.split(drawn.ids, drawn.offsets[1:-1])
    assert all(part[-1] == 0 for part in parts)
    return [VOCABULARY.tokens(part[:-1].tolist()) for part in parts]


WORDS = st.text("abc", min_size=1, max_size=9)
TEXTS = st.lists(st.lists(WORDS, min_size=1, max_size=5).map(" ".join), min_size=1, max_size=4)


@settings(max_examples=60)
@given(texts=TEXTS, key=st.text(max_size=5), rate=st.sampled_from([0.0, 0.1, 0.5, 0.9]))
def test_words_stay_the_same_and_their_pieces_are_in_the_vocabulary(
    side: DropoutSide, texts: list[str], key: str, rate: float
) -> None:
    given_text = sentences(texts)
    for drawn in bpe_dropout([side, side], rate)(DropoutRequest(key, (given_text, given_text))):
        assert [" ".join(undo_bpe(line)) for line in tokens(drawn)] == texts
        assert not (drawn.ids == 1).any()


@settings(max_examples=20)
@given(texts=TEXTS)
def test_without_dropout_words_are_split_as_always(side: DropoutSide, texts: list[str]) -> None:
    bpe = BPE(MERGES, vocabulary=VOCABULARY.words)
    request = DropoutRequest("key", (sentences(texts), sentences(texts)))
    drawn, _ = bpe_dropout([side, side], 0.0)(request)
    assert tokens(drawn) == [bpe.apply(text.split()) for text in texts]


def test_a_key_decides_on_the_segmentations(side: DropoutSide) -> None:
    text = sentences(["baab ab baab bb"] * 20)
    draw = bpe_dropout([side, side], 0.5)
    first, again, other = (draw(DropoutRequest(key, (text, text)))[0] for key in "aab")
    assert np.array_equal(first.ids, again.ids)
    assert not np.array_equal(first.ids, other.ids)
    assert len({tuple(line) for line in tokens(first)}) > 3  # each occurrence is drawn anew


def test_merges_are_left_out_as_often_as_asked_for(side: DropoutSide) -> None:
    text = sentences(["ab"] * 4000)  # one merge
    drawn, _ = bpe_dropout([side, side], 0.3)(DropoutRequest("key", (text, text)))
    share = sum(len(line) == 2 for line in tokens(drawn)) / 4000
    assert abs(share - 0.3) < 4 * (0.3 * 0.7 / 4000) ** 0.5


def test_unknown_words_and_tags_stay_as_they_are(side: DropoutSide) -> None:
    text = Sentences.of([[*VOCABULARY.ids(["<bt>", "b@@", "?", "ab"]), 0]])
    for key in "abcdef":
        drawn, _ = bpe_dropout([side, side], 0.9)(DropoutRequest(key, (text, text)))
        assert tokens(drawn)[0][:3] == ["<bt>", "b@@", "<unk>"]
    empty = Sentences.of([])
    assert bpe_dropout([side, side], 0.5)(DropoutRequest("", (empty, empty)))[0].ids.size == 0


@pytest.mark.parametrize("missing", ["a@@", "b", "b@@"])
def test_no_word_becomes_unknown_by_being_split(side: DropoutSide, missing: str) -> None:
    """As `&amp;` would, in text whose only & is this one."""
    words = tuple(word for word in VOCABULARY.words if word != missing)
    vocabulary = Vocabulary(words)
    given_text = Sentences.of([[*vocabulary.ids(["ab", "bb", "baab"]), 0]])
    for key in "abcdef":
        request = DropoutRequest(key, (given_text, given_text))
        drawn, _ = bpe_dropout([replace(side, words=words)] * 2, 0.9)(request)
        assert undo_bpe(vocabulary.tokens(drawn.ids[:-1].tolist())) == ["ab", "bb", "baab"]


def test_glossaries_are_never_split(side: DropoutSide) -> None:
    side = DropoutSide(side.merges, side.words, ("ba+b",))
    text = sentences(["baab ab"] * 30)
    drawn, _ = bpe_dropout([side, side], 0.9)(DropoutRequest("", (text, text)))
    assert {line[0] for line in tokens(drawn)} == {"baab"}
    assert len({tuple(line) for line in tokens(drawn)}) > 1


def test_the_global_random_generator_is_left_alone(side: DropoutSide) -> None:
    state = random.getstate()
    text = sentences(["baab"])
    bpe_dropout([side, side], 0.5)(DropoutRequest("", (text, text)))
    assert random.getstate() == state


def test_missing_merges_are_reported(tmp_path: Path) -> None:
    from nmtkit.errors import DataError

    side = DropoutSide(tmp_path / "none", VOCABULARY.words)
    with pytest.raises(DataError, match="none: cannot be read"):
        bpe_dropout([side, side], 0.5)
