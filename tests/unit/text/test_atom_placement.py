"""What must come back as it was comes back once, wherever the translation lost it."""

import re
import time
from functools import partial
from unicodedata import normalize

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.text.atom_placement import place_atoms
from nmtkit.text.markup import Atom, parse_markup
from nmtkit.text.markup_pieces import Markup
from nmtkit.text.markup_placement import Aligned
from nmtkit.text.word_offsets import word_offsets
from tests.unit.text.alignments import aligned

PATTERN = re.compile(r"%\w|&|<|>|\d+")


def atoms_of(source: str) -> list[Atom]:
    return [Atom(*m.span(), m[0]) for m in PATTERN.finditer(source)]


def placed(source: str, target: str, links: str = "", unwanted: str = "") -> str:
    return place_atoms(
        atoms_of(source), source, aligned(source, target, links), [re.compile(unwanted or "$^")]
    ).text


def placed_among(source: str, words: str, target: str, links: str) -> str:
    """Return a translation with the atoms of the source, where not all words have blanks.

    :param words: of the translation.
    """
    parts, targets = re.findall(r"%\w|\w+|-", source), words.split()
    weights = np.zeros((len(targets), len(parts)), np.float32)
    for link in links.split():
        left, right = map(int, link.split("-"))
        weights[right, left] = 1
    spans = word_offsets(parts, source), word_offsets(targets, target)
    return place_atoms(atoms_of(source), source, Aligned(target, *spans, weights)).text


texts = st.lists(st.sampled_from(["a", "bc", "%s", "%d", "&", "12", "3", "<", "x%s,"]), max_size=8)


@given(texts, texts, st.integers(0, 2**32 - 1))
def test_each_atom_comes_once_whatever_the_translation_is(
    src: list[str], tgt: list[str], seed: int
) -> None:
    source, target = " ".join(src), " ".join(tgt)
    random = aligned(source, target)
    random.weights[:] = np.random.default_rng(seed).random(random.weights.shape)
    atoms = atoms_of(source)
    result = place_atoms(atoms, source, random, [re.compile("[<>&]")])
    found = sorted(atom.source for atom in atoms if atom.source in "&<>")
    assert sorted(re.findall("[&<>]", result.text)) == found
    for atom in atoms:
        if not atom.source.isalnum():
            number = sum(other.source == atom.source for other in atoms)
            assert result.text.count(atom.source) >= number
    assert len(result.tgt) == len(result.weights)
    for start, end in result.tgt:
        assert 0 <= start <= end <= len(result.text)


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("delete %s files", "supprimer %s fichiers", "0-0 1-1 2-2", "supprimer %s fichiers"),
        ("delete %s files", "supprimer %S fichiers", "0-0 1-1 2-2", "supprimer %s fichiers"),
        ("delete %s files", "supprimer fichiers", "0-0 2-1", "supprimer %s fichiers"),
        ("delete %s files", "supprimer %s %s fichiers", "0-0 1-1 2-3", "supprimer %s fichiers"),
        ("%s files", "fichiers", "1-0", "%s fichiers"),
        ("he reads %s .", "il lit .", "0-0 1-1 2-2", "il lit %s ."),
        ("a & b", "a : b", "0-0 1-1 2-2", "a & b"),
        ("files: %s", "fichiers :", "0-0", "fichiers : %s"),
        ("%d of %s", "%s de %d", "0-2 1-1 2-0", "%s de %d"),
        ("%s", "", "", "%s"),
        ("nothing", "rien", "0-0", "rien"),
    ],
)
def test_atoms_go_where_their_words_went(
    source: str, target: str, links: str, expected: str
) -> None:
    assert placed(source, target, links) == expected


def test_an_entity_is_written_as_it_was() -> None:
    marked = parse_markup("R&amp;D &lt; 5", Markup.HTML)
    result = place_atoms(
        marked.atoms, marked.text, aligned(marked.text, "F&E < 5 & <b>"), [re.compile("[<>&]")]
    )
    assert result.text == "F&amp;E &lt; 5 b"


def test_a_text_that_is_a_part_of_a_word_is_no_atom() -> None:
    assert placed("12 a", "x123 12", "0-1 1-0") == "x123 12"


@pytest.mark.parametrize(
    ("source", "target", "links"),
    [
        ("replace %s by %s", "%s를 %s(으)로 바꿉니다", "0-2 1-0 2-1 3-1"),
        ("%s and „%s“", "%sი და „%s“-ის", "0-0 1-1 2-2"),
        ("open %s and %s", "打开%s文件和 %s", "0-0 1-0 2-0 3-1"),
        ("go to %s and %s", "עבור אל %s ול%s", "0-0 1-1 2-2 3-3 4-3"),
        ("open %d of %d in 3", "3에서 %d개 중 %d 열기", "5-0 1-1 2-2 3-3 0-4"),
        ("%dx%d dots", "%dx%d points", "0-0 1-1"),
    ],
)
def test_atoms_stay_beside_particles_and_their_letters(
    source: str, target: str, links: str
) -> None:
    assert placed(source, target, links, r"%\w") == target


parts_with_atoms = st.lists(
    st.sampled_from(["a", "bc", "%s", "(%d)", "%s.", "«%s»,", "%d!", "'%s'", "文%s。"]), max_size=6
)


@given(parts_with_atoms, st.lists(st.sampled_from(["d'e", "fg", ".", "( h )"])), st.integers(0, 99))
def test_letters_touch_no_atom_that_they_did_not_touch(
    src: list[str], tgt: list[str], seed: int
) -> None:
    source, target = " ".join(src), " ".join(tgt)
    random = aligned(source, target)
    random.weights[:] = np.random.default_rng(seed).random(random.weights.shape)
    text = place_atoms(atoms_of(source), source, random).text
    assert not re.search(r"[a-z]\0|\0[a-z]", re.sub("%[sd]", "\0", text)), text


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("(%s) goes", "va en", "1-0 1-1", "%s va en"),
        ("%s, is red", "rouge est", "1-1 2-0", "%s rouge est"),
        ("is red: %s", "rouge", "1-0", "rouge %s"),
        ("x%sy red", "rouge", "1-0", "%srouge"),
        ("the %s now", "vu.", "2-0", "%s vu."),
    ],
)
def test_what_is_put_beside_words_has_the_blanks_of_words(
    source: str, target: str, links: str, expected: str
) -> None:
    assert placed(source, target, links) == expected


@pytest.mark.parametrize(
    ("words", "target", "links", "expected"),
    [
        ("( mot ) .", "(mot).", "0-0 2-1 2-2 2-3", "(%s mot)."),
        ("( mot ) .", "(mot).", "0-0 0-1 2-2 2-3", "(mot %s)."),
        ("mot .", "mot.", "0-0 2-1", "mot %s."),
        ("mot ?", "mot ?", "0-0 2-1", "mot %s ?"),
        ("mot (", "mot (", "0-0 0-1", "mot ( %s"),
    ],
)
def test_brackets_and_full_stops_stay_at_the_words_that_they_touch(
    words: str, target: str, links: str, expected: str
) -> None:
    assert placed_among("a %s b", words, target, links) == expected


def test_many_atoms_take_little_time() -> None:
    source = "%s & " * 1000
    started = time.process_time()
    for target in ("x " * 1000, "& " * 1000, "%s" * 1000):
        assert placed(source, target).count("%s") == 1000
    assert time.process_time() - started < 20


@pytest.mark.parametrize(
    ("source", "words", "target", "links", "expected"),
    [
        ("%d man", "de l' homme", "de l'homme", "0-0 0-1 1-2", "%d homme"),
        ("the man %d", "l' homme x", "l'hommex", "0-0 1-1 2-2", "l'homme %d"),
        ("the %s", "l' homme", "l'homme", "0-0 1-1", "l'%s"),
        ("%d-man", "x homme", "xhomme", "0-0 1-1", "%dhomme"),
        ("%d files", "x 個", "x個", "0-0 1-1", "%d個"),
        ("files (%d)", "x homme", "xhomme", "0-1 1-0", "%d homme"),
        ("%d/files", "x homme", "xhomme", "0-0 1-1", "%dhomme"),
        ("%d\tman", "x homme", "xhomme", "0-0 1-1", "%d homme"),
    ],
)
def test_a_blank_of_the_source_keeps_letters_away(
    source: str, words: str, target: str, links: str, expected: str
) -> None:
    assert placed_among(source, words, target, links) == expected


@pytest.mark.parametrize(
    ("source", "target", "links", "expected"),
    [
        ("wait &hellip; now", "attends ... maintenant", "0-0 2-2", "attends &hellip; maintenant"),
        ("a &hellip; b ...", "x ... y ...", "0-0 1-1 2-2 3-3", "x &hellip; y ..."),
        ("Acme&trade; now", "AcmeTM maintenant", "0-0 1-1", "Acme&trade; maintenant"),
        ("Q&#xFF06;A", "Q&A", "0-0", "Q&#xFF06;A"),
    ],
)
def test_atoms_are_found_as_the_rules_of_a_model_write_them(
    source: str, target: str, links: str, expected: str
) -> None:
    marked = parse_markup(source, Markup.HTML)
    translation = aligned(marked.text, target, links)
    unwanted = [re.compile("[<>&]")]
    result = place_atoms(
        marked.atoms, marked.text, translation, unwanted, partial(normalize, "NFKC")
    )
    assert result.text == expected
