"""Draw clauses that make sense, and the clauses inside them."""

from collections.abc import Sequence

from .clauses import Clause, clitics, objects, statement
from .descriptions import Descriptions
from .draw import Draw
from .groups import Group, infinitive
from .lexicon import BEINGS, MANNERS, MIDDLE_ADVERBS, PERSONS, TIMES
from .nouns import NounPhrases, Scene, preposition
from .pronouns import Pronouns
from .surface import Phrase, Word, phrase
from .verbs import Verb, verb, verbs_of, verbs_taking

NEEDS = ((20, "none"), (15, "place"), (46, "direct"), (6, "to"), (13, "gift"))
STUFF = ("meal", "drink")
DOINGS = ("none", "place", "direct", "to", "gift")
TENSES = {
    "present": ((58, "present"), (17, "progressive"), (10, "can"), (7, "must"), (8, "want")),
    "past": ((66, "past"), (22, "perfect"), (12, "past progressive")),
    "future": ((1, "future"),),
    "before": ((1, "pluperfect"),),
}
MODALS = ("can", "must", "want")
ACCIDENTS = ("fall", "lose", "forget", "break", "find")  # actions that nobody wants or has to do
SOMEWHERE = ("in", "in", "at", "near", "under", "behind")  # locations of actions


class Predicates:
    """Draws clauses.

    A time is `present`, `past`, `future` or `before` (had seen).
    """

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self.nouns = NounPhrases(draw)
        self.pronouns = Pronouns(draw, self.nouns)
        self._descriptions = Descriptions(draw, self.nouns)

    def clause(self, scene: Scene, time: str, subject: Phrase | None = None) -> Clause:
        """Return a clause in this time, with this subject if given."""
        needs = self._draw.weighted(NEEDS)
        candidates = self._verbs(time, needs, subject)
        if not candidates and time == "before" and subject is not None:
            time = "past"
        if not candidates or (time != "before" and self._draw.chance(0.24)):
            subject = subject or self.subject(scene, time, self._descriptions.kinds())
            return self._descriptions.being(scene, time, subject)
        entry = self._draw.pick(candidates)
        return self.doing(scene, time, subject or self.subject(scene, time, entry.subjects), entry)

    def doing(self, scene: Scene, time: str, subject: Phrase, entry: Verb) -> Clause:
        """Return a clause with this subject and verb."""
        clause = Clause(self.group(scene, entry, time, subject))
        self._negate(scene, clause.group)
        if entry.needs in ("direct", "gift"):
            clause.direct = self._direct(scene, clause.group)
            if entry.needs == "direct" and entry.base not in ("want", "look"):
                clause.direct = self._grow(scene, clause.direct, time, 0.12)
        if entry.needs in ("to", "gift"):
            self._receive(scene, clause)
        self._manner(scene, clause)
        self._places(scene, clause)
        return clause

    def group(self, scene: Scene, entry: Verb, time: str, subject: Phrase) -> Group:
        """Return the verb in a suitable tense."""
        tense = self._draw.weighted(TENSES[time])
        note = {"progressive": "act", "past progressive": "lasts"}.get(tense)
        if entry.state or (note and note not in entry.notes):
            tense = time
        elif tense in MODALS and entry.base in ACCIDENTS:
            tense = time
        elif tense in MODALS and subject.kinds[0] not in BEINGS:
            tense = time
        if tense == "perfect" and scene.dated:
            tense = "past"  # when he came, she left: not has left
        if tense == "past" and entry.past == entry.base and (subject.plural or subject.person < 3):
            tense = "perfect"  # they read: now or then?
        tense = "pluperfect" if tense == "before" else tense
        group = Group(entry, tense, subject, main=scene.key(), auxiliary=scene.key())
        group.question, group.negative = scene.key(), subject.negative
        return group

    def subject(self, scene: Scene, time: str, kinds: Sequence[str]) -> Phrase:
        """Return a subject of one of these kinds: pronoun, name, noun phrase, or two."""
        draw, persons = self._draw, tuple(kind for kind in kinds if kind in PERSONS)
        if persons and draw.chance(0.4):
            return self.pronouns.subject(scene, kinds)
        if draw.chance(0.25 if scene.single else 0.06):
            it = self.pronouns.it(scene, "subject", kinds)
            if it is not None:
                return it
        if scene.several and draw.chance(0.25):
            they = self.pronouns.they(scene, "subject", kinds)
            if they is not None:
                return they
        if persons and draw.chance(0.015):
            return self.pronouns.nobody(scene)
        if draw.chance(0.1 * scene.rich):
            return self.nouns.couple(scene, persons or (kinds[0],))
        chosen = persons if persons and draw.chance(0.6) else tuple(kinds)
        stuff = any(kind in STUFF for kind in chosen)
        return self._grow(scene, self.nouns.about(scene, chosen, definite=stuff), time, 0.16)

    def describe(self, scene: Scene, time: str) -> Clause:
        """Return a clause with be, seem or become."""
        subject = self.subject(scene, time, self._descriptions.kinds())
        return self._descriptions.being(scene, time, subject)

    def object_of(self, scene: Scene, group: Group) -> Phrase:
        """Return a noun phrase that suits the verb as direct object."""
        definite = "the" in group.verb.notes
        negated = bool(group.negative)
        return self.nouns.about(scene, group.verb.objects, negated, definite=definite)

    def hearer(self, scene: Scene, subject: Phrase) -> Phrase:
        """Return an addressee of this subject: a clitic or a noun phrase."""
        pronoun = None
        if self._draw.chance(0.5):
            pronoun = self.pronouns.someone(scene, subject, "indirect")
        return pronoun or self.nouns.about(scene, ("person", "person", "kin"), small=True)

    def ordered(self, scene: Scene, group: Group) -> Clause:
        """Return an order; French pronouns precede the verb only if it is negative."""
        clause = Clause(group)
        pronoun = bool(group.negative) and self._draw.chance(0.5)
        clause.direct = (self._object if pronoun else self.object_of)(scene, group)
        if group.verb.needs == "gift":
            clause.recipient = self.nouns.about(scene, ("person", "kin"), small=True)
            clause.recipient_key = scene.key()
        return clause

    def place(self, scene: Scene, noun: Phrase) -> Phrase | None:
        """Return a location for this subject, or None."""
        return self._descriptions.place(scene, noun)

    def purpose(self, scene: Scene, subject: Phrase, english: str, french: str) -> Phrase:
        """Return an infinitive clause: to buy the bread, before leaving, without seeing him."""
        entry = self._draw.pick(verbs_of(("person",), "direct", states=False))
        before = preposition(scene, english, french)
        group = Group(entry, "present", subject, main=scene.key())
        clause = Clause(group, direct=self._object(scene, group, definite=english == "without"))
        after_english, after_french = objects(clause)
        form = Word(entry.base if english == "to" else entry.gerund, group.main)
        verb_words = infinitive(entry, clitics(clause), group.main, group.french_form)
        return before + Phrase([form, *after_english], verb_words + after_french)

    def time(self, scene: Scene, clause: Clause, time: str) -> Phrase | None:
        """Return an expression of time that suits the clause's tense, or None."""
        group = clause.group
        be = group.verb.base == "be"
        if scene.timed:
            return None
        if group.tense in ("perfect", "pluperfect", "can", "must") or (group.verb.state and not be):
            return None
        known = TIMES[time][:2] if be or group.tense.endswith("progressive") else TIMES[time]
        english, french = self._draw.pick(known)
        keys = [scene.key() for _ in english.split()]
        words = [Word(w, key) for w, key in zip(english.split(), keys, strict=True)]
        pieces = [piece.split(":") for piece in french.split()]
        return Phrase(words, [Word(text, keys[int(at)]) for text, at in pieces])

    def relative(self, scene: Scene, noun: Phrase, time: str) -> Phrase:
        """Return the noun phrase with a relative clause: who sings, whom she sees."""
        if noun.closed or noun.clitic or not noun.french or noun.french[0].text == "de":
            return noun
        time = {"future": "present", "before": "past"}.get(time, time)
        if time == "past" and self._draw.chance(0.2):
            time = "before"
        rich, scene.rich = scene.rich, 0.2 * scene.rich
        scene.nested = True
        result = noun + self._relative_clause(scene, noun, time)
        scene.nested, scene.rich = False, rich
        result.closed = True
        return result

    def _grow(self, scene: Scene, noun: Phrase, time: str, chance: float) -> Phrase:
        """Return the noun phrase, sometimes with a relative clause, never nested."""
        if scene.nested or not self._draw.chance(chance * scene.rich):
            return noun
        return self.relative(scene, noun, time)

    def _verbs(self, time: str, needs: str, subject: Phrase | None) -> tuple[Verb, ...]:
        """Return verbs that suit the subject, with these needs if possible."""
        kinds = subject.kinds if subject is not None else ("person",)
        if subject is None and self._draw.chance(0.12):
            kinds = (self._draw.pick(("animal", "train", "bird")),)
        states = time in ("present", "past")
        candidates = verbs_of(kinds, needs, states=states)
        return candidates or verbs_of(kinds, *DOINGS, states=states)

    def _negate(self, scene: Scene, group: Group) -> None:
        """Make some clauses negative and add frequency to others."""
        draw, tense = self._draw, group.tense
        if group.negative or scene.positive:
            return
        if draw.chance(0.17):
            kinds: list[tuple[float, str]] = [(10, "not")]
            if tense in ("present", "past", "perfect", "pluperfect"):
                kinds.append((5, "never"))
            if tense in ("present", "can") or (tense == "past" and group.verb.state):
                kinds.append((2, "no longer"))
            group.negation, group.negative = draw.weighted(kinds), scene.key()
        elif tense in ("present", "past", "perfect") and not group.verb.state:
            if draw.chance(0.12):
                group.middle = phrase(scene.key(), *draw.pick(MIDDLE_ADVERBS))

    def _direct(self, scene: Scene, group: Group) -> Phrase:
        """Return a direct object, sometimes nothing or nobody."""
        free = not (group.negative or scene.positive) and group.middle is None
        if free and self._draw.chance(0.03):
            return self.pronouns.none(scene, group)
        return self._object(scene, group)

    def _object(self, scene: Scene, group: Group, definite: bool = False) -> Phrase:
        """Return a direct object: a clitic or a noun phrase."""
        kinds, subject, pronoun = group.verb.objects, group.subject, None
        if any(kind in PERSONS for kind in kinds):
            if self._draw.chance(0.3):
                pronoun = self.pronouns.someone(scene, subject, "direct", kinds)
        elif self._draw.chance(0.05) and not subject.plural:
            pronoun = self.pronouns.they(scene, "direct", kinds)
        elif self._draw.chance(0.3 if scene.single else 0.12):
            if subject.plural or subject.kinds[0] in PERSONS:
                pronoun = self.pronouns.it(scene, "direct", kinds)
        if pronoun is not None:
            return pronoun
        definite = definite or "the" in group.verb.notes
        return self.nouns.about(scene, kinds, negated=bool(group.negative), definite=definite)

    def _receive(self, scene: Scene, clause: Clause) -> None:
        """Add a recipient to the clause."""
        draw, group, direct = self._draw, clause.group, clause.direct
        clause.recipient = self.hearer(scene, group.subject)
        gift = group.verb.needs == "gift"
        may_be_first = gift and direct is not None and bool(direct.french) and not direct.clitic
        clause.recipient_first = may_be_first and draw.chance(0.4)
        has_to = not clause.recipient_first if gift else group.verb.particle == "to"
        clause.recipient_key = scene.key() if has_to else group.main

    def _manner(self, scene: Scene, clause: Clause) -> None:
        """Add a manner; `well` is last in English, before the participle in French."""
        group = clause.group
        manners = [m for note in group.verb.notes for m in MANNERS.get(note, ())]
        if group.negative or group.middle is not None or not self._draw.chance(0.15):
            return
        if "well" in group.verb.notes and (not manners or self._draw.chance(0.4)):
            key = scene.key()
            group.middle = Phrase(french=[Word("bien", key)])
            clause.rest.insert(0, Phrase(english=[Word("well", key)]))
        elif manners:
            clause.manner = phrase(scene.key(), *self._draw.pick(manners))

    def _places(self, scene: Scene, clause: Clause) -> None:
        """Add a place if the verb needs one, or company or a beneficiary if it allows one."""
        draw, entry = self._draw, clause.group.verb
        if entry.needs == "place":
            clause.rest.append(self._goal(scene, clause.group))
        elif "where" in entry.notes and draw.chance(0.12 + 0.2 * scene.rich):
            clause.rest.append(self.nouns.place(scene, SOMEWHERE, True))
        for english, french in (("with", "avec"), ("for", "pour")):
            if english in entry.notes and draw.chance(0.1 + 0.08 * scene.rich):
                clause.rest.append(self._companion(scene, clause.group, english, french))
                return

    def _companion(self, scene: Scene, group: Group, english: str, french: str) -> Phrase:
        """Return company or beneficiary: with her brother, for him."""
        before, someone = preposition(scene, english, french), None
        if self._draw.chance(0.35):
            someone = self.pronouns.someone(scene, group.subject, "stressed")
        return before + (someone or self.nouns.about(scene, PERSONS, small=True))

    def _goal(self, scene: Scene, group: Group) -> Phrase:
        """Return the place that the verb requires."""
        if "into" in group.verb.notes:
            inside = Phrase(french=[Word("dans", group.main)])
            return inside + self.nouns.about(scene, ("inside",), small=True)
        vehicle = group.subject.kinds[0] == "vehicle"
        known = ("at", "from") if vehicle else ("in", "at", "to", "from", "near", "home")
        return self.nouns.place(scene, tuple(p for p in group.verb.notes if p in known), True)

    def _relative_clause(self, scene: Scene, noun: Phrase, time: str) -> Phrase:
        """Return a relative clause with its pronoun."""
        person = noun.kinds[0] in PERSONS
        roll = self._draw.weighted(((50, "subject"), (35, "object"), (15, "other")))
        if roll == "other" and person:
            whose, owned = self.nouns.whose(scene)
            return whose + statement(self.clause(scene, time, owned))
        if roll == "other" and noun.kinds[0] == "place" and not noun.plural:
            where = self._draw.pick(("live", "work", "sleep", "sing", "play", "rest"))
            return phrase(scene.key(), "where", "où") + self._bare(scene, time, verb(where), None)
        takers = verbs_taking(*noun.kinds)
        if roll != "subject" and takers:
            whom = phrase(scene.key(), "whom" if person else self._which(), "que")
            whom.french[0].before_vowel = "qu'"
            return whom + self._bare(scene, time, self._draw.pick(takers), noun)
        who = phrase(scene.key(), "who" if person else self._which(), "qui")
        who.plural, who.feminine, who.kinds = noun.plural, noun.feminine, noun.kinds
        return who + statement(self.clause(scene, time, _silent(who)))

    def _which(self) -> str:
        """Return the relative pronoun for non-persons."""
        return self._draw.weighted(((60, "which"), (40, "that")))

    def _bare(self, scene: Scene, time: str, entry: Verb, preceding: Phrase | None) -> Phrase:
        """Return a subject with this verb; the participle agrees with a preceding object."""
        group = self.group(scene, entry, time, self.subject(scene, time, entry.subjects))
        group.preceding = preceding
        if not group.negative and self._draw.chance(0.1):
            group.negation, group.negative = "not", scene.key()
        return statement(Clause(group))


def _silent(who: Phrase) -> Phrase:
    """Return a subject without words but with this one's features."""
    return Phrase([], [], who.person, who.plural, who.feminine, who.kinds)
