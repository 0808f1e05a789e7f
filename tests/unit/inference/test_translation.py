"""Which of several translations stands first."""

from hypothesis import given
from hypothesis import strategies as st

from nmtkit.inference.translation import MAX_SYMBOL_LOSS, complete_first
from nmtkit.search.hypothesis import Hypothesis

SYMBOLS = {"❶": 5, "❷": 6}
SOURCES = st.lists(st.sampled_from(["❶", "❷", "a"]), max_size=4)


@st.composite
def n_best_lists(draw: st.DrawFn) -> list[Hypothesis]:
    """Draw hypotheses in the order of a search, which length may change."""
    ids = draw(st.lists(st.lists(st.integers(5, 8), max_size=4), min_size=1, max_size=5))
    scores = sorted((draw(st.floats(-9, 0)) for _ in ids), reverse=True)
    return [Hypothesis(*pair, [], True) for pair in zip(ids, scores, strict=True)]


def lacks(hypothesis: Hypothesis, source: list[str]) -> int:
    return sum(abs(hypothesis.ids.count(i) - source.count(s)) for s, i in SYMBOLS.items())


@given(n_best_lists(), SOURCES)
def test_of_likely_translations_one_with_most_symbols_is_first(
    hypotheses: list[Hypothesis], source: list[str]
) -> None:
    ordered = complete_first(hypotheses, source, SYMBOLS)
    assert sorted(map(id, ordered)) == sorted(map(id, hypotheses))
    likely = [h for h in hypotheses if h.score >= hypotheses[0].score - MAX_SYMBOL_LOSS]
    fewest = min(lacks(h, source) for h in likely)
    assert ordered[0] is next(h for h in likely if lacks(h, source) == fewest)
    assert {*map(id, ordered[: len(likely)])} == {*map(id, likely)}
