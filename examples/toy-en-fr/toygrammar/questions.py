"""Questions: with yes or no, and with a question word."""

from .clauses import Clause, question, statement
from .draw import Draw
from .lexicon import PERSONS
from .nouns import Scene, preposition
from .predicates import Predicates
from .surface import Phrase, Word, phrase
from .verbs import VERBS, Verb

ASKED = ("food", "thing", "clothes", "text", "drink", "meal", "animal", "song", "idea")
WHICH = (("quel", "quelle"), ("quels", "quelles"))
FORMS = (
    (34, "yes or no"),
    (10, "who does"),
    (14, "what"),
    (8, "whom"),
    (9, "which"),
    (7, "how many"),
    (8, "where"),
    (10, "when or why"),
    (5, "with whom"),
    (5, "to whom"),
    (6, "where is"),
)


class Questions:
    """Draws questions, without the question mark."""

    def __init__(self, draw: Draw, predicates: Predicates) -> None:
        self._draw = draw
        self._predicates = predicates

    def ask(self, scene: Scene, time: str) -> Phrase:
        """Return a question in a time: `present`, `past` or `future`."""
        form = self._draw.weighted(FORMS)
        if form == "yes or no":
            return question(self._predicates.clause(scene, time), Phrase())
        if form == "who does":
            return self._who(scene, time)
        if form == "where is":
            return self._where_is(scene, time)
        if form == "when or why":
            words = [("why", "pourquoi"), ("how", "comment")]
            words += [("when", "quand")] if time != "present" else []
            lead = phrase(scene.key(), *self._draw.pick(words))
            return question(self._plain(scene, time), lead)
        if form in ("where", "with whom", "to whom"):
            return self._around(scene, time, form)
        return self._object(scene, time, form)

    def _who(self, scene: Scene, time: str) -> Phrase:
        """Return a subject question, in statement order: Who sees the dog?"""
        who = phrase(scene.key(), "who", "qui")
        who.kinds, who.closed = ("person",), True
        return statement(self._predicates.clause(scene, time, who))

    def _where_is(self, scene: Scene, time: str) -> Phrase:
        """Return a question such as: Where are the keys? Où sont les clés ?"""
        past = time == "past"
        kinds = ("thing", "clothes", "person", "kin", "animal", "vehicle", "text")
        noun, key = self._predicates.nouns.about(scene, kinds), scene.key()
        english = ("were" if past else "are") if noun.plural else ("was" if past else "is")
        french = ("étaient" if past else "sont") if noun.plural else ("était" if past else "est")
        return phrase(scene.key(), "where", "où") + phrase(key, english, french) + noun

    def _plain(self, scene: Scene, time: str) -> Clause:
        """Return a clause about an action, for questions of time or reason."""
        actions = [v for v in VERBS if v.needs in ("none", "place", "direct") and not v.state]
        subject = self._subject(scene)
        verbs = [v for v in actions if subject.kinds[0] in v.subjects]
        return self._predicates.doing(scene, time, subject, self._draw.pick(verbs))

    def _subject(self, scene: Scene) -> Phrase:
        """Return the person as subject."""
        return self._predicates.subject(scene, "present", PERSONS)

    def _clause(self, scene: Scene, time: str, verbs: list[Verb]) -> Clause:
        """Return a clause with one of these verbs and a personal subject."""
        entry = self._draw.pick([v for v in verbs if time == "past" or not v.state])
        while True:
            subject = self._subject(scene)
            if not subject.negative:
                return Clause(self._predicates.group(scene, entry, time, subject))

    def _around(self, scene: Scene, time: str, form: str) -> Phrase:
        """Return a question for an adjunct: Where does she sing? With whom?"""
        if form == "where":
            verbs = [v for v in VERBS if "where" in v.notes and v.needs == "none"]
            verbs += [v for v in VERBS if v.base in ("go", "stay", "arrive", "live")]
            lead = phrase(scene.key(), "where", "où")
            return question(self._clause(scene, time, verbs), lead)
        if form == "with whom":
            lead = preposition(scene, "with", "avec") + phrase(scene.key(), "whom", "qui")
            verbs = [v for v in VERBS if "with" in v.notes and v.needs == "none"]
            return question(self._clause(scene, time, verbs), lead)
        lead = preposition(scene, "to") + phrase(scene.key(), "whom", "qui")
        clause = self._clause(scene, time, [v for v in VERBS if v.needs == "gift"])
        clause.direct = self._predicates.object_of(scene, clause.group)
        return question(clause, lead)

    def _object(self, scene: Scene, time: str, form: str) -> Phrase:
        """Return an object question: What, which apple, how many apples does she eat?"""
        kinds = PERSONS[:1] if form == "whom" else (self._draw.pick(ASKED),)
        counted = form in ("which", "how many")
        if counted:
            kinds = (self._draw.pick([k for k in ASKED if k not in ("drink", "meal")]),)
        verbs = [v for v in VERBS if v.needs == "direct" and kinds[0] in v.objects]
        lead = self._lead(scene, form, kinds)
        clause = self._clause(scene, time, verbs)
        clause.group.preceding = lead if counted else None
        return question(clause, lead)

    def _lead(self, scene: Scene, form: str, kinds: tuple[str, ...]) -> Phrase:
        """Return the interrogative words for the object."""
        key, draw = scene.key(), self._draw
        if form == "what":
            return Phrase([Word("what", key)], [Word("que", key, "qu'")])
        if form == "whom":
            return phrase(key, "who", "qui")
        plural = form == "how many" or draw.chance(0.35)
        noun = self._predicates.nouns.bare(scene, kinds, plural)
        if form == "which":
            noun.english.insert(0, Word("which", key))
            noun.french.insert(0, Word(WHICH[plural][noun.feminine], key))
            return noun
        many = scene.key()
        noun.english[:0] = [Word("how", key), Word("many", many)]
        noun.french[:0] = [Word("combien", key), Word("de", many, "d'")]
        return noun
