"""Both ways to score n-best lists score the same hypotheses."""

import nbest
import pytest

from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer

LIST = "0 ||| v w x ||| LM0= 1 ||| 1\n0 ||| v w ||| LM0= 1 ||| 1\n0 ||| v w ||| LM0= 2 ||| 1\n"


@pytest.fixture
def lists(tmp_path):
    (tmp_path / "list").write_text(LIST + LIST.replace("0 |||", "2 |||"))
    (tmp_path / "src").write_text("a b\nc\n d\n")
    return nbest.read_lists(tmp_path / "list", tmp_path / "src", 5)


def test_lists_are_read_with_their_sources(lists, tmp_path):
    assert lists == [("a b", ["v w x", "v w"]), (" d", ["v w x", "v w"])]
    assert nbest.read_lists(tmp_path / "list", None, 1) == [("", ["v w x", "v w"])]


def test_distinct_prefix_share(lists):
    assert nbest.distinct_prefix_share(lists) == pytest.approx(5 / 7)


def test_both_ways_score_the_same_hypotheses(lists, make_model):
    scorer = Scorer(Ensemble((make_model(1),)))
    assert nbest.score_each_alone(scorer, lists) == nbest.score_as_trees(scorer, lists) == 4
    rates = nbest.measure(scorer, lists, 2)
    assert [spread.count for spread in rates.values()] == [2, 2]
    assert all(spread.low > 0 for spread in rates.values())
