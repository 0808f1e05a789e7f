"""A record of a calibration."""

from nmtkit.io.calibration_record import (
    CalibrationRecord,
    LogisticRecord,
)

LOGISTIC = LogisticRecord(("a", "b"), (0.0, 1.5), (1.0, 2.0), (0.1, -3.0), 0.5)

RECORD = CalibrationRecord(
    parameters=("1" * 64,),
    reverse=(),
    pairs=1014,
    beam=5,
    metric="chrF",
    threshold=61.5,
    is_median=True,
    sentences=LOGISTIC,
    words=LOGISTIC,
    figures={"sentence_ece": 0.03},
    scores=(-2.5, -0.5, -0.1),
    levels=(0.1, 0.5, 1.0),
)
