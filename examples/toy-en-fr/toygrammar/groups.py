"""The verb with its auxiliaries, negation, adverb and clitics, in each language's order.

Links inside the group: `does` and `is` go to the finite French verb beside the English main verb
(does see, is singing: voit, chante); `has` and `will` to a and va; a lone past form to auxiliary
and participle (saw: a vu); `not` to ne and pas; in questions `do` goes to est-ce que instead, and
any other auxiliary to est-ce que as well.
"""

from dataclasses import dataclass

from .surface import Phrase, Word
from .verbs import Verb, verb

MODALS = {"future": "will", "can": "can", "must": "must"}
FRENCH_MODALS = {"future": "go", "can": "can", "must": "must", "want": "want"}
COMPOUND = ("past", "perfect", "pluperfect")
NEGATIONS = {"not": "pas", "never": "jamais", "no longer": "plus", "nothing": "rien", "nobody": ""}
REFLEXIVES = ("me", "te", "se", "nous", "se")


@dataclass(slots=True)
class Group:
    """The content of a clause's verb group.

    :param negation: a key of NEGATIONS, or nothing.
    :param middle: an adverb between auxiliary and participle: often, souvent.
    :param preceding: the direct object where it stands before the verb, for the participle.
    :param inverted: whether it is a question that English forms with an auxiliary in front.
    """

    verb: Verb
    tense: str
    subject: Phrase
    negation: str = ""
    middle: Phrase | None = None
    preceding: Phrase | None = None
    inverted: bool = False
    main: int = 0
    auxiliary: int = 0
    negative: int = 0
    question: int = 0

    @property
    def compound(self) -> bool:
        """True if French uses an auxiliary with the participle."""
        return self.tense in COMPOUND and not (self.verb.state and self.tense == "past")

    @property
    def french_form(self) -> int:
        """Index of the subject's form in French paradigms: je, tu, il, nous, ils."""
        if self.subject.person == 1:
            return 3 if self.subject.plural else 0
        return 1 if self.subject.person == 2 else 4 if self.subject.plural else 2


def _be(subject: Phrase, past: bool) -> str:
    """Return am, is, are, was or were."""
    many = subject.plural or subject.person == 2
    if past:
        return "were" if many else "was"
    return "are" if many else "am" if subject.person == 1 else "is"


def english_group(group: Group) -> tuple[list[Word], list[Word]]:
    """Return the English words before the subject of a question, and the rest."""
    chain, auxiliary = _chain(group)
    middle: list[Word] = []
    if group.negation in ("not", "never", "no longer"):
        middle = [Word(word, group.negative) for word in group.negation.split()]
    if group.middle is not None:
        middle += group.middle.english
    if group.inverted:
        front = chain[0]
        if front.text not in ("do", "does", "did"):
            front = Word(front.text, front.keys | group.question)
        return [front], middle + chain[1:]
    if not auxiliary:
        return [], middle + chain
    if chain[0].text == "can" and group.negation == "not":
        return [], [Word("cannot", chain[0].keys | group.negative), *middle[1:], *chain[1:]]
    return [], [chain[0], *middle, *chain[1:]]


def _chain(group: Group) -> tuple[list[Word], bool]:
    """Return the English verb forms in order; True if the first is an auxiliary or `be`."""
    entry, tense = group.verb, group.tense
    main, first = group.main, group.auxiliary
    third = group.subject.person == 3 and not group.subject.plural
    if tense in MODALS:
        return [Word(MODALS[tense], first), Word(entry.base, main)], True
    if tense in ("progressive", "past progressive"):
        return [
            Word(_be(group.subject, tense.startswith("past")), main),
            Word(entry.gerund, main),
        ], True
    if tense in ("perfect", "pluperfect"):
        have = "had" if tense == "pluperfect" else "has" if third else "have"
        return [Word(have, first), Word(entry.participle, main)], True
    if entry.base == "be":
        return [Word(_be(group.subject, tense == "past"), main)], True
    if group.inverted or group.negation == "not":
        return _with_do(group, third), True
    if tense == "want":
        wants = Word("wants" if third else "want", first)
        return [wants, Word("to", main), Word(entry.base, main)], False
    form = entry.past if tense == "past" else entry.third if third else entry.base
    return [Word(form, main)], False


def _with_do(group: Group, third: bool) -> list[Word]:
    """Return forms with do: does see, did see, does want to see."""
    past = group.tense == "past"
    key = group.question if group.inverted else group.main
    if not group.inverted and (group.compound or group.tense == "want"):
        key = group.auxiliary
    do = Word("did" if past else "does" if third else "do", key)
    if group.tense == "want":
        want = Word("want", group.auxiliary)
        return [do, want, Word("to", group.main), Word(group.verb.base, group.main)]
    return [do, Word(group.verb.base, group.main)]


def french_group(group: Group, clitics: list[Phrase]) -> list[Word]:
    """Return the French words from ne to the last verb form.

    :param clitics: pronoun objects, which are put in their order here.
    """
    before = [word for clitic in sorted(clitics, key=_rank) for word in clitic.french]
    if group.verb.reflexive:
        pronoun = REFLEXIVES[group.french_form]
        before.insert(0, Word(pronoun, group.main, "" if pronoun == "nous" else pronoun[0] + "'"))
    finite, rest = _forms(group)
    negation = [Word(w, group.negative) for w in NEGATIONS.get(group.negation, "").split()]
    ne = [Word("ne", group.negative, "n'")] if group.negative else []
    middle = group.middle.french if group.middle is not None else []
    if group.tense in FRENCH_MODALS:
        return [*ne, finite, *negation, *middle, *before, *rest]
    return [*ne, *before, finite, *negation, *middle, *rest]


def _rank(clitic: Phrase) -> int:
    """Return the position of a clitic in the sequence."""
    return clitic.clitic


def _forms(group: Group) -> tuple[Word, list[Word]]:
    """Return the finite French form, and the participle or infinitive after it."""
    entry, form = group.verb, group.french_form
    if group.tense in FRENCH_MODALS:
        modal = verb(FRENCH_MODALS[group.tense]).present[form]
        return Word(modal, group.auxiliary), [Word(entry.infinitive, group.main)]
    if group.compound:
        helper = verb("be") if entry.with_be else verb("have")
        forms = helper.imperfect(form) if group.tense == "pluperfect" else helper.present[form]
        return Word(forms, _auxiliary_key(group)), [Word(_participle(group), group.main)]
    if group.tense == "imperative":
        return Word(entry.imperative, group.main), []
    past = group.tense in ("past", "past progressive")
    return Word(entry.imperfect(form) if past else entry.present[form], group.main), []


def _auxiliary_key(group: Group) -> int:
    """Return the key of a and est: that of has, had, did, or of the English past form."""
    if group.tense == "past" and (group.inverted or group.negation != "not"):
        return group.main
    return group.auxiliary


def _participle(group: Group) -> str:
    """Return the participle: agrees with the subject (être) or a preceding object (avoir)."""
    like = group.subject if group.verb.with_be else group.preceding
    if like is None:
        return group.verb.french_participle
    return group.verb.agree(like.feminine, like.plural)


def infinitive(entry: Verb, clitics: list[Phrase], key: int, form: int) -> list[Word]:
    """Return a French infinitive with its clitics: le lui donner, se reposer.

    :param form: the subject's place among je, tu, il, nous, ils.
    """
    before = [word for clitic in sorted(clitics, key=_rank) for word in clitic.french]
    if entry.reflexive:
        before.insert(0, Word(REFLEXIVES[form], key))
    return [*before, Word(entry.infinitive, key)]
