"""Prepared text with placeholders for names: in both sides of each training pair, or in none."""

import json
from collections import Counter
from pathlib import Path

import pytest

from nmtkit.errors import ConfigError
from nmtkit.preprocessing.api import prepare
from nmtkit.preprocessing.corpora import TrainingCorpus
from nmtkit.text.names import PLACEHOLDERS
from tests.unit.preprocessing.bitexts import write

TOWNS = ["Bern", "Lund", "Graz", "Bari", "Oslo", "Metz"]


@pytest.fixture
def prepared(tmp_path: Path) -> Path:
    pairs = [(f"We saw {a} and {b}.", f"Nous avons vu {a} et {b}.") for a in TOWNS for b in TOWNS]
    train = write(tmp_path, "train", [*pairs[:18], ("We saw London.", "Nous avons vu Londres.")])
    dev = write(tmp_path, "dev", [("We saw Cork.", "Nous avons vu la ville.")])
    prepare(
        train, tmp_path / "out", dev, src_language="en", tgt_language="fr", bpe=30,
        copy_names=True, language_check=False,
    )  # fmt: skip
    return tmp_path / "out"


def placeholders(line: str) -> Counter[str]:
    return Counter(word for word in line.split() if word in PLACEHOLDERS)


def test_both_sides_of_a_pair_have_the_same_placeholders_in_order(prepared: Path) -> None:
    src, tgt = ((prepared / f"train.{side}").read_text().splitlines() for side in ("src", "tgt"))
    assert all(map(placeholders, src[:18]))
    for line, translation in zip(src, tgt, strict=True):
        assert placeholders(line) == placeholders(translation)
        found = [word for word in line.split() if word in PLACEHOLDERS]
        assert found == sorted(found)
    assert not placeholders(src[18])
    assert {word for line in src for word in placeholders(line)} == set(PLACEHOLDERS)


def test_the_source_alone_decides_in_other_sets(prepared: Path) -> None:
    assert "❶" in (prepared / "dev.src").read_text()
    assert not placeholders((prepared / "dev.tgt").read_text())


def test_a_tag_is_no_word_of_its_sentence(tmp_path: Path) -> None:
    train = write(tmp_path, "train", [(f"Today {a}.", f"Hier {a}.") for a in TOWNS])
    prepare(
        [TrainingCorpus(train, tag="NEWS")], tmp_path / "out", src_language="en", tgt_language="fr",
        bpe=30, copy_names=True, language_check=False,
    )  # fmt: skip
    uses = [line.split("\t") for line in (tmp_path / "out" / "names.src").read_text().splitlines()]
    assert ["Today", "6", "0", "0"] in uses and "NEWS" not in {word for word, *_ in uses}


def test_the_manifest_says_so(prepared: Path) -> None:
    manifest = json.loads((prepared / "manifest.json").read_text())
    assert manifest["text"]["copy_names"] is True
    assert {"names.src", "names.tgt"} <= manifest["outputs"].keys()


@pytest.mark.parametrize("options", [{"subword": "none"}, {"case": "markers", "bpe": 9}])
def test_text_without_names_is_refused(tmp_path: Path, options: dict[str, object]) -> None:
    train = write(tmp_path, "train", [("A b.", "C d.")])
    with pytest.raises(ConfigError, match="names are copied in text of words"):
        prepare(
            train, tmp_path / "out", src_language="en", tgt_language="fr", copy_names=True,
            **options,  # type: ignore[arg-type]
        )  # fmt: skip
