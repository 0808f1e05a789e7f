"""Cross-entropy differences of single pairs, and samples of a pool."""

import math
from pathlib import Path

import numpy as np
import pytest

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError
from nmtkit.preprocessing.cross_entropy import (
    JoinedPairs,
    ModelFiles,
    NgramDifference,
    SelectSettings,
    folds_of,
    repeated_words,
    sample_pairs,
    score_block,
    token_ids,
    tokenize_block,
)
from nmtkit.preprocessing.ngram_model import NgramModel

TOKENS = TextConfig(tokenized=True)
DOMAIN = (["a b c", "a b", "b c"], ["x y", "x y z", "y x"])
GENERAL = ((["c c d a", "d d"], ["z z", "w w w x"]), (["a d", "d b d"], ["x w", "z z z"]))
"""Text of the general models of either fold."""


def block(src: bytes, tgt: bytes, first: int = 1) -> JoinedPairs:
    return JoinedPairs(("pool.src", "pool.tgt"), first, (src, tgt))


def block_of(pairs: list[tuple[str, str]]) -> JoinedPairs:
    src, tgt = ("\n".join(side).encode() for side in zip(*pairs, strict=True))
    return block(src, tgt)


@pytest.fixture
def models(tmp_path: Path) -> ModelFiles:
    for side, name in enumerate(("src", "tgt")):
        vocabulary = repeated_words(DOMAIN[side])
        vocabulary.save(tmp_path / f"{name}.words")
        domain, *general = (
            NgramModel.train(token_ids(vocabulary, lines), len(vocabulary), 3)
            for lines in (DOMAIN[side], GENERAL[0][side], GENERAL[1][side])
        )
        NgramDifference.write(tmp_path, name, domain, general)
    return ModelFiles(str(tmp_path))


def entropy(texts: list[str], domain: list[str], line: str) -> float:
    """Return the cross-entropy per token of a line under a model of some texts, `</s>` counted."""
    vocabulary = repeated_words(domain)
    model = NgramModel.train(token_ids(vocabulary, texts), len(vocabulary), 3)
    return -sum(model.log_probs(token_ids(vocabulary, [line])).tolist()) / (len(line.split()) + 1)


PAIRS = [("a b c", "x"), ("d d q", "z z y"), ("b", "x y z w"), ("c b", "y")]


@pytest.mark.parametrize("side", ["both", "src", "tgt"])
def test_a_score_is_the_difference_of_entropies(models: ModelFiles, side: str) -> None:
    settings = SelectSettings(TOKENS, side, 3)  # type: ignore[arg-type]
    records = score_block(settings, models, block_of(PAIRS))
    folds = folds_of([[pair[side] for pair in PAIRS] for side in settings.sides])
    assert set(folds) == {0, 1}  # otherwise the test shows too little
    for record, fold, pair in zip(records, folds, PAIRS, strict=True):
        parts = [
            entropy(domain, domain, line) - entropy(general, domain, line)
            for line, domain, general in zip(pair, DOMAIN, GENERAL[fold], strict=True)
        ]
        expected = {"both": sum(parts), "src": parts[0], "tgt": parts[1]}[side]
        assert record["score"] == pytest.approx(expected)
        assert record["words"] == len(pair[side == "tgt"].split())


def test_folds_are_of_equal_size_and_copies_are_in_the_same_one() -> None:
    texts = [[f"{word} {n}" for n in range(2000)] for word in "ab"]
    folds = folds_of(texts)
    assert abs(int(folds.sum()) - 1000) < 4 * math.sqrt(2000 / 4)
    assert (folds_of([text[::-1] for text in texts])[::-1] == folds).all()
    assert (folds_of(texts[:1]) != folds).any()  # another side is another text


def test_blank_and_invalid_pairs_rank_last_on_every_side(models: ModelFiles) -> None:
    lines = block(b"a\n\na\na \xff\na", b"x\nx\n\xc2\xa0 \nx\nx")
    for side in ("both", "src", "tgt"):
        settings = SelectSettings(TOKENS, side, 3, invalid="drop")
        records = score_block(settings, models, lines)
        assert np.isfinite(records["score"]).tolist() == [True, False, False, False, True]
        assert records["words"].tolist() == [1, 0, 0, 0, 1]
    assert not np.isfinite(score_block(settings, models, block(b"", b""))["score"]).any()


def test_a_line_that_is_not_utf8_is_reported() -> None:
    with pytest.raises(DataError, match="^pool.tgt:8: not valid UTF-8"):
        tokenize_block(SelectSettings(), block(b"a\nb", b"x\n\xff", first=7))


def test_raw_lines_are_tokenized() -> None:
    _, texts = tokenize_block(SelectSettings(), block(b"It's here.", "L'été.".encode()))
    assert texts == (["It 's here ."], ["L' été ."])


def test_characters_are_words_where_no_blanks_separate_words() -> None:
    lines = block("これは 64MB の本。".encode(), "ว่า".encode())
    _, texts = tokenize_block(SelectSettings(), lines)
    assert texts == (["こ れ は 64MB の 本 。"], ["ว ่ า"])
    _, texts = tokenize_block(SelectSettings(TOKENS), lines)
    assert texts == (["これは 64MB の本。"], ["ว่า"])


def test_the_vocabulary_is_of_repeated_words() -> None:
    vocabulary = repeated_words(["b a b", "c a </s> </s>", "<unk> <unk>"])
    assert vocabulary.words == ("</s>", "<unk>", "a", "b")


def pool(size: int) -> list[JoinedPairs]:
    """Return numbered pairs in blocks of 7: sources of 1 to 3 words, targets of 2."""
    pairs = [(f"s{n}" + " a" * (n % 3), f"t{n} b") for n in range(size)]
    parts = [pairs[first : first + 7] for first in range(0, size, 7)]
    return [block_of(part) for part in parts]


def number(pair: tuple[bytes, bytes]) -> int:
    return int(pair[0].split()[0][1:])


def test_a_sample_has_the_size_and_whole_pairs() -> None:
    for words in (1, 10, 100):
        for sides in ((0,), (1,), (0, 1)):
            pairs = sample_pairs(pool(300), words, sides, seed=3)
            counts = [sum(len(pair[side].split()) for side in sides) for pair in pairs]
            assert words <= sum(counts) < words + max(counts)
            assert all(src.split()[0][1:] == tgt.split()[0][1:] for src, tgt in pairs)
            assert len({number(pair) for pair in pairs}) == len(pairs)


def test_a_sample_depends_on_its_seed_alone() -> None:
    assert sample_pairs(pool(90), 40, (0,), 1) == sample_pairs(pool(90), 40, (0,), 1)
    assert sample_pairs(pool(90), 40, (0,), 1) != sample_pairs(pool(90), 40, (0,), 2)


def test_all_pairs_are_equally_likely_in_a_sample() -> None:
    counts = np.zeros(30)
    for seed in range(600):
        for pair in sample_pairs(pool(30), 20, (1,), seed):
            counts[number(pair)] += 1
    assert counts.sum() == 600 * 10
    spread = math.sqrt(600 * (1 / 3) * (2 / 3))
    assert np.abs(counts - 200).max() < 4 * spread


def test_a_small_pool_is_sampled_whole_without_blank_pairs() -> None:
    blocks = [*pool(9), block(b" \nx\ny", b"x\n\nz")]
    assert len(sample_pairs(blocks, 1000, (0, 1), 1)) == 10
    assert len(sample_pairs(blocks, 1000, (0,), 1)) == 11


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        (SelectSettings(TextConfig(subwords="joint")), "text.subwords must be 'none'"),
        (SelectSettings(order=0), "at least 1, not 0"),
        (SelectSettings(pairs=3, words=4), "not 3 pairs and 4 words"),
        (SelectSettings(pairs=-1), "not -1 pairs"),
    ],
)
def test_contradictory_settings_are_refused(settings: SelectSettings, message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        settings.check()
