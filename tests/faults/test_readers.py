"""Every reader obeys the law of `readers.py`: a short, fixed part of `make faults`."""

from pathlib import Path

import pytest

from nmtkit.errors import DataError
from tests.faults.hostile import fixed_cases
from tests.faults.readers import READERS, Fault, Reader, accepts
from tests.faults.sample_files import write_sample_files

pytestmark = pytest.mark.time_limit(90)

CASE_STRIDE = 40
"""Each reader gets every 40th case here, from a different start; there are more readers."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    return write_sample_files(tmp_path_factory.mktemp("samples"))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_valid_file_is_accepted(reader: Reader, folder: Path):
    assert accepts(reader, folder, (folder / reader.file).read_bytes())


@pytest.mark.parametrize("index", range(len(READERS)), ids=lambda index: READERS[index].name)
def test_any_file_is_accepted_or_refused_with_a_message(index, folder):
    """Each case goes to one of the first readers; the others, slower, get half as many."""
    reader = READERS[index]
    cases = list(fixed_cases((folder / reader.file).read_bytes()))
    for content in cases[index % CASE_STRIDE :: CASE_STRIDE * (1 + index // CASE_STRIDE)]:
        accepts(reader, folder, content)


def test_a_fault_is_detected(folder):
    """Check that readers that break the law raise a Fault, and that the sample file is restored."""

    def crashing(_: Path) -> None:
        raise KeyError("n_words_src")

    def no_file_name(_: Path) -> None:
        raise DataError("line 3 is bad")

    def refusing(_: Path) -> None:
        raise DataError("table: " + "x" * 5000)

    before = (folder / "table").read_bytes()
    for read, message in ((crashing, "KeyError"), (no_file_name, "does not name the file")):
        with pytest.raises(Fault, match=message):
            accepts(Reader("broken", "table", read), folder, b"x")
    assert not accepts(Reader("sound", "table", refusing), folder, b"x")
    assert (folder / "table").read_bytes() == before


def test_readers_have_unique_names():
    names = [reader.name for reader in READERS]
    assert len(names) == len(set(names)) > CASE_STRIDE
