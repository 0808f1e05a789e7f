"""Truecasing equals Moses's, as sacremoses has it; its files are those of train-truecaser.perl."""

import random
from pathlib import Path

import pytest
from sacremoses import MosesTruecaser

from nmtkit.errors import DataError
from nmtkit.text.truecaser import Truecaser, count_inner, count_inner_block

LINES = [
    "The cat sees Paris .",
    "Paris is in the north . the NASA !",
    '" The NASA " is the best',
    "a Cat ? Dogs and dogs and dogs",
    "iPhone and an iPhone : The end",
]


def learned(lines: list[str]) -> Truecaser:
    return Truecaser.learn("en", count_inner("\n".join(lines) + "\n"))


def random_lines(count: int) -> list[str]:
    draw = random.Random(4)
    words = ["The", "the", "paris", "Paris", "PARIS", "cat", ".", "!", ":", "(", '"', "3", "'s"]
    return [" ".join(draw.choices(words, k=draw.randint(2, 9))) for _ in range(count)]


@pytest.mark.parametrize("lines", [LINES, random_lines(200)])
def test_words_get_the_case_that_moses_gives_them(lines: list[str]) -> None:
    moses = MosesTruecaser()
    moses.train([line.split() for line in lines])
    ours = learned(lines)
    best = {small: forms.most_common(2) for small, forms in moses.model["casing"].items()}
    clear = {small for small, forms in best.items() if len({count for _, count in forms}) > 1}
    clear |= {small for small, forms in best.items() if len(forms) == 1}
    for line in lines:
        theirs = moses.truecase(line, use_known=True)
        for word, mine, other in zip(line.split(), ours.apply(line).split(), theirs, strict=True):
            assert mine == other or word.lower() not in clear


def test_the_file_is_read_back(tmp_path: Path) -> None:
    model = learned(LINES)
    model.save(tmp_path / "truecase.src")
    text = (tmp_path / "truecase.src").read_text(encoding="utf-8")
    assert {"NASA (2/2)", "dogs (2/2)", "Cat (1/2) cat (1)"} <= set(text.splitlines())
    again = Truecaser.load(tmp_path / "truecase.src", "en")
    for line in LINES:
        assert again.apply(line) == model.apply(line)


@pytest.mark.parametrize("line", ["", "the", "the (1/1) x", "the (a/b)", "the (1/1) The (1) x"])
def test_a_damaged_file_is_refused(tmp_path: Path, line: str) -> None:
    (tmp_path / "truecase.src").write_text(f"a (1/1)\n{line}\n", encoding="utf-8")
    with pytest.raises(DataError, match=r"truecase.src:2: not 'word \(count/total\)"):
        Truecaser.load(tmp_path / "truecase.src", "en")


def test_sentences_begin_with_a_capital_again() -> None:
    words = '" the end . is it ? ( yes ) note : it is'.split()
    assert " ".join(learned(LINES).undo(words)) == '" The end . Is it ? ( Yes ) note : it is'


def test_a_tag_before_the_line_begins_no_sentence() -> None:
    assert count_inner("<bt> The Cat") == {"The": 0, "Cat": 1, "<bt>": 1}
    assert learned(["x the the"]).apply("<bt> The end") == "<bt> the end"


def test_counts_of_blocks_add_up() -> None:
    whole = count_inner("\n".join(LINES))
    parts = [count_inner_block("\n".join(part).encode()) for part in (LINES[:2], LINES[2:])]
    assert parts[0] + parts[1] == +whole
