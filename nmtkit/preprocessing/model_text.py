"""The text of a model, for `prepare --like MODEL`: other data are prepared in the same way."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from nmtkit.config import TextConfig
from nmtkit.errors import ModelError
from nmtkit.io.checksums import check_sums
from nmtkit.text.subword import method_of
from nmtkit.text.term_words import TermWords


@dataclass(frozen=True)
class ModelText:
    """How a model's text was prepared, with the names of sides that its prepared folder had.

    text: the settings.
    subword_method: a name in `nmtkit.text.subword.METHODS`.
    files: contents of the subword models and all else that text is read with, by name.
    words: those of the vocabularies, by the names of their files.
    """

    text: TextConfig
    subword_method: str
    files: Mapping[str, bytes]
    words: Mapping[str, Sequence[str]]

    @classmethod
    def read(cls, folder: str | Path) -> "ModelText":
        """Read the text of a model from its folder.

        For a model trained with `data.swap_sides` the sides are swapped back: `train --from` swaps
        them again.

        :raises NmtkitError: it is not a model folder, or a file is missing or damaged.
        """
        # these import torch, which other preparations do not need
        from nmtkit.model_folder import SUMMED_FILES, read_config, read_vocabularies
        from nmtkit.new_model_folder import prepared_files

        folder = Path(folder)
        config = read_config(folder)
        check_sums(folder, SUMMED_FILES)
        text, sides = config.text, config.data.sides
        if config.data.swap_sides:
            languages = text.tgt_language, text.src_language
            text = replace(text, src_language=languages[0], tgt_language=languages[1])
        src, tgt = read_vocabularies(folder)
        term_words = TermWords.of(src, tgt)
        src_words = src.words[: term_words.first] if term_words else src.words  # added again later
        names = [f"vocab.{side}" for side in sides]
        try:
            files = prepared_files(folder, config.text, sides)
        except OSError as error:
            raise ModelError(
                f"{error.filename}: cannot be read: {error.strerror}; restore it from a copy"
            ) from error
        return cls(
            text,
            method_of(folder, "src"),
            {name: content for name, content in files.items() if name not in names},
            dict(zip(names, (src_words, tgt.words), strict=True)),
        )

    def write(self, folder: Path) -> None:
        """Write all files but the vocabularies into a prepared folder."""
        for name, content in self.files.items():
            (folder / name).write_bytes(content)

    def write_vocabularies(self, folder: Path) -> None:
        """Write the vocabularies into a prepared folder, without counts, as its text is another."""
        for name, words in self.words.items():
            (folder / name).write_bytes("".join(f"{word}\n" for word in words).encode())
