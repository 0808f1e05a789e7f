"""Neural scores are added in their columns, and nothing else of a phrase table changes."""

import math
import random

import pytest
import torch

from nmtkit.errors import DataError, ModelError
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.models.cslm import CSLMConfig
from nmtkit.smt.phrase_scorer import PhraseScorer
from nmtkit.smt.phrase_table import read_phrase_table


@pytest.fixture
def table(tmp_path):
    """A table of 150 pairs: more than a window of one sentence at a time."""
    random.seed(1)
    lines = [
        " ||| ".join(
            [
                " ".join(random.choices("abcdefq", k=random.randrange(1, 6))),
                " ".join(random.choices("vwxyzq", k=random.randrange(1, 6))),
                f"{random.random():.4g} 1e-05",
                "0-0 1-1 ||| 1 2 1 ||| |||",
            ]
        )
        for _ in range(150)
    ]
    (tmp_path / "table").write_text("".join(f"{line}\n" for line in lines))
    return tmp_path / "table"


def columns(scorer, table):
    """Return the new numbers of each line and check that the rest is unchanged."""
    result = []
    for before, line in zip(
        table.read_text().splitlines(), scorer.lines(read_phrase_table(table)), strict=True
    ):
        old, new = before.split(" ||| "), line.decode().split(" ||| ")
        assert new[2].startswith(f"{old[2]} ")
        result.append(new[2].removeprefix(f"{old[2]} ").split(" "))
        assert [*new[:2], *new[3:]] == [*old[:2], *old[3:]]
    return result


@pytest.mark.parametrize("batch_size", [1, 2, 64])
def test_each_model_adds_its_own_probability(make_model, table, batch_size):
    """The models can have different vocabularies."""
    models = [make_model(1), make_model(2, src="cde", tgt="xy")]
    actual = columns(PhraseScorer(models, batch_size), table)
    pairs = [(pair.src, pair.tgt) for pair in read_phrase_table(table)]
    for number, model in enumerate(models):
        for row, score in zip(actual, Scorer(Ensemble((model,))).score(pairs), strict=True):
            assert float(row[number]) == pytest.approx(math.exp(score.log_prob), rel=1e-4)
    assert {len(row) for row in actual} == {2}


def test_cores_share_the_pairs(make_model, table, monkeypatch):
    """The result does not depend on the core that scores a pair."""
    models = [make_model(1)]
    expected = columns(PhraseScorer(models, logs=True, count_unknown=True), table)
    for cores in (2, 3):
        torch.set_num_threads(cores)
        monkeypatch.setattr("nmtkit.smt.phrase_scorer.MIN_PAIRS_PER_CORE", 7)
        actual = columns(PhraseScorer(models, logs=True, count_unknown=True), table)
        for row, other in zip(actual, expected, strict=True):
            assert [float(v) for v in row] == pytest.approx([float(v) for v in other], abs=1e-3)


def test_moses_has_the_logarithms_that_logs_writes(make_model, table):
    models = [make_model(1)]
    plain = columns(PhraseScorer(models, count_unknown=True), table)
    logs = columns(PhraseScorer(models, logs=True, count_unknown=True), table)
    for row, log_row in zip(plain, logs, strict=True):
        assert [math.log(float(value)) for value in row] == pytest.approx(
            [float(value) for value in log_row], abs=1e-4
        )


def test_the_penalty_counts_words_unknown_to_the_first_model(make_model, table):
    models = [make_model(1, src="abc", tgt="vw"), make_model(2)]
    actual = columns(PhraseScorer(models, logs=True, count_unknown=True), table)
    for row, pair in zip(actual, read_phrase_table(table), strict=True):
        unknown = sum(word not in "abc" for word in pair.src.split())
        unknown += sum(word not in "vw" for word in pair.tgt.split())
        assert row[2] == str(-unknown) and len(row) == 3
    assert {"0", "-1", "-2"} < {row[2] for row in actual}


def test_a_table_is_scored_as_a_stream(make_model):
    """Memory does not grow with the table: a window is written before the next is read."""
    scorer = PhraseScorer([make_model(1)], batch_size=1)
    read = 0

    def endless():
        nonlocal read
        [pair] = read_phrase_table("one")
        while True:
            read += 1
            yield pair

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("nmtkit.smt.phrase_table.read_raw_lines", lambda _: [b"a ||| x ||| 1"])
        lines = scorer.lines(endless())
        for _ in range(200):
            next(lines)
    assert read < 400


def test_moses_lines_name_the_changes_of_moses_ini(make_model, table):
    scorer = PhraseScorer([make_model(1), make_model(2)], count_unknown=True)
    list(scorer.lines(read_phrase_table(table)))
    message = scorer.moses_lines("out.gz")
    assert "num-features=5; in" in scorer.moses_lines("-")
    assert "empty" in PhraseScorer([make_model(1)]).moses_lines("-")
    list(scorer.lines([]))
    assert "empty" in scorer.moses_lines("out.gz")
    logs = PhraseScorer([make_model(1)], logs=True)
    list(logs.lines(read_phrase_table(table)))
    assert "Moses, which takes logarithms itself" in logs.moses_lines("out.gz")
    assert "num-features=5 path=out.gz" in message
    assert "3 more after the 2 of TranslationModel0=, such as 0.1 0.1 0.1" in message


@pytest.mark.parametrize("cores", [1, 2])
def test_a_pair_too_long_for_memory_is_reported(make_model, tmp_path, cores, monkeypatch):
    """The message has its file and line, whichever core scores it."""
    monkeypatch.setattr("nmtkit.inference.scorer.MAX_ALIGNMENT_WEIGHTS", 12)
    monkeypatch.setattr("nmtkit.smt.phrase_scorer.MIN_PAIRS_PER_CORE", 7)
    torch.set_num_threads(cores)
    lines = ["a ||| v ||| 1"] * 100
    lines[72] = "a b c d ||| v w x y ||| 1"
    (tmp_path / "table").write_text("".join(f"{line}\n" for line in lines))
    scorer = PhraseScorer([make_model(1)], batch_size=1)
    message = "table:73: 4 source and 4 target tokens are too many for the memory; leave"
    with pytest.raises(DataError, match=message):
        list(scorer.lines(read_phrase_table(tmp_path / "table")))


def test_a_damaged_model_is_an_error(make_model, table):
    model = make_model(1)
    model.model.W_s.fill_(math.nan)
    with pytest.raises(ModelError, match="not numbers"):
        list(PhraseScorer([model]).lines(read_phrase_table(table)))


def test_very_improbable_phrases_have_finite_scores(make_model, table):
    model = make_model(1)
    with torch.no_grad():
        model.model.b_y[2] -= 5000  # the word v
    actual = columns(PhraseScorer([model]), table)
    with_v = ["v" in pair.tgt.split() for pair in read_phrase_table(table)]
    assert [float(row[0]) == 0 for row in actual] == with_v


def test_a_model_without_a_source_side_is_refused(make_model):
    with pytest.raises(ModelError, match="language model"):
        PhraseScorer([make_model(1), make_model(2, sizes=CSLMConfig(2, 4, 6, 5))])


def test_special_symbols_in_text_are_unknown_words(make_model, tmp_path):
    """The penalty equals the scorer's own count of unknown words."""
    table = tmp_path / "marks"
    table.write_text("<unk> a ||| v </s> ||| 1\na ||| <unk> <unk> v ||| 1\na ||| v ||| 1\n")
    actual = columns(PhraseScorer([make_model(1)], logs=True, count_unknown=True), table)
    assert [row[1] for row in actual] == ["-2", "-2", "0"]
