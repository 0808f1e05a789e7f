"""The report on training speed."""

from pathlib import Path

import pytest
import train
from operations import SMALL, deep_lstm, opennmt, rnnsearch, training_operations
from peer_systems import OpenNMT
from systems import Data, Nmtkit, Rate
from timing import BenchError


class Lengths(Data):
    """Data with known lengths and no files."""

    def mean_lengths(self) -> tuple[float, float]:
        return 10.0, 10.0

    def target_words(self) -> int:
        return 10_000


RESULTS = {
    "ceiling": {"float32": [{"wall": 200.0, "cpu": 100.0}, {"wall": 100.0, "cpu": 80.0}]},
    "rates": {
        "nmtkit": [Rate(5000, 2500, 0), Rate(7000, 2600, 0), Rate(6000, 2700, 0)],
        "other": [Rate(3000, 1300, 0)],
    },
}


SYSTEMS = {"nmtkit": Nmtkit(), "other": OpenNMT(Path())}
DATA = Lengths(Path(), Path())


def rows(report: str) -> dict[str, list[str]]:
    """Return the cells of the table by system."""
    cells = [line[2:-2].split(" | ") for line in report.splitlines() if line[:1] == "|"]
    return {first: rest for first, *rest in cells[2:]}


def test_a_report_by_wall_clock() -> None:
    report = train.report("small", DATA, SYSTEMS, RESULTS, "wall")
    needed = training_operations(rnnsearch(SMALL, 10_000), 10.0, 10.0)
    other = training_operations(opennmt(SMALL, 10_000), 10.0, 10.0)
    mflop, share = f"{needed / 1e6:.1f}", f"{100 * 6000 * needed / 150e9:.0f} %"
    assert rows(report)["nmtkit"] == ["6,000 (5,000–7,000)", "1.00", mflop, share]
    mflop, share = f"{other / 1e6:.1f}", f"{100 * 3000 * other / 150e9:.0f} %"
    assert rows(report)["other"] == ["3,000", "2.00", mflop, share]
    assert f"{needed / 1e6:.1f} MFLOP" in report
    assert f"150 (100–200) GFLOP a second: at most {150e9 / needed:,.0f} words" in report


def test_a_report_by_processor_time() -> None:
    report = train.report("small", DATA, SYSTEMS, RESULTS, "cpu")
    assert rows(report)["nmtkit"][0] == "2,600 (2,500–2,700)"
    assert rows(report)["other"][:2] == ["1,300", "2.00"]


def test_a_report_without_nmtkit_or_ceiling() -> None:
    results = {"ceiling": {"float32": []}, "rates": {"other": [Rate(3000, 1300, 0)]}}
    report = train.report("paper", DATA, SYSTEMS, results, "wall")
    assert [rows(report)["other"][column] for column in (0, 1, 3)] == ["3,000", "", ""]


def test_each_precision_and_setting_has_a_row() -> None:
    rows = train.nmtkit_systems(["float32", "bfloat16"], ["rnnsearch"], ["data.bpe_dropout=0.1"])
    assert list(rows) == ["nmtkit", "nmtkit, bfloat16", "nmtkit, data.bpe_dropout=0.1"]


def test_other_models_have_rows_with_their_own_operations() -> None:
    rows = train.nmtkit_systems(["float32"], ["rnnsearch", "deep-lstm"], [])
    assert list(rows) == ["nmtkit", "nmtkit, deep-lstm"]
    assert rows["nmtkit, deep-lstm"].products is deep_lstm
    assert list(train.nmtkit_systems(["float32"], ["rnnenc"], [])) == ["nmtkit, rnnenc"]


def test_missing_text_is_named(tmp_path: Path) -> None:
    with pytest.raises(BenchError, match="name the folder of raw Multi30k with --data$"):
        train.main(["--work", str(tmp_path)])
    with pytest.raises(BenchError, match=r"train\.en: no such file"):
        train.main(["--work", str(tmp_path), "--data", str(tmp_path)])
