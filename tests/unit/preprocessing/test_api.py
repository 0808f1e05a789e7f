"""The Python API of data preparation."""

from pathlib import Path

import pytest

from nmtkit.errors import DataError
from nmtkit.preprocessing.api import build_shortlist, prepare


@pytest.mark.parametrize(("src_size", "tgt_size"), [(0, None), (None, 0)])
def test_a_shortlist_of_0_words_is_refused(
    tmp_path: Path, src_size: int | None, tgt_size: int | None
) -> None:
    files = tmp_path / "en", tmp_path / "fr"
    for file in files:
        file.write_text("one two\n", encoding="utf-8")
    folder = tmp_path / "prepared"
    prepare(files, folder, files, src_language="en", tgt_language="fr", subword="none")
    with pytest.raises(DataError, match="0"):
        build_shortlist(folder, 9, src_size=src_size, tgt_size=tgt_size)
    build_shortlist(folder, 9)
