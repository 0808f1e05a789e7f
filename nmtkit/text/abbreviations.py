"""Abbreviations whose period does not end a sentence, in languages for which Moses has too few.

They stand before names and numbers: titles, parts of addresses, references. Those that often end a
sentence, such as those for "and so on", are left out, as is what is also a common word.
"""

from functools import lru_cache

from nmtkit.text.characters import moses_prefixes
from nmtkit.text.languages import has_moses_rules

_IN_GENERAL = "Dr Jr Mr Mrs Ms Prof Sr St vs"
"""Abbreviations of languages without a list of Moses."""

_NORWEGIAN = (
    "adr avd bl.a ca cand cand.mag dr evt f.eks fhv forts fr hhv hr iht inkl jf jfr kgl maks mht"
    " pga prof siv.ing stud tlf vedr",
    "art fig kap kl nr pkt s st stk tab",
)

_CROATIAN = (
    "br dipl doc dr gđa ing mr npr prof sv tj tzv ul",
    "čl sl st str tel",
)

_ABBREVIATIONS: dict[str, tuple[str, str]] = {
    "bg": (
        "акад бул гр доц инж кап кв обл общ проф пл св сп ул",
        "бр вж гл с ст стр т тел чл",
    ),
    "bs": _CROATIAN,
    "ca": (
        "arq av bl cf ctra drs exc gral hble il·lm ing mn p.ex prof pg s srs sres ss urb vid",
        "art cap fig núms pàgs pp tlf vol",
    ),
    "cs": (
        "inž kpt mjr nám npor plk por pplk prof ul",
        "čl kap mil odst str tel zák",
    ),
    "da": (
        "adr afd bl.a ca cand cand.mag dr ekskl evt f.eks fhv fr gl hhv hr inkl jf jfr kgl maks"
        " mht pga prof sct skt stud tlf vedr",
        "art bd fig kap kl nr pkt s st stk tab",
    ),
    "de": ("Fr Hr inkl Str", "Abb Abs Kap Tab Tel"),
    "en": ("approx cf Fr Ft Mt Pres", "al ca ch eq eqs ext fig figs p para sec vol vols"),
    "es": ("avda dña drs EE gral ing lic prof srta UU", "art fig núms tel"),
    "eu": (
        "adib and dk dr ing jn k.a k.o lic prof sr",
        "art bol ik kap or orr tel urt zk",
    ),
    "fi": ("ks ns", "klo n nro puh s"),
    "fr": ("av bd dr mgr mlle mme prof ste St", "tab"),
    "hr": _CROATIAN,
    "hy": ("ակադ թ թթ պրոֆ", "էջ"),
    "id": (
        "a.n bpk d.a dra drg drs gg hj ir jend jl jln kab kapt kec kel kep komjen letjen mayjen ny"
        " pdt prof sdr sdri tn u.p yth CV Kol PT UD",
        "hal hlm no telp tel tgl",
    ),
    "it": (
        "arch avv dott dott.ssa geom ing prof prof.ssa rag sig sig.na sig.ra sigg",
        "art cap fig n pag pagg vol",
    ),
    "ka": ("აკად იხ მაგ პროფ", "გვ სურ"),
    "kk": ("акад ауд доц ж жж инж көш қ обл проф Ген", "б тел"),
    "km": ("ឧ", ""),
    "lt": (
        "adm arkiv gyv jaun kard par past prad sud šv vert vysk",
        "lent lyg pab pastr psl pun vnt",
    ),
    "nb": _NORWEGIAN,
    "nn": _NORWEGIAN,
    "ne": ("डा प्रा", ""),
    "nl": ("", "afb blz hfdst tab tel"),
    "no": _NORWEGIAN,
    "pt": (
        "av dra eng exa profa sra srta",
        "cap núm pág págs tel vol",
    ),
    "ro": (
        "acad ap arh av bd bl cca col conf cpt d-l d-lui d-nei d.hr dr ex ing intr î.hr jud lect lt"
        " mr mun nr prof sect sf str șos Gen",
        "alin art cap fig lit op p pag pct tab tel vol",
    ),
    "ru": ("акад им инж", "рис табл"),
    "sr": (
        f"{_CROATIAN[0]} бр дипл доц др инж мр нпр проф св тј тзв ул",
        f"{_CROATIAN[1]} сл ст стр тел чл",
    ),
    "sv": ("bl.a ca dr f.d prof s.k", "bil fig kap nr tab tel"),
    "sw": ("bi bw dk jen kapt mch mh mhe mt prof Fr Gen", "ibara na s.l.p uk"),
    "te": ("డా", ""),
    "tr": (
        "apt bkz blv bşk cad çev doç ecz hz korg mah müh öğr örn prof şti tuğg tğm uzm yrd yzb"
        " Alb Av Gen Gör Haz Org Sn Sok",
        "c md no s sf tel",
    ),
    "uk": (
        "акад бл бул буд вул гл див доц ім інж кв корп лейт м о обл п пл пор пп пров проф просп"
        " ред с св смт ст т.зв Ген",
        "вип рис стор т табл тел факс ч",
    ),
    "vi": ("BS GS GS.TS KS LS NS NSND NSƯT PGS PGS.TS TP TS Th.S ThS Tp TT TX vd", "đt tr"),
}
"""Language -> abbreviations in general, and those that are such only before digits; those in small
letters may also begin with a capital."""


@lru_cache(maxsize=16)
def abbreviations(language: str) -> tuple[frozenset[str], frozenset[str]]:
    """Return the words whose period does not end a sentence: in general, and only before digits.

    A language without a list of its own uses the English one.

    :param language: code of `rules_language`.
    """
    if has_moses_rules(language):
        known = moses_prefixes(language)
    elif language in _ABBREVIATIONS:
        known = frozenset(_IN_GENERAL.split()), frozenset()
    else:
        return abbreviations("en")
    in_general, before_digits = map(_with_capitals, _ABBREVIATIONS.get(language, ("", "")))
    return known[0] | in_general, known[1] | before_digits


def _with_capitals(words: str) -> frozenset[str]:
    return frozenset(form for word in words.split() for form in (word, word[0].upper() + word[1:]))
