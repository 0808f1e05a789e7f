"""Sides in scripts that their languages do not use are refused, without an identifier."""

import pytest

from nmtkit.errors import DataError
from nmtkit.preprocessing.script_check import check_scripts

TEXTS = {
    "en": "The prices of bread rose in the capital last week. " * 8,
    "bo": "དེ་རིང་གནམ་གཤིས་ཡག་པོ་འདུག ང་ཚོ་གཟའ་འཁོར་རྗེས་མར་རྒྱལ་ས་ལ་འགྲོ་གི་ཡིན། " * 16,
    "chr": "ᎪᎯ ᎢᎦ ᎣᏍᏓ ᎦᏙᎯ. ᏒᎯ ᏦᎢ ᏗᎪᏪᎵ ᎤᏩᏎ. " * 16,
    "ja": "彼女は昨日、市場で本を三冊買った。 " * 16,
    "zh": "她昨天在市場買了三本書。 " * 25,
    "sr": "Вријеме је данас веома лијепо, rekao je danas. " * 8,
}


def check(src: str, tgt: str, texts: tuple[str, str], known: bool = True) -> None:
    check_scripts((src, tgt), texts, ("a.x", "a.y"), (known, known))


@pytest.mark.parametrize("language", sorted(set(TEXTS) - {"en"}))
def test_text_in_its_scripts_passes(language: str) -> None:
    check("en", language, (TEXTS["en"], TEXTS[language]))


@pytest.mark.parametrize("language", ["bo", "chr", "ja", "zh"])
def test_swapped_sides_are_refused(language: str) -> None:
    message = r"^a\.x and a\.y: the sides look swapped: 100% .* English \(en\); swap the files"
    with pytest.raises(DataError, match=message):
        check("en", language, (TEXTS[language], TEXTS["en"]))


@pytest.mark.parametrize(("language", "other"), [("en", "bo"), ("bo", "zh"), ("chr", "ja")])
def test_a_script_of_other_languages_is_refused(language: str, other: str) -> None:
    with pytest.raises(DataError, match=r"^a\.y: \d+% of the letters are .*, or use --no-lang"):
        check("en", language, (TEXTS["en"], TEXTS[other]))


def test_what_may_be_right_passes() -> None:
    check("en", "bo", (TEXTS["en"], TEXTS["en"]))  # transliterated
    check("en", "bo", (TEXTS["bo"][:200], TEXTS["en"][:200]))  # too short
    check("en", "tlh", (TEXTS["en"], TEXTS["chr"]))  # not in the table
    check("zh", "ja", (TEXTS["ja"], TEXTS["zh"]))  # they share Han
    check("en", "bo", (TEXTS["bo"], TEXTS["en"]), known=False)  # a script was named
