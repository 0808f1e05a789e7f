"""Noun phrases: determiner, adjectives, noun and owner, in both orders, with their agreement."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from .draw import Draw
from .lexicon import (
    CITIES,
    COUNTRIES,
    NAMES,
    NOUNS_OF,
    NUMBERS,
    PERSONS,
    PLACES,
    PLACES_OF_PERSONS,
    POSSESSIVES,
    PREPOSITIONS,
    PRONOUNS,
    SINGLE,
    UNFIT,
    UNOWNED,
    Adjective,
    Noun,
    adjectives_of,
)
from .surface import Phrase, Word, phrase

LATE = ("red", "blue", "green", "black", "white", "French", "Italian", "English")
SINGULAR = ((42, "the"), (24, "a"), (20, "my"), (6, "this"), (4, "that"), (4, "every"))
PLURAL = (
    (34, "the"),
    (15, "some"),
    (16, "my"),
    (5, "these"),
    (4, "those"),
    (12, "two"),
    (6, "many"),
    (5, "several"),
    (5, "all"),
)
MASS = ((45, "the"), (40, "some"), (10, "my"), (5, "this"))
PLAIN = ((60, "the"), (16, "a"), (18, "my"), (6, "this"))  # the direct object of a negated verb
PLAIN_PLURAL = ((52, "the"), (20, "some"), (20, "my"), (8, "these"))
DEFINITE = ((80, "the"), (20, "my"))
OWNED = ("text", "thing", "clothes", "vehicle", "animal", "house", "kin")


@dataclass(slots=True)
class Scene:
    """A sentence under construction: its next key and the antecedents of `it` and `they`.

    :param rich: tendency of phrases to grow, 0 to 1.
    :param nested: whether the phrase is inside a relative clause.
    :param positive: whether to avoid negative clauses.
    :param timed: whether the sentence already has an expression of time.
    :param dated: whether a clause with `when` gives the time.
    """

    rich: float
    keys: int = 0
    nested: bool = False
    positive: bool = False
    timed: bool = False
    dated: bool = False
    single: list[Phrase] = field(default_factory=list)
    several: list[Phrase] = field(default_factory=list)

    def key(self) -> int:
        """Return an unused key of this sentence."""
        self.keys += 1
        return 1 << self.keys

    def mention(self, noun_phrase: Phrase) -> None:
        """Remember a noun phrase as a possible antecedent."""
        if noun_phrase.plural:
            self.several.append(noun_phrase)
        elif noun_phrase.kinds[0] not in PERSONS:
            self.single.append(noun_phrase)


def article(feminine: bool, plural: bool, key: int) -> Word:
    """Return the French definite article."""
    if plural:
        return Word("les", key, article=True)
    return Word("la", key, "l'") if feminine else Word("le", key, "l'", article=True)


def preposition(scene: Scene, english: str, french: str = "") -> Phrase:
    """Return a preposition, `de` with its elision; `near` is linked to both words of `près de`."""
    key = scene.key()
    result = phrase(key, english, french or PREPOSITIONS[english])
    if result.french[-1].text == "de":
        result.french[-1].before_vowel = "d'"
    return result


def has_noun(noun: Noun, noun_phrase: Phrase) -> bool:
    """Return True if a phrase has this noun."""
    return any(word.text in (noun.singular, noun.plural) for word in noun_phrase.english)


def ownable(noun: Noun) -> bool:
    """Return True if it can be owned: my garden, but not my river."""
    return noun.singular not in UNOWNED and (noun.kind != "place" or "own" in noun.kinds)


class NounPhrases:
    """Draws noun phrases."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw

    def about(
        self,
        scene: Scene,
        kinds: tuple[str, ...],
        negated: bool = False,
        small: bool = False,
        definite: bool = False,
        unlike: Phrase | None = None,
    ) -> Phrase:
        """Return a noun phrase of one of these kinds.

        :param negated: whether it is the direct object of a negated verb: a and some become de.
        :param small: whether to leave out owners.
        :param definite: whether it must be definite: the, my.
        :param unlike: a phrase whose noun must not be repeated.
        """
        kind = self._draw.pick(kinds)
        if kind == "person" and self._draw.chance(0.18):
            return self.name(scene)
        known: Sequence[Noun] = NOUNS_OF[kind]
        if unlike is not None:
            known = [noun for noun in known if not has_noun(noun, unlike)] or known
        noun = self._draw.pick(known)
        plural = not noun.mass and noun.singular not in SINGLE and self._draw.chance(0.26)
        owned = noun.kind in OWNED and not (small or negated or definite)
        if owned and self._draw.chance(0.25 if noun.kind == "kin" else 0.1 * scene.rich):
            result = self._with_owner(scene, noun, plural)
        else:
            named = self._determiner_name(noun, plural, negated, definite)
            result = self._plain(scene, noun, plural, named, negated)
        return self._named(scene, result, noun, plural)

    def some(self, scene: Scene, kinds: tuple[str, ...], negated: bool) -> Phrase:
        """Return an indefinite noun phrase, as after `there is`: a dog, two cats."""
        noun = self._draw.pick(NOUNS_OF[self._draw.pick(kinds)])
        plural = not noun.mass and self._draw.chance(0.4)
        several = ("some",) if negated else ("some", "two", "many", "several")
        named = self._draw.pick(several) if plural else "some" if noun.mass else "a"
        result = self._plain(scene, noun, plural, named, negated)
        return self._named(scene, result, noun, plural)

    def bare(self, scene: Scene, kinds: tuple[str, ...], plural: bool) -> Phrase:
        """Return noun and adjectives without determiner, for which, how many and what a."""
        noun = self._draw.pick(NOUNS_OF[self._draw.pick(kinds)])
        result, _ = self._core(scene, noun, plural)
        return self._named(scene, result, noun, plural)

    def name(self, scene: Scene) -> Phrase:
        """Return a name: Mary, John."""
        english, french, feminine = self._draw.pick(NAMES)
        named = phrase(scene.key(), english, french)
        named.feminine, named.kinds, named.closed = feminine, ("person",), True
        return named

    def place(
        self, scene: Scene, prepositions: tuple[str, ...], for_persons: bool = False
    ) -> Phrase:
        """Return a preposition with a place: in the garden, to Paris, at home.

        :param for_persons: whether to leave out places such as under the chair.
        """
        where = self._draw.pick(prepositions)
        if where in ("in", "to", "from") and self._draw.chance(0.3):
            return self.town(scene, where)
        if where == "home":
            at, home = scene.key(), scene.key()
            house = [Word("à", at), Word("la", home), Word("maison", home)]
            return Phrase([Word("at", at), Word("home", home)], house)
        noun = self._draw.pick((PLACES_OF_PERSONS if for_persons else PLACES)[where])
        named = self._draw.weighted(((80, "the"), (10, "this"), (10, "a")))
        before = preposition(scene, where)
        result = self._plain(scene, noun, False, named, False)
        return before + self._named(scene, result, noun, False)

    def couple(self, scene: Scene, kinds: tuple[str, ...]) -> Phrase:
        """Return two noun phrases joined by `and`; masculine if either is."""
        first = self.about(scene, kinds, small=True)
        both = phrase(scene.key(), "and", "et")
        second = self.about(scene, kinds, small=True, unlike=first)
        result = Phrase(
            first.english + both.english + second.english,
            first.french + both.french + second.french,
            plural=True,
            feminine=first.feminine and second.feminine,
            kinds=first.kinds[:1] if first.kinds[0] == second.kinds[0] else ("person",),
            closed=True,
        )
        scene.mention(result)
        return result

    def pronoun(self, scene: Scene, name: str, role: str) -> Phrase:
        """Return a pronoun by its name in the lexicon.

        :param role: `subject`, `direct`, `indirect` or `stressed`.
        """
        entry, key = PRONOUNS[name], scene.key()
        french = entry.french if role == "subject" else getattr(entry, role)
        word = Word(french, key)
        if role in ("subject", "direct", "indirect") and french in ("je", "me", "te", "le", "la"):
            word.before_vowel = french[0] + "'"
        clitic = 0
        if role in ("direct", "indirect"):
            clitic = 3 if french in ("lui", "leur") else 2 if french[0] == "l" else 1
        return Phrase(
            [Word(entry.subject if role == "subject" else entry.object, key)],
            [word],
            entry.person,
            entry.plural,
            entry.feminine,
            ("person",),
            clitic,
        )

    def adjective(self, kinds: tuple[str, ...], before_noun: bool) -> Adjective | None:
        """Return an adjective before, or after, the noun that suits these kinds."""
        candidates = adjectives_of(kinds, before_noun)
        return self._draw.pick(candidates) if candidates else None

    def town(self, scene: Scene, where: str) -> Phrase:
        """Return a town or country with preposition: in Paris, to France, from Rome."""
        city = self._draw.chance(0.6)
        english, french = self._draw.pick(CITIES if city else COUNTRIES)
        before = preposition(scene, where, "de" if where == "from" else "à" if city else "en")
        return before + phrase(scene.key(), english, french)

    def _determiner_name(self, noun: Noun, plural: bool, negated: bool, definite: bool) -> str:
        """Return the determiner's class, named by an example."""
        if noun.kind == "kin":
            return "my"
        if definite:
            return self._draw.weighted(DEFINITE) if ownable(noun) else "the"
        if noun.mass:
            return self._draw.weighted(MASS)
        known: Sequence[tuple[float, str]] = PLURAL if plural else SINGULAR
        if negated:
            known = PLAIN_PLURAL if plural else PLAIN
        if not ownable(noun):
            known = [item for item in known if item[1] != "my"]
        return self._draw.weighted(known)

    def _plain(self, scene: Scene, noun: Noun, plural: bool, named: str, negated: bool) -> Phrase:
        """Return determiner, adjectives and noun."""
        core, early = self._core(scene, noun, plural)
        return self._determiner(scene, named, noun, plural, early, negated) + core

    def _core(self, scene: Scene, noun: Noun, plural: bool) -> tuple[Phrase, bool]:
        """Return adjectives and noun; True if a French adjective precedes the noun."""
        key = scene.key()
        english = [Word(noun.plural if plural else noun.singular, key)]
        french = [Word(noun.french_plural if plural else noun.french, key)]
        before, after = self._adjectives(scene, noun)
        aged = before is not None and before.english in ("old", "young", "new")
        late = after is not None and after.english in LATE
        order = (after, before) if aged and not late else (before, after)
        for adjective in reversed([a for a in order if a is not None]):
            words = self._attribute(scene, adjective, noun.feminine, plural)
            english = words.english + english
            french = words.french + french if adjective.before_noun else french + words.french
        return Phrase(english, french), before is not None

    def _adjectives(self, scene: Scene, noun: Noun) -> tuple[Adjective | None, Adjective | None]:
        """Return adjectives before and after the French noun; mostly none."""
        chance = 0.32 * scene.rich * (0.4 if noun.kind == "kin" else 1)
        before = self.adjective(noun.kinds, True) if self._draw.chance(chance) else None
        if before is not None and (before.english, noun.singular) in UNFIT:
            before = None
        after = self.adjective(noun.kinds, False) if self._draw.chance(chance) else None
        return before, after

    def _attribute(
        self, scene: Scene, adjective: Adjective, feminine: bool, plural: bool
    ) -> Phrase:
        """Return an adjective in a noun phrase, sometimes with `very`."""
        word = Word(adjective.agree(feminine, plural), scene.key())
        if not feminine and not plural:
            word.before_vowel = adjective.before_vowel
        result = Phrase([Word(adjective.english, word.keys)], [word])
        if adjective.comparative and self._draw.chance(0.12):
            return phrase(scene.key(), "very", "très") + result
        return result

    def _determiner(
        self, scene: Scene, named: str, noun: Noun, plural: bool, early: bool, negated: bool
    ) -> Phrase:
        """Return the determiner in both languages."""
        key = scene.key()
        if named == "my":
            return self._possessive(noun, plural, key)
        if named == "two":
            return phrase(key, *self._draw.pick(NUMBERS))
        if named == "all":
            every, the = phrase(key, "all", "toutes" if noun.feminine else "tous"), scene.key()
            return every + Phrase([Word("the", the)], [article(noun.feminine, True, the)])
        if named in ("this", "that"):
            this = Word("cette", key) if noun.feminine else Word("ce", key, "cet")
            return Phrase([Word(named, key)], [this])
        if named in ("a", "some", "many"):
            return self._indefinite(named, noun, key, early, negated)
        fixed = {"these": "ces", "those": "ces", "several": "plusieurs", "every": "chaque"}
        if named in fixed:
            return phrase(key, named, fixed[named])
        return Phrase([Word("the", key)], [article(noun.feminine, plural, key)])

    def _indefinite(self, named: str, noun: Noun, key: int, early: bool, negated: bool) -> Phrase:
        """Return an indefinite determiner: a, some, any, many; un, de l', des, beaucoup de."""
        de = Word("de", key, "d'")
        if named == "many":
            return Phrase([Word("many", key)], [Word("beaucoup", key), de])
        if named == "a":
            french = de if negated else Word("une" if noun.feminine else "un", key)
            return Phrase([Word("a", key, "an")], [french])
        if negated:
            return Phrase([Word("any", key)], [de])
        if noun.mass:
            return Phrase([Word("some", key)], [de, article(noun.feminine, False, key)])
        return Phrase([Word("some", key)], [de if early else Word("des", key)])

    def _possessive(self, noun: Noun, plural: bool, key: int) -> Phrase:
        """Return a possessive: my, their; mon, ma, mes, leurs; mon before a feminine vowel."""
        english = self._draw.pick(tuple(POSSESSIVES))
        masculine, feminine, several = POSSESSIVES[english]
        word = Word(several if plural else feminine if noun.feminine else masculine, key)
        if noun.feminine and not plural and masculine != feminine:
            word.before_vowel = masculine
        return Phrase([Word(english, key)], [word])

    def _with_owner(self, scene: Scene, noun: Noun, plural: bool) -> Phrase:
        """Return a phrase with owner: the key of the king, the boy's mother."""
        possessed, early = self._core(scene, noun, plural)
        if self._draw.chance(0.5):
            the = self._determiner(scene, "the", noun, plural, early, False)
            of = preposition(scene, "of", "de")
            owner = self.owner(scene, self._draw.chance(0.3))
            result = the + possessed + of + owner
            result.closed = True
            return result
        owner, key = self.owner(scene, False), scene.key()
        french = [article(noun.feminine, plural, key), *possessed.french, Word("de", key, "d'")]
        return Phrase(
            [*owner.english, Word("'s", key), *possessed.english],
            french + owner.french,
            closed=True,
        )

    def owner(self, scene: Scene, plural: bool) -> Phrase:
        """Return a simple noun phrase for an owner."""
        if not plural and self._draw.chance(0.3):
            return self.name(scene)
        noun = self._draw.pick(NOUNS_OF["person"])
        named = self._draw.weighted(DEFINITE) if ownable(noun) else "the"
        result = self._plain(scene, noun, plural, named, False)
        return self._named(scene, result, noun, plural)

    def whose(self, scene: Scene) -> tuple[Phrase, Phrase]:
        """Return `whose` with its noun and the French article: dont la mère."""
        whose = phrase(scene.key(), "whose", "dont")
        noun = self._draw.pick(NOUNS_OF["kin"])
        core, _ = self._core(scene, noun, False)
        the = article(noun.feminine, False, whose.french[0].keys)
        return whose, self._named(scene, Phrase(french=[the]) + core, noun, False)

    def _named(self, scene: Scene, result: Phrase, noun: Noun, plural: bool) -> Phrase:
        """Set the features of the noun on the phrase, and remember it in the scene."""
        result.plural, result.feminine, result.kinds = plural, noun.feminine, noun.kinds
        scene.mention(result)
        return result
