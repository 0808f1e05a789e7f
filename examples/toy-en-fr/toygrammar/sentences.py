"""Whole sentences: joined clauses, questions, orders and exclamations."""

from .clauses import Clause, statement
from .draw import Draw
from .groups import Group
from .lexicon import PERSONS
from .nouns import Scene
from .predicates import Predicates
from .questions import Questions
from .surface import Phrase, Word, finish_english, finish_french, phrase
from .verbs import verb

# Target numbers of English words: (weight, minimum, maximum). Actual lengths vary around them.
LENGTHS = (
    (20, (3, 6)),
    (34, (6, 10)),
    (24, (10, 15)),
    (12, (15, 22)),
    (6, (22, 32)),
    (4, (32, 62)),
)
CLAUSE = 8.5  # approximate words in a clause of a long sentence
TIMES = ((48, "present"), (38, "past"), (14, "future"))
JOINTS = (
    (22, "report"),
    (18, "because"),
    (20, "and"),
    (14, "but"),
    (8, "then"),
    (8, "while"),
    (10, "same"),
)
OUTSIDE = frozenset(("but", "then", "while", "same"))  # not in reported speech
THERE = ("person", "animal", "thing", "text", "clothes", "furniture", "food")
ORDERS = ("open", "close", "wash", "take", "read", "listen", "look", "prepare", "follow", "help")
TOLD = ("say", "tell", "know", "ask")
THOUGHT = ("think", "hope", "believe")
GIFTS = ("bring", "give", "show", "send")


class Sentences:
    """Draws sentences."""

    def __init__(self, draw: Draw) -> None:
        self._draw = draw
        self._predicates = Predicates(draw)
        self._questions = Questions(draw, self._predicates)

    def sentence(self) -> tuple[list[Word], list[Word]]:
        """Return a sentence as English and French tokens."""
        draw = self._draw
        minimum, maximum = draw.weighted(LENGTHS)
        length = minimum + (maximum - minimum) * draw.uniform()
        scene = Scene(rich=min(1.0, max(0.0, (length - 4) / 6)))
        content, mark = self._whole(scene, length)
        end = scene.key()
        english = [*content.english, Word(mark, end)]
        return finish_english(english), finish_french([*content.french, Word(mark, end)])

    def _whole(self, scene: Scene, length: float) -> tuple[Phrase, str]:
        """Return the content and the final punctuation mark."""
        draw, time = self._draw, self._draw.weighted(TIMES)
        if length < 16:
            if draw.chance(0.22):
                return self._questions.ask(scene, time), "?"
            if draw.chance(0.035):
                return self._order(scene)
            if draw.chance(0.01):
                return self._exclamation(scene), "!"
        return self._long(scene, time, max(1, round(length / CLAUSE))), "."

    def _long(self, scene: Scene, time: str, clauses: int) -> Phrase:
        """Return a statement of several clauses, perhaps with a when or if clause first."""
        draw = self._draw
        if clauses == 1 or not draw.chance(0.3):
            return self._chain(scene, time, clauses, frozenset(), first=True)
        if time == "future" or (time == "present" and draw.chance(0.4)):
            opener, first = phrase(scene.key(), "if", "si"), "present"
            opener.french[0].before_vowel = "s'"
        else:
            opener, first = phrase(scene.key(), "when", "quand"), time
        scene.positive, scene.dated = True, True
        before = opener + self._simple(scene, first)
        scene.positive = False
        before += phrase(scene.key(), ",", ",")
        return before + self._chain(scene, time, clauses - 1, frozenset(("while", "report")))

    def _chain(
        self, scene: Scene, time: str, clauses: int, used: frozenset[str], first: bool = False
    ) -> Phrase:
        """Return a statement of several joined clauses.

        :param used: conjunctions that must not be repeated; `reported` marks reported speech.
        """
        if clauses <= 1:
            return self._simple(scene, time, first)
        barred = used | (OUTSIDE if "reported" in used else frozenset())
        if time in ("future", "before"):
            barred |= {"report"}
        if time != "present":
            barred |= {"while"}
        joint = self._draw.weighted([item for item in JOINTS if item[1] not in barred])
        if joint == "report":
            return self._report(scene, time, clauses, used)
        if joint == "same":
            return self._same(scene, time, clauses, used)
        content = self._simple(scene, time, first and joint != "while")
        content += self._joint(scene, joint)
        if joint == "and" and "reported" in used:
            content += self._that(scene, "that")
        if joint in ("because", "while"):
            used = used - {"reported"} | {joint, "report"}
        elif joint in ("but", "then"):
            used = used | {joint}
        if joint == "because" and time in ("present", "future"):
            time = "present" if time == "future" else self._draw.pick(("present", "past"))
        return content + self._chain(scene, time, clauses - 1, used)

    def _joint(self, scene: Scene, joint: str) -> Phrase:
        """Return the conjunction, with its comma if it has one."""
        french = {
            "and": "et",
            "but": "mais",
            "then": "puis",
            "because": "parce que",
            "while": "pendant que",
        }[joint]
        content = phrase(scene.key(), joint, french)
        if content.french[-1].text == "que":
            content.french[-1].before_vowel = "qu'"
        if joint in ("but", "then"):
            return phrase(scene.key(), ",", ",") + content
        return content

    def _same(self, scene: Scene, time: str, clauses: int, used: frozenset[str]) -> Phrase:
        """Return two actions of one subject: she opens the door and sees him."""
        first = self._predicates.clause(scene, time)
        subject, content = first.group.subject, statement(first)
        if first.closed or time == "before" or subject.person < 3:  # je pars et ai faim: no
            content = (
                content
                + self._joint(scene, "and")
                + statement(self._predicates.clause(scene, time))
            )
        else:
            silent = Phrase([], [], subject.person, subject.plural, subject.feminine, subject.kinds)
            second = self._predicates.clause(scene, time, silent)
            content = content + self._joint(scene, "and") + statement(second)
        if clauses <= 2:
            return content
        return content + self._turn(scene, time, clauses - 2, used)

    def _turn(self, scene: Scene, time: str, clauses: int, used: frozenset[str]) -> Phrase:
        """Return but, then or and with the clauses after it."""
        joints = [joint for joint in ("but", "then") if joint not in used] or ["and"]
        joint = self._draw.pick(joints)
        return self._joint(scene, joint) + self._chain(
            scene, time, clauses, used | {joint} - {"and"}
        )

    def _report(self, scene: Scene, time: str, clauses: int, used: frozenset[str]) -> Phrase:
        """Return reported speech: says, tells someone, knows, thinks that; asks whether."""
        base = self._draw.pick(TOLD if time == "past" else TOLD + THOUGHT)
        entry = verb(base, "tell" if base in ("tell", "ask") else "that")
        subject = self._predicates.subject(scene, time, PERSONS)
        while subject.negative:
            subject = self._predicates.subject(scene, time, PERSONS)
        clause = Clause(Group(entry, time, subject, main=scene.key(), auxiliary=scene.key()))
        if entry.needs == "tell":
            clause.recipient = self._predicates.hearer(scene, subject)
            clause.recipient_key = clause.group.main
        that = self._that(scene, "if" if base == "ask" else "that")
        return statement(clause) + that + self._reported(scene, time, clauses, used, base)

    def _that(self, scene: Scene, english: str) -> Phrase:
        """Return that or if before reported speech."""
        content = phrase(scene.key(), english, "que" if english == "that" else "si")
        content.french[0].before_vowel = "qu'" if english == "that" else "s'"
        return content

    def _reported(
        self, scene: Scene, time: str, clauses: int, used: frozenset[str], base: str
    ) -> Phrase:
        """Return the reported clause, in imparfait or plus-que-parfait after a past."""
        draw, about = self._draw, "before"
        if time == "present":
            about = draw.weighted(((50, "present"), (25, "past"), (25, "future")))
            about = "future" if base == "hope" else about
        elif draw.chance(0.4):
            about = "was"
        if base != "ask" and about != "was":
            used = used | {"reported"} | ({"report"} if draw.chance(0.5) else set())
            return self._chain(scene, about, clauses - 1, used)
        if about == "was":
            content = statement(self._predicates.describe(scene, "past"))
        else:
            content = self._simple(scene, about)
        if clauses <= 2:
            return content
        return (
            content
            + self._joint(scene, draw.pick(("but", "then")))
            + self._chain(scene, time, clauses - 2, used - {"reported"} | {"report"})
        )

    def _simple(self, scene: Scene, time: str, first: bool = False) -> Phrase:
        """Return a single clause with optional additions.

        :param first: whether it opens the sentence, so that its time may come first.
        """
        draw = self._draw
        if draw.chance(0.03) and time != "before":
            return self._weather(scene, time)
        if first and time != "future" and draw.chance(0.06):
            return self._there_is(scene, time)
        clause = self._predicates.clause(scene, time)
        content = statement(clause) + self._purpose(scene, clause)
        when = self._predicates.time(scene, clause, time) if time != "before" else None
        if when is None or not draw.chance(0.16):
            return content
        scene.timed = True
        if first and draw.chance(0.5):
            return when + phrase(scene.key(), ",", ",") + content
        return content if clause.closed else content + when

    def _purpose(self, scene: Scene, clause: Clause) -> Phrase:
        """Return an infinitive clause, mostly none: to buy the bread, without seeing her."""
        group, draw = clause.group, self._draw
        person = group.subject.kinds[0] in PERSONS
        if not person or group.negative or not draw.chance(0.12 * scene.rich):
            return Phrase()
        if group.verb.base in ("go", "come", "enter", "run", "leave"):
            return self._predicates.purpose(scene, group.subject, "to", "pour")
        if group.verb.needs not in ("none", "place") or group.verb.state:
            return Phrase()
        how = draw.pick((("without", "sans"), ("before", "avant de")))
        return self._predicates.purpose(scene, group.subject, *how)

    def _weather(self, scene: Scene, time: str) -> Phrase:
        """Return a weather sentence: It rains, it is snowing."""
        subject = self._predicates.nouns.pronoun(scene, "it", "subject")
        subject.kinds = ("sky",)
        group = self._predicates.group(
            scene, verb(self._draw.pick(("rain", "snow"))), time, subject
        )
        clause = Clause(group)
        place = self._draw.chance(0.4)
        return statement(clause) + (self._predicates.nouns.town(scene, "in") if place else Phrase())

    def _there_is(self, scene: Scene, time: str) -> Phrase:
        """Return a sentence with there is: There are two birds in the tree."""
        there, verb_key, negative = scene.key(), scene.key(), scene.key()
        negated = self._draw.chance(0.15)
        noun = self._predicates.nouns.some(scene, THERE, negated)
        past = time == "past"
        english = ("were" if past else "are") if noun.plural else ("was" if past else "is")
        content = Phrase([Word("there", there), Word(english, verb_key)])
        content.english += [Word("not", negative)] if negated else []
        content.french = [Word("il", there)] + ([Word("ne", negative, "n'")] if negated else [])
        content.french += [Word("y", there), Word("avait" if past else "a", verb_key)]
        content.french += [Word("pas", negative)] if negated else []
        return content + noun + (self._predicates.place(scene, noun) or Phrase())

    def _order(self, scene: Scene) -> tuple[Phrase, str]:
        """Return an order: Close the door! Do not give it to him, please."""
        draw = self._draw
        you = Phrase(person=2, kinds=("person",))
        entry = verb(draw.pick(ORDERS + GIFTS))
        group = Group(entry, "imperative", you, main=scene.key(), auxiliary=scene.key())
        if draw.chance(0.3):
            group.negation, group.negative = "not", scene.key()
        clause = self._predicates.ordered(scene, group)
        content, mark = statement(clause), draw.pick((".", "!"))
        if draw.chance(0.35):
            please = scene.key()
            words = [Word(w, please) for w in ("s'", "il", "te", "plaît")]
            return content + phrase(scene.key(), ",", ",") + Phrase(
                [Word("please", please)], words
            ), "."
        return content, mark

    def _exclamation(self, scene: Scene) -> Phrase:
        """Return an exclamation: What a beautiful house!"""
        draw, key = self._draw, scene.key()
        scene.rich = 1.5
        plural = draw.chance(0.3)
        noun = self._predicates.nouns.bare(scene, ("animal", "thing", "clothes", "place"), plural)
        french = (("quel", "quelle"), ("quels", "quelles"))[plural][noun.feminine]
        what = [Word("what", key)] + ([] if plural else [Word("a", key, "an")])
        return Phrase(what, [Word(french, key)]) + noun
