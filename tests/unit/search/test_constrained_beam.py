"""Search under constraints: they hold in every hypothesis, and scores stay the model's."""

import itertools
import random

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.search.batch_queue import EncodedBatch
from nmtkit.search.beam import beam_search, search_batches
from nmtkit.search.constrained_beam import Candidate, Progress, choose
from nmtkit.search.constraints import ConstrainedSentence, Constraints, WordBoundaries
from nmtkit.search.forced_prefix import chain
from nmtkit.special_symbols import EOS, UNK

K = 7
BOUNDARIES = WordBoundaries.none(K)


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


def search(models, sources, constraints, config, n_best=1, candidates=None):
    src, mask = pad(sources)
    with torch.inference_mode():
        encoded = [model.encode(src, mask) for model in models]
        batch = EncodedBatch(encoded, mask.sum(1), candidates, constraints)
        return search_batches(models, [batch], config, n_best, boundaries=BOUNDARIES)


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


def test_a_term_that_is_preferred_may_be_left_out(prefix_model, sources):
    constraints = draw_constraints(9, sources, strict=False)
    found = search([prefix_model(1, K, eos_bias=4.0)], sources, constraints, settings(), 4)
    missing = [
        ConstrainedSentence(one, BOUNDARIES).missing(hypotheses[0].words)
        for one, hypotheses in zip(constraints, found, strict=True)
    ]
    assert any(missing)


def candidate(score: float, level: int, token: int = 2, credit: float = 0.0) -> Candidate:
    return Candidate(-score - credit, 0, token, score, level, Progress(credit=credit))


def test_every_number_of_terms_has_a_place():
    rivals = [candidate(-1.0 - n / 10, 0) for n in range(6)] + [candidate(-9.0, 1)]
    assert [one.level for one in choose(rivals, 4, 2, shrinking=False)] == [0, 0, 0, 1]


def test_credit_counts_where_hypotheses_are_compared():
    rivals = [candidate(-1.0, 0), candidate(-9.0, 1, credit=8.5), candidate(-2.0, 1)]
    kept = choose(rivals, 2, 2, shrinking=False)
    assert [one.score for one in kept] == [-9.0, -1.0]


def test_finished_hypotheses_narrow_a_beam_that_shrinks():
    rivals = [candidate(-1.0, 1, EOS), candidate(-2.0, 0), candidate(-3.0, 1), candidate(-4.0, 1)]
    assert len(choose(list(rivals), 3, 2, shrinking=True)) == 3
    assert len(choose(list(rivals), 3, 2, shrinking=False)) == 4
