"""A new subword method is a class and one entry in the table."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from pathlib import Path

import pytest

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError
from nmtkit.io.inputs import Source
from nmtkit.io.lines import read_lines
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword import METHODS, SubwordModel, load_subword_model


class Characters:
    """Every character is a piece; `_` ends a word."""

    size = 1
    normalization = None

    @classmethod
    def learn(cls, counts: Mapping[str, int], size: int) -> "Characters":
        return cls()

    @classmethod
    def load(
        cls,
        path: Source,
        vocabulary: Collection[str] | None = None,
        glossaries: Sequence[str] = (),
    ) -> "Characters":
        assert list(read_lines(path)) == ["characters"]
        return cls()

    def save(self, path: str | Path, force: bool = False) -> None:
        Path(path).write_text("characters\n")

    def apply(self, words: Iterable[str]) -> list[str]:
        return [piece for word in words for piece in (*word, "_")]

    def apply_line(self, words: Iterable[str]) -> str:
        return " ".join(self.apply(words))

    @staticmethod
    def undo(pieces: Iterable[str]) -> list[str]:
        return "".join(pieces).replace("_", " ").split()

    def apply_behind(self, words: Iterable[str]) -> tuple[list[str], list[str]]:
        return self.apply(words), self.apply(words)

    @staticmethod
    def opens(piece: str) -> bool:
        return piece != "_"

    @staticmethod
    def goes_on(piece: str) -> bool:
        return True

    @staticmethod
    def spelling(piece: str) -> tuple[bytes, bool]:
        return piece.removesuffix("_").encode(), piece != "_"

    @staticmethod
    def open_pieces(pieces: Sequence[str]) -> int:
        return len(pieces)

    @staticmethod
    def join(pieces: Iterable[str]) -> tuple[list[str], list[int]]:
        words: list[str] = [""]
        indices: list[int] = []
        for piece in pieces:
            indices.append(len(words) - 1)
            words[-1:] = [words[-1], ""] if piece == "_" else [words[-1] + piece]
        return words[:-1], indices


@pytest.fixture
def characters(monkeypatch: pytest.MonkeyPatch) -> SubwordModel:
    monkeypatch.setitem(METHODS, "characters", Characters)
    return Characters()


def test_data_is_prepared_and_read_with_a_new_method(characters, tmp_path: Path) -> None:
    for name, line in (("a.en", "two words\n"), ("a.fr", "deux mots\n")):
        (tmp_path / name).write_text(line)
    text = TextConfig(subwords="joint")
    settings = PrepareSettings(text, merges=1, subword_method="characters")
    manifest = prepare(settings, tmp_path / "out", (tmp_path / "a.en", tmp_path / "a.fr"))
    assert manifest["settings"]["subword_method"] == "characters"
    assert (tmp_path / "out" / "train.src").read_text() == "t w o _ w o r d s _\n"
    names = {path.name for path in (tmp_path / "out").iterdir()}
    assert names >= {"characters.src", "characters.tgt"} and "bpe.src" not in names
    pipeline = TextPipeline.load(tmp_path / "out", "tgt", text)
    assert pipeline.line(pipeline.tokens("Deux mots.")) == "Deux mots."
    assert pipeline.join(["o", "n", "_", "a", "_"]) == (["on", "a"], [0, 0, 0, 1, 1])


def test_an_unknown_method_is_refused() -> None:
    with pytest.raises(ConfigError, match="unknown subword method 'syllables'; choose one of bpe"):
        PrepareSettings(subword_method="syllables").check()


def test_a_missing_subword_model_is_named(tmp_path: Path) -> None:
    with pytest.raises(DataError, match=r"bpe\.src: cannot be read"):
        load_subword_model(tmp_path, "src")
