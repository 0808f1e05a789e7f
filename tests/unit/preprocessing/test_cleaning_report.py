"""What `prepare` reports: dropped pairs, leakage, near duplicates, and a dry run."""

import gzip
import itertools
import re
from pathlib import Path
from typing import Any, Literal

import pytest

from nmtkit import prepare
from nmtkit.errors import OutputError
from nmtkit.preprocessing import api, folder_writer
from nmtkit.preprocessing.duplicates import DigestSet, digest
from nmtkit.preprocessing.leakage import Leak, LeakCounts, log_leaks
from nmtkit.preprocessing.tally import Sample

PAIRS = [
    ("A dog runs.", "Un chien court."),
    ("a dog runs!", "un chien\tcourt"),
    ("<script>Tea</script>", "Du thÃ© <b>"),
    ("", "vide"),
    ("A  cat sleeps.", "Un chat dort."),
    ("A cat sleeps.", "Le chat dort."),
    ("Back\\slash word " * 30, "mot " * 60),
]


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(folder_writer, "BLOCK_LINES", 3)


def run(folder: Path, name: str, **options: Any) -> dict[str, Any]:
    paths = []
    for split, pairs in (("train", PAIRS), ("dev", [("A cat sleeps. ", "Un chat  dort.")])):
        for side in (0, 1):
            path = folder / f"{split}.{side}"
            path.write_text("".join(f"{pair[side]}\n" for pair in pairs), encoding="utf-8")
            paths.append(path)
    return prepare(
        (paths[0], paths[1]), folder / name, (paths[2], paths[3]), src_language="en",
        tgt_language="fr", subword="none", language_check=False, **options,
    )  # fmt: skip


def rows(folder: Path) -> list[list[str]]:
    text = gzip.decompress((folder / "dropped.tsv.gz").read_bytes()).decode()
    return [line.split("\t") for line in text.split("\n")[:-1]]


def test_every_dropped_pair_has_a_row(tmp_path: Path) -> None:
    manifest = run(tmp_path, "out", near_dedup="both")
    header, *dropped = rows(tmp_path / "out")
    assert header == ["rule", "value", "file", "line", "source", "target"]
    found = {(row[0], row[1], row[3]) for row in dropped}
    assert found == {
        ("near-duplicate", "", "2"), ("mojibake", "1", "3"), ("empty", "", "4"),
        ("long", "120", "7"),
    }  # fmt: skip
    targets = {row[3]: row[5] for row in dropped}
    assert targets["2"] == r"un chien\tcourt"
    assert next(row[4] for row in dropped if row[3] == "7").startswith(r"Back\\slash")
    page = (tmp_path / "out" / "cleaning.html").read_text(encoding="utf-8")
    assert "&lt;script&gt;Tea" in page and "<script" not in page and "http" not in page[200:]
    assert manifest["splits"]["train"]["dropped"]["near-duplicate"] == 1


@pytest.mark.parametrize(
    ("policy", "kept", "note"),
    [
        ("report", 4, "They stay in the training data, so that scores"),
        ("drop", 3, "Those with both sides there are dropped"),
        ("drop-any", 2, "They are dropped."),
    ],
)
def test_leakage_is_reported_and_dropped_on_request(
    tmp_path: Path,
    policy: Literal["report", "drop", "drop-any"],
    kept: int,
    note: str,
    caplog: pytest.LogCaptureFixture,
) -> None:
    manifest = run(tmp_path, "out", leakage=policy)
    page = (tmp_path / "out" / "cleaning.html").read_text(encoding="utf-8")
    assert f'<p class="note">{note}' in page and "<strong>leak</strong>" not in page
    assert manifest["leakage"] == {"dev": {"pairs": 1, "src": 2, "tgt": 1}}
    assert manifest["splits"]["train"]["pairs"] == kept
    assert "1 pair of the training data also stands in dev" in caplog.text
    assert not (tmp_path / "out" / "leakage.json").exists()


def test_leakage_of_duplicates_that_are_dropped_does_not_count(tmp_path: Path) -> None:
    manifest = run(tmp_path, "out", near_dedup="src")
    assert manifest["leakage"] == {"dev": {"pairs": 1, "src": 1, "tgt": 1}}


@pytest.mark.parametrize(
    ("names", "told", "option"),
    [
        (["dev"], "1 pair of the training data also stands in dev; with the source side alone 1",
         "--leakage drop (for"),
        ([], "no pair of the training data also stands in dev; with the source side alone 1",
         "--leakage drop-any (for"),
    ],
)  # fmt: skip
def test_the_option_that_is_named_drops_what_was_found(
    names: list[str], told: str, option: str, caplog: pytest.LogCaptureFixture
) -> None:
    counts = LeakCounts()
    counts.add(Leak(tuple(names), ("dev",), tuple(names)))
    log_leaks(counts, [Sample(1, "", "a.en", 7, "A cat.", "Un chat.")], "report")
    assert told in caplog.messages[0] and option in caplog.messages[1]


def test_a_dry_run_writes_only_the_report(tmp_path: Path) -> None:
    manifest = run(tmp_path, "out")
    report = run(tmp_path, "report", dry_run=True)
    names = {path.name for path in (tmp_path / "report").iterdir()}
    assert names == {"cleaning.html", "cleaning.json", "dropped.tsv.gz"}
    assert report["splits"]["train"]["dropped"] == manifest["splits"]["train"]["dropped"]
    for name in ("cleaning.html", "dropped.tsv.gz"):
        assert report["outputs"][name] == manifest["outputs"][name]
    with pytest.raises(OutputError, match="is not a report"):
        run(tmp_path, "out", dry_run=True, force=True)
    run(tmp_path, "report", dry_run=True)  # with other rules, say
    (tmp_path / "report" / "notes").touch()
    for dry_run in (True, False):
        with pytest.raises(OutputError, match="exists (already|and is not a prepared folder)"):
            run(tmp_path, "report", dry_run=dry_run)
    (tmp_path / "report" / "notes").unlink()
    run(tmp_path, "report")
    assert (tmp_path / "report" / "manifest.json").exists()


@pytest.mark.parametrize("workers", [1, 2])
def test_dropped_copies_do_not_count_among_the_kept_lengths(tmp_path: Path, workers: int) -> None:
    for side, text in enumerate(("A dog runs.\n" * 5, "Un chien court vite.\n" * 5)):
        (tmp_path / f"train.{side}").write_text(text)
        (tmp_path / f"dev.{side}").write_text("Oui.\n")
    train, dev = ((tmp_path / f"{name}.0", tmp_path / f"{name}.1") for name in ("train", "dev"))
    prepare(
        train, tmp_path / "out", dev, src_language="en", tgt_language="fr", subword="none",
        language_check=False, dedup=True, workers=workers,
    )  # fmt: skip
    page = (tmp_path / "out" / "cleaning.html").read_text(encoding="utf-8")
    bars = re.findall(r"<title>([^<]*)</title>", page[page.index("<h2>Lengths") :])
    assert bars == ["kept: 1", "dropped: 4"] * 3  # source, target, ratio
    by_file = page[page.index("<h2>By file") : page.index("<h2>Leakage")]
    assert re.findall(r">(\d+)<", by_file) == ["5", "1", "4"]  # read, kept, duplicate


def test_digests_are_new_once() -> None:
    digests = DigestSet()
    seen: set[bytes] = set()
    for block in range(50):
        batch = [digest(str((block * number) % 97).encode()) for number in range(20)]
        expected = []
        for one in batch:
            expected.append(one not in seen)
            seen.add(one)
        assert digests.add(batch) == expected
    assert len(digests) == len(seen)


def test_a_dry_run_counts_lengths_as_the_method_does_that_is_chosen(tmp_path: Path) -> None:
    pair = tmp_path / "a.en", tmp_path / "a.ja"
    pair[0].write_text("Open, print, " * 20 + "\n" + "It is new.\n" * 20)  # 80 tokens of Moses
    pair[1].write_text("開いて、印刷、" * 10 + "\n" + "それは新しいです。\n" * 20)
    dropped = [
        api.prepare(
            pair, tmp_path / f"out{dry_run}", src_language="en", tgt_language="ja", dry_run=dry_run
        )["splits"]["train"]["dropped"]
        for dry_run in (False, True)
    ]
    assert dropped[0] == dropped[1]
    assert dropped[0]["long"] == 0


@pytest.mark.parametrize("swapped", [False, True])
def test_a_pair_of_the_greatest_length_and_ratio_is_kept(tmp_path: Path, swapped: bool) -> None:
    """Sides have three and three to nine words, or as many and six to nine."""
    short = ["la " * 3] * 7 + ["la " * n for n in (6, 7, 8, 9)]
    long = ["le " * n for n in range(3, 10)] + ["le " * n for n in (6, 7, 8, 9)]
    paths = tmp_path / "train.0", tmp_path / "train.1"
    for path, lines in zip(paths, (long, short) if swapped else (short, long), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    dropped = prepare(
        paths, tmp_path / "out", src_language="en", tgt_language="fr", subword="none",
        language_check=False, dry_run=True, max_ratio=2.0, max_length=8,
    )["splits"]["train"]["dropped"]  # fmt: skip
    assert (dropped["ratio"], dropped["long"]) == (2, 2)


@pytest.mark.parametrize("sides", [*itertools.product([(), ("dev",)], repeat=3)][1:])
def test_a_policy_drops_pairs_or_any_side_that_stands_elsewhere(
    sides: tuple[tuple[str, ...], ...],
) -> None:
    leak = Leak(*sides)
    assert leak.drops("drop-any") and not leak.drops("report")
    assert leak.drops("drop") == bool(leak.pair)
