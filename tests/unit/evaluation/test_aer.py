"""Alignment error rate by its definition, and the formats of gold alignments."""

import random

import pytest

from nmtkit.errors import DataError
from nmtkit.evaluation.aer import GoldLinks, alignment_error_rate, links_outside, read_gold_links


def gold(sure: set[tuple[int, int]], possible: set[tuple[int, int]] | None = None) -> GoldLinks:
    return GoldLinks(frozenset(sure), frozenset(possible or ()))


def random_links(rng: random.Random, size: int = 5) -> set[tuple[int, int]]:
    return {(i, j) for i in range(size) for j in range(size) if rng.random() < 0.3}


def test_the_sure_links_themselves_have_no_error() -> None:
    links = [{(0, 0), (1, 2)}, {(3, 1)}]
    result = alignment_error_rate(links, [gold(links[0], {(2, 2)}), gold(links[1])])
    assert (result.value, result.precision, result.recall) == (0.0, 1.0, 1.0)


def test_wrong_links_alone_have_error_one() -> None:
    result = alignment_error_rate([{(5, 5)}], [gold({(0, 0)}, {(1, 1)})])
    assert (result.value, result.precision, result.recall) == (1.0, 0.0, 0.0)


def test_a_possible_link_does_not_change_the_error() -> None:
    gold_links = [gold({(0, 0)}, {(1, 1)})]
    assert alignment_error_rate([{(0, 0)}], gold_links).value == 0.0
    assert alignment_error_rate([{(0, 0), (1, 1)}], gold_links).value == 0.0


def test_worked_example() -> None:
    # |A| = 4, |S| = 3, A ∩ S = {0-0, 1-1}, A ∩ P = {0-0, 1-1, 2-3}
    links = [{(0, 0), (1, 1)}, {(2, 3), (9, 9)}]
    gold_links = [gold({(0, 0), (1, 1)}), gold({(4, 4)}, {(2, 3)})]
    result = alignment_error_rate(links, gold_links)
    assert result.value == pytest.approx(1 - (2 + 3) / (4 + 3))
    assert result.precision == pytest.approx(3 / 4)
    assert result.recall == pytest.approx(2 / 3)
    assert (result.links, result.sure, result.possible) == (4, 3, 4)


def test_without_possible_links_it_is_one_minus_f() -> None:
    rng = random.Random(3)
    for _ in range(20):
        links, sure = [random_links(rng)], [gold(random_links(rng) | {(0, 0)})]
        result = alignment_error_rate(links, sure)
        correct = len(links[0] & sure[0].sure)
        f = 2 * correct / (len(links[0]) + len(sure[0].sure))
        assert result.value == pytest.approx(1 - f)


def test_the_order_of_the_sentences_does_not_matter() -> None:
    rng = random.Random(4)
    pairs = [(random_links(rng), gold(random_links(rng), random_links(rng))) for _ in range(9)]
    forwards = alignment_error_rate([a for a, _ in pairs], [g for _, g in pairs])
    rng.shuffle(pairs)
    assert alignment_error_rate([a for a, _ in pairs], [g for _, g in pairs]) == forwards


def test_no_links_on_either_side_are_no_error() -> None:
    result = alignment_error_rate([set()], [gold(set())])
    assert (result.value, result.precision, result.recall) == (0.0, 1.0, 1.0)


def test_different_numbers_of_sentences_are_refused_with_both_counts() -> None:
    with pytest.raises(DataError, match="2 sentence pairs but gold links for 1"):
        alignment_error_rate([set(), set()], [gold(set())])


def test_sure_links_are_possible() -> None:
    assert gold({(0, 0)}, {(1, 1)}).possible == {(0, 0), (1, 1)}


def test_moses_lines() -> None:
    read = read_gold_links(["0-0 1-2 2?3", "", "4p1 0-1"])
    assert read == [gold({(0, 0), (1, 2)}, {(2, 3)}), gold(set()), gold({(0, 1)}, {(4, 1)})]


def test_moses_lines_after_empty_lines() -> None:
    assert read_gold_links(["", " ", "0-0"]) == [gold(set()), gold(set()), gold({(0, 0)})]


def test_no_links_at_all() -> None:
    assert read_gold_links(["", ""]) == [gold(set())] * 2
    assert read_gold_links([]) == []


def test_naacl_lines_count_from_one() -> None:
    lines = ["0001 1 1 S", "0001 2 3 P", "0003 10 9 S 0.5", "3 1 2"]
    assert read_gold_links(lines) == [
        gold({(0, 0)}, {(1, 2)}),
        gold(set()),
        gold({(9, 8), (0, 1)}),
    ]


def test_both_formats_give_the_same_links() -> None:
    naacl = ["1 1 1 S", "1 3 2 P", "2 2 1 S"]
    assert read_gold_links(naacl) == read_gold_links(["0-0 2?1", "1-0"])


def test_naacl_lines_to_the_empty_word_are_no_links() -> None:
    assert read_gold_links(["1 0 3 S", "1 2 0 P", "2 1 1 S"]) == [gold(set()), gold({(0, 0)})]


def test_the_number_of_sentences_completes_the_naacl_format() -> None:
    assert len(read_gold_links(["1 1 1 S"], sentences=4)) == 4


@pytest.mark.parametrize(
    ("lines", "message"),
    [
        (["0-0", "0-0 1:2"], "gold.txt:2: '1:2' is not a link"),
        (["0-0 -1-2"], "gold.txt:1: '-1-2' is not a link"),
        (["Il y a"], "gold.txt:1: 'Il' is not a link"),
        (["1 1 1 S", "", "1 2 S"], "gold.txt:3: '1 2 S' is not a link of the NAACL 2003"),
        (["1 1 1 S", "0-0"], "gold.txt:2: '0-0' is not a link of the NAACL 2003"),
        (["1 1 1 S", "5 1 1 S"], "gold.txt:2: there is no sentence pair 5; .* 1 to 4"),
        (["0 1 1 S"], "gold.txt:1: there is no sentence pair 0"),
        (["0-٣"], "gold.txt:1: .* is not a link"),
    ],
)
def test_malformed_lines_are_named(lines: list[str], message: str) -> None:
    with pytest.raises(DataError, match=message):
        read_gold_links(lines, name="gold.txt", sentences=4)


def test_links_of_words_that_are_not_there_are_found():
    read = read_gold_links(["0-0 5?1", "", "2-3 2-2", "0-0"])
    lengths = [(5, 2), (0, 0), (3, 3), (0, 4)]
    assert links_outside(read, lengths) == [(1, (5, 1)), (3, (2, 3)), (4, (0, 0))]
