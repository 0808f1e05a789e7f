"""Terms of lines as constraints, for models of words, BPE and SentencePiece."""

import re
from collections.abc import Callable

import pytest

from nmtkit.config import SearchConfig
from nmtkit.inference.ensemble import Ensemble
from nmtkit.inference.markup_translator import MarkupTranslator
from nmtkit.inference.terms import MAX_TERMS, LineTerms, TermFinder
from nmtkit.inference.translator import Translator
from nmtkit.model_folder import LoadedModel
from nmtkit.search.constraints import Constraints
from nmtkit.search.hypothesis import Hypothesis
from nmtkit.search.word_boundaries import WordBoundaries
from nmtkit.special_symbols import EOS
from nmtkit.text.glossary import Glossary, Term, count
from nmtkit.text.names import Names
from nmtkit.text.term_words import TERM_MARK

MakeModel = Callable[..., LoadedModel]


@pytest.fixture
def model(make_model: MakeModel) -> LoadedModel:
    """Return an untrained model of words, whose translations are noise."""
    return make_model(1, src="a b c d", tgt="w W x y z")


def finder(model: LoadedModel, *terms: Term, mode: str = "strict") -> TermFinder:
    return TermFinder(Glossary(terms), model, mode)  # type: ignore[arg-type]


def test_spans_are_the_positions_of_the_source_words(model: LoadedModel) -> None:
    words = finder(model, Term("b c", ("x",)), Term("d", ("y z",)))
    line = words.find("a b c, d", ["a", "b", "c", ",", "d"])
    assert line.constraints.spans == ((1, 2), (4,))
    assert [term.source for term in line.terms] == ["b c", "d"]
    ids = model.tgt_vocab.ids
    assert line.constraints.terms == ((tuple(ids(["x"])),), (tuple(ids(["y", "z"])),))


def test_a_term_at_the_beginning_may_have_a_capital(model: LoadedModel) -> None:
    words = finder(model, Term("a", ("w",)))
    assert len(words.find("A b", ["A", "b"]).constraints.terms[0]) == 2
    for line in ("a b", "b A"):
        assert len(words.find(line, line.split()).constraints.terms[0]) == 1


@pytest.mark.parametrize(
    ("other", "words"),
    [
        (Term("b", ("y",)), ["w", "W"]),
        (Term("b", ("W",)), ["w"]),
        (Term("", (), ("w",), case_sensitive=True), ["w"]),
    ],
)
def test_forbidden_words_may_not_have_a_capital(
    model: LoadedModel, other: Term, words: list[str]
) -> None:
    """Forbid them where a line begins, too, unless another entry wants it so."""
    line = finder(model, Term("", (), ("w", "X")), other).find("b", ["b"])
    ids = model.tgt_vocab.ids
    assert set(line.constraints.forbidden) == {tuple(ids([word])) for word in words}


@pytest.mark.parametrize("term", ["", "b"])
def test_forbidden_words_are_in_no_longer_word_without_blanks(
    make_model: MakeModel, term: str
) -> None:
    model = make_model(1, src="a b", tgt="クリ ック クリックする を w")
    words = finder(model, Term(term, (), ("クリック", "w")))
    allows, ids = words.find("b", ["b"]).sentence.allows, model.tgt_vocab.ids
    for text in ("クリックする", "を クリ ック", "を w"):
        assert not allows(ids(text.split()))
    assert allows(ids("クリ を ック".split())) and allows(ids(["クリ"]))


def test_an_unfinished_translation_does_not_end_with_a_forbidden_word(
    model: LoadedModel,
) -> None:
    """Search would have made a longer word of it; a finished one goes on in any case."""
    words = finder(model, Term("", (), ("w", "x y"), case_sensitive=True))
    ids, size = model.tgt_vocab.ids, len(model.tgt_vocab)
    going_on = set(ids(["y", "z"]))
    words.__dict__["boundaries"] = WordBoundaries([(True, n in going_on) for n in range(size)])
    line = words.find("b", ["b"])

    def cut(text: str, finished: bool = False) -> list[int]:
        tokens = [*ids(text.split()), *[EOS] * finished]
        scores = [-1.0] * len(tokens)
        found = words.without_forbidden_end(line, Hypothesis(tokens, sum(scores), scores, finished))
        assert found.score == sum(found.word_scores) == -len(found.ids)
        return found.ids

    assert cut("z w") == ids(["z"]) and cut("z x y") == ids(["z", "x"])
    for text in ("z", "w z", "x z y"):
        assert cut(text) == ids(text.split())
    assert cut("z w", finished=True) == [*ids(["z", "w"]), EOS]


def test_impossible_terms_are_named(model: LoadedModel) -> None:
    unknown, forbidden = Term("a", ("q",)), Term("b", ("x", "x y"), ("x",))
    line = finder(model, unknown, forbidden).find("a b", ["a", "b"])
    assert line.impossible == (unknown, forbidden) and not line.constraints.terms


def test_terms_beyond_the_most_are_named(model: LoadedModel) -> None:
    words, text = finder(model, Term("a", ("x",))), ["a"] * (MAX_TERMS + 3)
    line = words.find(" ".join(text), text)
    assert len(line.terms) == MAX_TERMS and len(line.impossible) == 3
    missing = words.missing(line, model.tgt_vocab.ids(["x"] * MAX_TERMS))
    assert len(missing) == 3


@pytest.mark.parametrize("mode", ["strict", "soft"])
def test_lines_with_many_alternatives_and_forbidden_words(model: LoadedModel, mode: str) -> None:
    many = tuple(f"{one} {other}" for one in "xyz" for other in "wxyz")
    glossary = Glossary([Term("a", many), Term("", (), tuple(f"w {one}" for one in "wxyz"))])
    translator = Translator(Ensemble((model,))).with_search(beam=3)
    with_terms = translator.with_terms(glossary, mode)  # type: ignore[arg-type]
    lines = ["a b a", "", "b", "c a"]
    for line, hypotheses in zip(lines, with_terms.translate(lines, n_best=3), strict=True):
        for one in hypotheses:
            assert count(one.text, [f"w {word}" for word in "wxyz"]) == 0
            if mode == "strict":
                assert count(one.text, many) >= line.split().count("a") and not one.missing_terms


def test_hypotheses_with_terms_are_preferred_up_to_a_limit(model: LoadedModel) -> None:
    words = finder(model, Term("a", ("z",)), mode="soft")
    ids = model.tgt_vocab.ids

    def hypothesis(word: str, score: float) -> Hypothesis:
        return Hypothesis([*ids([word]), EOS], score, [score, 0.0], True)

    without, near, far = hypothesis("w", -4.0), hypothesis("z", -6.0), hypothesis("z", -20.0)
    search = SearchConfig(length_penalty=0.0)
    line = words.find("a b", ["a", "b"])
    assert words.prefer(line, [without, near, far], search) == [near, without, far]
    other = words.find("b", ["b"])
    assert words.prefer(other, [without, near, far], search) == [without, near, far]


def test_lines_without_terms_are_searched_as_ever(model: LoadedModel) -> None:
    translator = Translator(Ensemble((model,))).with_search(beam=4)
    with_terms = translator.with_terms(Glossary([Term("a", ("z",))]))
    assert (
        next(with_terms.translate(["b b"]))[0].text == next(translator.translate(["b b"]))[0].text
    )


def test_terms_that_no_candidate_can_write_are_searched_once(model: LoadedModel) -> None:
    class Few:
        def candidates(self, source_tokens: object) -> list[int]:
            return [EOS, 1, *model.tgt_vocab.ids(["w", "x"])]

    words = finder(model, Term("a", ("x", "z")), Term("b", ("y z",)))
    few = Few().candidates([])
    assert words.may_be_kept(words.find("a", ["a"]), few)
    assert not words.may_be_kept(words.find("a b", ["a", "b"]), few)
    translator = Translator(Ensemble((model,)), candidates=Few()).with_search(beam=3)
    with_terms = translator.with_terms(Glossary([Term("b", ("y z",))]))
    (first,), (other,) = with_terms.translate(["b c", "c"])
    assert count(first.text, ["y z"]) == 1 and not first.missing_terms
    assert other.text == next(translator.translate(["c"]))[0].text


def test_a_word_that_a_marker_joins_to_another_is_no_term(make_model: MakeModel) -> None:
    model = make_model(1, src="a b", tgt="w x ( \uffed")
    words = finder(model, Term("a", ("w",)), Term("b", ("x",)))
    line = words.find("a b", ["a", "b"])
    ids = model.tgt_vocab.ids

    def absent(text: str) -> list[str]:
        return [term.source for term in words.missing(line, ids(text.split()))]

    assert absent("w x") == absent("w \uffed ( x") == absent("( \uffed w \uffed ( \uffed x") == []
    assert absent("w \uffed x") == ["a", "b"]
    assert absent("w \uffed x w") == ["b"]
    joined = Hypothesis([*ids("w \uffed x".split()), EOS], -1.0, [], True)
    assert words.kept(line, [joined]) == []


def test_a_marker_within_a_term_joins_what_belongs_together(make_model: MakeModel) -> None:
    model = make_model(1, src="a b", tgt="m ² x \uffed")
    words, term, ids = finder(model), Term("a", ("m²",)), model.tgt_vocab.ids
    constraints = Constraints(((tuple(ids("m \uffed ²".split())),),))
    line = LineTerms(constraints, words.boundaries, (term,))
    assert words.missing(line, ids("x m \uffed ² x".split())) == []
    for text in ("x \uffed m \uffed ²", "m \uffed ² \uffed x", "m ²"):
        assert words.missing(line, ids(text.split())) == [term]


def test_a_letter_that_a_marker_joins_to_a_sign_hides_the_term(make_model: MakeModel) -> None:
    model = make_model(1, src="a", tgt="w + x ' \uffed")
    term, ids = Term("a", ("w +", "w '")), model.tgt_vocab.ids
    words = finder(model, term)
    line = words.find("a", ["a"])
    assert words.missing(line, ids("w + \uffed x".split())) == [term]
    for text in ("w + x", "w + \uffed +", "w ' \uffed x", "x \uffed + w + x"):
        assert words.missing(line, ids(text.split())) == []


def test_terms_of_scripts_without_blanks_count_in_any_tokens(make_model: MakeModel) -> None:
    """Write none again behind itself that the model has written in other tokens."""
    model = make_model(1, src="a b", tgt="配 置 の配 図 w 置図を")
    words, ids = finder(model, Term("a", ("配置", "w")), Term("b", ("図",))), model.tgt_vocab.ids
    line = words.find("a b", ["a", "b"])
    assert line.constraints.terms == ((tuple(ids(["配", "置"])), tuple(ids(["w"]))), ((5,),))
    for text in ("の配 置 図", "の配 置 置図を", "図 w", "置図を の配 置"):
        assert not words.missing(line, ids(text.split()))
    for text in ("図", "の配 w 図 置", "の配 図 置"):
        absent = [term.source for term in words.missing(line, ids(text.split()))]
        assert absent == ([] if "w" in text else ["a"])


@pytest.fixture
def copying(make_model: MakeModel) -> Translator:
    """Return a model that copies names."""
    model = make_model(1, src="a b Zorg Corp ❶ ❷", tgt="w x z ❶ ❷", names=Names({}))
    return Translator(Ensemble((model,))).with_search(beam=3)


def test_a_name_that_is_a_term_is_read(copying: Translator) -> None:
    with_terms = copying.with_terms(Glossary([Term("zorg", ("z",))]))
    lines = ["a Zorg b", "a Corp b", "a Corp, Zorg Zorg", ""]
    found = list(with_terms.translate(lines, n_best=3))
    assert [best[0].src_tokens for best in found] == [
        ["a", "Zorg", "b"], ["a", "❶", "b"], ["a", "❶", ",", "Zorg", "Zorg"], [],
    ]  # fmt: skip
    for line, best in zip(lines, found, strict=True):
        for one in best:
            assert one.text.count("z") >= line.count("Zorg") and not one.missing_terms
            assert "Zorg" not in one.text
    ((plain,),) = copying.translate(["a Zorg b"])
    assert plain.src_tokens == ["a", "❶", "b"]


def test_a_term_that_only_forbids_stays_a_name(copying: Translator) -> None:
    glossary = Glossary([Term("Zorg", (), ("x",))])
    ((found,),) = copying.with_terms(glossary).translate(["a Zorg b"])
    assert found.src_tokens == ["a", "❶", "b"] and "x" not in found.text.split()


def test_a_term_over_the_boundary_of_an_element_is_found(make_model: MakeModel) -> None:
    """Find it as on the line without symbols of markup, which stand at no positions of it."""
    model = make_model(1, src="a b c ⦃ ⦄ ⧀", tgt="w x y ⦃ ⦄ ⧀", markup="html")
    words = finder(model, Term("b c", ("x y",)), Term("a", ("w",)))
    tokens = "⦃ a b ⦄ ⧀ c".split()
    line = words.find("⦃A b⦄ ⧀ c", tokens)
    assert [term.source for term in line.terms] == ["a", "b c"]
    assert line.constraints.spans[0] == (1,)
    assert {2, 5} <= set(line.constraints.spans[1]) <= {2, 3, 4, 5}
    assert words.find("A b c", "a b c".split()).constraints.terms == line.constraints.terms
    translator = Translator(Ensemble((model,))).with_search(beam=3)
    keeper = MarkupTranslator(translator.with_terms(Glossary([Term("b c", ("x y",))])), "html")
    ((found,),) = keeper.translate(["a <b>b</b> c<br/>"])
    assert count(re.sub("<[^<>]*>", "", found.text), ["x y"]) and not found.missing_terms


def test_a_term_over_the_boundary_of_an_element_is_not_annotated(make_model: MakeModel) -> None:
    """Keep the symbol, which the model must see."""
    tgt = ["</s>", "<unk>", *"w x y ⦃ ⦄".split()]
    src = f"a b c ⦃ ⦄ {' '.join(TERM_MARK + word for word in tgt)}"
    model = make_model(1, src=src, tgt="w x y ⦃ ⦄", markup="html")
    words = finder(model, Term("b c", ("x y",)), Term("a", ("w",)))
    found = words.find("⦃a b⦄ c", "⦃ a b ⦄ c".split()).annotated
    assert found is not None and found.tokens == ["⦃", f"{TERM_MARK}w", "b", "⦄", "c"]


def test_the_tag_of_a_line_has_no_terms(make_model: MakeModel) -> None:
    model = make_model(1, src="<a> a b", tgt="w W x", tags=("<a>",))
    words = finder(model, Term("a", ("w",)))
    assert not words.find("<a> b", ["<a>", "b"]).terms
    line = words.find("<a> A b", ["<a>", "a", "b"])
    assert line.constraints.spans == ((1,),) and len(line.constraints.terms[0]) == 2
