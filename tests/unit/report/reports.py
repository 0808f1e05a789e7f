"""Hand-made reports for tests of the page, without models."""

import random
from collections.abc import Sequence

import torch

from nmtkit.config import TextConfig
from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
from nmtkit.evaluation.comparison import ComparisonConfig, compare
from nmtkit.inference.translation import Translation
from nmtkit.inference.word_alignment import Alignment
from nmtkit.report.lines import TokenizedLine
from nmtkit.report.model_card import ModelCard
from nmtkit.report.model_report import ModelReport, SystemOutput
from nmtkit.report.output_errors import output_errors
from nmtkit.training.learning_curve import Curve, TrainingPoint, ValidationPoint

CURVE = Curve(
    tuple(TrainingPoint(100 * n, n / 2, 60.0 * n, 5 / n, 900.0) for n in range(1, 5)),
    tuple(
        ValidationPoint(200 * n, float(n), 120.0 * n, 4 / n, 40 / n, 9.0 * n, True) for n in (1, 2)
    ),
)


def line(text: str) -> TokenizedLine:
    return TokenizedLine(text, text.split())


def output(
    text: str, source: TokenizedLine, seed: int = 1, aligned: bool = True, n_alternatives: int = 2
) -> SystemOutput:
    """Return a translation with random weights and scores."""
    generator = torch.Generator().manual_seed(seed)
    words = text.split()
    rows, columns = len(words) + 1, len(source.words) + 1
    weights = torch.rand(rows, columns, generator=generator) ** 20
    scores = (-5 * torch.rand(rows, generator=generator) ** 3).tolist()
    best = translation(text, scores)
    alternatives = [
        translation(f"{text} {'etc ' * (n + 1)}".strip(), scores) for n in range(n_alternatives)
    ]
    matrix = weights / weights.sum(1, keepdim=True)
    alignment = Alignment(source.words, words, matrix) if aligned else None
    return SystemOutput(line(text), best, alignment, tuple(alternatives))


def translation(text: str, scores: Sequence[float]) -> Translation:
    score = sum(scores)
    return Translation(text, text.split(), score, score / 2, list(scores), True, [])


def report(
    sources: Sequence[str],
    references: Sequence[str],
    systems: dict[str, list[SystemOutput]],
    aligned: Sequence[str] = (),
) -> ModelReport:
    """Return a report on these outputs, evaluated as usual."""
    texts = {
        name: [output.line.text for output in system_outputs]
        for name, system_outputs in systems.items()
    }
    divided = ComparisonConfig(metrics=("bleu",), bucketings=(Bucketing("length"),))
    evaluation_set = EvaluationSet(references, sources)
    facts = {"Model": "made by hand", "Folder": "folder"}
    return ModelReport(
        version="1.2.3",
        model_cards=tuple(
            ModelCard(name, name, facts, {"a": "0" * 64}, "beam = 5\n", CURVE, name in aligned)
            for name in systems
        ),
        files=("test.en", "test.fr"),
        checksums={},
        text=TextConfig(),
        tokenized=True,
        samples=0,
        comparison=compare(texts, evaluation_set, ComparisonConfig()),
        by_bucket=compare(texts, evaluation_set, divided),
        left_out=(),
        cautions=(),
        sources=[line(source) for source in sources],
        references=[line(reference) for reference in references],
        outputs=systems,
        sentence_scores={
            name: [50.0 + n for n in range(len(system_outputs))]
            for name, system_outputs in systems.items()
        },
        errors={
            name: output_errors(
                [line(source) for source in sources],
                [line(reference) for reference in references],
                system_outputs,
            )
            for name, system_outputs in systems.items()
        },
    )


def large_report(sentences: int, words: int, seed: int = 1) -> ModelReport:
    """Return a report of two systems on sentences as long as a newspaper's."""
    draw = random.Random(seed)
    lexicon = ["".join(draw.choices("aeiounrstlé", k=draw.randrange(2, 11))) for _ in range(3000)]

    def sentence() -> str:
        return " ".join(draw.choices(lexicon, k=draw.randrange(words // 2, words * 3 // 2 + 1)))

    sources, references = ([sentence() for _ in range(sentences)] for _ in "sr")
    systems = {
        name: [
            output(sentence(), line(source), n, n_alternatives=4)
            for n, source in enumerate(sources)
        ]
        for name in ("one", "two")
    }
    return report(sources, references, systems, aligned=("one", "two"))
