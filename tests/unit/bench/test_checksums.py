"""The benchmark of checksums compares the same work with and without them."""

from pathlib import Path

import checksums
import pytest


def test_parameters_and_corpora_are_read_with_and_without_checksums(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(checksums, "VOCABULARY", 60)
    runs = checksums.parameter_runs(tmp_path, 1)
    rows, _ = checksums.measure(runs, 1, "safetensors, copied")
    assert [row[0] for row in rows] == list(runs) and rows[0][2] == "1.00"
    rows, seconds = checksums.measure(checksums.corpus_runs(tmp_path, 5), 2, "nmtkit")
    assert [row[0] for row in rows] == ["nmtkit", "nmtkit, checksums free"]
    assert all(len(values) == 2 for values in seconds.values())
    names = {path.name.split(".")[0] for path in (tmp_path / "plain").iterdir()}
    assert names == {"train"}
