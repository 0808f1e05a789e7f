"""The file of a calibration: round trip, staleness, and damage."""

import json
from dataclasses import replace

import pytest

from nmtkit.errors import ModelError
from nmtkit.io.calibration_record import (
    read_calibration,
    write_calibration,
)
from nmtkit.io.checksums import with_checksum
from nmtkit.io.folder_files import CALIBRATION_FILE, has_calibration
from tests.unit.calibrations import LOGISTIC, RECORD


def test_what_is_written_is_read(tmp_path):
    assert read_calibration(tmp_path) is None and not has_calibration(tmp_path)
    write_calibration(tmp_path, replace(RECORD, pairs=1))
    write_calibration(tmp_path, RECORD)
    assert read_calibration(tmp_path) == RECORD and has_calibration(tmp_path)
    assert RECORD.good == "chrF of at least 61.5, the median of the dev set"


def test_other_models_make_it_stale(tmp_path):
    path = tmp_path / CALIBRATION_FILE
    RECORD.check_models(path, RECORD.parameters)
    with pytest.raises(ModelError, match="stale: the parameters have changed since; run"):
        RECORD.check_models(path, ("2" * 64,))
    with pytest.raises(ModelError, match="is for 1 model, not for an ensemble of 2"):
        RECORD.check_models(path, ("1" * 64, "2" * 64))


def test_the_reverse_model_is_that_of_the_calibration(tmp_path):
    path = tmp_path / CALIBRATION_FILE
    with_reverse = replace(RECORD, reverse=("3" * 64,))
    RECORD.check_reverse(path, None)
    with_reverse.check_reverse(path, ("3" * 64,))
    with pytest.raises(ModelError, match="give it: --reverse-model"):
        with_reverse.check_reverse(path, None)
    with pytest.raises(ModelError, match="without a reverse model"):
        RECORD.check_reverse(path, ("3" * 64,))
    with pytest.raises(ModelError, match="with another reverse model"):
        with_reverse.check_reverse(path, ("4" * 64,))


def test_every_change_of_the_file_is_noticed(tmp_path):
    write_calibration(tmp_path, RECORD)
    path = tmp_path / CALIBRATION_FILE
    content = path.read_bytes()
    for size in range(0, len(content) - 2, 7):
        path.write_bytes(content[:size])
        with pytest.raises(ModelError, match=r"calibration\.json: cannot be read"):
            read_calibration(tmp_path)
    path.write_bytes(content.replace(b"61.5", b"61.6"))
    with pytest.raises(ModelError, match="its checksum differs"):
        read_calibration(tmp_path)


@pytest.mark.parametrize(
    ("key", "value"),
    [
        ("format", 2),
        ("parameters", []),
        ("parameters", [1]),
        ("pairs", 0),
        ("pairs", True),
        ("beam", "5"),
        ("threshold", 1e300),
        ("threshold", "60"),
        ("scores", [-0.5, -2.5, -0.1]),
        ("scores", [-0.5]),
        ("levels", [0.1] * 20_000),
        ("figures", {"a": None}),
        ("sentences", {}),
        ("words", {**vars(LOGISTIC), "scales": [1.0, 0.0]}),
        ("words", {**vars(LOGISTIC), "weights": [1.0]}),
        ("words", {**vars(LOGISTIC), "means": [0.0, float("nan")]}),
    ],
)
def test_wrong_values_are_refused(tmp_path, key, value):
    write_calibration(tmp_path, RECORD)
    path = tmp_path / CALIBRATION_FILE
    table = json.loads(path.read_text())
    del table["sha256"]
    changed = json.loads(json.dumps({**table, key: value}))
    path.write_text(json.dumps(with_checksum(changed)))
    with pytest.raises(ModelError, match=r"calibration\.json: cannot be read.*calibrate' again"):
        read_calibration(tmp_path)


@pytest.mark.parametrize("content", [b"", b"\xff", b"[" * 100_000, b"7", b"{}"])
def test_what_is_no_record_is_refused(tmp_path, content):
    (tmp_path / CALIBRATION_FILE).write_bytes(content)
    with pytest.raises(ModelError, match=r"calibration\.json: cannot be read"):
        read_calibration(tmp_path)
