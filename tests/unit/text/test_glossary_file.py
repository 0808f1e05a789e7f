"""Files of glossaries: every wrong line is named."""

import gzip
from pathlib import Path

import pytest

from nmtkit.errors import DataError
from nmtkit.text.glossary import Term
from nmtkit.text.glossary_file import read_glossary

TBX = (
    '<tbx><text><body><conceptEntry><langSec xml:lang="en"><termSec><term>disk</term></termSec>'
    '</langSec><langSec xml:lang="fr"><termSec><term>disque</term></termSec></langSec>'
    "</conceptEntry></body></text></tbx>"
)


def terms(path: Path) -> tuple[Term, ...]:
    return read_glossary(path, ("en", "fr")).terms


def test_fields_are_source_translations_and_flags(tmp_path: Path) -> None:
    path = tmp_path / "g.tsv"
    path.write_text("# no entry\n\nhard disk\tdisque dur | disques durs\nA\tb\tcase-sensitive\n")
    first, second = terms(path)
    assert (first.source, first.targets) == ("hard disk", ("disque dur", "disques durs"))
    assert first.place == f"{path}:3" and not first.case_sensitive
    assert second.case_sensitive


@pytest.mark.parametrize(
    ("line", "source", "targets"),
    [
        ('"a, b"\t"c|d, e"\t', "a, b", ("c", "d, e")),
        ('"a ""b"""\tc', 'a "b"', ("c",)),
        ('5" disk\t"a" ou "b"', '5" disk', ('"a" ou "b"',)),
    ],
)
def test_quotation_marks_of_spreadsheets_are_no_part_of_a_term(
    tmp_path: Path, line: str, source: str, targets: tuple[str, ...]
) -> None:
    path = tmp_path / "g.tsv"
    path.write_text(f"{line}\n")
    assert [(term.source, term.targets) for term in terms(path)] == [(source, targets)]


def test_forbidden_words_need_no_term(tmp_path: Path) -> None:
    path = tmp_path / "g.tsv"
    path.write_text("driver\tchauffeur\tforbidden\n\tzut|flûte\tforbidden\n")
    assert [term.forbidden for term in terms(path)] == [("chauffeur",), ("zut", "flûte")]
    assert not any(term.targets for term in terms(path))


def test_compression_and_line_ends_are_those_of_all_inputs(tmp_path: Path) -> None:
    path = tmp_path / "g.tsv.gz"
    path.write_bytes(gzip.compress("\ufeffcafé\tcaf\r\n".encode()))
    assert [(term.source, term.targets) for term in terms(path)] == [("café", ("caf",))]


@pytest.mark.parametrize(
    ("line", "problem"),
    [
        ("disk", "1 field"),
        ("disk\tdisque\tstrict", "no such flag: 'strict'"),
        ("disk\t|\t", "no translation"),
        ("\tdisque", "no term before the tab"),
        ("a\tb\tcase-sensitive\tc", "4 fields"),
        ("a " * 101 + "\tb", "more than 100 words"),
    ],
)
def test_a_wrong_line_is_named(tmp_path: Path, line: str, problem: str) -> None:
    path = tmp_path / "g.tsv"
    path.write_text(f"a\tb\n{line}\n")
    with pytest.raises(DataError, match="g.tsv:2: ") as error:
        terms(path)
    assert problem in str(error.value)


@pytest.mark.parametrize("content", ["", "# nothing\n"])
def test_a_glossary_without_terms_is_read_with_a_warning(
    tmp_path: Path, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = tmp_path / "g"
    path.write_text(content)
    assert not read_glossary(path, ("en", "de")).terms
    assert f"{path}: has no terms from en to de" in caplog.text


def test_tbx_is_recognised_by_its_content(tmp_path: Path) -> None:
    path = tmp_path / "terms"
    path.write_text(TBX)
    assert [(term.source, term.targets) for term in terms(path)] == [("disk", ("disque",))]
