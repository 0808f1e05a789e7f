"""Prepared folders of phrase tables, and of corpora from which pairs are held out."""

import gzip
from pathlib import Path

import pytest

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError, DataError
from nmtkit.io.lines import file_sha256, read_lines
from nmtkit.preprocessing import folder_writer
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.text.subword.bpe import undo_bpe

TOKENS = TextConfig(tokenized=True)

TABLE = [
    ("the house", "la maison"),
    ("the house", "l' &apos; maison"),
    ("the house", "la maison"),
    ("it", "elle"),
    ("the house", "la maison"),
    ("a b c d e", "un"),
    ("well @-@ known U.S.", "l'été"),
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    monkeypatch.setattr(folder_writer, "BLOCK_LINES", 2)


def write(path: Path, pairs: list[tuple[str, str]]) -> tuple[Path]:
    lines = "".join(f"{src} ||| {tgt} ||| 0.5 1 ||| 0-0 ||| |||\n" for src, tgt in pairs)
    data = lines.encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)
    return (path,)


def read_pairs(folder: Path, name: str = "train") -> list[tuple[str, str]]:
    sides = (list(read_lines(folder / f"{name}.{side}")) for side in ("src", "tgt"))
    return list(zip(*sides, strict=True))


@pytest.mark.parametrize("name", ["table", "table.gz"])
def test_a_table_gives_each_pair_once(tmp_path, name):
    """Copies are next to their source phrase; only --dedup finds copies elsewhere."""
    table = write(tmp_path / name, TABLE)
    manifest = prepare(PrepareSettings(TOKENS), tmp_path / "out", table)
    assert read_pairs(tmp_path / "out") == [pair for n, pair in enumerate(TABLE) if n != 2]
    assert manifest["splits"]["train"]["dropped"]["duplicate"] == 1
    assert manifest["splits"]["train"]["read"] == len(TABLE)
    assert manifest["inputs"] == {str(table[0]): file_sha256(table[0])}
    manifest = prepare(PrepareSettings(TOKENS, dedup=True), tmp_path / "whole", table)
    assert read_pairs(tmp_path / "whole") == [
        pair for n, pair in enumerate(TABLE) if n not in (2, 4)
    ]
    assert manifest["splits"]["train"]["dropped"]["duplicate"] == 2


def test_a_group_may_span_many_blocks(tmp_path):
    pairs = [("a", f"b{n % 5}") for n in range(20)] + [("c", f"b{n % 5}") for n in range(20)]
    prepare(PrepareSettings(TOKENS), tmp_path / "out", write(tmp_path / "table", pairs))
    assert read_pairs(tmp_path / "out") == [(src, f"b{n}") for src in ("a", "c") for n in range(5)]


def test_phrase_tables_are_cleaned_by_the_rules_of_bitexts(tmp_path):
    pairs = [*TABLE, ("\u00a0", "x"), ("a", "b b b b")]
    settings = PrepareSettings(TOKENS, max_length=4, max_ratio=3)
    manifest = prepare(settings, tmp_path / "out", write(tmp_path / "table", pairs))
    gone = manifest["splits"]["train"]["dropped"]
    assert gone == {"invalid": 0, "empty": 1, "long": 1, "ratio": 2, "duplicate": 1}


def test_lines_that_are_not_utf8(tmp_path):
    (tmp_path / "table").write_bytes(b"a ||| b ||| 1\nc ||| d ||| 1\ne ||| \xff ||| 1\n")
    with pytest.raises(DataError, match="table:3: not valid UTF-8 .* column 7"):
        prepare(PrepareSettings(TOKENS), tmp_path / "out", (tmp_path / "table",))
    settings = PrepareSettings(TOKENS, invalid="drop")
    manifest = prepare(settings, tmp_path / "out", (tmp_path / "table",))
    assert read_pairs(tmp_path / "out") == [("a", "b"), ("c", "d")]
    assert manifest["splits"]["train"]["dropped"]["invalid"] == 1


@pytest.mark.parametrize("merges", [0, 6])
def test_pairs_are_held_out_of_bitexts_and_phrase_tables(tmp_path, merges):
    text = TextConfig(tokenized=True, subwords="joint" if merges else "none")
    settings = PrepareSettings(text, merges=merges, held_out=2)
    table = write(tmp_path / "table", TABLE)
    bitext = tmp_path / "t.src", tmp_path / "t.tgt"
    for number, path in enumerate(bitext):
        path.write_text("".join(f"{pair[number]}\n" for pair in TABLE))
    for name, train in (("table", table), ("bitext", bitext)):
        out = tmp_path / f"{name}-out"
        manifest = prepare(settings, out, train)
        sets = [
            {
                tuple(" ".join(undo_bpe(line.split())) for line in pair)
                for pair in read_pairs(out, split)
            }
            for split in ("train", "dev")
        ]
        assert len(sets[1]) == 2 and sets[0] | sets[1] == set(TABLE) and not sets[0] & sets[1]
        assert set(manifest["splits"]) == {"train", "dev"}
        for split in ("train", "dev"):
            counts = manifest["splits"][split]
            assert counts["pairs"] == len(read_pairs(out, split))
            assert counts["src_tokens"] == sum(
                len(src.split()) for src, _ in read_pairs(out, split)
            )
        train_told = manifest["splits"]["train"]
        gone = sum(train_told["dropped"].values()) + train_told["held_out"]
        assert train_told["read"] == len(TABLE) == train_told["pairs"] + gone
        names = {path.name for path in out.iterdir()} - {"bpe.src", "bpe.tgt"}
        assert names == {
            "train.src", "train.tgt", "dev.src", "dev.tgt", "manifest.json",
                "cleaning.html", "dropped.tsv.gz",
        }  # fmt: skip


def test_bpe_is_learned_without_what_is_held_out(tmp_path):
    pairs = [(f"xy{n} zzzz", f"xy{n}") for n in range(6)] + [("qqqq", "qqqq")] * 50
    text = TextConfig(tokenized=True, subwords="joint")
    settings = PrepareSettings(text, merges=40, held_out=5)
    prepare(settings, tmp_path / "out", write(tmp_path / "table", pairs))
    held = {undo_bpe(tgt.split())[0] for _, tgt in read_pairs(tmp_path / "out", "dev")}
    codes = (tmp_path / "out" / "bpe.src").read_text()
    training_words = {f"xy{n}" for n in range(6)} | {"qqqq"}
    assert len(held) == 5
    for word in training_words:
        assert (f"{word[-1]}</w>" in codes) == (word not in held), (word, codes)


def test_the_same_bytes_for_any_number_of_workers(tmp_path):
    table = write(tmp_path / "table", TABLE)
    text = TextConfig(tokenized=True, subwords="separate")
    settings = PrepareSettings(text, merges=5, held_out=2)
    for workers in (1, 2):
        prepare(settings, tmp_path / f"out{workers}", table, workers=workers)
    for path in (tmp_path / "out1").iterdir():
        assert path.read_bytes() == (tmp_path / "out2" / path.name).read_bytes()


def test_dev_and_test_sets_stand_beside_a_table(tmp_path):
    files = tmp_path / "dev.en", tmp_path / "dev.fr"
    for path in files:
        path.write_text("l' a  &apos; @-@ U.S.\n\n")
    table = write(tmp_path / "table", TABLE)
    manifest = prepare(PrepareSettings(TOKENS), tmp_path / "out", table, files, {"news": files})
    assert read_pairs(tmp_path / "out", "news") == [("l' a &apos; @-@ U.S.",) * 2, ("", "")]
    assert set(manifest["splits"]) == {"train", "dev", "news"}


def test_contradictory_arguments_and_empty_tables_are_refused(tmp_path):
    table = write(tmp_path / "table", [])
    with pytest.raises(DataError, match="table: no training pair is left of 0; look"):
        prepare(PrepareSettings(TOKENS), tmp_path / "out", table)
    with pytest.raises(ConfigError, match="tokens already"):
        prepare(PrepareSettings(), tmp_path / "out", table)
    with pytest.raises(ConfigError, match="held out"):
        prepare(PrepareSettings(held_out=1), tmp_path / "out", ("x", "y"), ("x", "y"))
    with pytest.raises(ConfigError, match="at least 0"):
        prepare(PrepareSettings(held_out=-1), tmp_path / "out", ("x", "y"))
    assert {path.name for path in tmp_path.iterdir()} == {"table"}
