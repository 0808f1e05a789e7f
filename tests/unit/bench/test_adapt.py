"""The pairs that are drawn to measure adapting."""

import argparse
from pathlib import Path
from types import SimpleNamespace
from typing import Any
from unittest.mock import patch

import adapt
import pytest

from nmtkit.training.adaptation.corrections import Pair


@pytest.fixture
def files(tmp_path):
    paths = tmp_path / "a.en", tmp_path / "a.fr"
    for path in paths:
        path.write_text("".join(f"{'w ' * (n % 9 + 1)}{n}\n" for n in range(60)) + "\n")
    return paths


def drawn(files, count, max_words, folder):
    path = adapt.draw(files, count, max_words, folder)
    return [line.split("\t") for line in path.read_text().splitlines()]


def test_fewer_pairs_are_part_of_more_and_stay_pairs(files, tmp_path):
    few, many = (drawn(files, count, 0, tmp_path) for count in (5, 50))
    assert few == many[:5] and len({src for src, _ in many}) == 50
    assert all(src == tgt for src, tgt in many)


def test_short_pairs_have_neither_more_nor_hardly_any_words(files, tmp_path):
    lengths = {len(src.split()) for src, _ in drawn(files, 60, 6, tmp_path)}
    assert lengths == {4, 5, 6}


def test_measured_translations_are_written(tmp_path):
    options = argparse.Namespace(work=tmp_path, test=["a"], old_test=["b"], model="m")
    pairs = {"a": [Pair("x", "u", "")], "b": [Pair("y", "v", ""), Pair("z", "w", "")]}
    judge = SimpleNamespace(score=lambda test_set, lines: float(len(lines)))
    model = SimpleNamespace(config=SimpleNamespace(text=None))
    with (
        patch.object(adapt, "read_pairs", lambda files, _: pairs[files[0]]),
        patch.object(adapt, "load_model", lambda *_: model),
        patch.object(adapt, "Judge", lambda _: judge),
    ):
        tests = adapt.Tests(options, 10)
    translator: Any = SimpleNamespace(
        translate=lambda lines: [[SimpleNamespace(text=line.upper())] for line in lines]
    )
    assert tests.bleus(translator, tmp_path / "before") == (1, 2)
    written = {path.name: path.read_text() for path in tmp_path.iterdir()}
    assert written == {
        "new.reference": "u\n",
        "old.reference": "v\nw\n",
        "before.new": "X\n",
        "before.old": "Y\nZ\n",
    }


def test_what_was_measured_is_kept(tmp_path):
    calls: list[Path] = []
    tests: Any = None

    options = argparse.Namespace(work=tmp_path)

    def measure(options, data, tests):
        calls.append(data)
        return {"bleus": [1.0, 2.0]}

    for _ in range(2):
        found = adapt.kept(options, tmp_path / "pairs.tsv", "adapt", measure, tests)
        assert found == {"bleus": [1.0, 2.0]}
    assert len(calls) == 1
