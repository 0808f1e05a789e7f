"""BLEU and chrF of the dev set count words that suit the target language."""

from pathlib import Path
from typing import Any

import pytest

from nmtkit.config import Config, DataConfig, TrainingConfig
from nmtkit.evaluation.metrics import evaluate, tokenized_bleu
from nmtkit.evaluation.retokenize import word_tokenizer
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text_config import TextConfig
from nmtkit.training.dev_metrics import DevMetrics, DevScores
from nmtkit.training.metrics_logger import MetricsLogger
from nmtkit.training.progress import Progress
from nmtkit.training.sparkline import validation_sparklines
from nmtkit.training.validation import Validation

FRENCH = ["L' homme dort .", "Deux chiens cou@@ rent sur la plage ."]
FRENCH_OUTPUT = ["L' homme dort .", "Deux chats cou@@ rent sur la plage verte ."]
CHINESE = ["单击「 确定」 按钮。", "打开 Writer 文档"]
CHINESE_OUTPUT = ["请单击「 确定」。", "打开 Writer 的 文档"]


@pytest.fixture
def scores(tmp_path: Path) -> Any:
    """`scores(references, outputs, language, swap=False, **training)`: the figures of outputs."""

    def measure(
        references: list[str],
        outputs: list[str],
        language: str,
        swap: bool = False,
        **training: Any,
    ) -> DevScores:
        side = "src" if swap else "tgt"
        (tmp_path / f"dev.{side}").write_text("".join(f"{r}\n" for r in references), "utf-8")
        (tmp_path / f"bpe.{side}").write_text("#version: 0.2\nr e\n", "utf-8")
        text = TextConfig("en", language, subwords="joint")
        data = DataConfig(swap_sides=swap)
        config = Config(None, data=data, training=TrainingConfig(**training), text=text)
        return DevMetrics.load(tmp_path, config).scores([line.split() for line in outputs])

    return measure


@pytest.mark.parametrize("swap", [False, True])
def test_with_spaces_bleu_counts_the_prepared_words_and_chrf_is_not_measured(
    scores: Any, swap: bool
) -> None:
    output, words = ([line.replace("@@ ", "") for line in text] for text in (FRENCH_OUTPUT, FRENCH))
    expected = tokenized_bleu(output, words).value
    assert expected > 0
    assert scores(FRENCH, FRENCH_OUTPUT, "fr", swap) == DevScores(expected, None)


def test_chrf_is_measured_on_raw_text_if_it_decides(scores: Any) -> None:
    raw = (
        ["L'homme dort.", "Deux chats courent sur la plage verte."],
        [*("L'homme dort.", "Deux chiens courent sur la plage.")],
    )
    (chrf,) = evaluate(*raw, metrics=["chrf"])
    measured = scores(FRENCH, FRENCH_OUTPUT, "fr", early_stopping_metric="chrf")
    assert measured.chrf == pytest.approx(chrf.value) and measured.bleu > 0
    alone = scores(FRENCH, FRENCH_OUTPUT, "fr", early_stopping_metric="chrf", dev_bleu=False)
    assert alone == DevScores(None, measured.chrf)


@pytest.mark.parametrize("swap", [False, True])
def test_without_spaces_bleu_and_chrf_are_those_of_evaluate(scores: Any, swap: bool) -> None:
    raw = ["请单击「确定」。", "打开 Writer 的文档"], ["单击「确定」按钮。", "打开 Writer 文档"]
    bleu, chrf = evaluate(*raw, tokenize=word_tokenizer("zh"), metrics=["bleu", "chrf"])
    measured = scores(CHINESE, CHINESE_OUTPUT, "zh", swap)
    assert (measured.bleu, measured.chrf) == (
        pytest.approx(bleu.value),
        pytest.approx(chrf.value),
    )
    assert measured.bleu > 20 > tokenized_bleu(CHINESE_OUTPUT, CHINESE).value


def test_nothing_is_translated_if_nothing_is_measured(scores: Any) -> None:
    assert scores(CHINESE, CHINESE_OUTPUT, "zh", dev_bleu=False) == DevScores()


def test_chrf_is_logged_and_drawn_before_bleu(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level("INFO", "nmtkit")
    metrics_logger = MetricsLogger(tmp_path, TrainingConfig(), lambda: 0.5)
    metrics_logger.log_validation(Progress(updates=7), Validation(2.5, 30.0, 9.5, 28.25), True)
    assert "per sentence 30.000, dev chrF 28.25, dev BLEU 9.50 (best)" in caplog.text
    points = [Validation(2.5, 30.0, 9.5, chrf) for chrf in (20.0, 30.0)]
    assert ", chrF 20.0 ▁█ 30.0" in validation_sparklines(points, 120)  # type: ignore[arg-type]


@pytest.mark.parametrize(
    ("settings", "mark"), [({"joiners": True}, "␣"), ({"case": "markers"}, "⇧")]
)
def test_marks_of_spacing_and_case_do_not_count_as_words(settings: Any, mark: str) -> None:
    text = TextConfig("en", "fr", **settings)
    pipeline = TextPipeline("fr", text, None)
    raw = ["Deux chiens courent / sur la plage.", "A/B et C / D vont à Paris."]
    tokens = [pipeline.tokens(line) for line in raw]
    assert any(mark in sentence for sentence in tokens)
    output = [[*sentence[:-3], "ici", *sentence[-3:]] for sentence in tokens]
    metrics = DevMetrics(pipeline, tokens, text, TrainingConfig())
    plain = TextPipeline("fr", TextConfig("en", "fr"), None)
    output_words, words = (
        [" ".join(plain.tokens(pipeline.line(sentence))) for sentence in sentences]
        for sentences in (output, tokens)
    )
    assert metrics.scores(output).bleu == tokenized_bleu(output_words, words).value
