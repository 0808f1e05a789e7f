"""Figures of translations on lines with words that the training data lacks."""

from pathlib import Path

import pytest
import rare_words

TRAIN = ["a dog runs", "the man sleeps", "it is 3 days old"]
SOURCE = ["a dog runs in Oslo", "the man sleeps", "a cat of Mia", "it is 3 days old"]
REFERENCE = ["un chien court à Oslo", "un homme dort ici", "un chat de Mia", "il a trois jours"]


@pytest.fixture
def files(tmp_path: Path) -> list[str]:
    for name, lines in (("train", TRAIN), ("source", SOURCE), ("reference", REFERENCE)):
        (tmp_path / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return [a for n in ("train", "source", "reference") for a in (f"--{n}", str(tmp_path / n))]


def row(
    translation: list[str],
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> list[str]:
    """Return the figures that the program prints of one translation."""
    output = tmp_path / "translation"
    output.write_text("".join(f"{line}\n" for line in translation), encoding="utf-8")
    arguments = ["rare_words.py", "-s", "en", "-t", "fr", *files, "--tokenized", str(output)]
    monkeypatch.setattr("sys.argv", arguments)
    rare_words.main()
    heading, figures = capsys.readouterr().out.splitlines()
    assert "2 rare" in heading
    return figures[24:].split()


@pytest.mark.parametrize(
    ("line", "new", "figures"),
    [
        (0, REFERENCE[0], ["100.00", "100.00", "100.00", "2/2", "2/2"]),
        (0, "un chien court à Rome", [None, None, "100.00", "1/2", "1/2"]),
        (3, "elle dort encore bien", [None, "100.00", None, "2/2", "2/2"]),
    ],
    ids=["equal", "another name", "another line"],
)
def test_figures(
    line: int,
    new: str,
    figures: list[str | None],
    files: list[str],
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """None: lower than that of the reference itself."""
    translation = [*REFERENCE[:line], new, *REFERENCE[line + 1 :]]
    found = row(translation, files, tmp_path, monkeypatch, capsys)
    for figure, expected in zip(found, figures, strict=True):
        assert figure == expected if expected else float(figure) < 100
