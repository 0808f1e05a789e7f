"""Choose pronouns so that their French gender follows from the English sentence.

I, you and we are masculine and you is one friend (tu). `it` and `they` (`them`) refer to the only
singular thing or animal, or the only plural, that the sentence has named before, and take its
gender. Without one they are masculine; if there are several they are not used.
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
        antecedent = scene.single[0] if scene.single else None
        others = tuple(kind for kind in kinds if kind not in PERSONS)
        if len(scene.single) > 1 or not others:
            return None
        if antecedent is not None and not set(antecedent.kinds) & set(kinds):
            return None
        feminine = antecedent is not None and antecedent.feminine
        result = self._nouns.pronoun(scene, "it (f)" if feminine else "it", role)
        result.kinds = antecedent.kinds if antecedent is not None else NOUNS_OF[others[0]][0].kinds
        return result

    def they(self, scene: Scene, role: str, kinds: Sequence[str]) -> Phrase | None:
        """Return `they` or `them` for one of these kinds, or None without a clear antecedent."""
        antecedent = scene.several[0] if scene.several else None
        if len(scene.several) > 1:
            return None
        if antecedent is not None and not set(antecedent.kinds) & set(kinds):
            return None
        feminine = antecedent is not None and antecedent.feminine
        result = self._nouns.pronoun(scene, "they (f)" if feminine else "they", role)
        result.kinds = antecedent.kinds if antecedent is not None else tuple(kinds[:1])
        return result

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
        result = phrase(key, "nobody", "personne")
        result.kinds, result.negative, result.closed = ("person",), key, True
        return result

    def none(self, scene: Scene, group: Group) -> Phrase:
        """Return nothing or nobody as direct object: ne ... rien, or personne after the verb."""
        group.negative = scene.key()
        if group.verb.objects[0] in PERSONS:
            group.negation = "nobody"
            result = phrase(group.negative, "nobody", "personne")
        else:
            group.negation = "nothing"
            result = Phrase([Word("nothing", group.negative)], [])
        result.closed = True
        return result
