"""The figures of a training."""

import json

TIMES = {"seconds", "words_per_second"}


def metrics(folder):
    rows = [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]
    return [{key: value for key, value in row.items() if key not in TIMES} for row in rows]
