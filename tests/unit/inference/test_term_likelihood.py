"""What models translate without being told, and what a search without terms would not find."""

from collections.abc import Callable

import pytest

from nmtkit.inference import term_likelihood
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.scorer import Scorer
from nmtkit.inference.term_likelihood import TermLikelihood
from nmtkit.inference.terms import TermFinder
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import LoadedModel
from nmtkit.text.glossary import Glossary, Term, count

MakeModel = Callable[..., LoadedModel]


@pytest.fixture
def model(make_model: MakeModel) -> LoadedModel:
    """Return an untrained model of words, whose translations are noise."""
    return make_model(1, src="a b c d", tgt="w W x y z")


def test_it_is_the_probability_of_the_first_token(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    ensemble = Ensemble((model,))
    terms = [Term("a b", ("x y", "z")), Term("c", ("w",)), Term("d", ("y",))]
    finder = TermFinder(Glossary(terms), model)
    for term in terms:
        pairs = [(term.source, target) for target in term.targets]
        first = max(one.word_scores[0] for one in Scorer(ensemble).score(pairs))
        line = finder.find(term.source, term.source.split())
        for limit, is_hopeless in ((first - 1e-3, False), (first + 1e-3, True)):
            monkeypatch.setattr(term_likelihood, "MIN_LOG_PROB", limit)
            likelihood = TermLikelihood(ensemble)
            likelihood.ask([line, line])
            assert likelihood.is_hopeless(line) == is_hopeless


def test_of_alternatives_it_knows_what_comes_behind_each_token(
    make_model: MakeModel,
) -> None:
    ensemble = Ensemble(
        (make_model(1, src="a b", tgt="w x y"), make_model(2, src="a b", tgt="w x y"))
    )
    term, other = Term("a b", ("x y w", "w", "y y")), Term("b", ("x y",))
    finder = TermFinder(Glossary([term, other]), ensemble.first)
    likelihood = TermLikelihood(ensemble)
    line, plain = (finder.find(text, text.split()) for text in ("a b b", "b"))
    likelihood.ask([line, plain])
    found = likelihood.with_rests(line)
    assert found.constraints.terms == line.constraints.terms
    assert likelihood.with_rests(plain) is plain
    (rests, nothing), scorer = found.constraints.rests, Scorer(ensemble)
    assert nothing == ()
    pairs = [(term.source, target) for target in term.targets]
    for one, values in zip(scorer.score(pairs), rests, strict=True):
        tokens = one.word_scores[:-1]  # without </s>
        expected = [sum(tokens[place + 1 :]) for place in range(len(tokens))]
        assert values == pytest.approx(expected, abs=1e-5)


def test_the_alternative_that_is_likely_as_a_whole_is_chosen(
    make_model: MakeModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    """And not the one whose first token is, as many words begin with it."""
    monkeypatch.setattr(term_likelihood, "MIN_LOG_PROB", 100.0)
    ensemble = Ensemble((make_model(1, src="a b", tgt="w x y"),))
    for rows, text in ((((-1.0, -9.0), (-1.0, 0.0)), "x x"), (((-1.0, 0.0), (-1.0, -9.0)), "w w")):
        monkeypatch.setattr(TermLikelihood, "_token_log_probs", lambda *_, known=rows: list(known))
        translator = Translator(ensemble).with_search(beam=1)
        found = translator.with_terms(Glossary([Term("a", ("w w", "x x"))])).translate(["a"])
        assert text in next(found)[0].text


@pytest.mark.parametrize("limit", [-100.0, 0.0])
def test_lines_have_their_terms_whether_these_are_expected_or_not(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch, limit: float
) -> None:
    monkeypatch.setattr(term_likelihood, "MIN_LOG_PROB", limit)
    translator = Translator(Ensemble((model,))).with_search(beam=3)
    with_terms = translator.with_terms(Glossary([Term("a", ("x y",)), Term("c", ("z", "w"))]))
    lines = ["a b c", "b", "", "c c a", "d"]
    plain = list(translator.translate(lines, n_best=3))
    for line, found, before in zip(
        lines, with_terms.translate(lines, n_best=3), plain, strict=True
    ):
        for one in found:
            assert count(one.text, ["x y"]) >= line.split().count("a")
            assert count(one.text, ["z", "w"]) >= line.split().count("c")
        if not {"a", "c"} & set(line.split()):
            assert [one.text for one in found] == [one.text for one in before]


def test_what_has_its_terms_already_stays_as_it_is(
    model: LoadedModel, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(term_likelihood, "MIN_LOG_PROB", -100.0)
    translator = Translator(Ensemble((model,))).with_search(beam=3)
    (plain,) = translator.translate(["a b c"])
    word = plain[0].tokens[0]
    with_terms = translator.with_terms(Glossary([Term("a", (word,))]))
    assert next(with_terms.translate(["a b c"]))[0].text == plain[0].text
