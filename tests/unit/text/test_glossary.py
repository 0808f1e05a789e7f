"""Terms are found as words, the longest first."""

import re

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.errors import DataError
from nmtkit.text.glossary import Glossary, Term, contains, count, words_of
from nmtkit.text.subword.sentence_piece import SentencePiece


def glossary(*sources: str) -> Glossary:
    return Glossary(Term(source, ("x",)) for source in sources)


def found(line: str, *sources: str) -> list[str]:
    return [line[one.start : one.end] for one in glossary(*sources).find(line)]


@pytest.mark.parametrize(
    ("line", "sources", "expected"),
    [
        ("the hard disk is full", ["disk", "hard disk"], ["hard disk"]),
        ("Hard  disk, hard-disk", ["hard disk"], ["Hard  disk"]),
        ("a hard disk drive", ["hard disk", "disk drive bay", "disk drive"], ["hard disk"]),
        ("a hard disk drive bay", ["hard disk", "disk drive bay"], ["disk drive bay"]),
        ("disks and a disk", ["disk"], ["disk"]),
        ("C++ and C", ["c++"], ["C++"]),
        ("我们打开设置。", ["设置", "打开"], ["打开", "设置"]),
        ("設定を開く", ["設定"], ["設定"]),
        ("STRASSE und Straße", ["straße"], ["STRASSE", "Straße"]),
        ("un e\u0301cran, un écran", ["écran"], ["e\u0301cran", "écran"]),
        ("un écran", ["e\u0301cran", "cran", "e"], ["écran"]),
        ("une e\u0301cole", ["e", "cole"], []),
        ("कामना और काम", ["काम"], ["काम"]),
        ("نمی\u200cخواهم", ["خواهم"], []),
        ("か\u3099く", ["がく"], ["か\u3099く"]),
        ("การเปิด", ["เปิด"], ["เปิด"]),
        ("", ["a"], []),
        ("a a a", ["a a"], ["a a"]),
    ],
)
def test_terms_are_found(line: str, sources: list[str], expected: list[str]) -> None:
    assert found(line, *sources) == expected


@pytest.mark.parametrize(
    ("term", "line", "language", "expected"),
    [
        ("ilaç", "İlaç al", "tr", ["İlaç"]),
        ("işlemci", "İŞLEMCİ", "az-Latn", ["İŞLEMCİ"]),
        ("ışık", "Işık hızı", "tr", ["Işık"]),
        ("KİTAP", "kitap", "tr", ["kitap"]),
        ("sınır", "sinir SİNİR", "tr", []),
        ("title", "TITLE", "en", ["TITLE"]),
        ("서버", "서버가 서버를 서버", "ko", ["서버가", "서버를", "서버"]),
        ("서버 설정", "서버 설정은", "ko", ["서버 설정은"]),
        ("API", "API는", "ko", ["API는"]),
        ("서버", "서버실", "ko", []),
        ("도", "도로", "ko", []),  # a road, not an island with a particle
        ("a은", "a은", "en", ["a은"]),
        ("διακομιστής", "ΔΙΑΚΟΜΙΣΤΗΣ Διακομιστής", "el", ["ΔΙΑΚΟΜΙΣΤΗΣ", "Διακομιστής"]),
        ("βάση δεδομένων", "ΒΑΣΗ ΔΕΔΟΜΕΝΩΝ", "el", ["ΒΑΣΗ ΔΕΔΟΜΕΝΩΝ"]),
        ("πρωτεΐνη", "ΠΡΩΤΕΪΝΗ", "el", ["ΠΡΩΤΕΪΝΗ"]),
        ("πότε", "ποτέ", "el", []),  # when; never
        ("διακομιστής", "ΔΙΑΚΟΜΙΣΤΗΣ", "en", []),
    ],
)
def test_words_are_those_of_the_language(
    term: str, line: str, language: str, expected: list[str]
) -> None:
    terms = glossary(term).in_language(language)
    assert [line[one.start : one.end] for one in terms.find(line)] == expected


def test_capitals_count_before_particles_too() -> None:
    terms = Glossary([Term("API", ("x",), case_sensitive=True)], "ko")
    assert [one.start for one in terms.find("api는 API는")] == [5]


@pytest.mark.parametrize(
    ("term", "line"),
    [
        ("កុំព្យូទ័រថ្មី", "កុំព្យូទ័រ\u200bថ្មី"),
        ("computer", "com\u00adputer"),
        ("c\u00adomputer", "computer"),
        ("مرحبا", "\u202bمرحبا\u200f"),
        ("co-operate", "co\u2011operate"),
        ("l'home", "l’home"),
        ("п’ять", "п\u02bcять"),
        ("o\u02bczbek", "o'zbek"),
    ],
)
@pytest.mark.parametrize("case_sensitive", [False, True])
def test_what_is_not_seen_does_not_count(term: str, line: str, case_sensitive: bool) -> None:
    assert Glossary([Term(term, ("x",), case_sensitive=case_sensitive)]).find(line)


@pytest.mark.parametrize(
    ("part", "whole"),
    [
        ("\U00011104\U0001110b", "\U00011104\U0001110b\U00011134\U0001111f"),  # Chakma
        ("\U0001e906\U0001e935", "\U0001e906\U0001e935\U0001e944\U0001e92a"),  # Adlam
        ("ᠮᠣᠩᠭᠣᠯ", "ᠮᠣᠩᠭᠣᠯ\u180eᠠ"),
        ("👍", "👍🏽"),
    ],
)
def test_parts_of_words_beyond_the_first_plane_are_not_found(part: str, whole: str) -> None:
    assert not found(whole, part) and found(whole, whole)


def test_case_counts_where_an_entry_says_so() -> None:
    words = Glossary([Term("Save", ("x",), case_sensitive=True)])
    assert [one.start for one in words.find("save Save SAVE")] == [5]
    accented = Glossary([Term("Éa", ("x",), case_sensitive=True)])
    assert [one.start for one in accented.find("éa E\u0301a")] == [3]


@pytest.mark.parametrize("is_first", [False, True])
def test_a_case_sensitive_entry_counts_before_others(is_first: bool) -> None:
    entries = [Term("Menu", ("Karte",), case_sensitive=True), Term("menu", ("Menü",))]
    glossary = Glossary(entries if is_first else entries[::-1])
    found = [one.term.targets[0] for one in glossary.find("The Menu, the menu, the MENU")]
    assert found == ["Karte", "Menü", "Menü"]


def test_of_equal_terms_the_first_counts() -> None:
    first, second = Term("a", ("x",)), Term("A", ("y",))
    assert [one.term for one in Glossary([first, second]).find("a")] == [first]


def test_forbidden_words_are_those_of_terms_on_the_line_and_of_all_lines() -> None:
    words = Glossary(
        [Term("driver", (), ("chauffeur",)), Term("", (), ("zut",)), Term("a", ("b",), ("c",))]
    )
    assert words.forbidden_everywhere == ["zut"] and words.forbidden("no such word") == []
    assert words.forbidden("a Driver") == ["c", "chauffeur"]
    assert [one.term.source for one in words.find("a driver")] == ["a"]


words = st.lists(st.sampled_from(["a", "b", "c", ","]), max_size=8).map(" ".join)


@given(words, st.lists(words.filter(bool), max_size=4))
def test_terms_never_overlap_and_none_is_passed_over(line: str, sources: list[str]) -> None:
    places = [(one.start, one.end) for one in glossary(*sources).find(line)]
    assert all(a[1] <= b[0] for a, b in zip(places, places[1:], strict=False))
    rest = line
    for start, end in places:
        rest = rest[:start] + "#" * (end - start) + rest[end:]
    for source in sources:
        pattern = rf"(?<!\S){re.escape(source)}(?!\S)"
        assert not re.search(pattern, rest)


@given(words, words.filter(bool))
def test_phrases_are_counted_as_in_text(text: str, phrase: str) -> None:
    expected = len(re.findall(rf"(?<!\S){re.escape(phrase)}(?!\S)", text))
    assert count(text, [phrase]) == expected
    assert contains(text, phrase) == (expected > 0)


def test_a_long_term_takes_no_quadratic_time() -> None:
    large = glossary(*(f"w{n} x" for n in range(100_000)))
    assert len(large.find(" ".join(f"w{n} x" for n in range(5_000)))) == 5_000
    assert len(words_of("a" * 1_000_000)) == 1


def test_a_term_needs_a_translation() -> None:
    with pytest.raises(DataError, match="the term 'man' has no translation; give at least one"):
        Glossary([Term("disk", ("disque",)), Term("man")])
    Glossary([Term("man", (), ("homme",)), Term("", (), ("fou",))])


def test_terms_are_written_by_the_rules_of_the_model(nmt_nfkc: SentencePiece) -> None:
    terms = [Term("ﬁle", ("x",)), Term("ＰＤＦ", ("y",), case_sensitive=True), Term("a①", ("z",))]
    rules = nmt_nfkc.normalization
    changed = Glossary(terms).in_language("en", rules)
    lines = ("the FILE", "the ﬁle", "the ｐｄｆ", "a PDF", "ＰＤＦ", "ａ1")
    found = [changed.find(rules.normalize(line)) for line in lines]
    assert [[one.term for one in occurrences] for occurrences in found] == [
        *([terms[0]], [terms[0]], [], [terms[1]], [terms[1]], [terms[2]])
    ]
    assert Glossary(terms).find("a1 PDF") == []
    plain = Glossary([Term("file", ("x",))])  # of 50,000 terms a copy would take a second
    assert plain.in_language("en", rules) is plain
