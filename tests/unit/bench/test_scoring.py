"""Pieces are joined to the text that is scored."""

from pathlib import Path

import pytest
from languages import Direction
from scoring import join_pieces, scores_of, scores_of_lines
from timing import BenchError


def test_pieces_of_the_reference_score_one_hundred(tmp_path: Path) -> None:
    lines = {"en": "It is new, %s.\n", "ja": "それは新しいです。\n"}
    (tmp_path / "ja").mkdir()
    for split in ("train", "val", "test"):
        for language, line in lines.items():
            (tmp_path / "ja" / f"{split}.{language}").write_text(line * 30)
    direction = Direction("en", "ja", tmp_path)
    data = direction.prepare(tmp_path / "work", 300)
    text = join_pieces(data, data.text("test", "tgt"), tmp_path / "text")
    assert text.read_text() == lines["ja"] * 30
    assert scores_of(text, direction.text("test", "ja"), "ja") == pytest.approx((100, 100))


@pytest.mark.parametrize("lines", [["It is new."], ["It is new."] * 3])
def test_a_translation_with_other_lines_than_the_references_has_no_score(lines: list[str]) -> None:
    with pytest.raises(BenchError, match=f"{len(lines)} lines were translated, not 2"):
        scores_of_lines(lines, ["It is new."] * 2, "en")
