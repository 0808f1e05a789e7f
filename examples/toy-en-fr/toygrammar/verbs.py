"""The verbs: their English and French forms, complements, subjects and objects.

The table has one verb per line: English forms (base, -s, past, participle, -ing, and a particle
if it has one), French infinitive with irregular forms (je tu il nous ils, participle), its needs,
subjects, objects, and notes.

Needs: `none`; `direct` object; `to`, an object with à; `gift`, something to someone; `place`, a
place to be or go (in the notes: with which prepositions); `that`, a clause.
A star before the infinitive: passé composé with être. `se`: reflexive.
Notes: `act` may be in progress (is singing), and `lasts` may have been (was singing); `state`
never is, and has the imparfait for its past; `the`: an object already known (loves the wine);
`well`, `slow`, `calm`, `care`, `attention`: the manners it takes (see MANNERS); `with` company;
`for` someone's sake; `where` a place.
"""

from dataclasses import dataclass, replace
from functools import cache

from .lexicon import french_feminine

VERBS_TABLE = """
sleep sleeps slept slept sleeping | dormir dors dors dort dormons dorment dormi | none | being | | act lasts where well calm
sing sings sang sung singing | chanter | none | people bird | | act lasts where with for well slow calm
dance dances danced danced dancing | danser | none | people | | act lasts where with for well slow
work works worked worked working | travailler | none | people | | act lasts where with for well slow calm
play plays played played playing | jouer | none | people | | act lasts where with
laugh laughs laughed laughed laughing | rire ris ris rit rions rient ri | none | people | | act lasts where
run runs ran run running | courir cours cours court courons courent couru | none | being | | act lasts where slow
walk walks walked walked walking | marcher | none | being | | act lasts where with slow calm
fall falls fell fallen falling | *tomber | none | being light | |
leave leaves left left leaving | *partir pars pars part partons partent parti | none | being train | | act with
rest rests rested rested resting | se reposer | none | being | | act lasts where
hide hides hid hidden hiding | se cacher | none | being | | where
arrive arrives arrived arrived arriving | *arriver | place | being train | | act in at with
stay stays stayed stayed staying | *rester | place | being | | in at near home with
go goes went gone going | *aller vais vas va allons vont allé | place | people | | act to with
come comes came come coming | *venir viens viens vient venons viennent venu | place | people train | | act from with
enter enters entered entered entering | *entrer | place | being | | into
live lives lived lived living | habiter | place | people | | state in near with
see sees saw seen seeing | voir vois vois voit voyons voient vu | direct | being | person kin animal food thing clothes vehicle text place tree | where
look looks looked looked looking at | regarder | direct | people | person animal thing clothes vehicle text place tree | act attention
hear hears heard heard hearing | entendre entends entends entend entendons entendent entendu | direct | being | person kin animal song vehicle | where
listen listens listened listened listening to | écouter | direct | people | person kin song text | act attention
look looks looked looked looking for | chercher | direct | being | person kin animal thing clothes text | act lasts where
find finds found found finding | trouver | direct | people | thing clothes text food animal idea | where
lose loses lost lost losing | perdre perds perds perd perdons perdent perdu | direct | people | thing clothes | where
love loves loved loved loving | aimer | direct | people | person kin animal song text place meal drink | state the
know knows knew known knowing | connaître connais connais connaît connaissons connaissent connu | direct | people | person place song secret | state well
want wants wanted wanted wanting | vouloir veux veux veut voulons veulent voulu | direct | people | thing clothes food meal drink text | state
have has had had having | avoir ai as a avons ont eu | direct | people | thing clothes vehicle animal house | state
eat eats ate eaten eating | manger | direct | being | food meal | act lasts where with slow calm
drink drinks drank drunk drinking | boire bois bois boit buvons boivent bu | direct | people | drink | act where with slow calm
buy buys bought bought buying | acheter achète achètes achète achetons achètent | direct | people | thing clothes food meal drink text vehicle animal furniture | where for
sell sells sold sold selling | vendre vends vends vend vendons vendent vendu | direct | people | thing clothes food meal text vehicle animal | where
take takes took taken taking | prendre prends prends prend prenons prennent pris | direct | people | thing clothes food train |
bring brings brought brought bringing | apporter | gift | people | thing clothes food text drink |
read reads read read reading | lire lis lis lit lisons lisent lu | direct | people | text | act lasts where slow calm attention
write writes wrote written writing | écrire écris écris écrit écrivons écrivent écrit | direct | people | writing song | act lasts where for slow care
open opens opened opened opening | ouvrir ouvre ouvres ouvre ouvrons ouvrent ouvert | direct | people | part box | slow calm
close closes closed closed closing | fermer | direct | people | part box | slow care
wash washes washed washed washing | laver | direct | people | clothes cup vehicle animal | act where care
break breaks broke broken breaking | casser | direct | people | thing part |
prepare prepares prepared prepared preparing | préparer | direct | people | dish | act where with for care slow
help helps helped helped helping | aider | direct | people | person kin | act
follow follows followed followed following | suivre suis suis suit suivons suivent suivi | direct | being | person kin animal vehicle | act slow
meet meets met met meeting | rencontrer | direct | people | person kin | where
wait waits waited waited waiting for | attendre attends attends attend attendons attendent attendu | direct | people | person kin train | act lasts where
call calls called called calling | appeler appelle appelles appelle appelons appellent | direct | people | person kin animal | act
visit visits visited visited visiting | visiter | direct | people | sight | act with
drive drives drove driven driving | conduire conduis conduis conduit conduisons conduisent conduit | direct | people | car | act slow well
forget forgets forgot forgotten forgetting | oublier | direct | people | thing clothes idea person |
understand understands understood understood understanding | comprendre comprends comprends comprend comprenons comprennent compris | direct | people | person idea text | well
speak speaks spoke spoken speaking to | parler | to | people | person kin animal | act where
answer answers answered answered answering | répondre réponds réponds répond répondons répondent répondu | to | people | person kin |
give gives gave given giving | donner | gift | people | thing clothes food text drink animal |
show shows showed shown showing | montrer | gift | people | thing clothes text vehicle animal place |
send sends sent sent sending | envoyer envoie envoies envoie envoyons envoient | gift | people | letter gift |
say says said said saying | dire dis dis dit disons disent dit | that | people | |
think thinks thought thought thinking | penser | that | people | |
know knows knew known knowing | savoir sais sais sait savons savent su | that | people | | state
hope hopes hoped hoped hoping | espérer espère espères espère espérons espèrent | that | people | |
believe believes believed believed believing | croire crois crois croit croyons croient cru | that | people | |
tell tells told told telling | dire dis dis dit disons disent dit | tell | people | |
ask asks asked asked asking | demander | tell | people | |
be is was been being | être suis es est sommes sont été | be | being light | | state
seem seems seemed seemed seeming | sembler | be | being light | | state
become becomes became become becoming | *devenir deviens deviens devient devenons deviennent devenu | be | people | |
can can could - - | pouvoir peux peux peut pouvons peuvent pu | modal | |  | state
must must must - - | devoir dois dois doit devons doivent dû | modal | |  | state
rain rains rained rained raining | pleuvoir - - pleut - - plu | weather | |  | act
snow snows snowed snowed snowing | neiger | weather | |  | act
"""  # noqa: E501 (one table entry per line)

GROUPS = {  # groups of several kinds, or of a few nouns of one kind
    "being": ("person", "kin", "animal"),
    "people": ("person", "kin"),
    "light": ("thing", "clothes", "text", "food"),
}
IMPERFECT = ("ais", "ais", "ait", "ions", "aient")


@dataclass(frozen=True, slots=True)
class Verb:
    """A verb in both languages; forms of the French present are je, tu, il, nous, ils."""

    base: str
    third: str
    past: str
    participle: str
    gerund: str
    particle: str
    infinitive: str
    present: tuple[str, ...]
    french_participle: str
    with_be: bool
    reflexive: bool
    needs: str
    subjects: tuple[str, ...]
    objects: tuple[str, ...]
    notes: tuple[str, ...]

    @property
    def state(self) -> bool:
        """True for states: no progressive form, and the imparfait for the past."""
        return "state" in self.notes

    def imperfect(self, form: int) -> str:
        """Return the French imparfait.

        :param form: 0 to 4: je, tu, il, nous, ils.
        """
        stem = "ét" if self.infinitive == "être" else self.present[3].removesuffix("ons")
        if self.base == "rain":
            stem = "pleuv"
        ending = IMPERFECT[form]
        if stem.endswith("ge") and ending.startswith("i"):
            stem = stem[:-1]
        return stem + ending

    @property
    def imperative(self) -> str:
        """Return the French imperative to one friend: ferme, ouvre, prends."""
        form = self.present[1]
        return form[:-1] if form.endswith(("es", "as")) else form

    def agree(self, feminine: bool, plural: bool) -> str:
        """Return the French past participle for a gender and number."""
        form = french_feminine(self.french_participle) if feminine else self.french_participle
        return form if not plural or form.endswith("s") else form + "s"


def _present(infinitive: str) -> tuple[str, ...]:
    """Return the present of a regular verb in -er: je, tu, il, nous, ils."""
    stem = infinitive.removesuffix("er")
    bridge = "e" if stem.endswith("g") else ""
    return (stem + "e", stem + "es", stem + "e", stem + bridge + "ons", stem + "ent")


def _french(column: str) -> tuple[str, tuple[str, ...], str, bool, bool]:
    """Parse the French column: infinitive, present, participle, with être, reflexive."""
    words = column.split()
    reflexive = words[0] == "se"
    with_be = reflexive or words[0].startswith("*")
    infinitive, *forms = words[reflexive:]
    infinitive = infinitive.removeprefix("*")
    present = tuple(forms[:5]) or _present(infinitive)
    participle = forms[5] if len(forms) > 5 else infinitive.removesuffix("er") + "é"
    return infinitive, present, participle, with_be, reflexive


def _spread(column: str) -> tuple[str, ...]:
    """Expand groups of kinds."""
    return tuple(kind for word in column.split() for kind in GROUPS.get(word, (word,)))


def _verb(line: str) -> Verb:
    """Parse a line of the table of verbs."""
    english, french, needs, subjects, objects, notes = (c.strip() for c in line.split("|"))
    base, third, past, participle, gerund, particle = [*english.split(), ""][:6]
    infinitive, present, french_participle, with_be, reflexive = _french(french)
    return Verb(
        base,
        third,
        past,
        participle,
        gerund,
        particle,
        infinitive,
        present,
        french_participle,
        with_be,
        reflexive,
        needs,
        _spread(subjects),
        _spread(objects),
        tuple(notes.split()),
    )


VERBS = tuple(_verb(line) for line in VERBS_TABLE.strip().splitlines())


@cache
def verb(base: str, needs: str = "") -> Verb:
    """Return the first verb with this English base form and these needs."""
    return next(v for v in VERBS if v.base == base and needs in ("", v.needs))


@cache
def verbs_of(subjects: tuple[str, ...], *needs: str, states: bool = True) -> tuple[Verb, ...]:
    """Return the verbs with these needs that suit a subject of these kinds.

    :param states: whether to count verbs of state among them.
    """
    known = [v for v in VERBS if v.needs in needs and (states or not v.state)]
    return tuple(v for v in known if set(subjects) & set(v.subjects))


@cache
def verbs_taking(*kinds: str) -> tuple[Verb, ...]:
    """Return the verbs that suit a direct object of these kinds."""
    return tuple(v for v in VERBS if v.needs == "direct" and set(v.objects) & set(kinds))


@cache
def feel() -> Verb:
    """Return an expression with be in English and avoir in French: be hungry, avoir faim."""
    have = verb("have")
    return replace(verb("be"), infinitive=have.infinitive, present=have.present)
