"""The times of recipes follow from what they use of a corpus."""

from pathlib import Path

import pytest

from nmtkit.config_io import recipe_names
from nmtkit.training import recipe_times
from nmtkit.training.settings import make_config
from nmtkit.training.speed import Speed

WORDS = ("a", "b", "c")
SPEED = 10.0
"""Tokens a second of every recipe."""


def prepare(folder: Path, lengths: list[int], corpora: str = "") -> Path:
    """Return a prepared folder whose training pairs have so many words on each side."""
    folder.mkdir()
    for side in ("src", "tgt"):
        lines = (" ".join(WORDS[i % 3] for i in range(length)) for length in lengths)
        (folder / f"train.{side}").write_text("".join(f"{line}\n" for line in lines))
        (folder / f"dev.{side}").write_text("a b\n")
        vocabulary = "".join(f"{word}\t9\n" for word in ("</s>", "<unk>", *WORDS))
        (folder / f"vocab.{side}").write_text(vocabulary)
    (folder / "manifest.json").write_text(f'{{"format": 1, "text": {{}}{corpora}}}')
    return folder


@pytest.fixture(autouse=True)
def machine(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(recipe_times, "fastest_speeds", lambda *_: [Speed(round(SPEED), 1.0, 1.0)])


def times_of(folder: Path) -> dict[str, recipe_times.RecipeTime]:
    found = {time.recipe: time for time in recipe_times.recipe_times(folder, device="cpu")}
    assert list(found) == recipe_names()
    return found


def test_pairs_that_a_recipe_leaves_out_take_no_time(tmp_path: Path) -> None:
    """Recipes take sentences of 20 to 100 tokens; longer ones counted as if they were used."""
    short = [9, 3, 14, 6] * 300
    some, more = prepare(tmp_path / "short", short), prepare(tmp_path / "all", [*short, 101, 500])
    assert times_of(some) == times_of(more)


def test_a_recipe_for_shorter_sentences_than_there_are_says_so(tmp_path: Path) -> None:
    """The list ended with an error."""
    found = times_of(prepare(tmp_path / "long", [40] * 100))
    without_time = {name for name, time in found.items() if time.seconds is None}
    longest = {name: make_config(name).data.max_length for name in recipe_names()}
    assert without_time == {name for name in longest if longest[name] < 40} != set()
    assert "\tno pair has at most 30 tokens a side\t" in str(found["rnnenc-30"])


def test_the_weights_of_corpora_count_in_the_time_of_an_epoch(tmp_path: Path) -> None:
    corpora = ', "corpora": [{"pairs": 10, "weight": 3}, {"pairs": 90, "weight": 0.5}]'
    folder = prepare(tmp_path / "weighted", [4] * 10 + [9] * 90, corpora)
    tokens = 3 * 10 * 5 + 0.5 * 90 * 10
    found = times_of(folder)
    assert found["rnnsearch-modern"].seconds == pytest.approx(tokens / SPEED)
    assert found["seq2seq-lstm"].seconds == pytest.approx(7.5 * tokens / SPEED)


def test_no_batch_has_more_than_the_corpus(tmp_path: Path) -> None:
    """A batch of 80 sentences has 3, if there are no more."""
    found = times_of(prepare(tmp_path / "tiny", [4] * 3))
    assert found["rnnsearch-50"].seconds == pytest.approx(288_000 * 15 / SPEED)
