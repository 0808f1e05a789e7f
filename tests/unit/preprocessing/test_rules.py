"""Rules of cleaning: what each drops and keeps, limits, presets, and time on hostile lines."""

import math
import time
import unicodedata

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from nmtkit.config import TextConfig
from nmtkit.errors import ConfigError
from nmtkit.preprocessing.rules import (
    RULES,
    LinePair,
    broken_rule,
    parse_rule,
    repeating_lines,
    rule_limits,
)
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.preprocessing.text_measures import repetitions, width

SAFE, STRICT = (rule_limits(preset, {}) for preset in ("safe", "strict"))

GOOD = [
    ("en", "fr", "Two dogs run over the grass.", "Deux chiens courent sur l'herbe."),
    ("en", "de", "It rose by 3.5% to 1,000.50 euros.", "Es stieg um 3,5 % auf 1.000,50 Euro."),
    ("en", "ja", "Select the numbering scheme: 1,2,3.", "番号付けスキーム（例：１、２、３）。"),
    ("en", "zh", "To add text, double-click the object.", "要添加文本，请双击该对象。"),
    ("en", "zh", "Founded in 1921.", "成立于一九二一年。"),
    ("en", "ar", "The meeting took place on 25 June 1988.", "عُقد الاجتماع في ٢٥ يونيو ١٩٨٨."),
    ("en", "th", "The weather is good today, isn't it?", "วันนี้อากาศดีใช่ไหม"),
    ("en", "hi", "He went home and ate rice.", "वह घर गया और चावल खाया।"),
    ("en", "ru", "See <b>this page</b> for more.", "Подробнее <b>на этой странице</b>."),
    ("de", "fr", "»KÄ« und »SPAẞ« – ja, voilà", "« KÄ » et « SPAẞ » – voilà\u00a0»"),
    ("pt", "en", "AMANHÃ» NÃO", "TOMORROW» NO"),
    ("en", "fr", "La la la la, very very good!", "La la la la, très très bien !"),
    ("en", "fr", "Paris", "Paris"),
    ("xx", "yy", "ᓀᐦᐃᔭᐍᐏᐣ ᑕᐟ ᐃᑘᐃᐧᐣ", "ᏣᎳᎩ ᎦᏬᏂᎯᏍᏗ ᎤᎵ"),
]  # fmt: skip

BAD = [
    ("mojibake", "en", "fr", "The tea is ready.", "Le thÃ© est prÃªt."),
    ("mojibake", "en", "fr", "It is here.", "C�est ici."),
    ("mojibake", "en", "el", "Good morning", "Καλημέρα".encode().decode("latin-1")),
    ("mojibake", "en", "ru", "Peace", "Ð¼Ð¸Ñ€"),
    ("char-ratio", "en", "fr", "A dog.", "Un chien " + "qui court dans la rue " * 12),
    ("char-ratio", "en", "zh", "Many words of a text that is far longer " * 8, "词"),
    ("long-word", "en", "fr", "abcdefghijklmnopqrstuvwxyz" * 20, "abcdefghijklmnopqrstuvwyz " * 20),
    ("repeated", "en", "fr", "Well, well.", "haaaaaaaaaaaaaaaa !"),
    ("repeated", "en", "ja", "He laughs.", "ハハハハハハハハハハハハハハ"),
    ("script", "en", "fr", "The weather is good.", "Погода сегодня хорошая."),
    ("script", "de", "en", "今天天气很好。", "The weather is good."),
    ("copied", "en", "tr", "Specifies whether to apply the formatting attributes of the cell.",
     "SPECIFIES whether to apply the formatting attributes of the cell"),
]  # fmt: skip

STRICTLY_BAD = [
    ("control", "en", "fr", "A\x07 bell", "Une cloche"),
    ("letters", "en", "fr", "12-13 §§ 14 (a)", "12-13 §§ 14 (a)"),
    ("digits", "en", "de", "In 1984 he left.", "Er ging 2003."),
    ("markup", "en", "de", "See <b>this</b> page now", "Siehe diese Seite jetzt"),
    ("address", "en", "de", "See http://a.b/c?d=e", "Siehe http://a.b/c?d=e"),
]


def lines(src_language: str, tgt_language: str, src: str, tgt: str) -> LinePair:
    return LinePair(src, tgt, (src_language, tgt_language))


def test_syllables_of_hangul_are_as_wide_in_letters_of_their_own() -> None:
    text = "커피 한 잔 주세요."
    assert width(unicodedata.normalize("NFD", text)) == width(text)


@given(st.integers(0, 99), st.integers(0, 99))
def test_an_ideograph_is_as_wide_as_three_letters(ideographs: int, letters: int) -> None:
    assert width("中" * ideographs + "é" * letters) == width("abc" * ideographs + "e" * letters)


def test_blanks_of_a_table_are_no_letters() -> None:
    assert width(f"  --help{' ' * 40}help\n") == width("--help help")


@pytest.mark.parametrize(
    ("name", "pair"),
    [
        ("digits", ("Cannot open '%s' in %s on line %d", "In %2$s, Zeile %3$d: '%1$s' fehlt")),
        ("address", ("Report bugs to <bug-make@gnu.org>", "報告錯誤到<bug-make@gnu.org>")),
        ("address", ("See www.gnu.org for other things", "請看www.gnu.org的網頁")),
        (
            "address",
            ("Read https://gnu.org/a.html first of all", "先讀https://gnu.org/a.html再繼續"),
        ),
    ],
)
def test_strict_rules_keep_messages_of_programs(name: str, pair: tuple[str, str]) -> None:
    assert broken_rule(lines("en", "zh", *pair), {name: RULES[name].default}) is None


@pytest.mark.parametrize("pair", GOOD)
def test_safe_rules_keep_good_pairs(pair: tuple[str, str, str, str]) -> None:
    assert broken_rule(lines(*pair), SAFE) is None


@pytest.mark.parametrize("pair", [pair for pair in GOOD if "home" in pair[2] or "1988" in pair[2]])
def test_strict_rules_keep_ordinary_pairs(pair: tuple[str, str, str, str]) -> None:
    assert broken_rule(lines(*pair), STRICT) is None


@pytest.mark.parametrize("case", BAD)
def test_safe_rules_drop_bad_pairs(case: tuple[str, str, str, str, str]) -> None:
    broken = broken_rule(lines(*case[1:]), SAFE)
    assert broken and broken[0] == case[0]
    assert broken_rule(lines(*case[1:]), rule_limits("safe", {case[0]: False})) is None


@pytest.mark.parametrize("case", STRICTLY_BAD)
def test_strict_rules_drop_more(case: tuple[str, str, str, str, str]) -> None:
    broken = broken_rule(lines(*case[1:]), STRICT)
    assert broken and broken[0] == case[0]
    assert broken_rule(lines(*case[1:]), SAFE) is None


def test_a_limit_is_still_allowed() -> None:
    pair = lines("en", "fr", "x", "ha " * 6)
    assert RULES["repeated"].measure(pair) == 6
    assert broken_rule(pair, {"repeated": 6.0}) is None
    assert broken_rule(pair, {"repeated": 5.0}) == ("repeated", 6)


def test_the_language_of_a_line_is_looked_at_on_request() -> None:
    pytest.importorskip("py3langid")
    german = "Der Hund läuft heute Morgen über die grüne Wiese vor unserem Haus."
    limits = rule_limits("none", {"language": True})
    broken = broken_rule(lines("en", "fr", "The dog runs over the meadow today.", german), limits)
    assert broken and broken[0] == "language"
    pair = "The dog runs over the meadow in front of our house.", german
    assert broken_rule(lines("en", "de", *pair), limits) is None


@pytest.mark.parametrize(
    ("language", "line"),
    [
        ("nb", "Hunden løper over den grønne engen foran huset vårt hver morgen."),
        ("cmn", "今天早上那只狗在我们家门前的绿色草地上奔跑，孩子们在旁边看着它。"),
        ("sr-Latn", "Pas trči preko zelene livade ispred naše kuće svakog jutra."),
    ],
)
def test_the_language_rule_knows_languages_by_other_codes(language: str, line: str) -> None:
    pytest.importorskip("py3langid")
    limits = rule_limits("none", {"language": True})
    assert broken_rule(lines(language, language, line, line), limits) is None
    english = "The dog runs over the green meadow in front of our house."
    broken = broken_rule(lines(language, language, line, english), limits)
    assert broken and broken[0] == "language"


def test_the_language_rule_refuses_languages_that_it_does_not_know() -> None:
    pytest.importorskip("py3langid")
    rules = {"language": 0.9}
    PrepareSettings(TextConfig(src_language="de", tgt_language="zh-Hant"), rules=rules).check()
    with pytest.raises(ConfigError, match="py3langid does not know 'qaa'"):
        PrepareSettings(TextConfig(src_language="de", tgt_language="qaa"), rules=rules).check()


def test_presets_contain_one_another() -> None:
    assert rule_limits("none", {}) == {}
    assert set(SAFE) < set(STRICT) < set(RULES)
    for name, limit in SAFE.items():
        assert RULES[name].drops(math.inf, limit) == RULES[name].drops(math.inf, STRICT[name])


def test_chosen_rules_change_a_preset() -> None:
    limits = rule_limits("safe", dict(map(parse_rule, ["digits", "copied=7", "script=off"])))
    assert limits == {
        **{k: v for k, v in SAFE.items() if k != "script"},
        "digits": 0.5,
        "copied": 7,
    }
    assert list(limits) == [name for name in RULES if name in limits]


@pytest.mark.parametrize(
    ("texts", "message"),
    [
        (["digit"], "unknown rule 'digit'"),
        (["digits=x"], "'digits=x' is no rule; write NAME, NAME=LIMIT"),
        (["digits=-1"], "must be a number from 0, not -1"),
        (["digits=nan"], "must be a number from 0, not nan"),
    ],
)
def test_what_is_no_rule_is_refused(texts: list[str], message: str) -> None:
    with pytest.raises(ConfigError, match=message):
        rule_limits("safe", dict(map(parse_rule, texts)))


@pytest.mark.parametrize(
    "line",
    [
        "a" * 100_000, "ab" * 50_000, "a " * 50_000, "\u0301" * 100_000, "א" * 100_000,
        "<a " * 33_000, "a@" * 50_000, "www." * 25_000, "&" * 100_000, "１" * 100_000,
        "".join(f"ab{i}" for i in range(20_000)), "\U0001f600" * 50_000, "Ã" * 100_000,
    ],
)  # fmt: skip
def test_hostile_lines_take_bounded_time(line: str) -> None:
    limits = {name: rule.default for name, rule in RULES.items() if name != "language"}
    begin = time.process_time()
    repeating_lines([[line], [line]], 5)
    for name, limit in limits.items():
        broken_rule(lines("en", "ar", line, line[:-1]), {name: limit})
    assert time.process_time() - begin < 2


@settings(max_examples=30)
@given(
    st.lists(
        st.builds(
            lambda unit, count: "x" + unit * count,
            st.text("ab é\U0001f600ハ", max_size=12),
            st.integers(1, 9),
        ),
        max_size=5,
    )
)
def test_lines_with_repetitions_are_all_looked_at(block: list[str]) -> None:
    """The search of whole blocks, for speed, misses no line that breaks the rule."""
    for limit in (1, 3, 5):
        found = repeating_lines([block], limit)
        assert {i for i, line in enumerate(block) if repetitions(line) > max(limit, 2)} <= found
