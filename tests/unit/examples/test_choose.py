"""examples/papers/choose.py: which pairs are chosen, and that a sample is a fair one."""

import itertools
from collections import Counter
from pathlib import Path

import choose
import pytest
from corpora import CorpusError


def pairs(folder: Path, rows: list[tuple[str, str]], name: str = "train") -> str:
    for side, lines in zip(choose.SIDES, zip(*rows, strict=True), strict=True):
        (folder / f"{name}.{side}").write_text("".join(f"{x}\n" for x in lines), encoding="utf-8")
    return str(folder / name)


def chosen(folder: Path, *options: object) -> tuple[list[str], list[str], list[int]]:
    """Run the program on `train`; return both sides and the line numbers."""
    output = str(folder / "chosen")
    choose.main([str(folder / "train"), "--output", output, *map(str, options)])
    assert not list(folder.glob("*.part"))
    src, tgt = (
        Path(f"{output}.{side}").read_text(encoding="utf-8").split("\n")[:-1]
        for side in choose.SIDES
    )
    return src, tgt, [int(line) for line in Path(f"{output}.lines").read_text().split()]


@pytest.fixture
def counted(tmp_path: Path) -> Path:
    """Write 30 pairs; pair n has n words in the source and 2 in the target."""
    pairs(tmp_path, [(" ".join(["a"] * n), f"y {n}") for n in range(1, 31)])
    return tmp_path


def test_lengths_are_of_both_sides_or_of_the_source(counted: Path) -> None:
    assert chosen(counted, "--words", "2-4")[2] == [2, 3, 4]
    assert chosen(counted, "--words", "0-1")[2] == []
    assert chosen(counted, "--source-words", "28-")[2] == [28, 29, 30]


def test_the_longest_are_kept_in_order_and_of_equals_the_first(tmp_path: Path) -> None:
    pairs(tmp_path, [("a a", "x"), ("a a a", "x"), ("a", "x"), ("b b", "x"), ("a a a a", "x")])
    assert chosen(tmp_path, "--longest", 3)[2] == [1, 2, 5]
    assert chosen(tmp_path, "--source-words", "0-2", "--longest", 1)[2] == [1]


def test_known_pairs_have_no_unknown_words(tmp_path: Path) -> None:
    pairs(tmp_path, [("a b", "x x"), ("a c", "x"), ("b", "y"), ("a b\u2028", "x")])
    (tmp_path / "vocab.src").write_text("</s>\t1\n<unk>\t0\na\t3\nb\t2\nb\u2028\t1\n")
    (tmp_path / "vocab.tgt").write_text("</s>\t1\n<unk>\t0\nx\t3\n")
    options = ["--known", tmp_path / "vocab.src", tmp_path / "vocab.tgt"]
    assert chosen(tmp_path, *options) == (["a b", "a b\u2028"], ["x x", "x"], [1, 4])


def test_repeated_sources_in_a_row_count_once(tmp_path: Path) -> None:
    pairs(tmp_path, [("a", "x"), ("a", "y"), ("b", "x"), ("b", "x"), ("a", "z")])
    assert chosen(tmp_path, "--unique")[2] == [1, 3, 5]
    assert chosen(tmp_path)[2] == [1, 2, 3, 4, 5]


def test_subwords_are_joined_before_words_are_counted(tmp_path: Path) -> None:
    pairs(tmp_path, [("a@@ b@@ c d", "x@@ y")])
    assert chosen(tmp_path, "--words", "1-2") == (["abc d"], ["xy"], [1])


def test_a_sample_is_random_in_order_and_repeatable(counted: Path) -> None:
    first = chosen(counted, "--random", 8, "--seed", 5)
    assert first == chosen(counted, "--random", 8, "--seed", 5)
    src, tgt, lines = first
    assert len(lines) == 8 and lines == sorted(set(lines)) and lines != list(range(1, 9))
    assert [len(line.split()) for line in src] == lines == [int(line.split()[1]) for line in tgt]
    assert chosen(counted, "--random", 8, "--seed", 6)[2] != lines
    assert chosen(counted, "--random", 31)[2] == list(range(1, 31))


def test_each_subset_is_drawn_equally_often() -> None:
    draws = 6000
    counts = Counter(tuple(choose.draw([3, 5, 7, 11], 2, seed)) for seed in range(draws))
    assert set(counts) == set(itertools.combinations([3, 5, 7, 11], 2))
    assert all(count == pytest.approx(draws / 6, rel=0.12) for count in counts.values())


def test_the_second_of_two_joined_corpora_is_sampled_too(tmp_path: Path) -> None:
    rows = [("europarl", "x")] * 700 + [("crawl", "x")] * 300
    pairs(tmp_path, rows)
    counts = Counter(chosen(tmp_path, "--random", 100)[0])
    assert counts["europarl"] == pytest.approx(70, abs=15)


def test_sides_of_different_length_are_an_error(tmp_path: Path) -> None:
    pairs(tmp_path, [("a", "x"), ("b", "y")])
    (tmp_path / "train.tgt").write_text("x\n")
    with pytest.raises(ValueError, match="shorter"):
        chosen(tmp_path)
    assert not (tmp_path / "chosen.src").exists()


def test_sides_that_do_not_belong_together_are_refused(tmp_path: Path) -> None:
    pairs(tmp_path, [("a", "x"), ("b", "y")])
    (tmp_path / "train.tgt").write_text("x\n")
    options = [str(tmp_path / "train"), "--output", str(tmp_path / "chosen")]
    with pytest.raises(CorpusError, match="train: one of .src and .tgt is shorter than the other"):
        choose.run(options)
    (tmp_path / "train.tgt").write_bytes(b"x\n\xe9\n")
    with pytest.raises(CorpusError, match="train: not valid UTF-8"):
        choose.run(options)
