"""Sentences of a text."""

from unicodedata import normalize

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from nmtkit.text.sentences import MAX_CHARACTERS, Lines, find_sentences


def split(text: str, language: str = "en", lines: Lines = Lines.FOLD) -> list[str]:
    return [text[start:end] for start, end in find_sentences(text, language, lines)]


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("en", " One. Two!  Three? ", ["One.", "Two!", "Three?"]),
        ("en", "Mr. Smith met J. Doe. They left.", ["Mr. Smith met J. Doe.", "They left."]),
        ("en", "See No. 5. Then 3.5 km.", ["See No. 5.", "Then 3.5 km."]),
        ("en", 'He said "Go." She went.', ['He said "Go."', "She went."]),
        ("en", "Wait... what? No", ["Wait... what?", "No"]),
        ("en", "e.g. this. one", ["e.g. this. one"]),
        ("en", "A | B", ["A", "|", "B"]),
        ("de", "Am 10. Mai z. B. kam er. Er blieb.", ["Am 10. Mai z. B. kam er.", "Er blieb."]),
        ("ja", "これは。次です！「はい。」と", ["これは。", "次です！", "「はい。」と"]),
        ("hi", "यह है। वह है।", ["यह है।", "वह है।"]),
        ("xx", "One. Two", ["One.", "Two"]),
        ("en", "", []),
        ("en", " \n ", []),
    ],
)
def test_sentences(language: str, text: str, expected: list[str]) -> None:
    assert split(text, language) == expected


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("fr", "Il a dit « bonjour » à tous.", ["Il a dit « bonjour » à tous."]),
        ("fr", "Il a dit «\xa0non\xa0» et ‹\u202foui\u202f› à tous.", None),
        ("fr", "Dit « a « b » c » à tous.", None),
        ("fr", "« Bonjour. » Il part.", ["« Bonjour. »", "Il part."]),
        ("fr", "«\xa0Ça va ?\xa0» Il part.", ["«\xa0Ça va ?\xa0»", "Il part."]),
        ("fr", "« Ça va ? » demanda-t-il.", None),
        ("da", "Han sagde » kom « og gik.", None),
        ("en", "Home » Shoes › Red", ["Home", "»", "Shoes", "›", "Red"]),
        ("fr", "Accueil » « Nana » de Zola", ["Accueil", "»", "« Nana » de Zola"]),
        ("fr", "Il ouvre «\n\nA » B", ["Il ouvre «\n\nA", "»", "B"]),
    ],
)
def test_guillemets_are_separators_only_without_a_partner(
    language: str, text: str, expected: list[str] | None
) -> None:
    assert split(text, language) == (expected or [text])


@pytest.mark.parametrize(
    ("language", "text", "expected"),
    [
        ("de", "Er sagte: „Gut.“ Dann ging er.", ["Er sagte: „Gut.“", "Dann ging er."]),
        ("de", "»Gut.« Dann ging er.", ["»Gut.«", "Dann ging er."]),
        ("de", "‚Gut.‘ Er ging. ›Ja.‹ Sie kam.", ["‚Gut.‘", "Er ging.", "›Ja.‹", "Sie kam."]),
        ("de", "„Gut!“ rief er.", ["„Gut!“ rief er."]),
        ("en", "He came. “Good.” She left.", ["He came.", "“Good.”", "She left."]),
        ("ja", "彼は「行く。」と言いました。次。", ["彼は「行く。」と言いました。", "次。"]),
        ("ja", "「行く。」「はい。」『え？』", ["「行く。」", "「はい。」", "『え？』"]),
        ("ja", "「行く。」。次（注。）、だ。", ["「行く。」。", "次（注。）、だ。"]),
        ("ja", "「行く。」 次。", ["「行く。」", "次。"]),
        ("ja", "何？！はい。", ["何？！", "はい。"]),
        (
            "ja",
            "これは３．５だ（図）．２．次，ア．終わり．",
            ["これは３．５だ（図）．", "２．次，ア．終わり．"],
        ),
        ("zh", "他来了。“走吧。”他说。", ["他来了。", "“走吧。”他说。"]),
        ("zh", "他**来了。**走吧。", ["他**来了。**", "走吧。"]),
    ],
)
def test_quotations_at_the_end_of_sentences(language: str, text: str, expected: list[str]) -> None:
    assert split(text, language) == expected


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("ka", ["გამარჯობა.", "როგორ ხარ დღეს?", "გ. ტაბიძე კარგად არის.", "მადლობა."]),
        ("my", ["သူ၊ သွားမယ်။", "လာမယ်။", "ကောင်းတယ်။"]),
        ("km", ["ខ្ញុំទៅ។", "ឆ្កែ ឆ្មា ។ល។", "គាត់មក៕", "ទៅ។"]),
        ("bo", ["བཀྲ་ཤིས།", "བདེ་ལེགས། །", "ང་ཡིན།"]),
        ("am", ["ሰላም።", "እንዴት ነህ፧", "ደህና፡፡", "አዎ።"]),
        ("sat", ["ᱡᱚᱦᱟᱨ᱾", "ᱪᱮᱫ᱿", "ᱦᱚᱭ᱾"]),
        ("mn", ["ᠮᠣᠩᠭᠣᠯ᠃", "ᠪᠢ᠃"]),
        ("nqo", ["ߒߞߏ߹", "ߊߟߊ߹"]),
        ("am", ["ሰላም::", "አዎ::", "በ 3::4 ነው።"]),
        ("hy", ["Բարև։", "Ինչպես ես։"]),
        ("hy", ["Բարև:", "Ժամը 12:30 է:", "Ինչպես ես:"]),
        ("el", ["Τι κάνεις;", "Πού είσαι\u037e", "Εδώ."]),
        ("ur", ["یہ ہے۔", "وہ کیا ہے؟", "نہیں۔"]),
        ("hi", ["यह है।", "वह है॥", "हाँ।"]),
        ("ar", ["مرحبا.\u200f", "كيف حالك؟\u200f", "(بخير.)\u061c", "نعم!\u200e\u200b", "لا."]),
        ("he", ["שלום.\u200f", "מה שלומך?\u200f", "טוב."]),
    ],
)
def test_sentences_in_other_scripts(language: str, sentences: list[str]) -> None:
    assert split(" ".join(sentences), language) == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("hi", ["यह है।", "npm चलाएँ।", '"यह है।"', "xml है।"]),
        ("ur", ["یہ ہے۔", "html کھولیں۔"]),
        ("hy", ["Ինչպես ես։", "html ֆայլ։"]),
        ("el", ["Πού είσαι\u037e", "εδώ."]),
        ("ko", ["설치합니다.", "xterm을 실행합니다."]),
        ("ka", ["კარგად.", "xml ფაილი."]),
        ("ko", ["파일(log). xml 파일."]),
    ],
)
def test_small_letters_go_on_only_behind_signs_and_scripts_that_allow_it(
    language: str, sentences: list[str]
) -> None:
    assert split(" ".join(sentences), language) == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("ar", ["\u200fد. ديفيد هنا.", "\u200f1. نعم."]),
        ("ar", ["قال د. ديفيد هذا.", "نعم."]),
        ("he", ["א. ב. יהושע כתב.", "כן."]),
        ("ko", ["이것은 집.", "물."]),
        ("fr", ["J.-P. Sartre et A. Camus."]),
        ("en", ["J.K. Rowling joined the U.S. Army at 5 p.m.", "She left."]),
        ("th", ["ในปี พ.ศ. 2563 อ. เมือง ดี."]),
        ("am", ["በ2012 ዓ.ም. መጣ።", "ሄደ።"]),
    ],
)
def test_initials(language: str, sentences: list[str]) -> None:
    assert split(" ".join(sentences), language) == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("en", ["It was page 12.", "Then he came on 14. July or 3. 5. 2024.", "He is 42."]),
        (
            "en",
            [
                "1. It is 12.",
                "2. Two.",
                "Table 3. It is 5.",
                "(4. Four.)",
                "Fig. 5. See No. 6.",
                "So.",
            ],
        ),
        ("fr", ["Il a 12 ans et moi 42.", "Elle en a 35."]),
        ("ru", ["Ему сейчас 12.", "Ей 35."]),
        ("de", ["Am 12. Mai sah Karl den 2. Weltkrieg."]),
        ("de", ["Er wurde 12. Danach ging er."]),  # as if it were an ordinal number
        ("pl", ["To 2. Liceum."]),
        ("ko", ["2024. 5. 12. 서울에서 만났다.", "이것은 2024.", "그것은 집."]),
        ("hu", ["Budapest, 2024. 05. 12. Kedves Anna!"]),
    ],
)
def test_numbers_at_the_end_of_sentences(language: str, sentences: list[str]) -> None:
    assert split(" ".join(sentences), language) == sentences


@pytest.mark.parametrize(
    ("language", "sentences"),
    [
        ("ca", ["Viu al c. Major 5, pàg. 12.", "És al s. XIX."]),
        ("ca", ["Mn. Cinto.", "Un cap.", "És així."]),
        ("cs", ["Bydlí na nám. Míru, ul. Nová 500.", "Viz odst. 3 a str. 12345."]),
        ("cs", ["To je prof. Novák."]),
        ("da", ["Fru og hr. Jensen bor på Gl. Kongevej.", "Se f.eks. København, tlf. 12345678."]),
        ("da", ["Han red.", "Se kap. 5 og Skt. Peders Stræde.", "Det er nr. 12345.", "Ja."]),
        ("en", ["See p. 12345 and Sec. 5.", "Smith et al. (2019) saw Mt. Etna, vol. 2.", "So."]),
        ("xx", ["See p. 12345."]),
        ("bg", ["В гр. София, ул. Раковски № 500.", "Да."]),
        ("de", ["Vgl. Hr. Max, Abb. 500.", "„Vgl. Köln.“", "Das ist Max.", "Er ist hier."]),
        ("de", ["Wie geht’s.", "Wie geht's.", "»Dr. Max.«"]),
        ("es", ["—¿Sr. Gil?", "Ver pág. 500 de la Dña. Ana en EE. UU. Ayer.", "Sí."]),
        ("fi", ["Esim. Helsinki, klo 1200.", "Ks. Liite."]),
        ("fr", ["Cf. Mme. Durand et le Dr. Martin, fig. 500.", "Oui."]),
        ("hr", ["Npr. ul. Ilica br. 500.", "Da."]),
        ("hy", ["1871 թ. Սիսիանում։"]),
        ("it", ["Dell’avv. Rossi e d'A. Blu.", "Il sig. Rossi, pag. 500.", "Sì."]),
        ("ne", ["डा. शर्मा।"]),
        ("nl", ["Bijv. Amsterdam, blz. 500.", "Ja."]),
        ("pt", ["A Profa. Maria, pág. 500.", "Sim."]),
        ("ru", ["Площадь им. Ленина, рис. 500.", "Да."]),
        ("sr", ["Нпр. проф. Јовић, стр. 500.", "Да."]),
        ("sv", ["T.ex. s.k. Nobel, kap. 500.", "Det är Jan.", "Han är här."]),
        ("te", ["డా. రెడ్డి వచ్చారు."]),
        ("eu", ["Adib. Bilbon, jn. Etxeberria.", "Ikusi or. 12345.", "Bai."]),
        ("id", ["Tn. Budi tinggal di Jl. Merdeka No. 12345.", "PT. Telkom, hlm. 5.", "Hal."]),
        ("bn", ["এটি আই.এস.ও. কোড।", "ইউ.আর.এল. ব্যবহৃত হয়।"]),
        ("gu", ["નામ, દા.ત. સાંસ છે.", "હા."]),
        ("ka", ["კლავიატურა (მაგ. Armada), იხ. გვ. 12345.", "კი."]),
        ("km", ["ឈ្មោះ ឧ. Sans, Times"]),
        ("kk", ["Ол 1990 ж. Алматыда, Абай көш. 12345.", "Проф. Ахметов келді."]),
        ("lt", ["Šv. Jono bažnyčia.", "Žr. Vilnių, psl. 5.", "Vysk. Motiejus, str. 12345."]),
        ("nb", ["Hr. Hansen bor i St. Olavs gate."]),
        ("nb", ["Han sa f.eks. Oslo, kl. 1200.", "Se s. 12345."]),
        ("no", ["Se kap. 5 og prof. Berg."]),
        ("ro", ["Stă pe str. Unirii nr. 12345, bl. A, ap. 5.", "Sf. Maria.", "Acest gen.", "Da."]),
        ("sw", ["Bw. Juma na Bi. Asha walifika.", "Mhe. Rais, S.L.P. 12345.", "Ndiyo."]),
        ("tr", ["Doç. Dr. Ayşe Yılmaz ve Av. Ali geldi.", "Bkz. Ankara, Atatürk Cad. No. 12345."]),
        ("tr", ["Bunu gör.", "Onu sok.", "M.Ö. Roma."]),
        ("uk", ["У м. Києві на вул. Хрещатик.", "Див. Додаток, ст. 12345.", "Св. Миколай."]),
        ("vi", ["Ông ở TP. Hồ Chí Minh.", "PGS.TS. Nguyễn và ThS. Lê, tr. 12345.", "Vâng."]),
    ],
)  # fmt: skip
def test_abbreviations(language: str, sentences: list[str]) -> None:
    for form in ("NFC", "NFD"):
        expected = [normalize(form, sentence) for sentence in sentences]
        assert split(" ".join(expected), language) == expected


def test_semicolons_are_question_marks_only_in_greek() -> None:
    assert split("One; Two") == ["One; Two"]
    assert split("ένα; δύο", "el") == ["ένα; δύο"]


def test_two_shads_need_no_blank_behind() -> None:
    assert split("བཀྲ་ཤིས། །ང་ཡིན།", "bo") == ["བཀྲ་ཤིས། །", "ང་ཡིན།"]


@pytest.mark.parametrize(
    ("lines", "text", "expected"),
    [
        (Lines.FOLD, "One\nTwo", ["One\nTwo"]),
        (Lines.KEEP, "One\nTwo", ["One", "Two"]),
        (Lines.KEEP, "One goes\non here.\nTwo", ["One goes\non here.", "Two"]),
        (Lines.KEEP, "ერთი\nორი", ["ერთი", "ორი"]),
        (Lines.KEEP, "One.\u200e\ntwo", ["One.\u200e", "two"]),
        (Lines.KEEP, "Options:\nlist them\n\n- a\n- b", ["Options:", "list them", "a", "b"]),
        (Lines.WRAP, "One met\nBob\n- No", ["One met\nBob", "No"]),
        (Lines.HARD, "One  \nTwo\nthree", ["One", "Two\nthree"]),
    ],
)
def test_line_breaks(lines: Lines, text: str, expected: list[str]) -> None:
    assert split(text, lines=lines) == expected


@given(st.text("ab .,。\n-", max_size=300), st.sampled_from(Lines))
def test_sentences_are_in_order_and_lose_no_letter(text: str, lines: Lines) -> None:
    spans = find_sentences(text, "en", lines)
    ends = [0, *(offset for span in spans for offset in span), len(text)]
    assert ends == sorted(ends)
    between = [text[start:end] for start, end in zip(ends[::2], ends[1::2], strict=True)]
    assert not any(character.isalpha() for gap in between for character in gap)
    assert all(text[start:end].strip() == text[start:end] for start, end in spans)


@pytest.mark.parametrize("word", ["a", "word ", "word, "])
def test_long_sentences_are_divided(word: str) -> None:
    text = word * 3 * MAX_CHARACTERS
    parts = split(text)
    assert all(len(part) <= MAX_CHARACTERS for part in parts)
    assert "".join(parts).replace(" ", "") == text.replace(" ", "")
    if word != "a":
        assert all(part.startswith("word") for part in parts)


FAMILY = "\U0001f468\u200d\U0001f469\u200d\U0001f467"


@pytest.mark.parametrize(
    "unit",
    [
        "ที่",
        "เก่า",
        "น้ำ",
        "ម្ពុ",
        "क्षि",
        "e\u0301",
        "가",
        FAMILY,
        "\U0001f1e9\U0001f1ea",
        "❤\ufe0f",
        "👍🏽",
    ]
    + ["か\u3099", "ｶﾞ", "1\ufe0f\u20e3", "한"],
)
@pytest.mark.parametrize("shift", range(3))
def test_long_sentences_are_not_divided_within_a_character(unit: str, shift: int) -> None:
    text = "x" * shift + unit * MAX_CHARACTERS
    parts = split(text)
    assert "".join(parts) == text
    assert all(len(part) <= MAX_CHARACTERS for part in parts)
    assert all(part.replace(unit, "") in ("", "x" * shift) for part in parts)


def test_long_sentences_without_a_boundary_are_divided() -> None:
    assert max(map(len, split("x" + "\u0301" * 3 * MAX_CHARACTERS))) == MAX_CHARACTERS


@pytest.mark.parametrize(
    ("word", "separator"),
    [("ខ្ញុំទៅ", "\u200b"), ("བདེ", "་"), ("ሰላም", "፡"), ("走", "，"), ("1,5", " "), ("走”", "，”")],
)
def test_long_sentences_are_divided_behind_separators(word: str, separator: str) -> None:
    parts = split(f"{word}{separator}" * MAX_CHARACTERS)
    assert len(parts) > 1
    assert all(part.startswith(word) for part in parts)
    assert all(part.rstrip().endswith((word, separator)) for part in parts)


TEXTS = {
    "fr": "a.!?»«› \n“”\u200f",
    "hi": "a।!?“” \n",
    "ja": "a。！？」「 \n\u200f",
    "bo": "a༎། \n“”",
}


@given(st.sampled_from(sorted(TEXTS)).flatmap(lambda n: st.tuples(st.text(TEXTS[n]), st.just(n))))
@example(("a༎༎།“  ", "bo"))
def test_sentences_end_where_they_are_cut(line: tuple[str, str]) -> None:
    """Divide what was a sentence no further, if it has a letter."""
    text, language = line
    for sentence in split(text, language):
        if "a" in sentence and not set("«»‹›") & set(text):
            assert split(sentence, language) == [sentence]
