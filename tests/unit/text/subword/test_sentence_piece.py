"""SentencePiece gives every text back, and no text has unknown pieces."""

import random
from collections import Counter
from pathlib import Path

import pytest
import sentencepiece
from hypothesis import example, given, settings
from hypothesis import strategies as st

from nmtkit.errors import DataError, OutputError
from nmtkit.text.subword.sentence_piece import (
    BYTE_PIECES,
    REQUIRED_PIECES,
    SentencePiece,
)
from nmtkit.text.subword.sentence_piece_learner import MAX_LEARNED_LENGTH

TEXT = """the cat sat on the mat , the cat ran </s> </s> </s> <unk> <unk> <0x41> <0x41> <s> <s>
今天天气很好，今天很冷。今天天气不好。 ภาษาไทยภาษาไทยไม่มี 123 123 한국어 e\u0301te\u0301 ▁▁ x▁y"""

COUNTS = Counter(TEXT.split() * 3)


@pytest.fixture(scope="module")
def model() -> SentencePiece:
    return SentencePiece.learn(COUNTS, 400)


@pytest.fixture(scope="module")
def limited(model: SentencePiece) -> SentencePiece:
    return SentencePiece(model._proto, vocabulary={"▁the", "▁c", "a", "t", "今天", "</s>", "<unk>"})


lines = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=30)
odd = st.lists(
    st.sampled_from(
        [
            *(
                " ",
                "  ",
                "\t",
                "\r",
                "\u00a0",
                "\u3000",
                "\u2028",
                "\u2029",
                "\x85",
                "\x0b",
                "\x0c",
            ),
            *("\x1c", "\x00", "\x7f", "▁", "<0x41>", "<0xE2>", "</s>", "<unk>", "<s>", "▁▁", "@@"),
            *("e\u0301", "\u200d", "\ufeff", "\ufffd", "👩\u200d👩\u200d👧", "今天", "the", " cat"),
            *("\U0010ffff", "\ufffe", "\u2585", "ไทย", "12"),
        ]
    ),
    max_size=8,
).map("".join)


def pieces_of(model: SentencePiece, line: str) -> list[str]:
    return model.apply(line.split(" "))


def restored(model: SentencePiece, pieces: list[str]) -> str:
    return " ".join(model.undo(pieces))


@settings(max_examples=150)
@given(lines | odd)
@example("")
@example(" ")
@example("▁")
@example("▁ ▁")
@example(" ▁a")
@example("</s>")
def test_every_line_is_given_back_from_known_pieces_without_whitespace(
    model: SentencePiece, limited: SentencePiece, line: str
) -> None:
    for one in (model, limited):
        pieces = pieces_of(one, line)
        assert restored(one, pieces) == line
        assert " ".join(pieces).split() == pieces
        assert not {"</s>", "<unk>"} & set(pieces)
    allowed = {"▁the", "▁c", "a", "t", "今天", *REQUIRED_PIECES}
    assert set(pieces_of(limited, line)) <= allowed


@settings(max_examples=100)
@given(
    st.lists(
        st.sampled_from([*BYTE_PIECES, "▁", "▁the", "</s>", "<unk>", "今天", "x", "<0x0A>"])
        | st.text(st.characters(exclude_categories=["Cs", "Z", "Cc"]), min_size=1, max_size=3),
        max_size=12,
    )
)
def test_any_pieces_make_a_line(pieces: list[str]) -> None:
    line = restored(SentencePiece(b""), pieces)
    assert "\n" not in line
    line.encode("utf-8")
    words, indices = SentencePiece.join(pieces)
    assert len(indices) == len(pieces) and indices == sorted(indices)
    assert all(words) and set(indices) == set(range(len(words)))


def test_words_of_pieces(model: SentencePiece) -> None:
    joined, indices = model.join(pieces_of(model, "the cats, 今天很冷。 xé 12"))
    assert joined[:3] == ["the", "cats", ","]
    assert joined[-2:] == ["xé", "12"]
    assert "。" in joined
    assert len(indices) == len(pieces_of(model, "the cats, 今天很冷。 xé 12"))


@pytest.mark.parametrize(
    ("pieces", "words"),
    [
        (["▁می", "\u200c", "خواهم"], ["می\u200cخواهم"]),
        (["น", "ี", "้", "ด"], ["นี้", "ด"]),
        (["か", "\u3099", "く"], ["か\u3099", "く"]),
        (["☎", "\ufe0f", "a"], ["☎\ufe0f", "a"]),
        (["▁ශ", "්", "\u200d", "රී"], ["ශ්\u200dරී"]),
    ],
)
def test_no_word_begins_with_a_mark_or_at_a_joiner(pieces: list[str], words: list[str]) -> None:
    assert SentencePiece.join(pieces)[0] == words


def test_order_of_counting_does_not_matter(model: SentencePiece) -> None:
    items = list(COUNTS.items())
    random.Random(1).shuffle(items)
    assert SentencePiece.learn(dict(items), 400)._proto == model._proto


def test_saving_and_loading_round_trip(model: SentencePiece, tmp_path: Path) -> None:
    model.save(tmp_path / "model")
    assert pieces_of(SentencePiece.load(tmp_path / "model"), TEXT) == pieces_of(model, TEXT)
    with pytest.raises(OutputError, match="exists already"):
        model.save(tmp_path / "model")


def test_a_short_text_gives_fewer_pieces(capfd: pytest.CaptureFixture[str]) -> None:
    assert 256 < SentencePiece.learn({"ab": 3}, 8000).size < 300
    assert SentencePiece.learn({"x" * 3 * MAX_LEARNED_LENGTH: 1}, 8000).size > 256
    assert capfd.readouterr() == ("", "")


def test_what_cannot_be_learned_is_refused(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(DataError, match="100 pieces are too few .* needs at least [0-9]+"):
        SentencePiece.learn(COUNTS, 100)
    for counts in ({}, {"▁": 3}):
        with pytest.raises(DataError, match="no text to learn from"):
            SentencePiece.learn(counts, 400)
    assert capfd.readouterr() == ("", "")


def test_damaged_files_are_refused(
    model: SentencePiece, tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    draw = random.Random(1)
    damaged = [b"", b"\n", b"abc", model._proto[:-1], model._proto[:999], draw.randbytes(500)]
    for content in damaged:
        (tmp_path / "model").write_bytes(content)
        with pytest.raises(DataError, match="model: not a SentencePiece model for nmtkit"):
            SentencePiece.load(tmp_path / "model")
    with pytest.raises(DataError, match="cannot be read"):
        SentencePiece.load(tmp_path / "none")
    assert capfd.readouterr() == ("", "")


@pytest.mark.parametrize("adds_blank", [True, False])
def test_a_model_with_blanks_behind_words_is_refused(tmp_path: Path, adds_blank: bool) -> None:
    words = [word for word in TEXT.split() if word not in ("</s>", "<unk>", "<s>")] * 9
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(words), model_prefix=str(tmp_path / "own"), vocab_size=400,
        hard_vocab_limit=False, minloglevel=3, treat_whitespace_as_suffix=True,
        add_dummy_prefix=adds_blank
    )  # fmt: skip
    with pytest.raises(
        DataError, match="own.model: .* have ▁ behind words, .* learn it without --"
    ):
        SentencePiece.load(tmp_path / "own.model")


def test_a_million_characters_are_split_at_once(model: SentencePiece) -> None:
    line = "今天x" * 100_000
    assert restored(model, pieces_of(model, line)) == line


@given(lines.filter(lambda line: line.strip(" ") == line != "" and "▁" not in line))
def test_text_behind_other_text_follows_a_blank_or_not(model: SentencePiece, line: str) -> None:
    before = model.apply(["x"])
    spaced, joined = model.apply_behind(line.split(" "))
    assert restored(model, [*before, *spaced]) == f"x {line}"
    assert restored(model, [*before, *joined]) == f"x{line}"
    assert spaced == pieces_of(model, line)


def test_pieces_of_one_word_open_and_go_on() -> None:
    assert SentencePiece.opens("▁cat") and SentencePiece.goes_on("s")
    for piece in ("。", "今天", "<0x2E>", "▁"):
        assert not SentencePiece.opens(piece) and not SentencePiece.goes_on(piece)
    assert not SentencePiece.goes_on("▁cat")
    assert SentencePiece.opens("a_") and SentencePiece.goes_on("_b")
    for sign in ("\u200c", "\u200d", "\u0301", "\u093e"):  # joiners and combining marks
        assert SentencePiece.opens(f"می{sign}") and SentencePiece.goes_on(f"{sign}ها")


def test_bytes_of_letters_open_and_go_on() -> None:
    assert SentencePiece.opens("<0x41>") and SentencePiece.goes_on("<0x41>")
    for first, later in ("é".encode(), "Ж".encode(), "ħ".encode()):
        for piece in (f"<0x{first:02X}>", f"<0x{later:02X}>"):
            assert SentencePiece.opens(piece) and SentencePiece.goes_on(piece)
    for sign in ("«", "€", "😀", "今"):
        first = sign.encode()[0]
        assert SentencePiece.opens(f"<0x{first:02X}>"), "nothing begins in a character"
        assert not SentencePiece.goes_on(f"<0x{first:02X}>")
