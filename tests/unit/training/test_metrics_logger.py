"""Metrics of a training: JSON lines, log lines, sparklines on a terminal, TensorBoard."""

import builtins
import dataclasses
import io
import json
import logging
import math
import re
import sys
from pathlib import Path

import pytest

from nmtkit.config import TrainingConfig
from nmtkit.errors import NmtkitError, OutputError
from nmtkit.extras import install_command
from nmtkit.training.metrics_logger import LOG_EVERY, MetricsLogger, require_tensorboard
from nmtkit.training.progress import Progress
from nmtkit.training.validation import Validation

VALIDATION = Validation(cost_per_token=2.5, cost_per_sentence=30.25, bleu=12.3456)


def monitored(folder, **settings):
    return MetricsLogger(folder, TrainingConfig(**settings), lambda: 0.5)


def lines(folder):
    return [json.loads(line) for line in (folder / "metrics.jsonl").read_text().splitlines()]


def run(metrics_logger, updates, first=1):
    for update in range(first, first + updates):
        metrics_logger.log_update(
            Progress(updates=update, seconds=update), 20.0 * update, 10, float(update)
        )


def test_every_100_updates_the_means_are_logged(tmp_path):
    metrics_logger = monitored(tmp_path)
    run(metrics_logger, 2 * LOG_EVERY + 5)
    first, second = lines(tmp_path)
    assert [first["update"], second["update"]] == [LOG_EVERY, 2 * LOG_EVERY]
    assert first["kind"] == "training" and first["epoch"] == 0.5
    assert first["cost_per_token"] == 2 * (LOG_EVERY + 1) / 2
    assert first["gradient_norm"] == (LOG_EVERY + 1) / 2
    assert second["gradient_norm"] == (LOG_EVERY + 1) / 2 + LOG_EVERY
    assert first["words_per_second"] > 0


def test_skipped_updates_have_no_mean(tmp_path):
    metrics_logger = monitored(tmp_path)
    run(metrics_logger, LOG_EVERY - 1)
    metrics_logger._reset()  # as after a line in between
    metrics_logger.log_update(Progress(updates=LOG_EVERY, skipped=1), float("nan"), 10, 1.0)
    (line,) = lines(tmp_path)
    assert math.isnan(line["cost_per_token"]) and math.isnan(line["gradient_norm"])


def test_all_figures_of_a_validation_are_written(tmp_path):
    metrics_logger = monitored(tmp_path)
    metrics_logger.log_validation(
        Progress(updates=7, decays=2, seconds=3.21), VALIDATION, is_best=True
    )
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


def test_unmeasured_bleu_is_null(tmp_path):
    monitored(tmp_path).log_validation(
        Progress(), dataclasses.replace(VALIDATION, bleu=None), False
    )
    (line,) = lines(tmp_path)
    assert line["dev_bleu"] is None and line["best"] is False


def test_resuming_removes_lines_after_the_checkpoint(tmp_path):
    metrics_logger = monitored(tmp_path)
    run(metrics_logger, 3 * LOG_EVERY)
    metrics_logger.log_validation(Progress(updates=2 * LOG_EVERY), VALIDATION, True)
    kept = [line for line in lines(tmp_path) if line["update"] <= 2 * LOG_EVERY]
    monitored(tmp_path).resume(Progress(updates=2 * LOG_EVERY))
    assert lines(tmp_path) == kept and len(kept) == 3


def test_resuming_survives_a_truncated_line(tmp_path):
    metrics_logger = monitored(tmp_path)
    run(metrics_logger, 2 * LOG_EVERY)
    content = (tmp_path / "metrics.jsonl").read_text()
    (tmp_path / "metrics.jsonl").write_text(content[:-20])
    monitored(tmp_path).resume(Progress(updates=LOG_EVERY))
    assert [line["update"] for line in lines(tmp_path)] == [LOG_EVERY]


@pytest.mark.parametrize("row", ["\xff", "[]", "3", '{"update": null}', "[" * 100_000, "9" * 5000])
def test_resuming_survives_invalid_lines(tmp_path, row):
    run(monitored(tmp_path), LOG_EVERY)
    content = (tmp_path / "metrics.jsonl").read_bytes()
    (tmp_path / "metrics.jsonl").write_bytes(row.encode("latin-1") + b"\n" + content)
    monitored(tmp_path).resume(Progress(updates=LOG_EVERY))
    assert (tmp_path / "metrics.jsonl").read_bytes() == content


def test_resuming_without_metrics_is_not_an_error(tmp_path):
    monitored(tmp_path).resume(Progress(updates=5))
    assert not (tmp_path / "metrics.jsonl").exists()


@pytest.fixture
def nmtkit_log(caplog):
    with caplog.at_level(logging.INFO, "nmtkit"):
        yield caplog


def test_validations_are_logged(tmp_path, nmtkit_log):
    monitored(tmp_path).log_validation(Progress(updates=7), VALIDATION, is_best=True)
    (message,) = nmtkit_log.messages
    assert "update 7" in message and "2.5000" in message and "30.250" in message
    assert "dev BLEU 12.35" in message and message.endswith("(best)")


def test_updates_are_logged_without_a_progress_bar(tmp_path, nmtkit_log):
    metrics_logger = monitored(tmp_path)
    metrics_logger.log_validation(Progress(updates=7), VALIDATION, is_best=False)
    assert not nmtkit_log.messages[-1].endswith("(best)")
    run(metrics_logger, LOG_EVERY)
    for part in ("update 100", "epoch 0.50", "words/s", "norm 50.50", "dev cost 2.5000", "12.35"):
        assert part in nmtkit_log.messages[-1]


@pytest.mark.parametrize(
    ("settings", "minutes"),
    [
        ({}, None),
        ({"max_updates": 400}, "5.0"),
        ({"max_epochs": 1, "max_updates": 400}, "1.7"),
        ({"time_limit": 160.0, "max_updates": 400}, "1.0"),
        ({"time_limit": 90.0}, "0.0"),
    ],
)
def test_the_time_left_is_until_the_nearest_limit(tmp_path, nmtkit_log, settings, minutes):
    run(monitored(tmp_path, **settings), LOG_EVERY)
    message = nmtkit_log.messages[-1]
    assert ("left" in message) == (minutes is not None)
    assert minutes is None or f"at most {minutes} min left" in message


class Terminal(io.StringIO):
    encoding = "utf-8"

    def isatty(self):
        return True


@pytest.fixture
def on_terminal(monkeypatch):
    """Return a function that makes stderr a terminal of 80 columns for the metrics logger.

    Pytest replaces stderr after fixtures have run, so that the test has to call it.
    """

    def set_stderr(stream):
        monkeypatch.setenv("COLUMNS", "80")
        monkeypatch.setattr(sys, "stderr", stream)

    return set_stderr


def log_three_validations(metrics_logger):
    for update, cost in ((10, 4.0), (20, 3.0), (30, 2.0)):
        validation = dataclasses.replace(VALIDATION, cost_per_token=cost, bleu=10 - cost)
        metrics_logger.log_validation(Progress(updates=update), validation, is_best=True)
    metrics_logger.close()


def test_a_terminal_shows_sparklines_from_the_second_validation_on(
    tmp_path, nmtkit_log, on_terminal
):
    on_terminal(Terminal())
    log_three_validations(monitored(tmp_path))
    sparklines = [message for message in nmtkit_log.messages if "█" in message]
    assert sparklines == [
        "dev cost 4.000 █▁ 3.000, BLEU 6.0 ▁█ 7.0",
        "dev cost 4.000 █▅▁ 2.000, BLEU 6.0 ▁▅█ 8.0",
    ]


def test_a_resumed_training_shows_its_earlier_validations(tmp_path, nmtkit_log, on_terminal):
    on_terminal(Terminal())
    log_three_validations(monitored(tmp_path))
    metrics_logger = monitored(tmp_path)
    metrics_logger.resume(Progress(updates=20))
    metrics_logger.log_validation(Progress(updates=25), VALIDATION, is_best=False)
    metrics_logger.close()
    assert nmtkit_log.messages[-1] == "dev cost 4.000 █▃▁ 2.500, BLEU 6.0 ▁▂█ 12.3"


def test_an_invalid_line_prevents_only_the_sparklines(tmp_path, nmtkit_log, on_terminal):
    on_terminal(Terminal())
    metrics_logger = monitored(tmp_path)
    metrics_logger.path.write_text('{"update": 1}\n')
    log_three_validations(metrics_logger)
    assert len(nmtkit_log.messages) == 3 and len(metrics_logger.path.read_text().splitlines()) == 4


def test_without_a_terminal_or_block_characters_only_text_is_logged(
    tmp_path, nmtkit_log, on_terminal
):
    plain = Terminal()
    plain.encoding = "ascii"
    on_terminal(plain)
    log_three_validations(monitored(tmp_path))
    on_terminal(io.StringIO())
    log_three_validations(monitored(tmp_path))
    assert len(nmtkit_log.messages) == 6 and all(
        message.isascii() for message in nmtkit_log.messages
    )


def bar_of(metrics_logger, width=79):
    return metrics_logger.bar.render(width)


def test_the_bar_has_a_cost_from_the_first_update_on(tmp_path):
    metrics_logger = monitored(tmp_path, validate_every=15)
    for first in (1, 16, 31, 46):
        run(metrics_logger, 1, first)
        assert "cost " in bar_of(metrics_logger).replace("dev cost", "")
        run(metrics_logger, 14, first + 1)
        progress = Progress(updates=first + 14)
        metrics_logger.log_validation(progress, VALIDATION, is_best=True)


def test_the_bar_keeps_the_newest_cost_where_a_mean_begins(tmp_path):
    """After a validation it had the mean at the last line of the log, up to 99 updates older."""
    metrics_logger = monitored(tmp_path)
    run(metrics_logger, LOG_EVERY + 30)
    before = re.findall(r"cost [\d.]+", bar_of(metrics_logger))
    metrics_logger.log_validation(Progress(updates=LOG_EVERY + 30), VALIDATION, is_best=True)
    assert re.findall(r"cost [\d.]+", bar_of(metrics_logger)) == before != []
    run(metrics_logger, 1, 10_000)
    assert before[0] in bar_of(metrics_logger)


def test_a_resumed_training_shows_its_last_figures_at_once(tmp_path, nmtkit_log):
    metrics_logger = monitored(tmp_path)
    run(metrics_logger, LOG_EVERY)
    metrics_logger.log_validation(Progress(updates=LOG_EVERY), VALIDATION, is_best=True)
    metrics_logger.close()
    resumed = monitored(tmp_path)
    assert "cost" not in bar_of(resumed) and bar_of(resumed).endswith("dev BLEU -")
    resumed.resume(Progress(updates=LOG_EVERY))
    assert bar_of(resumed).endswith("cost 101.000, dev BLEU 12.35")
    run(resumed, LOG_EVERY, LOG_EVERY + 1)
    assert "dev cost 2.5000, dev BLEU 12.35" in nmtkit_log.messages[-1]


@pytest.mark.parametrize("left", [7.0, 1e3, 1e6])
@pytest.mark.parametrize("updates", [1, 5_000, 123_456_789])
@pytest.mark.parametrize("cost", [0.001, 12.3, 12_345.6])
def test_the_bar_fits_80_columns_with_cost_dev_bleu_and_time_left(tmp_path, left, updates, cost):
    metrics_logger = monitored(tmp_path, max_updates=2 * updates)
    metrics_logger.log_validation(Progress(updates=updates), VALIDATION, is_best=True)
    metrics_logger.log_update(Progress(updates=updates, seconds=left), 10 * cost, 10, 1.0)
    bar = bar_of(metrics_logger)
    assert len(bar) < 80 and "epoch 0.50" in bar
    assert f"cost {cost:.3f}, dev BLEU 12.35, " in bar and " left" in bar


def test_nothing_is_written_to_stdout(tmp_path, capsys):
    metrics_logger = monitored(tmp_path)
    run(metrics_logger, LOG_EVERY)
    metrics_logger.log_validation(Progress(updates=LOG_EVERY), VALIDATION, True)
    metrics_logger.close()
    assert capsys.readouterr().out == ""


@pytest.mark.skipif(not Path("/dev/full").exists(), reason="a device of Linux")
def test_a_full_disk_is_reported_with_the_file(tmp_path):
    (tmp_path / "metrics.jsonl").symlink_to("/dev/full")
    with pytest.raises(OutputError, match=r"metrics\.jsonl: cannot be written: No space left"):
        monitored(tmp_path).log_validation(Progress(updates=7), VALIDATION, True)


def test_missing_tensorboard_says_what_to_install(monkeypatch):
    real = builtins.__import__

    def without(name, *arguments):
        if name.startswith("torch.utils.tensorboard"):
            raise ImportError(name)
        return real(name, *arguments)

    monkeypatch.setattr(builtins, "__import__", without)
    monkeypatch.delitem(sys.modules, "torch.utils.tensorboard", raising=False)
    with pytest.raises(NmtkitError, match=re.escape(install_command("tensorboard"))):
        require_tensorboard()


def test_tensorboard_gets_every_number(tmp_path, monkeypatch):
    written: list[object] = []

    class Writer:
        def add_scalar(self, name, value, update):
            written.append((name, value, update))

        def close(self):
            written.append("closed")

    monkeypatch.setattr("nmtkit.training.metrics_logger._summary_writer", lambda folder: Writer())
    metrics_logger = MetricsLogger(tmp_path, TrainingConfig(), lambda: 0.5, tensorboard=True)
    assert metrics_logger.writer is None  # its thread would forbid to fork
    metrics_logger.log_validation(Progress(updates=7), VALIDATION, True)
    metrics_logger.close()
    assert ("validation/dev_cost_per_token", 2.5, 7) in written
    assert ("validation/dev_bleu", 12.346, 7) in written
    assert written[-1] == "closed"
