"""BLEU, chrF and TER: laws, a slow second implementation, and one known figure."""

import math
import os
import random
from collections.abc import Callable, Sequence
from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner
from numpy.typing import NDArray

from nmtkit.cli.evaluate import command
from nmtkit.errors import DataError
from nmtkit.evaluation.buckets import Bucketing, EvaluationSet
from nmtkit.evaluation.comparison import ComparisonConfig, compare
from nmtkit.evaluation.metrics import (
    METRICS,
    Metric,
    MetricScore,
    evaluate,
    tokenized_bleu,
    which_is_better,
)
from nmtkit.evaluation.retokenize import Retokenizer

DATA = Path(os.environ.get("NMTKIT_DATA", Path(__file__).parents[3] / "../shared/data"))

MeasureOf = Callable[[Sequence[str], Sequence[str]], MetricScore]
sacrebleu_bleu = METRICS["sacrebleu"].corpus_score
chrf = METRICS["chrf"].corpus_score
ter = METRICS["ter"].corpus_score
ALL: list[MeasureOf] = [tokenized_bleu, sacrebleu_bleu, chrf, ter]

REFERENCES = [
    "Un homme avec un chapeau orange regardant quelque chose .",
    "Deux chiens noirs courent sur l' herbe verte devant une clôture .",
    "Oui .",
    "",
]
HYPOTHESES = [
    "Un homme avec un chapeau orange regarde quelque chose .",
    "Deux chiens noirs jouent sur l' herbe devant la clôture blanche .",
    "Non .",
    "Rien",
]


def slow_multi_bleu(hypotheses: Sequence[str], references: Sequence[str]) -> float:
    """Compute BLEU by its definition: words between ASCII spaces, one reference, no smoothing."""
    right, given = [0] * 4, [0] * 4
    hypothesis_length = reference_length = 0
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        h = [w for w in hypothesis.split(" ") if w]
        r = [w for w in reference.split(" ") if w]
        hypothesis_length += len(h)
        reference_length += len(r)
        for n in range(1, 5):
            left = [r[i : i + n] for i in range(len(r) - n + 1)]
            for i in range(len(h) - n + 1):
                given[n - 1] += 1
                if h[i : i + n] in left:
                    left.remove(h[i : i + n])
                    right[n - 1] += 1
    if 0 in right:
        return 0.0
    penalty = min(1.0, math.exp(1 - reference_length / hypothesis_length))
    product = math.prod(c / t for c, t in zip(right, given, strict=True))
    return 100 * penalty * product**0.25


def random_corpus(rng: random.Random, size: int = 30) -> tuple[list[str], list[str]]:
    """Return sentences of few different words, some empty, and noisy copies of them."""
    references = [" ".join(rng.choices("abcdE", k=rng.randrange(12))) for _ in range(size)]
    hypotheses = []
    for line in references:
        words = [rng.choice("abcdEe") if rng.random() < 0.3 else w for w in line.split()]
        cut = rng.randrange(4)
        hypotheses.append(" ".join(words[cut:] if rng.random() < 0.5 else words + ["a"] * cut))
    return hypotheses, references


@pytest.mark.parametrize("measure", [tokenized_bleu, sacrebleu_bleu, chrf])
def test_the_references_themselves_reach_100(measure: MeasureOf) -> None:
    assert measure(REFERENCES, REFERENCES).value == 100


def test_the_references_themselves_have_0_edits() -> None:
    assert ter(REFERENCES, REFERENCES).value == 0


@pytest.mark.parametrize("measure", ALL)
def test_the_order_of_the_sentences_does_not_matter(measure: MeasureOf) -> None:
    rng = random.Random(1)
    hypotheses, references = random_corpus(rng)
    value = measure(hypotheses, references).value
    assert 0 < value < 100
    order = rng.sample(range(len(references)), k=len(references))
    shuffled = measure([hypotheses[i] for i in order], [references[i] for i in order])
    assert shuffled.value == pytest.approx(value)


@pytest.mark.parametrize("seed", range(8))
def test_tokenized_bleu_agrees_with_a_slow_implementation(seed: int) -> None:
    hypotheses, references = random_corpus(random.Random(seed))
    result = tokenized_bleu(hypotheses, references)
    assert result.value == pytest.approx(slow_multi_bleu(hypotheses, references))
    assert result.hypothesis_length == sum(len(line.split()) for line in hypotheses)
    assert result.reference_length == sum(len(line.split()) for line in references)


def test_tokenized_bleu_is_the_mean_of_its_parts() -> None:
    hypotheses, references = random_corpus(random.Random(5))
    result = tokenized_bleu(hypotheses, references)
    mean = math.exp(sum(math.log(p) for p in result.precisions) / 4)
    assert result.value == pytest.approx(result.brevity_penalty * mean)


def test_short_output_is_punished_by_the_brevity_penalty() -> None:
    result = tokenized_bleu(["a b c d e"], ["a b c d e f g h i j"])
    assert result.precisions == (100, 100, 100, 100)
    assert result.value == pytest.approx(100 * math.exp(1 - 10 / 5))


def test_tokenized_bleu_is_cased_and_not_smoothed() -> None:
    assert tokenized_bleu(["A b c d e"], ["a b c d e"]).value < 100
    assert tokenized_bleu(["a b c x e"], ["a b c d e"]).value == 0  # no 4-gram matches
    assert tokenized_bleu(["a b c"], ["a b c"]).value == 0  # there is no 4-gram
    assert tokenized_bleu(["", ""], ["a b c d", ""]).value == 0


def test_tokenized_bleu_takes_words_as_they_are() -> None:
    # 13a would split the period and the comma, and undo the escape
    assert tokenized_bleu(["a b c d."], ["a b c d ."]).precisions[0] == 75
    assert tokenized_bleu(["a , b &apos;s c"], ["a, b 's c"]).precisions[0] == 40


@pytest.mark.parametrize("space", ["\u00a0", "\u2028", "\u0085", "\u3000", "\x1c"])
def test_non_ascii_spaces_do_not_separate_words(space: str) -> None:
    hypotheses, references = [f"a b 10{space}000 d e"], [f"a b 10{space}000 d f"]
    result = tokenized_bleu(hypotheses, references)
    assert result.hypothesis_length == 5
    assert result.value == pytest.approx(slow_multi_bleu(hypotheses, references))
    assert tokenized_bleu(["a b 10 000 d e"], references).reference_length == 5


def test_different_spaces_make_different_words() -> None:
    assert tokenized_bleu(["a\u00a0b"], ["a\u2028b"]).precisions[0] == 0


def test_tokenized_bleu_of_the_real_moses() -> None:
    folder = DATA / "moses-multi30k"
    if not folder.is_dir():
        pytest.skip(f"no data in {folder}: set NMTKIT_DATA")
    hypotheses = (folder / "out/test2016.hyp.fr").read_text("utf-8").split("\n")[:-1]
    references = (folder / "corpus/test2016.tok.fr").read_text("utf-8").split("\n")[:-1]
    result = tokenized_bleu(hypotheses, references)
    assert round(result.value, 2) == 58.33
    assert result.value == pytest.approx(slow_multi_bleu(hypotheses, references))


def test_sacrebleu_tokenises_for_itself() -> None:
    spaced, joined = ["Oui , il dort : voilà ."], ["Oui, il dort: voilà."]
    assert sacrebleu_bleu(joined, spaced).value == pytest.approx(100)
    assert tokenized_bleu(joined, spaced).value == 0


def test_signatures_name_the_settings_of_each_metric() -> None:
    assert "case:mixed|eff:no|tok:none|smooth:none|version:" in signature(tokenized_bleu)
    assert "case:mixed|eff:no|tok:13a|smooth:exp|version:" in signature(sacrebleu_bleu)
    assert "nc:6|nw:0" in signature(chrf)
    assert "tok:tercom" in signature(ter)
    assert not any("detok" in signature(measure) for measure in ALL)


def signature(measure: MeasureOf) -> str:
    return measure(HYPOTHESES, REFERENCES).signature


@pytest.mark.parametrize("measure", ALL)
def test_different_numbers_of_lines_are_refused_with_both_counts(measure: MeasureOf) -> None:
    with pytest.raises(DataError, match="4 lines in the hypotheses but 3 in the references"):
        measure(HYPOTHESES, REFERENCES[:3])


def test_errors_name_the_files() -> None:
    with pytest.raises(DataError, match="^1 line in out.fr but 2 in test.fr"):
        evaluate(["a"], ["a", "b"], names=("out.fr", "test.fr"))
    with pytest.raises(DataError, match="no lines in out.fr and test.fr"):
        evaluate([], [], names=("out.fr", "test.fr"))


def test_evaluate_equals_the_single_metrics() -> None:
    measures = evaluate(HYPOTHESES, REFERENCES)
    assert measures == tuple(measure(HYPOTHESES, REFERENCES) for measure in ALL)


def test_raw_text_is_tokenised_only_for_the_papers_bleu() -> None:
    def split(line: str) -> str:
        return line.replace(".", " .")

    hypotheses, references = ["Le chien court vite."], ["Le chat court vite."]
    papers, *others = evaluate(hypotheses, references, tokenize=Retokenizer("split", split))
    assert isinstance(papers, MetricScore)
    words = tokenized_bleu(["Le chien court vite ."], ["Le chat court vite ."], ("", ""), "split")
    assert papers == words
    assert "tok:split|" in papers.signature
    assert others == [measure(hypotheses, references) for measure in ALL[1:]]


def test_tokenised_text_is_detokenised_only_for_the_other_metrics() -> None:
    def join(line: str) -> str:
        return line.replace("' ", "'").replace(" .", ".")

    joined = [join(line) for line in HYPOTHESES], [join(line) for line in REFERENCES]
    papers, *others = evaluate(HYPOTHESES, REFERENCES, detokenize=Retokenizer("join", join))
    assert papers == tokenized_bleu(HYPOTHESES, REFERENCES)
    assert [m.value for m in others] == [measure(*joined).value for measure in ALL[1:]]
    assert all("|detok:join|" in m.signature for m in others)


@pytest.mark.parametrize(
    ("lower", "clause"),
    [
        ([], "higher is better"),
        (["TER"], "TER is better when lower, the others when higher"),
        (["TER", "WER"], "TER and WER are better when lower, the others when higher"),
    ],
)
def test_notes_say_which_figures_are_better_when_lower(lower: list[str], clause: str) -> None:
    higher = [metric for metric in METRICS.values() if metric.higher_is_better]
    errors = [replace(METRICS["ter"], title=title) for title in lower]
    assert which_is_better(higher + errors) == clause
    assert which_is_better([METRICS["ter"]]) == "lower is better"


def same_words(hypotheses: Sequence[str], references: Sequence[str]) -> NDArray[np.float64]:
    """Count the words that equal the reference's at the same position, and all its words."""
    rows = []
    for hypothesis, reference in zip(hypotheses, references, strict=True):
        h, r = hypothesis.split(), reference.split()
        rows.append([sum(x == y for x, y in zip(h, r, strict=False)), len(r)])
    return np.array(rows, dtype=np.float64)


TOY = Metric(
    name="toy",
    title="Word accuracy",
    text="tokenized",
    higher_is_better=True,
    statistics=same_words,
    figures=lambda sums: 100 * sums[..., 0] / np.maximum(sums[..., 1], 1),
    signature=lambda retokenizer: f"nrefs:1|tok:{retokenizer}|toy:yes",
)


@pytest.fixture
def toy(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(METRICS, "toy", TOY)


@pytest.mark.usefixtures("toy")
def test_a_new_metric_entry_is_evaluated_bucketed_and_compared() -> None:
    *_, score = evaluate(HYPOTHESES, REFERENCES)
    sums = same_words(HYPOTHESES, REFERENCES).sum(axis=0)
    assert score == MetricScore(
        "Word accuracy", 100 * sums[0] / sums[1], "nrefs:1|tok:none|toy:yes"
    )

    config = ComparisonConfig(
        metrics=("toy",), samples=20, bucketings=(Bucketing("length", "reference", (5.0,)),)
    )
    systems = {"hyp": HYPOTHESES, "ref": REFERENCES}
    comparison = compare(systems, EvaluationSet(REFERENCES), config)
    assert comparison.whole.figures["Word accuracy"]["hyp"].value == score.value
    (difference,) = comparison.whole.pairs
    assert difference.difference == 100 - score.value and 0 < difference.p < 1
    short, long = (entry.result.figures["Word accuracy"] for entry in comparison.buckets)
    assert (short["hyp"].value, long["ref"].value) == (50, 100)


@pytest.mark.usefixtures("toy")
def test_a_new_metric_entry_is_a_choice_of_evaluate_and_in_its_outputs(tmp_path: Path) -> None:
    hyp, ref = tmp_path / "hyp", tmp_path / "ref"
    hyp.write_text("\n".join(HYPOTHESES) + "\n", "utf-8")
    ref.write_text("\n".join(REFERENCES) + "\n", "utf-8")
    files = [str(hyp), str(ref)]
    run = CliRunner().invoke
    assert "[bleu|sacrebleu|chrf|ter|toy]" in run(command, ["--help"]).output
    assert "Word accuracy" in run(command, files).output
    assert '"Word accuracy"' in run(command, [*files, "--json"]).output
    buckets = [*files, "--measure", "toy", "--by", "length", "--of", "reference"]
    assert run(command, buckets).output.count("Word accuracy") == 3
    rows = run(command, [*buckets, "--system", "same", str(ref), "--csv"]).output
    assert "same,Word accuracy,100.0" in rows
    assert "not one of" in run(command, [*files, "--measure", "none"]).stderr


def test_lines_may_be_arrays_of_numpy() -> None:
    lines = np.array(["a b c d e", "f g h i"])
    assert evaluate(lines, lines, metrics=["bleu"])[0].value == 100  # type: ignore[arg-type]
