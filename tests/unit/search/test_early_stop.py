"""Laws of the stop rules: "early" gives the results of "exact" nearly always, with less work."""

import itertools

import pytest
import torch

from nmtkit.config import SearchConfig
from nmtkit.data.batch import pad
from nmtkit.models.rnnsearch import RNNsearch, RNNsearchConfig
from nmtkit.search.beam import beam_search
from nmtkit.special_symbols import EOS
from tests.unit.search.prefix_probabilities import BEAM_MODES, TeacherForcing, assert_same


def random_sources(count, longest=12):
    random = torch.Generator().manual_seed(count)
    lengths = torch.randint(1, longest, (count,), generator=random).tolist()
    return [[*torch.randint(1, 50, (n,), generator=random).tolist(), 0] for n in lengths]


def early_search(model, source, config, n_best):
    """Search one sentence with plain lists; end as `stop = "early"` says."""
    forced = TeacherForcing([model], source)
    active: list[tuple[list[int], float]] = [([], 0.0)]
    finished: list[tuple[list[int], float]] = []
    width = config.beam
    limit = max(10, int(len(source) * config.max_length_ratio))
    for step in range(1, limit + 1):
        expansions = [
            ([*prefix, word], score + value)
            for prefix, score in active
            for word, value in enumerate(forced.log_probs(prefix).tolist())
            if word != EOS or step > 1
        ]
        expansions.sort(key=lambda pair: -pair[1])
        ending = [pair for pair in expansions[:width] if pair[0][-1] == EOS]
        finished += ending
        if config.beam_mode == "shrinking":
            width -= len(ending)
        active = [pair for pair in expansions if pair[0][-1] != EOS][:width]
        ranked = sorted(
            (s / len(ids) ** config.length_penalty for ids, s in finished), reverse=True
        )
        length = min(limit, max(len(source), step + 2 + 0.7 * step**0.5))
        if not active or (
            len(ranked) >= n_best
            and ranked[n_best - 1] >= active[0][1] / length**config.length_penalty
        ):
            break
    order = sorted(finished or active, key=lambda p: -p[1] / len(p[0]) ** config.length_penalty)
    return order[:n_best]


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize(("n_best", "penalty"), [(1, 1.0), (3, 1.0), (3, 0.6), (2, 0.0)])
def test_early_stop_equals_a_plain_search_with_its_rule(prefix_model, beam_mode, n_best, penalty):
    config = SearchConfig(beam=4, beam_mode=beam_mode, stop="early", length_penalty=penalty)
    model, sources = prefix_model(5, words=7, eos_bias=1.0), random_sources(6)
    actual = beam_search([model], *pad(sources), config, n_best)
    for source, hypotheses in zip(sources, actual, strict=True):
        assert_same(hypotheses, early_search(model, source, config, n_best))


def both(models, sources, n_best=1, **settings):
    """Search with both rules; return the lists, exact ones first."""
    return [
        beam_search(models, *pad(sources), SearchConfig(stop=stop, **settings), n_best)
        for stop in ("exact", "early")
    ]


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize("penalty", ["power", "wu"])
@pytest.mark.parametrize("coverage_penalty", [0.0, 0.2])
def test_early_lists_are_as_long_as_exact_ones_and_nearly_as_good(
    prefix_model, beam_mode, penalty, coverage_penalty
):
    models = [prefix_model(seed, words=9, eos_bias=1.0) for seed in (3, 4)]
    sources = random_sources(20)
    settings = {"beam": 4, "beam_mode": beam_mode, "penalty": penalty}
    settings["coverage_penalty"] = coverage_penalty
    for n_best in (1, 4):
        exact, early = both(models, sources, n_best, **settings)
        assert list(map(len, exact)) == list(map(len, early))
        assert [h.finished for h in itertools.chain(*exact)] == [
            h.finished for h in itertools.chain(*early)
        ]
        pairs = zip(exact, early, strict=True)
        assert sum([h.ids for h in a] == [h.ids for h in b] for a, b in pairs) >= 19


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
def test_without_length_penalty_both_rules_take_the_same_steps(prefix_model, sources, beam_mode):
    model = prefix_model(2, words=9, eos_bias=-1.0)
    steps = []
    for stop in ("exact", "early"):
        config = SearchConfig(beam=4, beam_mode=beam_mode, stop=stop, length_penalty=0.0)
        beam_search([model], *pad(sources), config)
        steps.append(model.steps)
    assert steps[1] == 2 * steps[0]


@pytest.fixture(scope="module")
def half_trained():
    """Return a model that has begun to learn to reverse digits, and sentences of digits."""
    torch.manual_seed(3)
    model = RNNsearch(RNNsearchConfig(24, 24, 24, 24, initialisation="scaled"), 12, 12)
    optimizer = torch.optim.Adam(model.parameters(), 0.02)
    random = torch.Generator().manual_seed(1)
    sentences = [
        [*torch.randint(2, 12, (n,), generator=random).tolist(), EOS]
        for n in torch.randint(3, 12, (240,), generator=random).tolist()
    ]
    for step in range(50):
        batch = [sentences[(32 * step + row) % 120] for row in range(32)]
        targets = [[*reversed(ids[:-1]), EOS] for ids in batch]
        tgt, tgt_mask = pad(targets)
        loss = model.loss(*pad(batch), tgt, tgt_mask) / tgt_mask.sum()
        optimizer.zero_grad()
        loss.backward()
        optimizer.step()
    return model.eval(), sentences[120:]


@pytest.mark.parametrize("beam_mode", BEAM_MODES)
@pytest.mark.parametrize("n_best", [1, 5])
def test_early_stop_finds_what_exact_finds_with_a_trained_model(half_trained, beam_mode, n_best):
    model, sentences = half_trained
    exact, early = both([model], sentences, n_best, beam=5, beam_mode=beam_mode)
    config = SearchConfig()
    worse = sum(
        b[-1].ranking_score(config) < a[-1].ranking_score(config) - 1e-6
        for a, b in zip(exact, early, strict=True)
    )
    assert worse <= 1


def test_only_exact_search_takes_longer_with_a_higher_limit(half_trained, monkeypatch):
    model, sentences = half_trained
    steps, step = 0, RNNsearch.step

    def counted(*arguments):
        nonlocal steps
        steps += 1
        return step(*arguments)

    monkeypatch.setattr(RNNsearch, "step", counted)

    def count(stop, ratio):
        nonlocal steps
        steps = 0
        config = SearchConfig(beam=5, beam_mode="bounded", stop=stop, max_length_ratio=ratio)
        beam_search([model], *pad(sentences[:1]), config)
        return steps

    assert count("exact", 20.0) > count("exact", 5.0)
    assert count("early", 20.0) == count("early", 5.0) < count("exact", 5.0)
