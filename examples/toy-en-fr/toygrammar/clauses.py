"""Word order of a clause: subject, verb group and complements, as statement or question."""

from dataclasses import dataclass, field

from .groups import Group, english_group, french_group
from .lexicon import PREPOSITIONS
from .surface import Phrase, Word


@dataclass(slots=True)
class Clause:
    """The content of a clause before word order.

    :param direct: the direct object, a clitic or a noun phrase.
    :param recipient: the recipient; `recipient_first` is True for gives her the book.
    :param manner: an adverb of manner, before the object in French, after it in English.
    :param rest: places, company and times, which come last in both languages.
    :param recipient_key: links French à where English has no `to`; the particle's otherwise.
    """

    group: Group
    direct: Phrase | None = None
    recipient: Phrase | None = None
    recipient_first: bool = False
    recipient_key: int = 0
    manner: Phrase | None = None
    rest: list[Phrase] = field(default_factory=list)

    @property
    def closed(self) -> bool:
        """True if an object or subject ends in a clause of its own."""
        parts = [self.group.subject, self.direct, self.recipient, *self.rest]
        return any(part.closed for part in parts if part is not None)


def statement(clause: Clause) -> Phrase:
    """Return the clause as a statement; relative and interrogative subjects come first too."""
    subject = clause.group.subject
    _, english = english_group(clause.group)
    after = _after(clause)
    result = Phrase(
        subject.english + english + after.english, subject.french + _french(clause) + after.french
    )
    result.closed = clause.closed
    return result


def question(clause: Clause, lead: Phrase) -> Phrase:
    """Return the clause as a question with est-ce que.

    :param lead: the question word, or an empty phrase for a yes-no question.
    """
    clause.group.inverted = True
    key, subject = clause.group.question, clause.group.subject
    front, english = english_group(clause.group)
    after = _after(clause)
    asked = [Word("est-ce", key), Word("que", key, "qu'")]
    return Phrase(
        lead.english + front + subject.english + english + after.english,
        lead.french + asked + subject.french + _french(clause) + after.french,
    )


def _french(clause: Clause) -> list[Word]:
    """Return the French verb group with the clause's clitics."""
    if clause.direct is not None and clause.direct.clitic:
        clause.group.preceding = clause.direct
    return french_group(clause.group, clitics(clause))


def clitics(clause: Clause) -> list[Phrase]:
    """Return the objects before the French verb."""
    objects = [clause.direct, clause.recipient]
    return [phrase for phrase in objects if phrase is not None and phrase.clitic]


def _after(clause: Clause) -> Phrase:
    """Return the words after the verb group."""
    english, french = objects(clause)
    if clause.manner is not None:
        english, french = english + clause.manner.english, clause.manner.french + french
    for part in clause.rest:
        english, french = english + part.english, french + part.french
    return Phrase(english, french)


def objects(clause: Clause) -> tuple[list[Word], list[Word]]:
    """Return the objects after the verb, with the English particle and the French à."""
    particle, needs = clause.group.verb.particle, clause.group.verb.needs
    direct = clause.direct
    english = [Word(particle, clause.group.main)] if particle and needs == "direct" else []
    french: list[Word] = []
    if direct is not None:
        english = english + direct.english
        french = french if direct.clitic else direct.french
    if clause.recipient is not None:
        english, french = _with_recipient(clause, english, french)
    return english, french


def _with_recipient(
    clause: Clause, english: list[Word], french: list[Word]
) -> tuple[list[Word], list[Word]]:
    """Return objects with the recipient: it to her, her the book, to the man."""
    recipient = clause.recipient
    assert recipient is not None
    if clause.recipient_first:
        english = recipient.english + english
    else:
        to = [Word("to", clause.recipient_key)] if _has_to(clause) else []
        english = english + to + recipient.english
    if not recipient.clitic:
        french = [*french, Word(PREPOSITIONS["to"], clause.recipient_key), *recipient.french]
    elif _has_to(clause):
        recipient.french[0].keys |= clause.recipient_key
    return english, french


def _has_to(clause: Clause) -> bool:
    """Return True if English puts `to` before the recipient."""
    verb = clause.group.verb
    if verb.needs == "gift":
        return not clause.recipient_first
    return verb.particle == "to"
