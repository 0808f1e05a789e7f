"""Every reader obeys the law of `readers.py`: a short part of `make faults`, always the same."""

from pathlib import Path

import pytest
import torch

from tests.faults.hostile import plain_cases
from tests.faults.readers import READERS, Reader, tried
from tests.faults.workshop import make_workshop


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.set_num_threads(1)
    return make_workshop(tmp_path_factory.mktemp("workshop"))


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_a_sound_file_is_taken(reader: Reader, folder: Path):
    assert tried(reader, folder, (folder / reader.file).read_bytes())


@pytest.mark.parametrize("reader", READERS, ids=lambda reader: reader.name)
def test_whatever_is_in_a_file_it_is_taken_or_refused_in_a_sentence(reader, folder):
    for content in plain_cases((folder / reader.file).read_bytes()):
        tried(reader, folder, content)
