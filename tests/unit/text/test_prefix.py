"""The prefix of a translation as tokens, and texts that begin with it."""

import pytest

from nmtkit.config import TextConfig
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.prefix import Ending, TextPrefix
from nmtkit.text.subword.bpe import BPE
from nmtkit.text.subword.sentence_piece import SentencePiece


@pytest.mark.parametrize(
    ("prefix", "line", "beginning", "expected"),
    [
        ("Der Fl", "Der Flug.", "Der Fl", "Der Flug."),
        ("Der  Fl", "Der Flug.", "Der Fl", "Der  Flug."),
        ("Der ", "Der, ja", "Der", "Der , ja"),
        ("Der ", "Der  Flug", "Der", "Der  Flug"),
        ("Der  ", "Der Flug", "Der", "Der  Flug"),
        (" Xylo", "<unk> ist", "<unk>", " Xylo ist"),
        ("e\u0301t", "état", "ét", "e\u0301tat"),
        ("  ", "Der", "", "  Der"),
        ("Der Flug", "Der", "Der Flug", "Der Flug"),
    ],
)
def test_a_text_gets_exactly_the_prefix(
    prefix: str, line: str, beginning: str, expected: str
) -> None:
    assert TextPrefix(prefix).put_before(line, beginning) == expected


def french(**settings: object) -> TextPipeline:
    text = TextConfig(tgt_language="fr", **settings)  # type: ignore[arg-type]
    bpe = BPE.learn({"arbre": 3, "homme": 2}, 4) if text.subwords == "joint" else None
    return TextPipeline("fr", text, bpe)


@pytest.mark.parametrize(
    ("text", "tokens", "last"),
    [
        ("un homme ", ["un", "homme"], ""),
        ("un hom", ["un"], "hom"),
        ("un homme.", ["un", "homme"], "."),
        ("l'", ["l'"], ""),
        ("l'ar", ["l'"], "ar"),
        ("peut-", [], "peut-"),
        ("", [], ""),
    ],
)
def test_the_last_word_may_go_on(text: str, tokens: list[str], last: str) -> None:
    prefix = french().prefix(text)
    assert list(prefix.tokens) == tokens and prefix.last_word == last
    assert prefix.endings == ((Ending((), last.encode()),) if last else ())


def test_hyphens_are_split_as_before_a_letter() -> None:
    assert list(french(hyphens=True).prefix("peut-").tokens) == ["peut", "@-@"]


@pytest.mark.parametrize(
    ("text", "endings"),
    [
        ("Le ch", [((), b"ch")]),
        ("Le C", [(("⇧",), b"c"), ((), b"C"), (("⇪",), b"c")]),
        ("Le Ch", [(("⇧",), b"ch"), ((), b"Ch")]),
        ("Le CH", [(("⇪",), b"ch"), ((), b"CH")]),
    ],
)
def test_case_markers_stand_before_the_last_word(text: str, endings: list[Ending]) -> None:
    prefix = french(case="markers").prefix(text)
    assert list(prefix.tokens) == ["⇧", "le"] and list(prefix.endings) == endings


def test_pieces_of_raw_text_begin_with_their_blank() -> None:
    model = SentencePiece.learn({"homme": 5, "un": 5, "猫が": 2}, 280)
    pipeline = TextPipeline("fr", TextConfig(subwords="joint", raw=True), model)
    for text, spelling in (("un hom", b" hom"), ("un ", b" "), ("un", b" un")):
        (ending,) = pipeline.prefix(text).endings
        assert ending.spelling == spelling
    unspaced = pipeline.prefix("un 猫が猫が猫が").endings[0].spelling.decode()
    assert 0 < len(unspaced) < len("猫が猫が猫が")


def test_a_prefix_is_read_as_the_rules_of_the_model_write_it(nmt_nfkc: SentencePiece) -> None:
    pipeline = TextPipeline("fr", TextConfig(subwords="joint", raw=True), nmt_nfkc)
    read, written = pipeline.prefix("un ﬁle ｂ"), pipeline.prefix("un file b")
    assert (read.tokens, read.endings) == (written.tokens, written.endings)
    assert read.put_before("un file bleu", "un file b") == "un ﬁle ｂleu"
    for empty in ("\u200b", "\x07\u200b "):
        assert not pipeline.prefix(empty).tokens and not pipeline.prefix(empty).endings


def test_half_of_a_surrogate_pair_is_a_word_that_no_token_spells() -> None:
    assert french().prefix("\udcff").endings[0].spelling == b"\xed\xb3\xbf"
