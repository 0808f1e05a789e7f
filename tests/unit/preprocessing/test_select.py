"""Selection from Python: contradictory settings, and a pool that changes while it is read."""

import random
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError
from nmtkit.preprocessing.cross_entropy import (
    folds_of,
    read_blocks,
    repeated_words,
    sample_pairs,
    token_ids,
)
from nmtkit.preprocessing.ngram_model import NgramModel
from nmtkit.preprocessing.select import SelectSettings, select
from tests.unit.preprocessing.bitexts import bitext

TOKENS = TextConfig(tokenized=True)


def test_the_selection_is_logged(pool: tuple[Path, Path], tmp_path: Path) -> None:
    domain = bitext(tmp_path, "domain", ["a b", "a b", "c a b"])
    output = (tmp_path / "out.src", tmp_path / "out.tgt")
    selection = select(SelectSettings(TOKENS, words=6), [pool, pool], output, domain)
    assert (selection.read, selection.pairs, selection.words) == (10, 2, 6)
    assert output[0].read_text() == output[1].read_text() == "e a b\ne a b\n"
    assert np.isfinite(selection.cutoff.score)


PAIR = ("a", "b")


@pytest.mark.parametrize(
    ("settings", "arguments", "message"),
    [
        ({"pairs": 1}, {"pool": []}, "there is no pool"),
        ({"pairs": 1}, {"dev": PAIR}, "the best cutoff, and nothing else, needs a dev set"),
        ({}, {}, "the best cutoff, and nothing else, needs a dev set"),
        ({"pairs": 1}, {"domain": None}, "the text of the domain is missing"),
        ({}, {"domain": None, "dev": PAIR, "lms": (PAIR, PAIR)}, "text of the domain is missing"),
        ({"pairs": 1}, {"lms": (PAIR, PAIR)}, "the language models replace"),
        ({"pairs": 1}, {"domain": None, "lms": (["a"], PAIR)}, "2 language models of the domain"),
        ({"pairs": 1, "side": "src"}, {"domain": None, "lms": (PAIR, PAIR)}, "1 language models"),
        ({"pairs": 1, "words": 1}, {}, "not 1 pairs and 1 words"),
        ({"pairs": 1}, {"output": ("x", "x")}, "different names"),
    ],
)
def test_contradictory_settings_and_arguments_are_refused(
    settings: dict[str, Any], arguments: dict[str, Any], message: str, tmp_path: Path
) -> None:
    output = (tmp_path / "x", tmp_path / "y")
    all_arguments = {"pool": [PAIR], "output": output, "domain": PAIR, **arguments}
    with pytest.raises(ConfigError, match=message):
        select(SelectSettings(**settings), **all_arguments)


def test_no_model_scores_pairs_that_it_was_trained_on(tmp_path: Path) -> None:
    """A general model has all pairs of the other fold and none of the fold that it scores."""
    rng = random.Random(1)
    lines = [" ".join(rng.choices("abcdefgh", k=5)) for _ in range(300)]
    pool = bitext(tmp_path, "pool", lines + lines[:50])
    domain = bitext(tmp_path, "domain", [" ".join(rng.choices("abcdefgh", k=6)) for _ in range(40)])
    settings = SelectSettings(TOKENS, "both", order=3, seed=5, pairs=10)
    scores = tmp_path / "scores"
    select(settings, [pool], (tmp_path / "x", tmp_path / "y"), domain, scores=scores)
    actual = [float(line) for line in scores.read_text().splitlines()]

    texts = [path.read_text().splitlines() for path in pool]
    sampled = [
        tuple(line.decode() for line in pair)
        for pair in sample_pairs(read_blocks([pool]), 2 * 2 * 40 * 6, (0, 1), seed=5)
    ]
    assert 60 < len(sampled) < 300  # twice the domain's words, and not the whole pool
    pairs = list(zip(*texts, strict=True))
    folds = dict(zip(pairs, folds_of(texts).tolist(), strict=True))
    domain_lines = domain[0].read_text().splitlines()
    vocabulary = repeated_words(domain_lines)
    models = [
        NgramModel.train(token_ids(vocabulary, text), len(vocabulary), 3)
        for text in (
            [src for src, tgt in sampled if folds[src, tgt] == 1],
            [src for src, tgt in sampled if folds[src, tgt] == 0],
            domain_lines,
        )
    ]
    for pair, score in zip(pairs, actual, strict=True):
        ids = token_ids(vocabulary, [pair[0]])
        general, near = models[folds[pair]], models[2]
        difference = general.log_probs(ids).mean() - near.log_probs(ids).mean()
        assert score == pytest.approx(2 * difference, abs=2e-6)  # both sides are the same text
    assert actual[300:] == actual[:50]  # copies


def test_more_text_of_the_domain_makes_the_selection_no_worse(tmp_path: Path) -> None:
    """The share of hidden pairs among the best does not fall, although the samples grow."""
    rng = random.Random(3)
    words = [f"{letter}{n}" for letter in "abcdefghijk" for n in range(9)]

    def drawn(count: int, weights: list[float]) -> list[str]:
        return [" ".join(rng.choices(words, weights, k=rng.randrange(4, 12))) for _ in range(count)]

    near, far = ([1 / (1 + (3 * n + shift) % 99) for n in range(99)] for shift in (0, 40))
    hidden, general = drawn(200, near), drawn(2000, far)
    pool = bitext(tmp_path, "pool", general + hidden)
    found = []
    for size in (100, 2000):
        domain = bitext(tmp_path, f"domain{size}", drawn(size, near))
        settings = SelectSettings(TOKENS, pairs=200)
        scores = tmp_path / f"scores{size}"
        select(settings, [pool], (tmp_path / f"x{size}", tmp_path / f"y{size}"), domain, None,
               scores=scores)  # fmt: skip
        ranking = np.argsort(np.loadtxt(scores), kind="stable")[:200]
        found.append(int((ranking >= 2000).sum()))
    assert found[1] >= found[0]
