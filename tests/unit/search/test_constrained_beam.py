"""Search under constraints: they hold in every hypothesis, and scores stay the model's."""

import itertools
import math
import random
from collections.abc import Iterable
from dataclasses import replace

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.search import constrained_beam
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.constrained_beam import LIKELY_END, ConstrainedRows
from nmtkit.search.constraints import ConstrainedSentence, Constraints
from nmtkit.search.forced_prefix import chain
from nmtkit.search.rank_credits import MIN_ATTENTION
from nmtkit.search.word_boundaries import WordBoundaries
from nmtkit.special_symbols import EOS, UNK
from tests.unit.search.slow_allocation import Candidate, slow_choose
from tests.unit.search.slow_rules import slow_rule

K = 7
BOUNDARIES = WordBoundaries.none(K)
PIECES = WordBoundaries([(token % 2 == 1, True) for token in range(K)])
"""As with BPE: words end with an even token."""


def settings(**changes) -> SearchConfig:
    values = {"beam": 4, "stop": "exact", "max_length_ratio": 2.0, "length_penalty": 1.0}
    return SearchConfig(**{**values, **changes})


def draw_constraints(seed: int, sources: list[list[int]], strict: bool = True) -> list[Constraints]:
    """Return up to three terms for most sentences, each with up to two alternatives."""
    chance = random.Random(seed)

    def phrase() -> tuple[int, ...]:
        return tuple(chance.randrange(2, K) for _ in range(chance.randrange(1, 4)))

    drawn = []
    for source in sources:
        terms = tuple(
            tuple(phrase() for _ in range(chance.randrange(1, 3)))
            for _ in range(chance.randrange(0, 4))
        )
        spans = tuple((chance.randrange(max(len(source) - 1, 1)),) for _ in terms)
        drawn.append(Constraints(terms, spans, strict=strict))
    return drawn


def with_whole_words(constraints: list[Constraints]) -> list[Constraints]:
    """Return constraints whose terms end a word of `PIECES`."""
    return [
        replace(one, terms=tuple(tuple((*words, 4) for words in term) for term in one.terms))
        for one in constraints
    ]


def search(models, sources, constraints, config, n_best=1, candidates=None, boundaries=BOUNDARIES):
    src, mask = pad(sources)
    with torch.inference_mode():
        encoded = [model.encode(src, mask) for model in models]
        batch = EncodedBatch(encoded, mask.sum(1), candidates, constraints)
        return search_batches(models, [batch], config, n_best, boundaries=boundaries)


@pytest.mark.parametrize("beam_mode", ["shrinking", "bounded"])
@pytest.mark.parametrize("beam", [1, 3, 8])
@pytest.mark.parametrize("eos_bias", [-3.0, 3.0])
def test_every_hypothesis_has_every_term(prefix_model, sources, beam_mode, beam, eos_bias):
    config = settings(beam=beam, beam_mode=beam_mode)
    constraints = draw_constraints(beam, sources)
    models = [prefix_model(seed, K, eos_bias) for seed in (1, 2)]
    for members in (models[:1], models):
        found = search(members, sources, constraints, config, beam)
        for one, hypotheses in zip(constraints, found, strict=True):
            assert hypotheses
            for hypothesis in hypotheses:
                assert not ConstrainedSentence(one, BOUNDARIES).missing(hypothesis.words)


@pytest.mark.parametrize("beam_mode", ["shrinking", "bounded"])
@pytest.mark.parametrize("beam", [1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_words_end_before_the_last_place_of_a_term(prefix_model, sources, beam_mode, beam, seed):
    """Where no token but that of a word's end is left, terms would come into an open word."""
    config = settings(beam=beam, beam_mode=beam_mode)
    constraints = with_whole_words(draw_constraints(seed, sources))
    model = prefix_model(seed, K, eos_bias=-5.0)  # most come to the maximum length
    found = search([model], sources, constraints, config, beam, boundaries=PIECES)
    for one, hypotheses in zip(constraints, found, strict=True):
        for hypothesis in hypotheses:
            assert not ConstrainedSentence(one, PIECES).missing(hypothesis.words)


def test_scores_are_those_of_the_model(prefix_model, sources):
    model = prefix_model(3, K)
    found = search([model], sources, draw_constraints(5, sources), settings(), 2)
    for source, hypotheses in zip(sources, found, strict=True):
        for one in hypotheses:
            forced = model.score(*pad([source]), *pad([one.ids])).log_probs
            assert one.score == pytest.approx(float(forced.sum()))
            assert one.word_scores == pytest.approx(forced[0].tolist())


def test_sentences_do_not_influence_each_other(prefix_model, sources):
    model, constraints = prefix_model(4, K), draw_constraints(6, sources)
    constraints[2] = constraints[5] = Constraints()
    together = search([model], sources, constraints, settings(), 2)
    for number, source in enumerate(sources):
        alone = search([model], [source], constraints[number : number + 1], settings(), 2)[0]
        assert [one.ids for one in alone] == [one.ids for one in together[number]]
        if not constraints[number]:
            plain = beam_search([model], *pad([source]), settings(), 2)[0]
            assert [one.ids for one in plain] == [one.ids for one in alone]


@pytest.mark.parametrize("seed", range(5))
def test_a_beam_of_everything_finds_the_best_translation_with_the_term(prefix_model, seed):
    """Without attention hypotheses are compared by log p alone, here with every short string."""
    model, scorer = prefix_model(seed, 4, eos_bias=2.0), prefix_model(seed, 4, eos_bias=2.0)
    step = model.step
    model.step = lambda *arguments: step(*arguments)._replace(alignment=None)
    source, term = [5, 9, 0], (3, 2)
    config = settings(beam=300, beam_mode="bounded", length_penalty=0.0)
    (best,) = search([model], [source], [Constraints(((term,),), ((0,),))], config)[0]
    strings = [
        [*before, *term, *after, EOS]
        for length in range(4)
        for split in range(length + 1)
        for before in itertools.product(range(1, 4), repeat=split)
        for after in itertools.product(range(1, 4), repeat=length - split)
    ]
    scores = scorer.score(*pad([source] * len(strings)), *pad(strings)).log_probs.sum(1)
    assert best.score >= float(scores.max()) - 1e-9
    assert len(best.ids) > 6 or best.ids == strings[int(scores.argmax())]


def test_nothing_is_written_behind_the_end_but_terms(prefix_model, sources):
    """A term whose source words are never looked at would else come last, behind words."""
    constraints = [Constraints((((2, 3, 4),),), ((),))] * len(sources)
    model = prefix_model(1, K, eos_bias=10.0, scale=0.5)
    for (one,) in search([model], sources, constraints, settings(beam=1)):
        assert [2, 3, 4] in (one.words, one.words[1:])  # the first word cannot be `</s>`


def test_terms_stand_in_candidate_lists(prefix_model, sources):
    constraints = [Constraints((((2, 3),),), ((0,),)) for _ in sources]
    candidates = torch.tensor([[EOS, UNK, 2, 3, 5, -1]] * len(sources))
    found = search([prefix_model(1, K)], sources, constraints, settings(), 1, candidates)
    for (one,) in found:
        assert set(one.ids) <= {EOS, UNK, 2, 3, 5}
        assert not ConstrainedSentence(constraints[0], BOUNDARIES).missing(one.words)


def test_forbidden_words_and_prefixes_hold(prefix_model, sources):
    one = Constraints(forbidden=((2,), (3, 4)), prefix=chain((5, 3, 6)))
    for hypotheses in search([prefix_model(2, K)], sources, [one] * len(sources), settings(), 4):
        for hypothesis in hypotheses:
            assert hypothesis.words[:3] == [5, 3, 6]
            assert 2 not in hypothesis.words
            assert (3, 4) not in itertools.pairwise(hypothesis.words)


def test_a_byte_alone_makes_no_other_word_of_a_forbidden_one(prefix_model, sources):
    boundaries = WordBoundaries([(True, token > 4) for token in range(K)], {6: 0xB9})
    forbidden = [Constraints(forbidden=((2,), (3,), (4,)))] * len(sources)
    model, config = prefix_model(2, K), settings()
    found = search([model], sources, forbidden, config, boundaries=boundaries)
    for (one,) in found:
        pairs = itertools.pairwise(one.words)
        assert {after for before, after in pairs if before in (2, 3, 4)} <= {5}


def test_a_term_that_is_preferred_may_be_left_out(prefix_model, sources):
    constraints = draw_constraints(9, sources, strict=False)
    found = search([prefix_model(1, K, eos_bias=4.0)], sources, constraints, settings(), 4)
    missing = [
        ConstrainedSentence(one, BOUNDARIES).missing(hypotheses[0].words)
        for one, hypotheses in zip(constraints, found, strict=True)
    ]
    assert any(missing)


def log_sum(values: Iterable[float]) -> float:
    return math.log(sum(map(math.exp, values)))


def slow_candidates(rows, index, slot, score, log_probs, attention, left, mask):
    """Return every expansion of a hypothesis, token by token.

    :param log_probs: of all tokens. attention: alpha_i.
    """
    known = rows._table[rows._numbers[rows.rows[index]][slot]]
    sentence, state, order = known.sentence, known.state, known.order
    credit, debt = (float(one[rows.rows[index], slot]) for one in rows._progress)
    rule = slow_rule(sentence, state, left)
    if not rule.may_end and sentence.view(state).needed >= 0 and log_probs[EOS] > LIKELY_END:
        rule = slow_rule(sentence, state, 0)
    moves = {token: sentence.move(state, token, order) for token in range(1, len(log_probs))}
    repeats = set() if mask.repeats is None else set(mask.repeats[index, slot].tolist())
    repeats -= {step.token for step in sentence.steps(state, order)}
    found = []
    for token, value in enumerate(log_probs):
        if rule.only is not None and token not in rule.only.tolist():
            continue
        if token in rule.banned or (token == EOS and not rule.may_end) or value == -math.inf:
            continue
        if rule.goes_on is not None and sentence.boundaries.goes_on[token] != rule.goes_on:
            continue
        if state.prefix is None and (token in repeats or (token == UNK and mask.unk)):
            continue
        total = score + value
        if token == EOS:
            level = sentence.view(state).level
            found.append(
                Candidate(-total - credit + debt, slot, token, total, level, credit - debt)
            )
            continue
        move = moves[token]
        kept, gain = credit - debt if move.is_first or not move.rivals else credit, 0.0
        if move.rivals and attention is not None:
            alike = [t for t, other in moves.items() if other[1:] == move[1:]]
            allowed = [t for t in alike if rule.only is None or t in rule.only.tolist()]
            rivals = {t: log_probs[t] for t in allowed if t not in rule.banned}
            rests = {step.token: step.rest for step in sentence.steps(state, order)}
            share = value - log_sum(rivals.values())
            gain = -log_sum(rivals.values())
            if move.is_first:
                span = sentence.constraints.spans[move.term]
                weight = sum(attention[position] for position in span)
                gain = max(gain + math.log(max(weight, MIN_ATTENTION)), 0.0)
            gain += value + rests[token] - log_sum(rivals[t] + rests[t] for t in rivals) - share
        level = sentence.view(move.state).level
        found.append(Candidate(-total - kept - gain, slot, token, total, level, kept + gain))
    return found


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("beam_mode", ["shrinking", "bounded"])
@pytest.mark.parametrize("has_attention", [True, False])
def test_each_step_keeps_what_a_look_at_every_token_keeps(
    prefix_model, sources, monkeypatch, seed, beam_mode, has_attention
):
    """The law of the tensors: candidates one by one, with the states of the sentences."""
    best, compared = ConstrainedRows.best, 0

    def checked(self, scorer, readouts, alignment, scores, count, mask, lengths, shrinking):
        nonlocal compared
        if not has_attention:
            alignment = None
        found = best(self, scorer, readouts, alignment, scores, count, mask, lengths, shrinking)
        steps, limits, widths = (one.tolist() for one in lengths)
        logs = next(values for _, values in scorer.log_probs(readouts)).view(*scores.shape, -1)
        for index in range(len(self.rows)):
            candidates = []
            for slot, score in enumerate(scores[index].tolist()):
                if score == -math.inf:
                    continue
                log_probs = logs[index, slot].tolist()
                if mask.eos[index, slot]:
                    log_probs[EOS] = -math.inf
                attention = None if alignment is None else alignment[index, slot].tolist()
                left = limits[index] - steps[index]
                own = (index, slot, score, log_probs, attention, left, mask)
                candidates += slow_candidates(self, *own)
            levels = self._sentences[self.rows[index]].levels
            expected = slow_choose(candidates, widths[index], levels, shrinking)
            real = found.scores[index] > -math.inf
            by_place = {(one.parent, one.token): one for one in candidates}
            pairs = zip(found.parents[index][real], found.tokens[index][real], strict=True)
            kept = [by_place[int(parent), int(token)] for parent, token in pairs]
            # Tokens of a term that would do as well as each other tie, but for rounding.
            assert [o.rank for o in kept] == pytest.approx([o.rank for o in expected], abs=1e-5)
            assert sorted(o.level for o in kept) == sorted(o.level for o in expected)
            credits = found.ranks - found.scores
            for column, name in ((found.scores, "score"), (credits, "credit")):
                values = [getattr(one, name) for one in kept]
                assert column[index][real].tolist() == pytest.approx(values, abs=1e-5)
            compared += len(expected)
        return found

    monkeypatch.setattr(ConstrainedRows, "best", checked)
    boundaries = PIECES if seed in (2, 4, 5) else BOUNDARIES
    constraints = draw_constraints(seed, sources, strict=seed != 3)
    if boundaries is PIECES:
        constraints = with_whole_words(constraints)
    chance = random.Random(seed)
    constraints = [
        replace(
            one,
            rests=tuple(
                tuple(tuple(-4 * chance.random() for _ in tokens) for tokens in alternatives)
                for alternatives in one.terms
            ),
        )
        for one in constraints
    ]
    constraints[1] = Constraints(constraints[1].terms, constraints[1].spans, ((2,), (3, 4)))
    constraints[4] = Constraints(constraints[4].terms, constraints[4].spans, (), chain((5, 1, 3)))
    changes = {"forbid_unk": seed % 2 == 1, "no_repeat_ngram": 2 if seed in (0, 3) else 0}
    config = settings(beam_mode=beam_mode, beam=3 + seed % 3, **changes)
    search([prefix_model(seed, K)], sources, constraints, config, 2, boundaries=boundaries)
    assert compared > 100


def test_rows_are_refilled_and_tables_begun_anew(prefix_model, sources, monkeypatch):
    model, constraints = prefix_model(4, K), draw_constraints(6, sources)
    alone = [
        search([model], [source], [one], settings(), 2)[0]
        for source, one in zip(sources, constraints, strict=True)
    ]
    monkeypatch.setattr(constrained_beam, "MAX_STATES", 3)
    batches = []
    for start in (0, 4):
        src, mask = pad(sources[start : start + 4])
        with torch.inference_mode():
            encoded = [model.encode(src, mask)]
        own = constraints[start : start + 4]
        batches.append(EncodedBatch(encoded, mask.sum(1), None, own))
    found = search_batches([model], batches, settings(), 2, boundaries=BOUNDARIES)
    assert [[one.ids for one in row] for row in found] == [[o.ids for o in row] for row in alone]
