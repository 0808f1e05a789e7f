"""Which pronoun may stand where, so that its French gender follows from the English sentence.

I, you and we are masculine and you is one friend (tu). `it` and `they` (`them`) mean the only
singular thing or animal, the only plural, that the sentence named before them, and take its
gender; where none was named they are masculine; where several were, they are not used.
"""

from collections.abc import Sequence

from .draw import Draw
from .groups import Group
from .lexicon import NOUNS_OF, PERSONS
from .nouns import NounPhrases, Scene
from .surface import Phrase, Word, phrase

SPEAKERS = ((22, "I"), (17, "you"), (20, "he"), (20, "she"), (11, "we"), (10, "they"))
HEARERS = ((18, "I"), (12, "you"), (22, "he"), (22, "she"), (10, "we"), (16, "they"))


class Pronouns:
    """Draws pronouns for persons and antecedents."""

    def __init__(self, draw: Draw, nouns: NounPhrases) -> None:
        self._draw = draw
        self._nouns = nouns

    def subject(self, scene: Scene, kinds: Sequence[str]) -> Phrase:
        """Return a personal pronoun as subject."""
        name = self._draw.weighted(SPEAKERS)
        they = self.they(scene, "subject", kinds) if name == "they" else None
        return they or self._nouns.pronoun(scene, "he" if name == "they" else name, "subject")

    def it(self, scene: Scene, role: str, kinds: Sequence[str]) -> Phrase | None:
        """Return `it` for one of these kinds, or None without a clear antecedent."""
        meant = scene.single[0] if scene.single else None
        others = tuple(kind for kind in kinds if kind not in PERSONS)
        if len(scene.single) > 1 or not others:
            return None
        if meant is not None and not set(meant.kinds) & set(kinds):
            return None
        feminine = meant is not None and meant.feminine
        done = self._nouns.pronoun(scene, "it (f)" if feminine else "it", role)
        done.kinds = meant.kinds if meant is not None else NOUNS_OF[others[0]][0].kinds
        return done

    def they(self, scene: Scene, role: str, kinds: Sequence[str]) -> Phrase | None:
        """Return `they` or `them` for one of these kinds, or None without a clear antecedent."""
        meant = scene.several[0] if scene.several else None
        if len(scene.several) > 1:
            return None
        if meant is not None and not set(meant.kinds) & set(kinds):
            return None
        feminine = meant is not None and meant.feminine
        done = self._nouns.pronoun(scene, "they (f)" if feminine else "they", role)
        done.kinds = meant.kinds if meant is not None else tuple(kinds[:1])
        return done

    def someone(
        self, scene: Scene, subject: Phrase, role: str, kinds: Sequence[str] = PERSONS
    ) -> Phrase | None:
        """Return me, you, him, her, us or them; None if it would be reflexive.

        :param role: `direct`, `indirect` or `stressed`.
        """
        name = self._draw.weighted(HEARERS)
        if subject.person == 1 and name in ("I", "we") or subject.person == 2 and name == "you":
            return None
        if name == "they":
            return None if subject.plural else self.they(scene, role, kinds)
        return self._nouns.pronoun(scene, name, role)

    def nobody(self, scene: Scene) -> Phrase:
        """Return nobody as subject; its key requires ne."""
        key = scene.key()
        done = phrase(key, "nobody", "personne")
        done.kinds, done.negative, done.closed = ("person",), key, True
        return done

    def none(self, scene: Scene, group: Group) -> Phrase:
        """Return nothing or nobody as direct object: ne ... rien, or personne after the verb."""
        group.negative = scene.key()
        if group.verb.objects[0] in PERSONS:
            group.negation = "nobody"
            done = phrase(group.negative, "nobody", "personne")
        else:
            group.negation = "nothing"
            done = Phrase([Word("nothing", group.negative)], [])
        done.closed = True
        return done
