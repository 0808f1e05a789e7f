"""All words except verbs: nouns, adjectives, names, pronouns, adverbs, and their inflection.

Nouns and adjectives are tables with one word per line, and with irregular French forms. A noun's
kind determines the verbs and adjectives that suit it; the last column has the prepositions with
which it is a place.
"""

from dataclasses import dataclass
from functools import cache

NOUNS_TABLE = """
man/men | homme m | person
woman/women | femme f | person
boy | garçon m | person
girl | fille f | person
child/children | enfant m | person
king | roi m | person
queen | reine f | person
doctor | médecin m | person
teacher | professeur m | person
farmer | fermier m | person
baker | boulanger m | person
student | étudiant m | person
neighbour | voisin m | person
soldier | soldat m | person
singer | chanteur m | person
nurse | infirmière f | person
princess | princesse f | person
hero/heroes | héros m | person
friend | ami m | person
mother | mère f | kin
father | père m | kin
sister | sœur f | kin
brother | frère m | kin
aunt | tante f | kin
uncle | oncle m | kin
grandmother | grand-mère/grands-mères f | kin
son | fils m | kin
daughter | fille f | kin
dog | chien m | animal
cat | chat m | animal
horse | cheval m | animal
bird | oiseau m | animal
cow | vache f | animal
owl | hibou/hiboux m | animal
mouse/mice | souris f | animal
apple | pomme f | food
egg | œuf m | food
cake | gâteau m | food
bread | pain m | meal
meat | viande f | meal
soup | soupe f | meal
water | eau f | drink
milk | lait m | drink
coffee | café m | drink
tea | thé m | drink
wine | vin m | drink
book | livre m | text
letter | lettre f | text
newspaper | journal m | text
story | histoire f | text
key | clé f | thing
bag | sac m | thing
knife/knives | couteau m | thing
cup | tasse f | thing
flower | fleur f | thing
watch | montre f | thing
gift | cadeau m | thing
umbrella | parapluie m | thing
painting | tableau m | thing
box | boîte f | thing
hat | chapeau m | clothes
coat | manteau m | clothes
dress | robe f | clothes
shoe | chaussure f | clothes
chair | chaise f | furniture | on under behind
table | table f | furniture | on under near
bed | lit m | furniture | on under near
car | voiture f | vehicle | in behind near
train | train m | vehicle | in
boat | bateau m | vehicle | on near
bicycle | vélo m | vehicle
door | porte f | part | behind near
window | fenêtre f | part | near
house | maison f | place | in behind near
garden | jardin m | place | in
school | école f | place | at to behind near
church | église f | place | in to behind near
street | rue f | place | in
village | village m | place | in to from near
forest | forêt f | place | in near
river | rivière f | place | near
mountain | montagne f | place | on
station | gare f | place | at to from near
shop | magasin m | place | in behind
kitchen | cuisine f | place | in
bedroom | chambre f | place | in
hospital | hôpital m | place | at to from near
castle | château m | place | in to near
bridge | pont m | place | on under near
market | marché m | place | at to from
island | île f | place | on
beach | plage f | place | on to
restaurant | restaurant m | place | at to
museum | musée m | place | at to from
library | bibliothèque f | place | at to from
park | parc m | place | in to
tree | arbre m | tree | under behind near in
song | chanson f | song
question | question f | idea
secret | secret m | idea
problem | problème m | idea
"""

NARROW = {  # narrower kinds, by the English singulars of their nouns
    "bird": ("bird",),
    "train": ("train", "boat"),
    "house": ("house", "garden", "castle"),
    "secret": ("secret",),
    "box": ("box", "umbrella", "letter", "bag"),
    "cup": ("cup", "knife"),
    "painting": ("painting", "flower"),
    "sight": ("castle", "museum", "church", "island", "village", "garden", "house"),
    "car": ("car", "train"),
    "letter": ("letter",),
    "writing": ("letter", "story", "book"),
    "gift": ("gift", "painting", "flower", "key"),
    "apple": ("apple",),
    "wine": ("wine",),
    "dish": ("soup", "meat", "cake", "coffee", "tea"),
    "lady": ("woman", "girl", "queen", "princess", "nurse"),
    "own": ("house", "garden", "school", "village", "shop", "kitchen", "bedroom"),
    "inside": ("house", "castle", "kitchen", "church", "shop", "museum", "forest", "bedroom"),
}
# English | French masculine, irregular feminine and plurals | position | kinds | comparative
ADJECTIVES_TABLE = """
small | petit | before | person animal thing clothes vehicle furniture place part tree text food | smaller
big | grand | before | animal thing clothes vehicle furniture place part tree | bigger
tall | grand | after | person kin | taller
old | vieux:vieil vieille | before | person kin animal thing clothes vehicle furniture place part tree text song | older
young | jeune | before | person animal | younger
beautiful | beau:bel belle beaux | before | person kin animal thing clothes vehicle place tree song text | more
pretty | joli | before | lady thing clothes place song | prettier
new | nouveau:nouvel nouvelle nouveaux | before | thing clothes vehicle text place furniture song |
good | bon bonne | before | person food meal drink text idea | very
bad | mauvais | before | person food meal drink text idea | very
long | long longue | before | text song | longer
red | rouge | after | thing clothes vehicle furniture part apple wine |
blue | bleu | after | thing clothes vehicle furniture part |
green | vert | after | thing clothes vehicle furniture part apple |
black | noir | after | animal thing clothes vehicle |
white | blanc blanche | after | animal thing clothes vehicle part furniture wine |
heavy | lourd | after | thing furniture | heavier
strong | fort | after | person animal | stronger
clever | intelligent | after | person kin animal | more
rich | riche | after | person kin | richer
poor | pauvre | after | person kin | very
happy | heureux | after | person kin | happier
sad | triste | after | person kin song text | sadder
tired | fatigué | after | person kin animal | more
sick | malade | after | person kin animal | very
famous | célèbre | after | person place text song | more
expensive | cher chère | after | thing clothes vehicle furniture food meal drink | more
empty | vide | after | place |
clean | propre | after | clothes furniture vehicle place | very
dirty | sale | after | clothes furniture vehicle place animal | very
cold | froid | after | meal drink | very
hot | chaud | after | meal drink | very
dangerous | dangereux | after | animal idea | more
French | français | after | person meal drink text song |
Italian | italien italienne | after | person vehicle clothes text song meal drink |
English | anglais | after | person vehicle text song |
curious | curieux | after | person animal idea | more
kind | gentil gentille | after | person kin | kinder
serious | sérieux | after | person idea | more
important | important | after | person text idea | more
"""  # noqa: E501 (one table entry per line)


@dataclass(frozen=True, slots=True)
class Noun:
    """A noun with its forms; `places` are the prepositions with which it is a place."""

    singular: str
    plural: str
    french: str
    french_plural: str
    feminine: bool
    kind: str
    places: tuple[str, ...]

    @property
    def kinds(self) -> tuple[str, ...]:
        """Its kind and narrower kinds."""
        return (self.kind, *(name for name, nouns in NARROW.items() if self.singular in nouns))

    @property
    def mass(self) -> bool:
        """True for uncountable nouns: bread, water."""
        return self.kind in ("meal", "drink")


@dataclass(frozen=True, slots=True)
class Adjective:
    """An adjective; `french` is masculine, feminine, masculine plural, feminine plural."""

    english: str
    french: tuple[str, str, str, str]
    before_vowel: str
    before_noun: bool
    kinds: tuple[str, ...]
    comparative: str  # "more": more curious; "very": no comparative but degrees; "": neither

    def agree(self, feminine: bool, plural: bool) -> str:
        """Return the French form for a gender and number."""
        return self.french[2 * plural + feminine]


@dataclass(frozen=True, slots=True)
class Pronoun:
    """A personal pronoun; French as subject, direct and indirect object, and after prepositions."""

    subject: str
    object: str
    french: str
    direct: str
    indirect: str
    stressed: str
    person: int
    plural: bool
    feminine: bool


def english_plural(word: str) -> str:
    """Return the regular plural: boys, churches, stories."""
    if word.endswith(("s", "x", "ch", "sh")):
        return word + "es"
    if word.endswith("y") and word[-2] not in "aeiou":
        return word[:-1] + "ies"
    return word + "s"


def french_plural(word: str) -> str:
    """Return the regular plural: garçons, gâteaux, journaux, souris."""
    if word.endswith(("s", "x", "z")):
        return word
    if word.endswith("al"):
        return word[:-2] + "aux"
    return word + "x" if word.endswith("eau") else word + "s"


def french_feminine(word: str) -> str:
    """Return the regular feminine of an adjective or participle: petite, heureuse, jeune."""
    if word.endswith("eux"):
        return word[:-1] + "se"
    return word if word.endswith("e") else word + "e"


def _forms(entry: str, plural_rule: str) -> tuple[str, str]:
    """Return singular and plural of an entry `singular` or `singular/plural`."""
    rule = english_plural if plural_rule == "english" else french_plural
    singular, _, plural = entry.partition("/")
    return singular, plural or rule(singular)


def _noun(line: str) -> Noun:
    """Parse a line of the table of nouns."""
    english, french, kind, *places = (column.strip() for column in line.split("|"))
    word, gender = french.split()
    return Noun(
        *_forms(english, "english"),
        *_forms(word, "french"),
        gender == "f",
        kind,
        tuple(places[0].split()) if places else (),
    )


def _adjective(line: str) -> Adjective:
    """Parse a line of the table of adjectives."""
    english, french, place, kinds, comparative = (column.strip() for column in line.split("|"))
    forms = french.split()
    masculine, _, before_vowel = forms[0].partition(":")
    feminine = forms[1] if len(forms) > 1 else french_feminine(masculine)
    plural = forms[2] if len(forms) > 2 else french_plural(masculine)
    return Adjective(
        english,
        (masculine, feminine, plural, feminine + "s"),
        before_vowel,
        place == "before",
        tuple(kinds.split()),
        comparative,
    )


NOUNS = tuple(_noun(line) for line in NOUNS_TABLE.strip().splitlines())
ADJECTIVES = tuple(_adjective(line) for line in ADJECTIVES_TABLE.strip().splitlines())

KINDS = tuple(dict.fromkeys(noun.kind for noun in NOUNS))
UNFIT = (  # adjectives with another meaning beside a French noun (beau père), or that are odd
    *(("beautiful", word) for word in ("mother", "father", "sister", "brother", "son", "daughter")),
    *(("old", word) for word in ("girl", "boy", "child", "son", "daughter")),
    *(("good", word) for word in ("woman", "man", "girl")),
    ("small", "man"),
    ("bad", "woman"),
)
UNOWNED = ("man", "woman")  # her man and his woman have another meaning
SINGLE = ("mother", "father")
PERSONS = ("person", "kin")
BEINGS = ("person", "kin", "animal")
NOUNS_OF = {kind: tuple(noun for noun in NOUNS if kind in noun.kinds) for kind in (*KINDS, *NARROW)}


@cache
def adjectives_of(kinds: tuple[str, ...], before_noun: bool) -> tuple[Adjective, ...]:
    """Return the adjectives before, or after, the noun that suit these kinds."""
    return tuple(
        a for a in ADJECTIVES if a.before_noun == before_noun and set(a.kinds) & set(kinds)
    )


PLACES = {
    preposition: tuple(n for n in NOUNS if preposition in n.places)
    for preposition in ("in", "on", "under", "behind", "near", "at", "to", "from")
}
PLACES_OF_PERSONS = {
    preposition: tuple(
        noun
        for noun in nouns
        if noun.kind in ("place", "tree", "vehicle") and (noun.kind, preposition) != ("tree", "in")
    )
    for preposition, nouns in PLACES.items()
}
PREPOSITIONS = {
    "in": "dans",
    "on": "sur",
    "under": "sous",
    "behind": "derrière",
    "near": "près de",
    "at": "à",
    "to": "à",
    "from": "de",
}

# I, you and we are masculine, and you is one friend: a fixed choice, as English does not show it.
PRONOUNS = {
    "I": Pronoun("I", "me", "je", "me", "me", "moi", 1, False, False),
    "you": Pronoun("you", "you", "tu", "te", "te", "toi", 2, False, False),
    "he": Pronoun("he", "him", "il", "le", "lui", "lui", 3, False, False),
    "she": Pronoun("she", "her", "elle", "la", "lui", "elle", 3, False, True),
    "it": Pronoun("it", "it", "il", "le", "lui", "lui", 3, False, False),
    "it (f)": Pronoun("it", "it", "elle", "la", "lui", "elle", 3, False, True),
    "we": Pronoun("we", "us", "nous", "nous", "nous", "nous", 1, True, False),
    "they": Pronoun("they", "them", "ils", "les", "leur", "eux", 3, True, False),
    "they (f)": Pronoun("they", "them", "elles", "les", "leur", "elles", 3, True, True),
}
POSSESSIVES = {  # masculine, feminine, plural; mon, ton, son also before a feminine vowel
    "my": ("mon", "ma", "mes"),
    "your": ("ton", "ta", "tes"),
    "his": ("son", "sa", "ses"),
    "her": ("son", "sa", "ses"),
    "our": ("notre", "notre", "nos"),
    "their": ("leur", "leur", "leurs"),
}
NAMES = (  # English, French, feminine
    ("Mary", "Marie", True),
    ("Helen", "Hélène", True),
    ("Alice", "Alice", True),
    ("Emma", "Emma", True),
    ("Paul", "Paul", False),
    ("Peter", "Pierre", False),
    ("John", "Jean", False),
    ("Andrew", "André", False),
)
CITIES = (("Paris", "Paris"), ("London", "Londres"), ("Rome", "Rome"), ("Geneva", "Genève"))
COUNTRIES = (("France", "France"), ("Italy", "Italie"), ("Spain", "Espagne"))
NUMBERS = (
    ("two", "deux"),
    ("three", "trois"),
    ("four", "quatre"),
    ("five", "cinq"),
    ("ten", "dix"),
)
PROFESSIONS = (  # English, French masculine, feminine
    ("doctor", "médecin", "médecin"),
    ("teacher", "professeur", "professeur"),
    ("baker", "boulanger", "boulangère"),
    ("student", "étudiant", "étudiante"),
    ("singer", "chanteur", "chanteuse"),
    ("farmer", "fermier", "fermière"),
)
FEELINGS = (("hungry", "faim"), ("thirsty", "soif"), ("cold", "froid"), ("right", "raison"))
MIDDLE_ADVERBS = (("often", "souvent"), ("always", "toujours"), ("sometimes", "parfois"))
MANNERS = {  # by the verb's note
    "slow": (("slowly", "lentement"), ("quickly", "rapidement")),
    "calm": (("quietly", "tranquillement"),),
    "care": (("carefully", "soigneusement"),),
    "attention": (("attentively", "attentivement"),),
}
TIMES = {  # each French word with the position of the English word it renders
    "present": (
        ("today", "aujourd':0 hui:0"),
        ("now", "maintenant:0"),
        ("every day", "tous:0 les:0 jours:1"),
        ("every morning", "tous:0 les:0 matins:1"),
        ("in summer", "en:0 été:1"),
        ("in winter", "en:0 hiver:1"),
    ),
    "past": (
        ("yesterday", "hier:0"),
        ("this morning", "ce:0 matin:1"),
        ("last night", "hier:0 soir:1"),
        ("last week", "la:0 semaine:1 dernière:0"),
        ("last year", "l':0 année:1 dernière:0"),
    ),
    "future": (
        ("tomorrow", "demain:0"),
        ("this evening", "ce:0 soir:1"),
        ("next week", "la:0 semaine:1 prochaine:0"),
        ("next year", "l':0 année:1 prochaine:0"),
    ),
}
