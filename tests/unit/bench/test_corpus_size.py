"""The generated corpus has WMT'14's sentence lengths, and all steps are measured on it."""

from pathlib import Path

import corpus_size
import numpy as np
import pytest
from memory import MemoryCost
from timing import CommandCost


def test_lengths_match_the_papers_corpus() -> None:
    words = corpus_size.lengths(np.random.default_rng(1), 200_000)
    for side, mean in corpus_size.MEAN_WORDS.items():
        assert words[side].mean() == pytest.approx(mean, rel=0.01)
        assert words[side].min() >= 1 and words[side].max() <= corpus_size.MAX_WORDS
    ratio = np.log(words["fr"] / words["en"])[words["en"] > 20]
    assert ratio.std() == pytest.approx(corpus_size.RATIO_SD, rel=0.1)


def test_both_sides_have_a_line_per_pair_and_zipfian_words(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(corpus_size, "VOCABULARY_SIZE", 1000)
    monkeypatch.setattr(corpus_size, "BLOCK_SENTENCES", 300)
    for side in corpus_size.SIDES:
        corpus_size.write_side(tmp_path / side, side, 1000, 1)
    sides = {side: (tmp_path / side).read_text().splitlines() for side in corpus_size.SIDES}
    counts = {side: np.array([len(line.split()) for line in sides[side]]) for side in sides}
    assert len(sides["en"]) == len(sides["fr"]) == 1000
    assert np.corrcoef(counts["en"], counts["fr"])[0, 1] > 0.9
    words = " ".join(sides["en"]).split()
    assert words.count("e0") > 1.5 * words.count("e1") > 2 * words.count("e9") > 0
    corpus_size.write_side(tmp_path / "again", "en", 1000, 1)
    assert (tmp_path / "again").read_text() == (tmp_path / "en").read_text()


def test_each_step_is_run_and_reported(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    commands: list[list[str]] = []

    def peak_memory(command: list[str], *_: object) -> MemoryCost:
        commands.append(command[command.index("--quiet") + 1 :])
        folder = Path(command[command.index("--output") + 1]) if "--output" in command else None
        if folder is not None:
            folder.mkdir(exist_ok=True)
            (folder / f"file{len(commands)}").write_bytes(b"x" * 2**20)
        return MemoryCost(CommandCost(2.5, 3.5, 5 * 2**20), 7 * 2**20)

    monkeypatch.setattr(corpus_size, "peak_memory", peak_memory)
    monkeypatch.setattr(corpus_size, "VOCABULARY_SIZE", 100)
    arguments = ["--pairs", "30", "--updates", "7", "--work", str(tmp_path)]
    assert corpus_size.main([*arguments, "--output", str(tmp_path / "table.md")]) == 0
    assert [words[0] for words in commands] == ["prepare", "shortlist", "train", "train", "train"]
    limits = [
        word for words in commands for word in words if word.startswith("training.max_updates")
    ]
    assert limits == [f"training.max_updates={n}" for n in (1, 7, 8)]
    table = (tmp_path / "table.md").read_text()
    assert "| train, to update 7 | 2.5 | 3.5 | 5 | 7 | 2 |" in table
    assert table.strip() == capsys.readouterr().out.strip()
