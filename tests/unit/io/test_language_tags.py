"""Language tags of files fit the languages that a user names, however they are written."""

import pytest

from nmtkit.io.language_tags import best_matches


@pytest.mark.parametrize(
    "language, tags, indices",
    [
        ("en", ["eng", "fra"], [0]),
        ("fr", ["eng", "fre"], [1]),
        ("pt-BR", ["por_PT", "POR_br"], [1]),
        ("de", ["ger", "de"], [1]),
        ("ast", ["spa", "ast"], [1]),
        ("zh", ["eng", "cmn"], [1]),
        ("zh", ["cmn", "yue", "zho"], [2]),
        ("no", ["da", "nb"], [1]),
        ("nb-NO", ["no", "en"], [0]),
        ("fa", ["ara", "pes"], [1]),
        ("cmn", ["yue", "chi"], [1]),
        ("nb", ["nn", "nno-NO"], []),
        ("hr", ["sr", "srp"], []),
        ("en", ["README", "", "xyz", "fra"], []),
    ],
)
def test_codes_of_three_letters_mean_the_same_languages(
    language: str, tags: list[str], indices: list[int]
) -> None:
    assert best_matches(language, tags) == indices
