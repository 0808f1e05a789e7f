"""Windows of a stream hold every line once, in order, and no line waits."""

import gzip
import os
import random
import socket
import threading

import pytest

from nmtkit.errors import DataError
from nmtkit.inference.stream_batching import (
    LinesDone,
    LineStream,
    arriving_windows,
    length_batches,
    share_batches,
    windows,
)


@pytest.fixture
def pipe():
    """Return the read and write descriptors of a pipe; the test closes the write end."""
    read, write = os.pipe()
    yield read, write
    os.close(read)


@pytest.mark.parametrize("count", [0, 1, 2, 3, 7])
def test_windows_hold_all_items_in_order(count):
    result = list(windows(iter(range(count)), 3))
    assert [item for window in result for item in window] == list(range(count))
    assert all(len(window) == 3 for window in result[:-1])
    assert all(result)


def test_a_line_that_has_arrived_is_yielded_at_once(pipe):
    read, write = pipe
    arrived = arriving_windows(read, 10)
    for text in (b"one\n", b"two\nthree\nfo", b"ur\n"):
        os.write(write, text)
        if text == b"one\n":
            assert next(arrived) == [b"one"]
        elif text.startswith(b"two"):
            assert next(arrived) == [b"two", b"three"]
    assert next(arrived) == [b"four"]
    os.write(write, b"\n\nlast")
    os.close(write)
    assert list(arrived) == [[b"", b"", b"last"]]


def test_partial_lines_are_joined_and_yielded_in_windows(pipe):
    read, write = pipe
    random.seed(1)
    lines = [b"x" * random.choice([0, 1, 50, 5000]) + b"%d" % n for n in range(2000)]
    lines.append(b"y" * 300_000)
    text = b"\n".join(lines) + b"\n"

    def feed() -> None:
        offset = 0
        while offset < len(text):
            size = random.choice([1, 7, 1000, 60_000])
            os.write(write, text[offset : offset + size])
            offset += size
        os.close(write)

    feeder = threading.Thread(target=feed)
    feeder.start()
    arrived = list(arriving_windows(read, 64))
    feeder.join()
    assert [line for window in arrived for line in window] == lines
    assert all(1 <= len(window) <= 64 for window in arrived)


def test_an_empty_stream_has_no_windows(pipe):
    os.close(pipe[1])
    assert list(arriving_windows(pipe[0], 5)) == []


def test_files_and_named_pipes_are_read_alike(tmp_path):
    text = "one\ntwo\u2028\r\n\nlast".encode()
    (tmp_path / "plain").write_bytes(text)
    with gzip.open(tmp_path / "zipped.gz", "wb") as stream:
        stream.write(text)
    os.mkfifo(tmp_path / "fifo")
    feeder = threading.Thread(target=(tmp_path / "fifo").write_bytes, args=(text,))
    feeder.start()
    for name in ("plain", "zipped.gz", "fifo"):
        lines = [line for window in LineStream(tmp_path / name).windows(2) for line in window]
        assert lines == ["one", "two\u2028", "", "last"]
    feeder.join()


def test_a_socket_is_no_file_to_read(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    with socket.socket(socket.AF_UNIX) as server:
        server.bind("socket")
        with pytest.raises(DataError, match="socket: cannot be read"):
            list(LineStream("socket"))


def test_a_file_is_read_in_full_windows(tmp_path):
    (tmp_path / "plain").write_text("1\n2\n3\n4\n5\n")
    assert [len(window) for window in windows(LineStream(tmp_path / "plain"), 2)] == [2, 2, 1]


def test_invalid_utf8_is_replaced_with_a_warning_that_names_the_line(tmp_path, caplog):
    (tmp_path / "plain").write_bytes(b"one\n\xff\xfe\nthree\ncaf\xe9\n")
    result = list(windows(LineStream(tmp_path / "plain"), 2))
    assert result == [["one", "\ufffd\ufffd"], ["three", "caf\ufffd"]]
    warnings = [record.getMessage() for record in caplog.records]
    assert len(warnings) == 2
    assert ":2: not UTF-8" in warnings[0] and ":4: not UTF-8" in warnings[1]


def test_many_invalid_lines_are_counted(tmp_path, caplog):
    (tmp_path / "plain").write_bytes(b"caf\xe9\n" * 300)
    assert len(list(LineStream(tmp_path / "plain"))) == 300
    *named, last = [record.getMessage() for record in caplog.records]
    assert len(named) == 5 and last.endswith("plain: 300 lines are not UTF-8; convert it")


@pytest.mark.parametrize("name", ["missing", "."])
def test_an_unreadable_file_is_an_error(tmp_path, name):
    with pytest.raises(DataError, match="cannot be read"):
        list(LineStream(tmp_path / name).windows(2))


def test_batches_hold_each_sentence_once_longest_first():
    random.seed(2)
    lengths = [random.choice([1, 5, 30, 80, 2000, 50_000]) for _ in range(500)]
    batches = length_batches(lengths, 16)
    assert sorted(number for batch in batches for number in batch) == list(range(500))
    in_order = [lengths[number] for batch in batches for number in batch]
    assert in_order == sorted(lengths, reverse=True)
    for batch in batches:
        positions = len(batch) * lengths[batch[0]]
        assert len(batch) <= 64 and (positions <= 16 * 50 or len(batch) == 1)
    of_30 = [batch for batch in batches if lengths[batch[0]] == 30]
    assert len(of_30[0]) == 16 and len(batches[-2]) == 64
    assert length_batches([], 4) == []


def test_cores_share_long_and_short_sentences_alike():
    random.seed(3)
    lengths = [random.choice([0, 1, 5, 30, 80]) for _ in range(100)]
    for cores, expected in ((1, 1), (3, 3), (50, sum(map(bool, lengths)) // 8)):
        shares = share_batches(lengths, cores, 8, 16)
        assert len(shares) == expected
        numbers = [number for batches in shares for batch in batches for number in batch]
        assert sorted(numbers) == [number for number, length in enumerate(lengths) if length]
        longest = [lengths[batches[0][0]] for batches in shares]
        assert longest == sorted(lengths, reverse=True)[:expected]
    assert share_batches([0, 0], 4, 8, 16) == [[]]


def test_a_stream_counts_the_lines_it_has_handed_out(tmp_path):
    (tmp_path / "plain").write_text("1\n2\n3\n4\n5\n")
    stream = LineStream(tmp_path / "plain")
    counts = [stream.lines_read for _ in windows(stream, 2)]
    assert counts == [2, 4, 5]
    assert list(LineStream(tmp_path / "plain")) == ["1", "2", "3", "4", "5"]


def test_lines_count_from_the_first_of_the_newest_window():
    done = LinesDone()
    assert done.count() == 0
    window = done.begin(1, 5)
    window.mark([4, 0])
    window.mark([0])
    assert done.count() == 2
    done.begin(6, 3).mark([2])
    assert done.count() == 6
    window.mark([1])  # of a window that another thread has left behind
    assert done.count() == 6


def test_an_empty_window_has_no_line():
    done = LinesDone()
    done.begin(8, 0).mark([])
    assert done.count() == 7


def test_what_forks_mark_counts_here():
    done = LinesDone()
    window = done.begin(1, 300)
    for share in range(3):
        process = os.fork()
        if process == 0:
            window.mark(range(share, 300, 3))
            os._exit(0)
        assert os.waitstatus_to_exitcode(os.waitpid(process, 0)[1]) == 0
    assert done.count() == 300


def test_a_line_that_the_window_lacks_is_a_mistake():
    with pytest.raises(IndexError):
        LinesDone().begin(1, 2).mark([2])


def test_a_stdin_that_cannot_be_read_is_named(monkeypatch):
    with open(os.open(os.devnull, os.O_WRONLY), encoding="utf-8") as unreadable:
        monkeypatch.setattr("sys.stdin", unreadable)
        with pytest.raises(DataError, match="^-: cannot be read: Bad file descriptor"):
            list(LineStream("-").windows(5))
