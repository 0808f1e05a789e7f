"""`make gpu`: its whole way on the CPU, what it says without a GPU, and its reading of events."""

import dataclasses
import json
import math
import warnings
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import gpu
import gpu_training
import numpy as np
import pytest
import torch
from device_checks import Check
from gpu_ranks import RanksRun, largest_difference
from gpu_training import Activity, Measured, Text, generate, recipe_config
from timing import BenchError

from nmtkit.data.corpus import Corpus, Side

MEASURED = Measured(
    "rnnsearch-30",
    "float32",
    seconds=0.1,
    words=2000.0,
    operations=1e8,
    costs=(9.0, 7.0),
    memory=3 << 30,
    activity=Activity(launches=5000.0, busy=0.09, waits=1.0, copies=6.0),
    wait_places={"nmtkit/training/gradient.py:161": 1},
)
CEILINGS = {"float32": 20_000.0}  # 2e12 of 2e13 operations a second are needed
ONE, TWO = RanksRun(1, [9.0, 8.0], 1000.0), RanksRun(2, [9.0, 8.004], 1500.0)


def changed(**values: Any) -> Measured:
    activity = dataclasses.replace(MEASURED.activity, **values.pop("activity", {}))
    return dataclasses.replace(MEASURED, activity=activity, **values)


def test_without_a_gpu_it_says_so(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(torch.cuda, "is_available", lambda: False)
    assert gpu.main([]) == 2
    output = capsys.readouterr()
    assert output.out == "" and output.err.count("\n") == 1
    assert output.err.startswith("bench: torch finds no GPU here")


def test_the_whole_way_on_a_cpu(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(gpu_training, "PROFILED_UPDATES", 1)
    output = tmp_path / "gpu.md"
    recipes = ["--recipes", "rnnsearch-30", "cslm", "--work", str(tmp_path)]
    small = ["--device", "cpu", "--small", "--updates", "8", "--output", str(output)]
    assert gpu.main([*small, *recipes, "--skip-checks"]) == 0
    text, readings = output.read_text(), json.loads(output.with_suffix(".json").read_text())
    rows = [line.split(" | ") for line in text.splitlines() if line.startswith("| ")][2:]
    names = [(row[0].strip("| "), row[1]) for row in rows]
    assert names == [(r, p) for r in ("rnnsearch-30", "cslm") for p in ("float32", "bfloat16")]
    assert "2 processes: " in text and "costs hold" in text
    assert "- cslm, bfloat16: " in text and "no GPU, so speeds mean nothing here" in text
    assert [run["ranks"] for run in readings["ranks"]] == [1, 2]
    for trained in readings["trained"]:
        assert trained["costs"][1] < trained["costs"][0] < math.log(200)
        assert trained["activity"]["launches"] > 100 and trained["activity"]["busy"] is None


def test_checks_are_reported(monkeypatch: pytest.MonkeyPatch) -> None:
    found = [Check("a: scores", 0.0, 1e-6), Check("b: sampling", math.inf, 1e-6)]
    monkeypatch.setattr(gpu, "check_device", lambda device, factor: iter(found))
    checks = gpu.run_checks(torch.device("cpu"), 1)
    text = gpu.checks_text(checks)
    assert text.startswith("1 of 2 comparisons with the CPU hold.")
    assert "| b: sampling | inf | 1e-06 |" in text and "a: scores" not in text
    assert "skipped" in gpu.checks_text([])


@pytest.mark.parametrize(
    ("result", "sentence"),
    [
        (changed(activity={"busy": 0.02}), "limited by launches: the GPU computes in 20 %"),
        (changed(operations=5e8), "limited by arithmetic, at 50 % of the ceiling"),
        (MEASURED, "limited by memory and small products: the GPU is busy in 90 %"),
        (changed(costs=(7.0, 7.5)), "does NOT learn"),
        (changed(costs=(7.0, math.nan)), "does NOT learn"),
        (
            changed(wait_places={"nmtkit/a.py:3": 2, "nmtkit/b.py:4": 1}),
            "the host waits 3 times an update, not once: nmtkit/a.py:3 (2), nmtkit/b.py:4 (1)",
        ),
        (changed(activity={"busy": None}), "5,000 operations an update"),
        (gpu.Failure("toy", "float32", "out of memory"), "failed: out of memory."),
    ],
)
def test_diagnosis(result: Measured | gpu.Failure, sentence: str) -> None:
    assert sentence in gpu.diagnose(result, CEILINGS)


def test_the_row_of_a_training() -> None:
    cells = ["rnnsearch-30", "float32", "20,000", "10.0 %", "100.0", "5,000", "90 %", "1.0", "3.0"]
    assert gpu.row(MEASURED, CEILINGS) == [*cells, "9.00 to 7.00"]
    failed = gpu.row(gpu.Failure("toy", "float32", "out of memory"), CEILINGS)
    assert failed == ["toy", "float32", *["–"] * 8]


def test_the_exit_status_tells_what_is_wrong() -> None:
    good, equal = [Check("a", 0.0, 0.1)], (ONE, ONE)
    assert gpu.all_good(good, [MEASURED], equal) and gpu.all_good(good, [MEASURED], None)
    assert not gpu.all_good([Check("a", 0.2, 0.1)], [MEASURED], equal)
    assert not gpu.all_good(good, [gpu.Failure("toy", "float32", "")], equal)
    assert not gpu.all_good(good, [changed(costs=(7.0, math.nan))], equal)
    different = (ONE, dataclasses.replace(TWO, costs=[9.0, 8.1]))
    assert not gpu.all_good(good, [MEASURED], different)


def test_processes_are_compared() -> None:
    assert largest_difference(ONE, TWO) == pytest.approx(0.0005)
    assert "2 processes: 1,500 target words/s, 1.50 times as many as one; costs hold" in (
        gpu.ranks_text((ONE, TWO))
    )
    wrong = dataclasses.replace(TWO, costs=[9.0, 9.0])
    assert "do NOT hold" in gpu.ranks_text((ONE, wrong))
    assert "do NOT hold" in gpu.ranks_text((ONE, dataclasses.replace(TWO, costs=[9.0, math.nan])))
    assert "one GPU" in gpu.ranks_text(None)


def test_what_was_measured_stays_if_processes_fail(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fails(*_: object) -> RanksRun:
        raise BenchError("exit status 1: NCCL error")

    monkeypatch.setattr(gpu, "run_ranks", fails)
    monkeypatch.setattr(gpu, "train", lambda *_: MEASURED)
    output = tmp_path / "gpu.md"
    options = ["--device", "cpu", "--small", "--skip-checks", "--recipes", "rnnsearch-30"]
    assert gpu.main([*options, "--precision", "float32", "--output", str(output)]) == 1
    assert "| rnnsearch-30 | float32 | 20,000 |" in output.read_text()
    assert "Several processes: failed: exit status 1: NCCL error." in output.read_text()
    [failure] = json.loads(output.with_suffix(".json").read_text())["ranks"]
    assert failure["reason"] == "exit status 1: NCCL error"


def event(name: str, device: str, microseconds: float = 0, **values: Any) -> Any:
    span = SimpleNamespace(elapsed_us=lambda: microseconds)
    kind = SimpleNamespace(name=device)
    fields = {"name": name, "device_type": kind, "time_range": span, "cpu_children": []}
    return SimpleNamespace(**{**fields, **values})


EVENTS = [
    event("aten::mm", "CPU", cpu_children=[1]),
    event("cudaLaunchKernel", "CPU"),
    event("cuLaunchKernelEx", "CPU"),
    event("cudaLaunchKernelExC", "CPU"),
    event("hipModuleLaunchKernel", "CPU"),
    event("cudaStreamSynchronize", "CPU"),
    event("cudaMemcpyAsync", "CPU"),
    event("ampere_sgemm_128x64_tn", "CUDA", 3000),
    event("Memcpy DtoH (Device -> Pageable)", "CUDA", 1000),
    event("Optimizer.step#Adam.step", "CUDA", 9000, is_user_annotation=True),
]


def test_events_of_a_gpu() -> None:
    activity = gpu_training.activity_of(EVENTS, 2, "cuda")
    assert activity == Activity(launches=2.0, busy=0.002, waits=0.5, copies=0.5)


def test_events_of_a_cpu() -> None:
    events = [*EVENTS, event("aten::add", "CPU"), event("aten::mul", "CPU")]
    assert gpu_training.activity_of(events, 2, "cpu") == Activity(launches=1.0)


def test_places_where_torch_warns_of_waits() -> None:
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        for _ in range(2):
            warnings.warn("called a synchronizing CUDA operation", stacklevel=1)
        warnings.warn("something else", stacklevel=1)
    ((place, count),) = gpu_training.places_of(caught).items()
    assert place.startswith("tests/unit/bench/test_gpu.py:") and count == 2


def test_generated_text() -> None:
    corpus = generate(Text((500, 300), 10.0), 2000)
    for side, words in ((corpus.src, 500), (corpus.tgt, 300)):
        ids, ends = np.asarray(side.ids[0 : len(side.ids)]), np.asarray(side.offsets)[1:] - 1
        assert (ids[ends] == 0).all() and (np.delete(ids, ends) > 1).all()
        assert ids.max() == words - 1
        assert np.diff(ends).min() >= 2 and np.diff(ends).mean() == pytest.approx(11, abs=0.7)
        counts = np.bincount(ids)
        assert counts[2] > 1.5 * counts[3] > 4 * counts[20] > 0
    again = generate(Text((500, 300), 10.0), 2000)
    assert (np.asarray(again.tgt.ids[0:99]) == np.asarray(corpus.tgt.ids[0:99])).all()


def test_lengths_are_those_of_the_pairs_that_are_trained_on() -> None:
    ids = np.arange(1, 15)
    corpus = Corpus(Side(ids, np.array([0, 2, 5, 12])), Side(ids, np.array([0, 4, 7, 9])))
    assert gpu_training.mean_lengths(corpus, 3) == (2.5, 3.5)
    assert gpu_training.mean_lengths(corpus, 6) == (4, 3)


def test_small_recipes_differ_in_sizes_only() -> None:
    for recipe in ("rnnsearch-30", "grconv", "seq2seq-lstm", "cslm"):
        whole, small = (recipe_config(recipe, "bfloat16", tiny) for tiny in (False, True))
        assert small.model.hidden == gpu_training.SMALL_SIZE < whole.model.hidden
        assert small.training == whole.training and small.training.precision == "bfloat16"
        assert type(small.model) is type(whole.model)
