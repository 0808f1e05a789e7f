"""The ids in files equal the text, and stale files are rewritten."""

import gc
import hashlib
import json
import os
from pathlib import Path

import numpy as np
import pytest

from nmtkit.data import corpus
from nmtkit.data.corpus import Corpus, NumberFile, open_side
from nmtkit.errors import DataError
from nmtkit.io.lines import read_text_blocks
from nmtkit.special_symbols import EOS, UNK
from nmtkit.text.vocabulary import Vocabulary

LINES = ["a b a", "", "c", "b </s> <unk> zebra", "", "a"]
WORDS = ["</s>", "<unk>", "a", "b", "c"]


@pytest.fixture
def vocabulary():
    return Vocabulary(WORDS)


@pytest.fixture
def text(tmp_path):
    return write(tmp_path / "train.src", LINES)


def write(path: Path, lines) -> Path:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return path


def sentences(side):
    return [side[i].tolist() for i in range(len(side))]


def expected(lines, vocabulary):
    return [[*vocabulary.ids(line.split()), EOS] for line in lines]


def stored(path):
    """Return the files beside a text, by suffix."""
    result = sorted(p for p in path.parent.glob(f"{path.name}.*"))
    return {p.suffix: p for p in result}


def write_times(path):
    """Return the modification time of each stored file."""
    return {name: p.stat().st_mtime_ns for name, p in stored(path).items()}


def age(path, seconds=1000):
    """Set the modification time of a file into the past."""
    stat = path.stat()
    os.utime(path, ns=(stat.st_atime_ns, stat.st_mtime_ns - seconds * 10**9))


def test_sentences_are_read_back_with_their_end_symbols(text, vocabulary):
    side = open_side(text, vocabulary)
    assert sentences(side) == [
        [2, 3, 2, EOS],
        [EOS],
        [4, EOS],
        [3, UNK, UNK, UNK, EOS],
        [EOS],
        [2, EOS],
    ]
    assert side[3].dtype == np.int64
    assert side.lengths(np.array([3, 0, 1])).tolist() == [5, 4, 1]


def test_only_the_three_files_are_left(text, vocabulary):
    open_side(text, vocabulary)
    assert set(stored(text)) == {".ids", ".offsets", ".json"}


def test_a_second_opening_uses_the_existing_files(text, vocabulary):
    first = sentences(open_side(text, vocabulary))
    for path in stored(text).values():
        age(path)
    before = write_times(text)
    assert sentences(open_side(text, vocabulary)) == first
    assert write_times(text) == before


@pytest.mark.parametrize("lines", [[], [""], ["", "", ""]])
def test_an_empty_text(tmp_path, vocabulary, lines):
    side = open_side(write(tmp_path / "dev.tgt", lines), vocabulary)
    assert sentences(side) == [[EOS] for _ in lines]


@pytest.mark.parametrize("count", [1, 4, 5, 100])
def test_how_many_lines_are_read_together_changes_nothing(text, vocabulary, monkeypatch, count):
    monkeypatch.setattr(corpus, "BLOCK_LINES", count)
    assert sentences(open_side(text, vocabulary)) == expected(LINES, vocabulary)


def test_a_text_without_a_final_newline(tmp_path, vocabulary):
    path = tmp_path / "train.src"
    path.write_text("a b\nc", encoding="utf-8")
    assert sentences(open_side(path, vocabulary)) == [[2, 3, EOS], [4, EOS]]


@pytest.mark.parametrize("together", [1, 4, 1000])
def test_a_vocabulary_without_counts_gets_those_of_the_text(
    text, vocabulary, monkeypatch, together
):
    monkeypatch.setattr(corpus, "COUNTED_IDS", together)
    counted = open_side(text, vocabulary).counted(vocabulary)
    assert (counted.words, counted.counts) == (vocabulary.words, (6, 3, 3, 2, 1))
    assert open_side(text, vocabulary).counted(counted) is counted


def test_a_changed_text_is_read_again(text, vocabulary):
    open_side(text, vocabulary)
    write(text, ["c", "b b"])
    assert sentences(open_side(text, vocabulary)) == expected(["c", "b b"], vocabulary)


def test_a_changed_text_of_the_same_size_is_read_again(text, vocabulary):
    open_side(text, vocabulary)
    changed = [line.replace("a b a", "c b c") for line in LINES]
    size = text.stat().st_size
    write(text, changed)
    os.utime(text, (1, 1))
    assert text.stat().st_size == size
    assert sentences(open_side(text, vocabulary)) == expected(changed, vocabulary)


def test_a_touched_text_is_not_read_again(text, vocabulary):
    open_side(text, vocabulary)
    for path in stored(text).values():
        age(path)
    before = write_times(text)
    os.utime(text)
    assert sentences(open_side(text, vocabulary)) == expected(LINES, vocabulary)
    assert write_times(text)[".ids"] == before[".ids"]


def test_vocabularies_of_the_same_size_have_separate_files(text, vocabulary):
    other = Vocabulary([*WORDS[:2], "c", "b", "a"])
    assert sentences(open_side(text, vocabulary)) == expected(LINES, vocabulary)
    assert sentences(open_side(text, other)) == expected(LINES, other)
    assert sentences(open_side(text, vocabulary)) == expected(LINES, vocabulary)


@pytest.mark.parametrize("suffix", [".ids", ".offsets", ".json"])
@pytest.mark.parametrize("damage", ["truncated", "longer", "removed", "empty"])
def test_damaged_files_are_rewritten(text, vocabulary, suffix, damage):
    open_side(text, vocabulary)
    path = stored(text)[suffix]
    content = path.read_bytes()
    if damage == "removed":
        path.unlink()
    else:
        path.write_bytes({"truncated": content[:-2], "longer": content * 2, "empty": b""}[damage])
    assert sentences(open_side(text, vocabulary)) == expected(LINES, vocabulary)
    assert stored(text)[suffix].read_bytes() == content


@pytest.mark.parametrize("content", ["[]", "null", "3", '{"format": 99}', "{}"])
def test_files_with_a_wrong_description_are_rewritten(text, vocabulary, content):
    open_side(text, vocabulary)
    stored(text)[".json"].write_text(content, encoding="utf-8")
    assert sentences(open_side(text, vocabulary)) == expected(LINES, vocabulary)
    assert json.loads(stored(text)[".json"].read_text(encoding="utf-8"))["format"] == corpus.FORMAT


def test_ids_take_two_bytes_if_they_fit(tmp_path):
    for size, width in ((65_536, 2), (65_537, 4)):
        vocabulary = Vocabulary([*WORDS[:2], *(f"w{i}" for i in range(2, size))])
        path = write(tmp_path / f"train.{size}", [f"w{size - 1} w2", f"w{size // 2}"])
        side = open_side(path, vocabulary)
        assert sentences(side) == [[size - 1, 2, EOS], [size // 2, EOS]]
        assert stored(path)[".ids"].stat().st_size == 5 * width


def test_the_ids_are_not_read_into_memory(text, vocabulary):
    side = open_side(text, vocabulary)
    assert isinstance(side.ids, NumberFile) and isinstance(side.offsets, NumberFile)


def test_interrupted_writing_is_not_mistaken_for_complete(text, vocabulary, monkeypatch):
    class Stopped(Exception):
        pass

    def stop(*_: object) -> None:
        raise Stopped

    open_side(text, vocabulary)
    write(text, ["b", "b"])
    with monkeypatch.context() as patch:
        patch.setattr(os, "replace", stop)
        with pytest.raises(Stopped):
            open_side(text, vocabulary)
    assert sentences(open_side(text, vocabulary)) == expected(["b", "b"], vocabulary)


def test_a_corpus_opens_both_sides_of_a_split(tmp_path, vocabulary):
    other = Vocabulary([*WORDS[:2], "x", "y"])
    write(tmp_path / "dev.src", ["a", "b c"])
    write(tmp_path / "dev.tgt", ["y x", ""])
    pairs = Corpus.open(tmp_path, "dev", (vocabulary, other))
    assert len(pairs) == 2
    assert pairs.src[1].tolist() == [3, 4, EOS]
    assert pairs.tgt[0].tolist() == [3, 2, EOS]


def test_sides_of_different_length_are_refused(tmp_path, vocabulary):
    write(tmp_path / "train.src", ["a", "b"])
    write(tmp_path / "train.tgt", ["a", "b", "c"])
    with pytest.raises(DataError, match="2 source and 3 target lines.*nmtkit prepare"):
        Corpus.open(tmp_path, "train", (vocabulary, vocabulary))


def test_a_missing_side_is_named(tmp_path, vocabulary):
    with pytest.raises(DataError, match=r"train\.src: no such file.*nmtkit prepare"):
        Corpus.open(tmp_path, "train", (vocabulary, vocabulary))


def test_a_line_that_is_not_utf8_is_reported_and_leaves_no_files(tmp_path, vocabulary):
    path = tmp_path / "train.src"
    path.write_bytes(b"a b\n\xff c\n")
    with pytest.raises(DataError, match=r"train\.src:2: not valid UTF-8"):
        open_side(path, vocabulary)
    assert [p.name for p in tmp_path.iterdir()] == ["train.src"]


def test_inconsistent_files_are_rewritten(text, vocabulary):
    """The checksums in their JSON match."""
    for suffix, content in ((".offsets", b""), (".offsets", b"\0" * 9), (".ids", b"\0\0")):
        open_side(text, vocabulary)
        files = stored(text)
        files[suffix].write_bytes(content)
        made_of = json.loads(files[".json"].read_text())
        made_of["sums"][suffix[1:]] = hashlib.sha256(content).hexdigest()
        files[".json"].write_text(json.dumps(made_of))
        assert sentences(open_side(text, vocabulary)) == expected(LINES, vocabulary)


@pytest.mark.parametrize("checksum", [None, 7, ["a"]])
def test_files_without_a_checksum_of_the_text_are_rewritten(text, vocabulary, checksum):
    expected_checksum = open_side(text, vocabulary).checksum
    assert expected_checksum == hashlib.sha256(text.read_bytes()).hexdigest()
    path = stored(text)[".json"]
    description = json.loads(path.read_text())
    del description["sha256"]
    path.write_text(
        json.dumps(description if checksum is None else {**description, "sha256": checksum})
    )
    assert open_side(text, vocabulary).checksum == expected_checksum
    assert json.loads(path.read_text())["sha256"] == expected_checksum


@pytest.mark.parametrize("name", [".ids", ".offsets"])
def test_a_turned_bit_is_noticed_and_the_files_are_rewritten(text, vocabulary, name):
    open_side(text, vocabulary)
    path = stored(text)[name]
    content = path.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 8
        path.write_bytes(damaged)
        assert sentences(open_side(text, vocabulary)) == expected(LINES, vocabulary)
        assert path.read_bytes() == content


def test_files_cut_while_they_are_read_are_reported(text, vocabulary):
    for suffix in (".ids", ".offsets"):
        side = open_side(text, vocabulary)
        os.truncate(stored(text)[suffix], 2)
        with pytest.raises(DataError, match=rf"{suffix}: damaged, or cut while it was read; start"):
            side[3]
        with pytest.raises(DataError, match="damaged, or cut"):
            side.lengths(np.arange(6)) if suffix == ".offsets" else side[0]


@pytest.mark.parametrize("suffix", [".ids", ".offsets", ".json"])
@pytest.mark.parametrize("kind", ["fifo", "link", "folder"])
def test_only_regular_files_are_read_and_written(text, vocabulary, tmp_path, suffix, kind):
    open_side(text, vocabulary)
    path, other = stored(text)[suffix], tmp_path / "other"
    other.write_text("text of another file")
    path.unlink()
    {"fifo": os.mkfifo, "folder": os.mkdir, "link": lambda path: path.symlink_to(other)}[kind](path)
    with pytest.raises(DataError, match=rf"{suffix}: not a regular file; remove it"):
        open_side(text, vocabulary)
    assert other.read_text() == "text of another file"


def test_a_file_that_cannot_be_closed_gives_no_message(text, vocabulary, monkeypatch, capfd):
    """It was only read; an error at the end of a training would show a traceback."""
    to_fail: set[int] = set()

    def close_and_fail(number):
        original(number)
        if number in to_fail:
            raise OSError(5, "Input/output error")

    original = os.close
    monkeypatch.setattr(os, "close", close_and_fail)
    numbers = open_side(text, vocabulary).ids
    assert isinstance(numbers, NumberFile)
    to_fail.add(numbers._descriptor)
    del numbers
    gc.collect()
    assert capfd.readouterr().err == ""


def test_a_text_that_changes_while_it_is_read_is_refused(text, vocabulary, monkeypatch):
    def read_and_change(path, size):
        yield from read_text_blocks(path, size)
        write(text, ["c"])

    monkeypatch.setattr(corpus, "read_text_blocks", read_and_change)
    with pytest.raises(DataError, match=r"train\.src: has changed while it was read"):
        open_side(text, vocabulary)
    assert not stored(text)


@pytest.mark.parametrize("gap", [0, 1, 256])
def test_lengths_do_not_depend_on_how_offsets_are_read(text, vocabulary, monkeypatch, gap):
    monkeypatch.setattr(corpus, "MAX_GAP", gap)
    side = open_side(text, vocabulary)
    for indices in ([], [5], [0, 5], [3, 0, 1], list(range(6))):
        lengths = side.lengths(np.array(indices, np.int64)).tolist()
        assert lengths == [len(side[index]) for index in indices]


@pytest.mark.parametrize(
    ("name", "place", "value"),
    [(".ids", 0, 5), (".ids", 3, 2), (".offsets", 1, 0), (".offsets", 1, 1 << 60)],
)
def test_invalid_ids_are_reported_before_use(text, vocabulary, name, place, value):
    """The checksums match, as an attacker could make them."""
    open_side(text, vocabulary)
    path = stored(text)[name]
    content = np.frombuffer(path.read_bytes(), np.int64 if name == ".offsets" else np.uint16).copy()
    content[place] = value
    path.write_bytes(content.tobytes())
    description = json.loads(stored(text)[".json"].read_text())
    description["sums"][name[1:]] = hashlib.sha256(content.tobytes()).hexdigest()
    stored(text)[".json"].write_text(json.dumps(description))
    with pytest.raises(DataError, match=r"ids: damaged.* writes it again"):
        sentences(open_side(text, vocabulary))


def test_leftovers_of_a_killed_process_are_removed(text, vocabulary):
    open_side(text, vocabulary)
    ids = stored(text)[".ids"]
    left, other = (ids.with_name(f".{ids.name}.{name}") for name in ("0123456789abcdef", "notes"))
    for path in (left, other):
        path.touch()
    stored(text)[".json"].unlink()
    open_side(text, vocabulary)
    assert not left.exists() and other.exists()


@pytest.mark.parametrize("suffix", [".ids", ".offsets", ".json"])
def test_a_file_of_a_terabyte_is_written_again_without_reading_it(text, vocabulary, suffix):
    before = sentences(open_side(text, vocabulary))
    os.truncate(stored(text)[suffix], 1 << 40)
    assert sentences(open_side(text, vocabulary)) == before
    assert stored(text)[suffix].stat().st_size < 1000


@pytest.mark.parametrize("stale", [False, True])
def test_a_folder_that_may_not_be_written_is_left_alone(
    tmp_path, text, vocabulary, monkeypatch, stale
):
    if stale:
        open_side(text, vocabulary)
        write(text, ["c", "b b"])
    before = write_times(text)
    (tmp_path / "temporary").mkdir()
    monkeypatch.setattr("tempfile.tempdir", str(tmp_path / "temporary"))
    monkeypatch.setattr("os.access", lambda *_: False)  # root may write everywhere
    side = open_side(text, vocabulary)
    assert sentences(side) == expected(["c", "b b"] if stale else LINES, vocabulary)
    assert write_times(text) == before
    assert list((tmp_path / "temporary").iterdir()) == []
