"""Every reader obeys the law of `readers.py`: a short part of `make faults`, always the same."""

from pathlib import Path

import pytest
import torch

from nmtkit.errors import DataError
from tests.faults.hostile import plain_cases
from tests.faults.readers import READERS, Fault, Reader, tried
from tests.faults.workshop import make_workshop

PART = 24
"""Of so many cases a reader gets one."""


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.set_num_threads(1)
    return make_workshop(tmp_path_factory.mktemp("workshop"))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_valid_file_is_accepted(reader: Reader, folder: Path):
    assert tried(reader, folder, (folder / reader.file).read_bytes())


@pytest.mark.parametrize("place", range(len(READERS)), ids=lambda place: READERS[place].name)
def test_any_file_is_accepted_or_refused_with_a_message(place, folder):
    """A reader gets some of the cases here, and each of them goes to several readers."""
    reader = READERS[place]
    cases = list(plain_cases((folder / reader.file).read_bytes()))
    for content in cases[place % PART :: PART]:
        tried(reader, folder, content)


def test_a_fault_is_detected(folder):
    """The law is none that nothing breaks."""

    def broken(_: Path) -> None:
        raise KeyError("n_words_src")

    def nameless(_: Path) -> None:
        raise DataError("line 3 is bad")

    def breaking(_: Path) -> None:
        raise DataError("table: " + "x" * 5000)

    before = (folder / "table").read_bytes()
    for read, told in ((broken, "KeyError"), (nameless, "does not name the file")):
        with pytest.raises(Fault, match=told):
            tried(Reader("broken", "table", read), folder, b"x")
    assert not tried(Reader("sound", "table", breaking), folder, b"x")
    assert (folder / "table").read_bytes() == before


def test_readers_have_unique_names():
    names = [reader.name for reader in READERS]
    assert len(names) == len(set(names)) > 50
