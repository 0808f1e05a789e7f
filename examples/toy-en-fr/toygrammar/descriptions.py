"""Clauses with be, seem and become: properties, locations and professions."""

from .clauses import Clause
from .draw import Draw
from .groups import Group
from .lexicon import BEINGS, FEELINGS, PERSONS, PROFESSIONS
from .nouns import LATE, NounPhrases, Scene
from .surface import Phrase, Word, phrase
from .verbs import feel, verb

THINGS = ("thing", "clothes", "vehicle", "furniture", "text", "food", "meal", "drink", "place")
DESCRIBED = (*BEINGS, *THINGS, "part", "tree", "song", "idea")
LOCATED = {
    "person": ("in", "at", "near", "behind", "home"),
    "kin": ("in", "at", "near", "home"),
    "animal": ("in", "under", "behind", "near"),
    "thing": ("on", "under", "in", "behind", "near"),
    "clothes": ("on", "under", "in"),
    "vehicle": ("behind", "near"),
    "text": ("on", "under", "in"),
    "furniture": ("in", "behind", "near"),
}
SAYINGS = ((60, "adjective"), (18, "place"), (12, "feeling"), (10, "profession"))
DEGREES = (("very", "très"), ("too", "trop"), ("so", "si"))


class Descriptions:
    """Draws descriptive clauses."""

    def __init__(self, draw: Draw, nouns: NounPhrases) -> None:
        self._draw = draw
        self._nouns = nouns

    def kinds(self) -> tuple[str, ...]:
        """Return the kinds for the next description; persons in half of the cases."""
        return PERSONS if self._draw.chance(0.5) else (self._draw.pick(DESCRIBED),)

    def place(self, scene: Scene, noun: Phrase) -> Phrase | None:
        """Return a location for this subject, or None."""
        known = LOCATED.get(noun.kinds[0])
        return self._nouns.place(scene, known, noun.kinds[0] in PERSONS) if known else None

    def being(self, scene: Scene, time: str, subject: Phrase) -> Clause:
        """Return a clause with be, seem or become.

        :param time: `present`, `past` or `future`.
        """
        group = Group(verb("be"), time, subject, main=scene.key(), auxiliary=scene.key())
        group.question, group.negative = scene.key(), subject.negative
        if not (group.negative or scene.positive) and self._draw.chance(0.15):
            group.negation, group.negative = "not", scene.key()
        clause, kind = Clause(group), subject.kinds[0]
        saying = self._draw.weighted(SAYINGS)
        if saying == "place" and kind in LOCATED:
            clause.rest.append(self._nouns.place(scene, LOCATED[kind], kind in PERSONS))
        elif saying == "profession" and kind in PERSONS and time != "future":
            clause.rest.append(self._profession(scene, subject))
        elif saying == "feeling" and kind in PERSONS:
            group.verb = feel()
            clause.rest.append(phrase(scene.key(), *self._draw.pick(FEELINGS)))
        else:
            clause.rest.append(self._adjective(scene, group))
        return clause

    def _profession(self, scene: Scene, subject: Phrase) -> Phrase:
        """Return a profession: a teacher, teachers; French without article."""
        english, masculine, feminine = self._draw.pick(PROFESSIONS)
        key = scene.key()
        french = feminine if subject.feminine else masculine
        if subject.plural:
            return Phrase([Word(english + "s", key)], [Word(french + "s", key)])
        return Phrase([Word("a", key, "an"), Word(english, key)], [Word(french, key)])

    def _adjective(self, scene: Scene, group: Group) -> Phrase:
        """Return an adjective, perhaps with degree or comparison, and set its verb."""
        draw, subject = self._draw, group.subject
        if draw.chance(0.12) and group.tense != "future":
            group.verb = verb("seem")
        elif draw.chance(0.08) and group.tense == "past" and subject.kinds[0] in PERSONS:
            group.verb = verb("become")
        adjective = None
        while adjective is None or adjective.english == "new":
            adjective = self._nouns.adjective(subject.kinds, draw.chance(0.35))
        key = scene.key()
        attribute = phrase(
            key, adjective.english, adjective.agree(subject.feminine, subject.plural)
        )
        if adjective.comparative and adjective.english not in LATE and draw.chance(0.25):
            return phrase(scene.key(), *draw.pick(DEGREES)) + attribute
        if (
            adjective.comparative not in ("", "very")
            and group.verb.base == "be"
            and draw.chance(0.25)
        ):
            return self._comparison(scene, subject, attribute, adjective.comparative)
        return attribute

    def _comparison(
        self, scene: Scene, subject: Phrase, attribute: Phrase, comparative: str
    ) -> Phrase:
        """Return a comparison: older than him, as rich as her brother."""
        english, key = "than", attribute.english[0].keys
        if self._draw.chance(0.35):
            english, attribute = "as", phrase(scene.key(), "as", "aussi") + attribute
        elif comparative == "more":
            attribute = phrase(scene.key(), "more", "plus") + attribute
        else:
            attribute = Phrase([Word(comparative, key)], [Word("plus", key), *attribute.french])
        than = phrase(scene.key(), english, "que")
        than.french[0].before_vowel = "qu'"
        return attribute + than + self._other(scene, subject)

    def _other(self, scene: Scene, subject: Phrase) -> Phrase:
        """Return a noun phrase to compare the subject with."""
        if subject.kinds[0] not in PERSONS:
            return self._nouns.about(scene, subject.kinds[:1], definite=True, unlike=subject)
        if self._draw.chance(0.25):
            name = "he" if subject.feminine else "she"
            return self._nouns.pronoun(scene, name, "stressed")
        return self._nouns.about(scene, PERSONS, small=True)
