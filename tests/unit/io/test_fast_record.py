"""The record of a model's fast files is read as it was written, and damage is refused."""

import json

import pytest

from nmtkit.errors import ModelError
from nmtkit.io.checksums import with_checksum
from nmtkit.io.fast_record import (
    FAST_FILE,
    LEXICON_FILE,
    FastRecord,
    read_fast_record,
    write_fast_record,
)
from nmtkit.io.folder_files import regular_file_sha256


@pytest.fixture
def record(tmp_path):
    (tmp_path / LEXICON_FILE).write_bytes(b"le the 0.5\n")
    sha256 = regular_file_sha256(tmp_path / LEXICON_FILE)
    record = FastRecord("0" * 64, sha256, True, 7, 31.5, 31.25, 2.5)
    write_fast_record(tmp_path, record)
    return record


def test_a_record_is_read_as_written(tmp_path, record):
    assert read_fast_record(tmp_path) == record
    assert read_fast_record(tmp_path / "elsewhere") is None
    record.check_lexicon(tmp_path)
    record.check_parameters(tmp_path, "0" * 64)


@pytest.mark.parametrize("chrf", [(None, None), (80.5, 80.25)])
def test_chrf_is_written_where_bleu_says_nothing(tmp_path, chrf):
    record = FastRecord("0" * 64, "", True, 7, 0.0, 0.0, 2.5, *chrf)
    write_fast_record(tmp_path, record)
    assert read_fast_record(tmp_path) == record
    assert ("chrf" in (tmp_path / FAST_FILE).read_text()) == (chrf[0] is not None)
    assert record.figures == (("BLEU", 0.0, 0.0) if chrf[0] is None else ("chrF", *chrf))


@pytest.mark.parametrize(
    ("lexicon", "quantize", "contents"),
    [
        ("1" * 64, True, "candidates and 8-bit products"),
        ("", True, "8-bit products"),
        ("", False, ""),
    ],
)
def test_contents_are_named(lexicon, quantize, contents):
    assert FastRecord("0" * 64, lexicon, quantize, 7, 31.5, 31.25, 2.5).contents == contents


def test_other_parameters_and_tables_are_refused(tmp_path, record):
    with pytest.raises(ModelError, match="fast.json: stale: .*; run 'nmtkit optimize' again"):
        record.check_parameters(tmp_path, "1" * 64)
    (tmp_path / LEXICON_FILE).write_bytes(b"le the 0.6\n")
    with pytest.raises(ModelError, match="lexicon.gz: changed or damaged"):
        record.check_lexicon(tmp_path)
    (tmp_path / LEXICON_FILE).unlink()
    with pytest.raises(ModelError, match="lexicon.gz: missing"):
        record.check_lexicon(tmp_path)


@pytest.mark.parametrize(
    "change",
    [
        {"bleu": 32.0},
        {"format": 2},
        {"quantize": 1},
        {"pairs": None},
        {"lexicon": 3},
        {"chrf": None},
    ],
)
def test_a_changed_record_is_refused(tmp_path, record, change):
    path = tmp_path / FAST_FILE
    table = {**json.loads(path.read_text()), **change}
    for content in (table, with_checksum({k: v for k, v in table.items() if k != "sha256"})):
        path.write_text(json.dumps(content))
        if change != {"bleu": 32.0} or content is table:
            with pytest.raises(ModelError, match="fast.json: cannot be read"):
                read_fast_record(tmp_path)


@pytest.mark.parametrize("content", [b"", b"[]", b"{", b"\xff", b'{"format": 1}'])
def test_other_content_is_refused(tmp_path, content):
    (tmp_path / FAST_FILE).write_bytes(content)
    with pytest.raises(ModelError, match="fast.json: cannot be read"):
        read_fast_record(tmp_path)
