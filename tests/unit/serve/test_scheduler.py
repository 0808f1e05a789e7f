"""Every line is dealt out once, and nobody waits for another's book."""

from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from nmtkit.serve.scheduler import (
    MAX_LINES,
    MIN_SHARE,
    PIECE_SECONDS,
    Piece,
    Rates,
    Scheduler,
    Turns,
    Waiting,
)


class Request(NamedTuple):
    client: str
    number: int


def lines(request: Request, count: int, size: int = 10) -> list[Waiting[Request]]:
    return [Waiting(request, position, size) for position in range(count)]


requests = st.lists(
    st.tuples(st.sampled_from("abc"), st.lists(st.integers(1, 2_000), min_size=1, max_size=20)),
    max_size=8,
)


@given(requests, st.integers(1, 4), st.sampled_from(["one", "two"]))
def test_every_line_is_dealt_out_once_and_in_order(found, free, key):
    scheduler: Scheduler[str, Request] = Scheduler()
    kept = []
    for number, (client, sizes) in enumerate(found):
        kept.append(Request(client, number))
        for position, size in enumerate(sizes):
            scheduler.put(key if number % 2 else "one", Waiting(kept[-1], position, size))
    given_out: dict[Request, list[int]] = {}
    while (piece := scheduler.take(Rates(), free)) is not None:
        assert 0 < len(piece.lines) <= MAX_LINES
        assert piece.size == sum(line.size for line in piece.lines)
        for line in piece.lines:
            given_out.setdefault(line.request, []).append(line.position)
    expected = {request: list(range(len(found[request.number][1]))) for request in kept}
    assert given_out == expected
    assert scheduler.lines == scheduler.size == 0


def test_a_sentence_is_in_the_next_piece_though_a_book_waits():
    scheduler: Scheduler[str, Request] = Scheduler()
    for client in ("a", "b"):
        for line in lines(Request(client, 0), 10_000):
            scheduler.put("key", line)
    sentence = Request("c", 1)
    scheduler.put("key", Waiting(sentence, 0, 10))
    same_client = Request("a", 2)
    scheduler.put("key", Waiting(same_client, 0, 10))
    piece = scheduler.take(Rates(), 1)
    assert piece is not None
    found = {line.request for line in piece.lines}
    assert {sentence, same_client} <= found


def test_first_lines_of_many_requests_make_a_larger_piece_than_lines_of_one():
    """A crowd is sooner done together; further lines of a book would only keep others waiting."""
    crowd: Turns[Request] = Turns()
    for number in range(40):
        crowd.put(Waiting(Request("a", number), 0, 10))
    assert len(crowd.take(MAX_LINES, 100, 250)) == 25
    book: Turns[Request] = Turns()
    for line in lines(Request("a", 0), 40):
        book.put(line)
    assert len(book.take(MAX_LINES, 100, 250)) == 10
    both: Turns[Request] = Turns()
    for line in lines(Request("a", 0), 40):
        both.put(line)
    for number in range(1, 12):
        both.put(Waiting(Request("b", number), 0, 10))
    taken = [line.request.client for line in both.take(MAX_LINES, 100, 250)]
    assert taken.count("b") == 11 and taken.count("a") < 10


def test_pieces_of_other_tasks_come_in_turns():
    scheduler: Scheduler[str, Request] = Scheduler()
    for key in ("one", "two"):
        for line in lines(Request("a", 0), 1_000):
            scheduler.put(key, line)
    pieces = [scheduler.take(Rates(), 1) for _ in range(4)]
    assert [piece.key for piece in pieces if piece] == ["one", "two", "one", "two"]


def test_many_tasks_of_a_client_are_one_turn():
    scheduler: Scheduler[str, Request] = Scheduler()
    for number in range(100):  # such as requests with terms of their own
        scheduler.put(f"terms {number}", Waiting(Request("a", number), 0, 10))
    scheduler.put("plain", Waiting(Request("b", 0), 0, 10))
    pieces = [scheduler.take(Rates(), 1) for _ in range(3)]
    assert [piece.key for piece in pieces if piece] == ["terms 0", "plain", "terms 1"]


def test_free_workers_share_what_waits():
    scheduler: Scheduler[str, Request] = Scheduler()
    for line in lines(Request("a", 0), 4 * MIN_SHARE, size=1):
        scheduler.put("key", line)
    piece = scheduler.take(Rates(), 2)
    assert piece is not None and len(piece.lines) == 2 * MIN_SHARE


def test_a_long_line_is_a_piece_of_its_own():
    turns: Turns[Request] = Turns()
    long, short = Request("a", 0), Request("b", 0)
    turns.put(Waiting(long, 0, 5_000))
    turns.put(Waiting(short, 0, 10))
    assert [line.request for line in turns.take(10, 100)] == [long]
    assert [line.request for line in turns.take(10, 100)] == [short]


def test_a_long_line_does_not_wait_until_all_short_ones_are_done():
    """Neither behind other requests of its client nor behind those of other clients."""
    for clients in ("aa", "bcda"):  # the long line is that of the last one
        turns: Turns[Request] = Turns()
        *short, long = (Request(client, number) for number, client in enumerate(clients))
        turns.put(Waiting(short[0], 0, 10))
        turns.put(Waiting(long, 0, 5_000))
        for request in short:
            for line in lines(request, 1_000):
                turns.put(line)
        pieces = [turns.take(MAX_LINES, 1_000) for _ in range(3)]
        assert [line.request for line in pieces[1]] == [long]
        assert len(pieces[2]) == MAX_LINES


def test_a_line_that_failed_with_others_is_searched_alone():
    turns: Turns[Request] = Turns()
    turns.put(Waiting(Request("a", 0), 0, 10))
    turns.put(Waiting(Request("b", 0), 0, 10, alone=True))
    turns.put(Waiting(Request("c", 0), 0, 10))
    taken = [turns.take(10, 1_000) for _ in range(2)]
    assert [len(piece) for piece in taken] == [2, 1]
    assert taken[1][0].alone


def test_the_lines_of_a_request_are_removed():
    scheduler: Scheduler[str, Request] = Scheduler()
    gone, stays = Request("a", 0), Request("a", 1)
    for line in [*lines(gone, 5), *lines(stays, 2)]:
        scheduler.put("key", line)
    for key in ("key", "key", "other"):
        scheduler.remove(key, gone)
        assert scheduler.lines == 2
    piece = scheduler.take(Rates(), 1)
    assert piece is not None and {line.request for line in piece.lines} == {stays}


@pytest.mark.parametrize(("fixed", "rate"), [(0.02, 1e-4), (0.0, 1e-3), (0.05, 5e-5)])
def test_the_size_of_a_piece_is_learned_from_pieces(fixed, rate):
    rates: Rates[str] = Rates()
    for number in range(200):
        size = 50 + 37 * number % 1_500
        rates.add(Piece("key", [], size), fixed + rate * size)
    assert rates.size("key") == pytest.approx((PIECE_SECONDS - fixed) / rate, rel=0.05)


@given(st.lists(st.tuples(st.integers(1, 10**6), st.floats(0, 1e3)), min_size=1))
def test_the_size_of_a_piece_is_bounded_whatever_was_measured(points):
    rates: Rates[str] = Rates()
    for size, seconds in points:
        rates.add(Piece("key", [], size), seconds)
    assert 50 <= rates.size("key") <= 100_000


waiting = st.tuples(st.sampled_from("abc"), st.integers(1, 300), st.booleans())


@given(st.lists(waiting, max_size=20))
def test_a_line_that_must_be_alone_is_in_no_piece_with_others(found):
    turns: Turns[Request] = Turns()
    for number, (client, size, alone) in enumerate(found):
        turns.put(Waiting(Request(client, number), 0, size, alone))
    while piece := turns.take(10, 1_000):
        assert len(piece) == 1 or not any(line.alone for line in piece)
