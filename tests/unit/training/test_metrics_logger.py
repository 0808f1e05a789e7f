"""What a training says: JSON lines for machines, one line of log for people."""

import builtins
import dataclasses
import io
import json
import logging
import sys

import pytest

from nmtkit.config import TrainingConfig
from nmtkit.errors import NmtkitError
from nmtkit.training.checkpoint import Progress
from nmtkit.training.metrics_logger import REPORT, MetricsLogger
from nmtkit.training.validation import Validation

FOUND = Validation(cost_per_token=2.5, cost_per_sentence=30.25, bleu=12.3456)


def monitored(folder, **settings):
    return MetricsLogger(folder, TrainingConfig(**settings), lambda: 0.5)


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def run(monitor, updates, first=1):
    for update in range(first, first + updates):
        monitor.updated(Progress(updates=update, seconds=update), 20.0 * update, 10, float(update))


def test_every_hundredth_update_reports_the_means_since_the_last(tmp_path):
    monitor = monitored(tmp_path)
    run(monitor, 2 * REPORT + 5)
    first, second = lines(tmp_path)
    assert [first["update"], second["update"]] == [REPORT, 2 * REPORT]
    assert first["kind"] == "training" and first["epoch"] == 0.5
    assert first["cost_per_token"] == 2 * (REPORT + 1) / 2
    assert first["gradient_norm"] == (REPORT + 1) / 2
    assert second["gradient_norm"] == (REPORT + 1) / 2 + REPORT
    assert first["words_per_second"] > 0


def test_a_validation_is_written_with_all_its_figures(tmp_path):
    monitor = monitored(tmp_path)
    monitor.validated(Progress(updates=7, decays=2, seconds=3.21), FOUND, better=True)
    (line,) = lines(tmp_path)
    assert line == {
        "kind": "validation",
        "update": 7,
        "epoch": 0.5,
        "dev_cost_per_token": 2.5,
        "dev_cost_per_sentence": 30.25,
        "dev_bleu": 12.346,
        "best": True,
        "decays": 2,
        "seconds": 3.2,
    }


def test_no_bleu_is_null(tmp_path):
    monitored(tmp_path).validated(Progress(), dataclasses.replace(FOUND, bleu=None), False)
    (line,) = lines(tmp_path)
    assert line["dev_bleu"] is None and line["best"] is False


def test_going_on_forgets_what_came_after_the_checkpoint(tmp_path):
    monitor = monitored(tmp_path)
    run(monitor, 3 * REPORT)
    monitor.validated(Progress(updates=2 * REPORT), FOUND, True)
    kept = [line for line in lines(tmp_path) if line["update"] <= 2 * REPORT]
    monitored(tmp_path).resumed(2 * REPORT)
    assert lines(tmp_path) == kept and len(kept) == 3


def test_going_on_survives_a_line_cut_short(tmp_path):
    monitor = monitored(tmp_path)
    run(monitor, 2 * REPORT)
    content = (tmp_path / "metrics.jsonl").read_text()
    (tmp_path / "metrics.jsonl").write_text(content[:-20])
    monitored(tmp_path).resumed(REPORT)
    assert [line["update"] for line in lines(tmp_path)] == [REPORT]


@pytest.mark.parametrize("row", ["\xff", "[]", "3", '{"update": null}', "[" * 100_000, "9" * 5000])
def test_going_on_survives_lines_that_are_none(tmp_path, row):
    run(monitored(tmp_path), REPORT)
    content = (tmp_path / "metrics.jsonl").read_bytes()
    (tmp_path / "metrics.jsonl").write_bytes(row.encode("latin-1") + b"\n" + content)
    monitored(tmp_path).resumed(REPORT)
    assert (tmp_path / "metrics.jsonl").read_bytes() == content


def test_going_on_without_metrics_is_no_error(tmp_path):
    monitored(tmp_path).resumed(5)
    assert not (tmp_path / "metrics.jsonl").exists()


@pytest.fixture
def told(caplog):
    with caplog.at_level(logging.INFO, "nmtkit"):
        yield caplog


def test_people_are_told_of_validations(tmp_path, told):
    monitored(tmp_path).validated(Progress(updates=7), FOUND, better=True)
    (message,) = told.messages
    assert "update 7" in message and "2.5000" in message and "30.250" in message
    assert "dev BLEU 12.35" in message and message.endswith("(best)")


def test_people_are_told_of_updates_where_there_is_no_bar(tmp_path, told):
    monitor = monitored(tmp_path)
    monitor.validated(Progress(updates=7), FOUND, better=False)
    assert not told.messages[-1].endswith("(best)")
    run(monitor, REPORT)
    for part in ("update 100", "epoch 0.50", "words/s", "norm 50.50", "dev cost 2.5000", "12.35"):
        assert part in told.messages[-1]


@pytest.mark.parametrize(
    ("settings", "minutes"),
    [({}, None), ({"max_updates": 400}, "5.0"), ({"max_epochs": 1, "max_updates": 400}, "1.7")],
)
def test_the_time_left_is_that_to_the_nearest_limit(tmp_path, told, settings, minutes):
    run(monitored(tmp_path, **settings), REPORT)
    message = told.messages[-1]
    assert ("left" in message) == (minutes is not None)
    assert minutes is None or f"at most {minutes} min left" in message


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """Makes stderr a terminal of 80 columns, as far as the monitor asks; pytest sets stderr anew
    behind a fixture, so the test says when."""

    def begin(stream):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "stderr", stream)

    return begin


def validate_thrice(monitor):
    for update, cost in ((10, 4.0), (20, 3.0), (30, 2.0)):
        found = dataclasses.replace(FOUND, cost_per_token=cost, bleu=10 - cost)
        monitor.validated(Progress(updates=update), found, better=True)
    monitor.close()


def test_on_a_terminal_each_validation_after_the_first_draws_the_course(
    tmp_path, told, on_terminal
):
    on_terminal(Terminal())
    validate_thrice(monitored(tmp_path))
    drawn = [message for message in told.messages if "█" in message]
    assert drawn == [
        "dev cost 4.000 █▁ 3.000, BLEU 6.0 ▁█ 7.0",
        "dev cost 4.000 █▅▁ 2.000, BLEU 6.0 ▁▅█ 8.0",
    ]


def test_a_training_that_goes_on_draws_its_earlier_course_too(tmp_path, told, on_terminal):
    on_terminal(Terminal())
    validate_thrice(monitored(tmp_path))
    monitor = monitored(tmp_path)
    monitor.resumed(20)
    monitor.validated(Progress(updates=25), FOUND, better=False)
    monitor.close()
    assert told.messages[-1] == "dev cost 4.000 █▃▁ 2.500, BLEU 6.0 ▁▂█ 12.3"


def test_a_line_that_somebody_wrote_costs_the_drawing_and_no_more(tmp_path, told, on_terminal):
    on_terminal(Terminal())
    monitor = monitored(tmp_path)
    monitor.path.write_text('{"update": 1}\n')
    validate_thrice(monitor)
    assert len(told.messages) == 3 and len(monitor.path.read_text().splitlines()) == 4


def test_where_no_terminal_is_or_one_without_blocks_there_is_text_alone(
    tmp_path, told, on_terminal
):
    plain = Terminal()
    plain.encoding = "ascii"
    on_terminal(plain)
    validate_thrice(monitored(tmp_path))
    on_terminal(io.StringIO())
    validate_thrice(monitored(tmp_path))
    assert len(told.messages) == 6 and all(message.isascii() for message in told.messages)


def test_stdout_is_left_alone(tmp_path, capsys):
    monitor = monitored(tmp_path)
    run(monitor, REPORT)
    monitor.validated(Progress(updates=REPORT), FOUND, True)
    monitor.close()
    assert capsys.readouterr().out == ""


def test_tensorboard_that_is_not_installed_says_what_to_install(tmp_path, monkeypatch):
    real = builtins.__import__

    def without(name, *arguments):
        if name.startswith("torch.utils.tensorboard"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    with pytest.raises(NmtkitError, match=r"pip install 'nmtkit\[tensorboard\]'"):
        MetricsLogger(tmp_path, TrainingConfig(), lambda: 0.0, tensorboard=True)


def test_tensorboard_gets_every_number(tmp_path, monkeypatch):
    written: list[object] = []

    class Writer:
        def add_scalar(self, name, value, update):
            written.append((name, value, update))

        def close(self):
            written.append("closed")

    monkeypatch.setattr("nmtkit.training.metrics_logger._summary_writer", lambda folder: Writer())
    monitor = MetricsLogger(tmp_path, TrainingConfig(), lambda: 0.5, tensorboard=True)
    monitor.validated(Progress(updates=7), FOUND, True)
    monitor.close()
    assert ("validation/dev_cost_per_token", 2.5, 7) in written
    assert ("validation/dev_bleu", 12.346, 7) in written
    assert written[-1] == "closed"
