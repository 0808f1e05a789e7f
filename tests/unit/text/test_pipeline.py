"""Conversion of lines to tokens and back."""

import io
import unicodedata
from pathlib import Path
from typing import Any

import pytest
import sentencepiece

from nmtkit.config import TextConfig
from nmtkit.errors import DataError
from nmtkit.text.names import Names
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword.bpe import BPE
from nmtkit.text.subword.sentence_piece import SentencePiece

LINE = "L'homme (vieux) dit : « Qu'est-ce que c'est ? »"
CODES = BPE([("h", "o"), ("m", "m"), ("e", "s"), ("es", "t</w>")])


def test_raw_lines_round_trip() -> None:
    for bpe in (None, CODES):
        for hyphens in (False, True):
            settings = TextConfig(hyphens=hyphens, subwords="joint" if bpe else "none")
            pipeline = TextPipeline("fr", settings, bpe)
            tokens = pipeline.tokens(LINE)
            assert " ".join(tokens) == pipeline.pieces(pipeline.words(LINE))
            assert pipeline.line(tokens) == LINE
            assert any(token.endswith("@@") for token in tokens) == (bpe is not None)


def test_tokenised_lines_are_left_alone() -> None:
    line = "l' homme &quot; @-@ e.g. x@@"
    for pipeline, tokenized in (
        (TextPipeline("fr", TextConfig(tokenized=True), CODES), False),
        (TextPipeline("fr", TextConfig(), CODES), True),
    ):
        assert pipeline.words(f" {line}\t", tokenized) == line
        assert pipeline.line(pipeline.tokens(line, tokenized), tokenized) == line


def test_words_are_not_joined_like_pieces() -> None:
    """A word that ends in @@ is joined to the next only if it is a subword piece."""
    pipeline = TextPipeline("fr", TextConfig(), CODES)
    words = ["l'", "x@@", "y", "."]
    assert pipeline.sentence(words) == "l'x@@ y."
    assert pipeline.sentence(words, tokenized=True) == "l' x@@ y ."
    assert pipeline.line(words) == "l'xy."


def test_blank_lines() -> None:
    pipeline = TextPipeline("en", TextConfig(), CODES)
    assert pipeline.tokens(" ") == []
    assert pipeline.line([]) == ""


def test_loading_a_side(tmp_path: Path) -> None:
    CODES.save(tmp_path / "bpe.src")
    settings = TextConfig(src_language="fr", tgt_language="en", subwords="joint")
    source = TextPipeline.load(tmp_path, "src", settings)
    assert source.tokens("l'homme") == ["l@@", "'", "ho@@", "mm@@", "e"]
    with pytest.raises(DataError, match=r"bpe\.tgt: cannot be read"):
        TextPipeline.load(tmp_path, "tgt", settings)
    target = TextPipeline.load(tmp_path, "tgt", TextConfig(tgt_language="en"))
    assert target.tokens("it's") == ["it", "'s"]


@pytest.mark.parametrize("subwords", ["none", "joint"])
def test_a_tag_before_a_source_line_is_one_token(tmp_path: Path, subwords: Any) -> None:
    BPE.learn({"news": 3, "new": 2}, 2).save(tmp_path / "bpe.src")
    BPE.learn({"news": 3, "new": 2}, 2).save(tmp_path / "bpe.tgt")
    settings = TextConfig(subwords=subwords, tags=("<news>", "<bt>"))
    pipeline = TextPipeline.load(tmp_path, "src", settings)
    tokens = pipeline.tokens("<news> news, new")
    assert tokens[0] == "<news>" and pipeline.tokens("news, new") == tokens[1:]
    assert pipeline.line(tokens) == "<news> news, new"
    words, indices = pipeline.join(tokens)
    assert words == ["<news>", "news", ",", "new"]
    assert indices[0] == 0 and indices[-1] == 3
    assert pipeline.tokens("<news>\tnews")[0] == "<news>"
    assert pipeline.tokens("<newsnews")[0] != "<news>"
    assert pipeline.tokens("<bt>  ") == []
    assert pipeline.with_tag("new", "<bt>") == "<bt> new"
    assert pipeline.with_tag("<news> new", "<bt>") == "<news> new"
    target = TextPipeline.load(tmp_path, "tgt", settings)
    assert target.tokens("<bt> new")[0] != "<bt>"


def test_sources_of_raw_text_are_read_with_single_blanks() -> None:
    """Targets come back byte for byte; so does a source that is tokenised."""
    model = SentencePiece.learn({"das": 9, "Haus": 9}, 290)
    settings = TextConfig(raw=True, subwords="separate", tags=("<a>",))
    source = TextPipeline("de", settings, model, ("<a>",), reads_source=True)
    target = TextPipeline("de", settings, model)
    text = " das \t Haus  das\u3000Haus\xa0 "
    assert source.line(source.tokens(text)) == "das Haus das\u3000Haus\xa0"
    assert source.tokens(f"<a> {text}") == ["<a>", *source.tokens(text)]
    assert source.line(source.tokens(text, tokenized=True)) == text
    assert target.line(target.tokens(text)) == text
    assert source.tokens(" \t ") == []


def test_phrases_stand_with_and_without_a_blank_before_them() -> None:
    model = SentencePiece.learn({"das": 9, "Haus": 9, "(Haus)": 9, "設定": 9, "設定を": 9}, 290)
    pipeline = TextPipeline("de", TextConfig(raw=True, subwords="separate"), model)
    house = {"".join(tokens) for tokens in pipeline.phrase_tokens("Haus")}
    assert house == {"▁Haus", "Haus"}
    assert {"".join(tokens) for tokens in pipeline.phrase_tokens("設定")} == {"設定"}
    assert pipeline.word_boundaries(["▁Haus", "s", "設定"]) == [
        (True, False),
        (True, True),
        (False, False),
    ]


@pytest.mark.parametrize("raw", [True, False])
def test_a_model_reads_lines_as_its_rules_write_them(nmt_nfkc: SentencePiece, raw: bool) -> None:
    settings = TextConfig(raw=raw, subwords="joint", joiners=not raw, tags=("<a>",))
    source = TextPipeline("en", settings, nmt_nfkc, ("<a>",), reads_source=True)
    whole = TextPipeline("en", settings, None, ("<a>",), reads_source=True, rules=source.rules)
    for line in ("the ﬁle\u3000is ｂｌｕｅ…", "<a> the\u200b ﬁle", "①\xad猫 ▁"):
        tag, text = source.split_tag(line)
        written = tag + nmt_nfkc.normalization.normalize(text)
        assert source.tokens(line) == source.tokens(written)
        assert source.line(source.tokens(line)) == written
        assert whole.words(line) == source.words(line) == source.words(written)
        assert source.pieces(whole.words(line)) == " ".join(source.tokens(line))
    for empty in ("\u200b", " \x07 "):
        assert source.tokens(empty) == [] and source.words(empty) == ""


def test_words_of_tokenised_text_are_left_unchanged(nmt_nfkc: SentencePiece) -> None:
    pipeline = TextPipeline("en", TextConfig(tokenized=True, subwords="joint"), nmt_nfkc)
    line = "a ﬁle ① …"
    assert pipeline.words(line) == pipeline.as_read(line) == line
    assert pipeline.line(pipeline.tokens(line)) == line
    assert pipeline.offsets(line.split(), line) == [(0, 1), (2, 5), (6, 7), (8, 9)]


def test_words_have_their_places_in_the_line_that_the_rules_change(
    nmt_nfkc: SentencePiece,
) -> None:
    pipeline = TextPipeline("en", TextConfig(raw=True, subwords="joint"), nmt_nfkc)
    line = " the\u200b ﬁles\u3000  ｂｌｕｅ ①½ ｶﾞ e\u0301te"
    words, _ = pipeline.join(pipeline.tokens(line))
    assert words == ["the", "files", "blue", "11⁄2", "ガ", "éte"]
    places = [line[start:end] for start, end in pipeline.offsets(words, line)]
    assert places == ["the", "ﬁles", "ｂｌｕｅ", "①½", "ｶﾞ", "e\u0301te"]


def test_phrases_of_a_model_without_a_blank_before_lines() -> None:
    output = io.BytesIO()
    sentencepiece.SentencePieceTrainer.train(
        sentence_iterator=iter(["das Haus"] * 20), model_writer=output, vocab_size=300,
        hard_vocab_limit=False, num_threads=1, minloglevel=3, add_dummy_prefix=False
    )  # fmt: skip
    model = SentencePiece(output.getvalue())
    pipeline = TextPipeline("de", TextConfig(raw=True, subwords="joint"), model)
    assert {"".join(t) for t in pipeline.phrase_tokens("Haus")} == {"▁Haus", "Haus"}
    assert pipeline.line(pipeline.tokens("Haus Haus")) == "Haus Haus"


def test_words_stand_alone_without_subwords() -> None:
    pipeline = TextPipeline("de", TextConfig(), None)
    assert pipeline.phrase_tokens("das Haus") == [["das", "Haus"]]
    assert pipeline.word_boundaries(["das"]) == [(False, True)]


@pytest.mark.parametrize("phrase", ["", " ", "\x01"])
def test_a_phrase_without_words_has_no_tokens(phrase: str) -> None:
    pipeline = TextPipeline("de", TextConfig(subwords="joint"), BPE([("a", "b")]))
    assert pipeline.phrase_tokens(phrase) == []


def test_the_word_behind_a_tag_begins_the_sentence_and_is_no_name_for_its_capital() -> None:
    names, text = Names({}), TextConfig(subwords="joint", copy_names=True)
    pipeline = TextPipeline("en", text, BPE([]), tags=("NEWS",), names=names)
    for line in ("Yesterday in Bern", "NEWS Yesterday in Bern"):
        assert pipeline.find_names(line) == ["Bern"]


SPACES = [c for c in map(chr, range(0x10000)) if unicodedata.category(c) == "Zs"]


@pytest.mark.parametrize("space", SPACES, ids=ascii)
@pytest.mark.parametrize("case", ["keep", "markers"])
def test_spaces_of_any_kind_make_a_line_no_longer(space: str, case: Any) -> None:
    """The marker of a rare one has its code point, as in ⍽202f, and was counted as a word."""
    pipeline = TextPipeline("en", TextConfig(joiners=True, case=case), None)
    lengths = [pipeline.length(pipeline.words(f"a{gap}b")) for gap in (" ", space, f" {space} ")]
    assert lengths == [2, 2, 2]


@pytest.mark.parametrize("joiners", [True, False])
def test_words_that_look_like_markers_are_counted(joiners: bool) -> None:
    pipeline = TextPipeline("en", TextConfig(joiners=joiners, case="markers"), None)
    assert pipeline.length(pipeline.words("Ab ⍽ 202f CD ⇧ e ␣")) == 7
