"""One file or two hold a bitext; what is no bitext is refused with the place."""

import gzip
import hashlib
import io
import os
import threading
import zipfile
from pathlib import Path

import pytest

from nmtkit.errors import DataError
from nmtkit.io.bitext import PairBlock, read_bitext
from nmtkit.io.inputs import HashedFile, copy_pipes

PAIRS = [("Hello é", "Salut"), ("", "vide"), ("a\u2028b", "c")]
EN_FR = ("en", "fr")


def zipped(members: dict[str, str]) -> bytes:
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w", zipfile.ZIP_DEFLATED) as archive:
        for name, text in members.items():
            archive.writestr(name, text)
    return stream.getvalue()


SIDES = ["".join(f"{line}\n" for line in side) for side in zip(*PAIRS, strict=True)]
OPUS = {"README": "x", "T.en-fr.en": SIDES[0], "T.en-fr.fr": SIDES[1], "T.en-fr.ids": "1\n"}
TSV = "".join(f"{src}\t{tgt}\n" for src, tgt in PAIRS).encode()


def read(
    path: Path, src: str = "en", tgt: str = "fr", columns: tuple[int, int] = (1, 2)
) -> list[tuple[str, str]]:
    blocks = read_bitext([path], (src, tgt), columns=columns)
    return [(a.decode(), b.decode()) for x in blocks for a, b in zip(x.src, x.tgt, strict=True)]


def test_two_files_are_read_in_step(tmp_path: Path) -> None:
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, text in zip(paths, SIDES, strict=True):
        path.write_text(text)
    names = (str(paths[0]), str(paths[1]))
    assert list(read_bitext(paths, EN_FR, size=2)) == [
        PairBlock(["Hello é".encode(), b""], [b"Salut", b"vide"], names, range(1, 3)),
        PairBlock(["a\u2028b".encode()], [b"c"], names, range(3, 4)),
    ]


@pytest.mark.parametrize(
    "data",
    [TSV, gzip.compress(TSV), TSV.replace(b"\n", b"\r\n"), b"\xef\xbb\xbf" + TSV, zipped(OPUS)],
    ids=["TSV", "gzip", "CRLF", "BOM", "zip"],
)
def test_the_form_of_one_file_is_told_by_its_content(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "corpus").write_bytes(data)
    assert read(tmp_path / "corpus") == PAIRS
    with HashedFile(tmp_path / "corpus") as file:
        (block,) = read_bitext([file], EN_FR)
        assert list(block.numbers) == [1, 2, 3]
        assert file.sha256() == hashlib.sha256(data).hexdigest()


def test_an_empty_file_has_no_pairs(tmp_path: Path) -> None:
    (tmp_path / "corpus").touch()
    assert list(read_bitext([tmp_path / "corpus"], EN_FR)) == []


def test_columns_may_be_chosen(tmp_path: Path) -> None:
    path = tmp_path / "corpus.tsv"
    path.write_text("".join(f"http://a/{n}\t0.{n}\ttarget {n}\tsource {n}\n" for n in range(200)))
    assert read(path, columns=(4, 3))[199] == ("source 199", "target 199")
    for columns in ((1, 3), (4, 2)):
        with pytest.raises(DataError, match="holds addresses or numbers, not text"):
            read(path, columns=columns)
    with pytest.raises(DataError, match="there is no column 5, but 4 columns"):
        read(path, columns=(1, 5))


@pytest.mark.parametrize("number", [2, 3, 1500])
def test_a_line_with_another_number_of_columns_is_named(tmp_path: Path, number: int) -> None:
    lines = ["a\tb\n"] * 2000
    lines[number - 1] = "a\tb\tc\n"
    (tmp_path / "corpus").write_text("".join(lines))
    with pytest.raises(DataError, match=rf"corpus:{number}: 3 columns, but the first line has 2"):
        read(tmp_path / "corpus")


def test_a_header_is_kept_with_a_warning(tmp_path: Path, caplog: pytest.LogCaptureFixture) -> None:
    (tmp_path / "corpus").write_text("source\ttarget\n5\t6\n")
    assert read(tmp_path / "corpus") == [("source", "target"), ("5", "6")]
    assert "corpus:1: looks like a header" in caplog.text


@pytest.mark.parametrize(
    "text, warning",
    [
        ("en\tfr_FR\n5\t6\n", "corpus:1: looks like a header"),
        ('a\tb\nsaid "yes"\t"il dit ""oui"""\n', "corpus: looks quoted"),
        ('"a"\t"b"\n"c"\t""\n', "corpus: looks quoted"),
        ('"a"\tb\n"c"\t"d"\n', ""),
    ],
)
def test_forms_of_spreadsheets_are_kept_with_one_warning(
    tmp_path: Path, caplog: pytest.LogCaptureFixture, text: str, warning: str
) -> None:
    (tmp_path / "corpus").write_text(text)
    assert read(tmp_path / "corpus") == [tuple(row.split("\t")) for row in text.splitlines()]
    read(tmp_path / "corpus")
    assert len(caplog.records) == bool(warning)
    assert warning in caplog.text


def test_marks_that_paste_leaves_before_cells_are_taken_off(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("\ufeffa\t\ufeffb\nc\td\n")
    assert read(tmp_path / "corpus") == [("a", "b"), ("c", "d")]


def test_a_file_of_single_lines_is_refused(tmp_path: Path) -> None:
    (tmp_path / "corpus").write_text("one\ntwo\n")
    with pytest.raises(DataError, match="corpus:1: one column, and neither TMX nor a zip file"):
        read(tmp_path / "corpus")


@pytest.mark.parametrize(
    ("members", "problem"),
    [
        (
            {"T.en": "", "T.de": ""},
            r"no member whose name ends in '\.fr'; its members are T\.en, T",
        ),
        ({"T.en": "", "a/T.en": "", "T.fr": ""}, r"several members whose names end in '\.en'"),
        ({"T.en_US": "", "T.en_GB": "", "T.fr": ""}, r"several members whose names end in '\.en'"),
        ({}, "its members are none; unpack it"),
        ({f"{n}.x": "" for n in range(50)}, "7.x and 42 more; unpack it"),
        ({"T.en": "a\nb\n", "T.fr": "a\n"}, r"zip:T\.en has 2, .*zip:T\.fr has 1"),
    ],
)
def test_a_zip_without_one_member_a_language_is_refused(
    tmp_path: Path, members: dict[str, str], problem: str
) -> None:
    (tmp_path / "a.zip").write_bytes(zipped(members))
    with pytest.raises(DataError, match=problem) as caught:
        read(tmp_path / "a.zip")
    assert "a.zip" in str(caught.value) and "\n" not in str(caught.value)


def test_members_of_a_region_are_found(tmp_path: Path) -> None:
    members = {
        "T.en-pt_BR.en": "a\n",
        "T.en-pt_BR.pt_BR": "b\n",
        "__MACOSX/._T.en": "",
        "d.en/": "",
    }
    (tmp_path / "a.zip").write_bytes(zipped(members))
    assert read(tmp_path / "a.zip", "en", "pt") == read(tmp_path / "a.zip", "EN", "pt-br")
    assert read(tmp_path / "a.zip", "pt", "en") == [("b", "a")]


def test_a_member_without_a_name_is_no_side(tmp_path: Path) -> None:
    data = zipped({"x": "c\n", "T.en": "a\n", "T.fr": "b\n"})
    entry = data.index(b"PK\1\2")  # of the directory, whose first name loses its letter
    damaged = bytearray(data)
    damaged[entry + 28] = 0
    del damaged[entry + 46]
    end = bytes(damaged).rindex(b"PK\5\6")
    size = int.from_bytes(damaged[end + 12 : end + 16], "little")
    damaged[end + 12 : end + 16] = (size - 1).to_bytes(4, "little")
    (tmp_path / "a.zip").write_bytes(damaged)
    assert read(tmp_path / "a.zip", "en", "fr") == [("a", "b")]


def test_names_in_a_zip_file_are_not_paths(tmp_path: Path) -> None:
    (tmp_path / "folder").mkdir()
    (tmp_path / "folder" / "a.zip").write_bytes(
        zipped({"../../T\n\x1b.en": "a\n", "/etc/passwd.fr": "b\n"})
    )
    before = sorted(tmp_path.rglob("*"))
    (block,) = read_bitext([tmp_path / "folder" / "a.zip"], EN_FR)
    assert (block.src, block.tgt) == ([b"a"], [b"b"])
    assert block.names[0].endswith(r"a.zip:../../T\n\x1b.en")
    assert sorted(tmp_path.rglob("*")) == before


@pytest.mark.parametrize("damage", ["cut", "changed", "encrypted", "method"])
def test_a_damaged_or_encrypted_zip_is_refused(tmp_path: Path, damage: str) -> None:
    data = bytearray(zipped({"T.en": "a b c\n" * 500, "T.fr": "a b c\n" * 500}))
    directory = data.index(b"PK\x01\x02")
    if damage == "cut":
        del data[-30:]
    elif damage == "changed":
        data[40] ^= 0xFF
    elif damage == "encrypted":
        data[6] |= 1
        data[directory + 8] |= 1
    else:
        data[8] = data[directory + 10] = 77
    (tmp_path / "a.zip").write_bytes(bytes(data))
    with pytest.raises(DataError, match=r"a\.zip.*(damaged or incomplete|is encrypted)"):
        read(tmp_path / "a.zip")


def test_a_zip_in_a_pipe_is_refused_or_copied_first(tmp_path: Path) -> None:
    pipe = tmp_path / "pipe"
    os.mkfifo(pipe)
    for copy in (False, True):
        writer = threading.Thread(target=pipe.write_bytes, args=[zipped(OPUS)], daemon=True)
        writer.start()
        if copy:
            (source,) = copy_pipes([pipe], tmp_path)
            (block,) = read_bitext([source], EN_FR)
            assert len(block.src) == len(PAIRS)
            with HashedFile(source) as file:  # as `prepare` reads it
                (block,) = read_bitext([file], EN_FR)
                assert len(block.src) == len(PAIRS)
        else:
            with pytest.raises(DataError, match="pipe: a zip file cannot be read from a pipe"):
                list(read_bitext([pipe], EN_FR))
        writer.join(timeout=20)


@pytest.mark.parametrize("data", [b"\xff\xfea\0\t\0b\0\n\0", b"\x89PNG\r\n\x1a\n\0"])
def test_what_is_no_text_is_refused(tmp_path: Path, data: bytes) -> None:
    (tmp_path / "corpus").write_bytes(data)
    with pytest.raises(DataError, match="corpus: looks like"):
        read(tmp_path / "corpus")
