"""Texts from archives: what is extracted, in which form, and what is refused."""

import gzip
import io
import os
import stat
import tarfile
import zipfile
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import join
import pytest
import unpack
from corpora import CorpusError, archive, quotes, sgm

EN, FR = b"one\ntwo\n", b"un\ndeux\n"


def tar(path: Path, members: Mapping[str, bytes | tarfile.TarInfo], mode: Any = "w:gz") -> Path:
    """Write an archive of files and of further members."""
    with tarfile.open(path, mode) as archive_file:
        for name, content in members.items():
            info = content if isinstance(content, tarfile.TarInfo) else tarfile.TarInfo(name)
            data = b"" if isinstance(content, tarfile.TarInfo) else content
            info.size = len(data)
            archive_file.addfile(info, io.BytesIO(data))
    return path


def link(name: str, target: str, kind: bytes = tarfile.SYMTYPE) -> tarfile.TarInfo:
    info = tarfile.TarInfo(name)
    info.type, info.linkname = kind, target
    return info


def files_in(folder: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(folder)): path.read_bytes()
        for path in folder.rglob("*")
        if path.is_file()
    }


TEXTS = {"news.en": "training/news.en", "news.fr": "training/news.fr"}


def unpack_texts(path: Path, output: Path, texts: Mapping[str, str] = TEXTS) -> dict[str, bytes]:
    archive.unpack(path, texts, output)
    return files_in(output)


class TestArchive:
    def test_requested_members_become_texts(self, tmp_path: Path) -> None:
        path = tar(
            tmp_path / "a.tgz",
            {"training/news.de": b"x", "./training/news.fr": FR, "training/news.en": EN},
        )
        assert archive.unpack(path, TEXTS, tmp_path / "text") == {"news.en": 2, "news.fr": 2}
        assert files_in(tmp_path / "text") == {"news.en": EN, "news.fr": FR}

    def test_gzip_inside_tar_is_unpack_texts(self, tmp_path: Path) -> None:
        members = {"x.en.gz": gzip.compress(EN), "x.fr.gz": gzip.compress(FR)}
        path = tar(tmp_path / "a.tar", members, "w")
        texts = {"x.en": "x.en.gz", "x.fr": "x.fr.gz"}
        assert unpack_texts(path, tmp_path / "text", texts) == {"x.en": EN, "x.fr": FR}

    def test_a_zip_file_under_the_same_name_is_accepted(self, tmp_path: Path) -> None:
        path = tmp_path / "a.tgz"
        with zipfile.ZipFile(path, "w", zipfile.ZIP_DEFLATED) as zip_file:
            zip_file.writestr("training/", b"")
            zip_file.writestr("../news.en", b"x")
            zip_file.writestr("training/news.en", EN)
            zip_file.writestr("training/news.fr", FR)
        assert unpack_texts(path, tmp_path / "text") == {"news.en": EN, "news.fr": FR}
        content = path.read_bytes()
        path.write_bytes(content[:-30])
        with pytest.raises(CorpusError, match="damaged"):
            unpack_texts(path, tmp_path / "text")

    def test_a_link_in_a_zip_file_is_refused(self, tmp_path: Path) -> None:
        linked = zipfile.ZipInfo("training/news.en")
        linked.external_attr = (stat.S_IFLNK | 0o777) << 16
        with zipfile.ZipFile(tmp_path / "a.tgz", "w") as zip_file:
            zip_file.writestr(linked, str(tmp_path))
            zip_file.writestr("training/news.fr", FR)
        with pytest.raises(CorpusError, match=r"news\.en is not a regular file"):
            unpack_texts(tmp_path / "a.tgz", tmp_path / "text")

    def test_a_tar_file_that_contains_a_zip_file_is_read_as_tar(self, tmp_path: Path) -> None:
        inner = io.BytesIO()
        zipfile.ZipFile(inner, "w").close()
        members = {"training/news.en": EN, "training/news.fr": FR, "x.zip": inner.getvalue()}
        path = tar(tmp_path / "a.tar", members, "w")
        assert unpack_texts(path, tmp_path / "text") == {"news.en": EN, "news.fr": FR}

    def test_members_that_point_elsewhere_write_no_file(self, tmp_path: Path) -> None:
        outside = tmp_path / "outside"
        outside.mkdir()
        path = tar(
            tmp_path / "a.tgz",
            {
                "../outside/evil": b"x",
                f"{outside}/evil": b"x",
                "training": link("training", str(outside)),
                "training/news.en": EN,
                "training/news.fr": FR,
                "../outside/late": b"x",
            },
        )
        assert unpack_texts(path, tmp_path / "text") == {"news.en": EN, "news.fr": FR}
        assert files_in(outside) == {}

    @pytest.mark.parametrize("kind", [tarfile.SYMTYPE, tarfile.LNKTYPE, tarfile.FIFOTYPE])
    def test_a_requested_member_must_be_a_regular_file(self, tmp_path: Path, kind: bytes) -> None:
        secret = tmp_path / "secret"
        secret.write_bytes(EN)
        members: dict[str, bytes | tarfile.TarInfo] = {
            "training/news.fr": FR,
            "training/news.en": link("training/news.en", str(secret), kind),
        }
        with pytest.raises(CorpusError, match=r"news\.en is not a regular file"):
            unpack_texts(tar(tmp_path / "a.tgz", members), tmp_path / "text")
        assert files_in(tmp_path / "text") == {}

    def test_member_names_with_dots_never_match(self, tmp_path: Path) -> None:
        path = tar(tmp_path / "a.tgz", {"training/../training/news.en": EN, "training/news.fr": FR})
        with pytest.raises(CorpusError, match=r"has no training/news\.en"):
            unpack_texts(path, tmp_path / "text")

    @pytest.mark.parametrize("end", [10, -20])
    def test_a_truncated_archive_leaves_no_file(self, tmp_path: Path, end: int) -> None:
        content = {"training/news.en": os.urandom(9_000), "training/news.fr": os.urandom(9_000)}
        path = tar(tmp_path / "a.tgz", content)
        path.write_bytes(path.read_bytes()[: end if end > 0 else 9_000])
        with pytest.raises(CorpusError, match="damaged"):
            unpack_texts(path, tmp_path / "text")
        assert files_in(tmp_path / "text") == {}

    def test_unequal_sides_are_refused_and_old_texts_kept(self, tmp_path: Path) -> None:
        path = tar(tmp_path / "a.tgz", {"training/news.en": EN, "training/news.fr": FR + b"trois"})
        (tmp_path / "text").mkdir()
        (tmp_path / "text" / "news.en").write_bytes(b"old")
        with pytest.raises(CorpusError, match="news differ: 2 English and 3 French lines"):
            unpack_texts(path, tmp_path / "text")
        assert files_in(tmp_path / "text") == {"news.en": b"old"}

    def test_only_newlines_end_lines_at_any_block_size(
        self, tmp_path: Path, monkeypatch: Any
    ) -> None:
        monkeypatch.setattr(archive, "_BLOCK", 3)
        odd = "a\u2028b\r\n\n’c\rd \n\u0085long line\nlast".encode() + b"\xff"
        even = b"1\n2\n3\n4\n5"
        path = tar(tmp_path / "a.tgz", {"training/news.en": odd, "training/news.fr": even})
        texts = TEXTS | {"raw/news.en": "training/news.en", "raw/news.fr": "training/news.fr"}
        texts_written = unpack_texts(path, tmp_path / "text", texts)
        assert texts_written["raw/news.en"] == odd + b"\n"
        assert texts_written["news.en"] == b"a b\n\n'c d \n long line\nlast\xff\n"

    def test_unmatched_segments_are_refused(self, tmp_path: Path) -> None:
        side = "<doc docid='{}'><seg id='1'>a</seg><seg id='2'>b</seg></doc>"
        texts = {"t.en": "src.en.sgm", "t.fr": "ref.fr.sgm"}
        members = {"src.en.sgm": side.format("x").encode(), "ref.fr.sgm": side.format("y").encode()}
        with pytest.raises(CorpusError, match="segment 1 of 'x' stands where .* 1 of 'y'"):
            unpack_texts(tar(tmp_path / "a.tgz", members), tmp_path / "text", texts)
        members["ref.fr.sgm"] = members["src.en.sgm"]
        written = unpack_texts(tar(tmp_path / "a.tgz", members), tmp_path / "text", texts)
        assert written == {"t.en": b"a\nb\n", "t.fr": b"a\nb\n"}

    def test_sgml_in_another_encoding_is_refused(self, tmp_path: Path) -> None:
        path = tar(tmp_path / "a.tgz", {"t.en.sgm": b"<seg id=1>\xe9</seg>"})
        with pytest.raises(CorpusError, match=r"t\.en\.sgm: not UTF-8 at byte 11"):
            unpack_texts(path, tmp_path / "text", {"t.en": "t.en.sgm"})


class TestSgm:
    def test_segments_are_in_file_order(self) -> None:
        text = (
            '<refset setid="x" trglang="fr">\n<DOC sysid="ref" docid="b/1" genre="news">\n<hl>\n'
            "<seg id='2'>two</seg>\n</hl><p>\n<seg id=1> one \n</seg>\n</p></DOC>\n"
            '<doc docid="a"><seg id="1"></seg></doc></refset>'
        )
        assert sgm.segments(text) == [("b/1", "2", "two"), ("b/1", "1", "one"), ("a", "1", "")]

    def test_entities_are_replaced_once(self) -> None:
        text = (
            "<seg id='1'>R&amp;D &lt;b&gt; &quot;x&quot; l&apos;&#233;&#xE9; &amp;lt; &lsquo;</seg>"
        )
        assert sgm.segments(text)[0].text == 'R&D <b> "x" l\'éé &lt; &lsquo;'

    def test_a_segment_is_one_line(self) -> None:
        text = "<seg id='1'>one \r\n  two\u2028three\nfour</seg>"
        assert sgm.segments(text)[0].text == "one two\u2028three four"


class TestQuotes:
    @pytest.mark.parametrize(
        ("text", "expected"),
        [
            ("l’arbre ‘a’ ‚b‛ lʼ´", "l'arbre 'a' 'b' l''"),
            ("“a” „b‟", '"a" "b"'),
            ("« l’autre »\u00a0!", "« l'autre »\u00a0!"),
            ("a\u2028b\u2029c\u0085d\ve\ff\rg", "a b c d e f g"),
            ("a\r\nb\n", "a\nb\n"),
            ("é — … ′ \x00\t \ufeff", "é — … ′ \x00\t \ufeff"),
        ],
    )
    def test_normalization_of_quotes_and_line_ends(self, text: str, expected: str) -> None:
        assert quotes.normalized(text.encode()).decode() == expected

    def test_all_ways_of_counting_lines_agree_after_normalization(self) -> None:
        every = "".join(map(chr, range(1, 0x3000))) + "\n"
        normalized = quotes.normalized(every.encode()).decode()
        assert len(normalized.splitlines()) == normalized.count("\n") == every.count("\n")
        assert quotes.normalized(normalized.encode()).decode() == normalized


class TestCommand:
    LIST = (
        '[files."a.tgz"]\nurls = []\nmd5 = "0"\ntexts = {"news.en" = "training/news.en", '
        '"news.fr" = "training/news.fr"}\n'
    )

    def test_results_and_errors_are_reported(self, tmp_path: Path, capsys: Any) -> None:
        (tmp_path / "files.toml").write_text(self.LIST)
        path = tmp_path / "a.tgz"
        arguments = [str(tmp_path / "files.toml"), str(path), "--output", str(tmp_path / "text")]
        assert unpack.main(arguments) == 1
        assert f"{path}: does not exist; remove {path}.checked" in capsys.readouterr().err
        tar(path, {"training/news.en": EN, "training/news.fr": FR})
        assert unpack.main(arguments) == 0
        assert "news.en: 2 lines" in capsys.readouterr().err
        path.rename(tmp_path / "b.tgz")
        arguments[1] = str(tmp_path / "b.tgz")
        assert unpack.main(arguments) == 1
        assert "has no archive of this name" in capsys.readouterr().err


class TestJoin:
    @pytest.fixture
    def folder(self, tmp_path: Path, monkeypatch: Any) -> Path:
        monkeypatch.chdir(tmp_path)
        for name in ("a", "b"):
            (tmp_path / f"{name}.en").write_bytes(EN)
            (tmp_path / f"{name}.fr").write_bytes(FR)
        return tmp_path

    def test_bitexts_are_concatenated(self, folder: Path) -> None:
        assert join.main(["a", "b", "--output", "sub/dev", "--lines", "4"]) == 0
        assert files_in(folder / "sub") == {"dev.en": EN + EN, "dev.fr": FR + FR}

    def test_an_unexpected_number_of_pairs_is_refused(self, folder: Path, capsys: Any) -> None:
        assert join.main(["a", "--output", "sub/test", "--lines", "3003"]) == 1
        assert "sub/test: 2 pairs, but exactly 3,003 are required" in capsys.readouterr().err
        assert not (folder / "sub").exists()

    def test_sides_that_differ_are_refused(self, folder: Path, capsys: Any) -> None:
        (folder / "b.fr").write_bytes(b"un\n")
        assert join.main(["a", "b", "--output", "c"]) == 1
        assert "b: 2 English and 1 French lines" in capsys.readouterr().err
        assert join.main(["a", "none", "--output", "c"]) == 1
        assert "none.en: No such file" in capsys.readouterr().err

    def test_a_missing_last_newline_joins_no_lines(self, folder: Path) -> None:
        for name in ("a.en", "a.fr"):
            (folder / name).write_bytes((folder / name).read_bytes().rstrip(b"\n"))
        assert join.main(["a", "b", "--output", "c", "--lines", "4"]) == 0
        assert (folder / "c.en").read_bytes() == EN + EN
        assert (folder / "c.fr").read_bytes() == FR + FR
