"""Words of a report are pieces of the text: neither markers nor another case, in any script."""

import pytest
import torch

from nmtkit.config import TextConfig
from nmtkit.inference.word_alignment import Alignment
from nmtkit.report.lines import align_shown_words, split_line, tokenized_line
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword.sentence_piece import SentencePiece

MARKED = TextConfig(joiners=True, case="markers")


def shown(text: str, settings: TextConfig) -> list[str]:
    return split_line(text, TextPipeline("fr", settings, None), raw=False).words


@pytest.mark.parametrize(
    ("text", "words"),
    [
        ("A / B, non .", ["A", "/", "B", ",", "non", "."]),  # `⇧ a ␣ / ␣ ⇧ b , non ␣ .`
        ("l'UE et Paris", ["l'", "UE", "et", "Paris"]),
        ("", []),
        (" \u3000", []),
    ],
)
def test_no_word_is_a_marker_or_in_another_case(text: str, words: list[str]) -> None:
    assert shown(text, MARKED) == words


@pytest.mark.parametrize("text", ["Dix-huit ‹ans› l’… 3\u00a0000 €", "а́ \u202f b\u200bc  d’", "½"])
@pytest.mark.parametrize("settings", [MARKED, TextConfig(hyphens=True, escape=True, nfc=True)])
def test_words_together_are_the_text(text: str, settings: TextConfig) -> None:
    words = shown(text, settings)
    assert "".join("".join(words).split()) == "".join(text.split())
    assert all(word and " " not in word for word in words)


def test_text_without_blanks_is_split_at_pieces() -> None:
    counts = {"▁今日": 9, "▁天気": 9, "▁は": 9, "▁今日は": 9, "▁天気は": 9}
    pieces = SentencePiece.learn(counts, 270)
    settings = TextConfig(raw=True, subwords="joint")
    line = split_line("今日は天気 今日。", TextPipeline("ja", settings, pieces), raw=True)
    assert len(line.words) > 4 and "".join(line.words) == "今日は天気今日。"


def test_alignments_lose_the_rows_and_columns_of_markers() -> None:
    pipeline = TextPipeline("fr", MARKED, None)
    matrix = torch.arange(20.0).view(4, 5)  # the last row and column are `</s>`
    src, tgt = ["⇧", "oui", "␣", "."], ["⇧", "non", "."]
    whole = align_shown_words(Alignment(src, tgt, matrix), ("Oui .", "Non."), (pipeline, pipeline))
    assert whole.src_words == ["oui", "."] and whole.tgt_words == ["non", "."]
    assert whole.matrix.tolist() == [[6, 8, 9], [11, 13, 14], [16, 18, 19]]
    unfinished = Alignment(src, tgt, matrix[:3])
    assert len(align_shown_words(unfinished, ("Oui .", "Non."), (pipeline, pipeline)).matrix) == 2


def test_tokenised_text_is_split_at_its_blanks() -> None:
    assert tokenized_line("l &apos; a @-@ b", escaped=True).words == ["l", "'", "a", "-", "b"]
    assert tokenized_line("l &apos; a", escaped=False).words == ["l", "&apos;", "a"]
