"""Lines of many languages come back from their tokens alone, without markers."""

import pytest

from nmtkit.text.detokenizer import Detokenizer
from nmtkit.text.tokenizer import Tokenizer

LINES = [
    ("de", "Er sagte: „Ja, z. B. hier“, und ging."),
    ("de", "Sie fragte: »Wer ist ‚er‘?«"),
    ("de", "l'Élysée; O'Neill's 3,5 % und § 3"),
    ("de", "Wie geht's dir? 3–5 Tage (ca. 2 €) und/oder mehr…"),
    ("de", "Sie sagte 'ja' und ging."),
    ("de", "Hans’ Auto, Peter’s Auto"),
    ("es", "«¿Qué hora es?», dijo. ¡Hola!"),
    ("es", "Dijo: “No, el 5 % de todo”."),
    ("it", "L'uomo dell'Élysée: «Sì, il 5% è qui»."),
    ("it", "Un po’ d’acqua"),
    ("pt", "«Não», disse ele; 5% e “sim”."),
    ("nl", "Zo'n dag, foto's en 't huis"),
    ("pl", "Powiedział: „Tak, 5%”."),
    ("cs", "Řekl: „Ano, 5 %“."),
    ("ru", "Он сказал: «Да, 5 %», — и ушёл."),
    ("tr", "Ankara'da %5 arttı, LibreOffice'in 3'ü."),
    ("sv", "Han sade: ”Ja, 5 %.” EU:s regler"),
    ("fi", "Hän sanoi: ”Kyllä.” EU:n ja USA:n 5 %"),
    ("fi", "Kuva 3: auto, EU: talo, 5:nnen luvun 3:een, CD:itä"),
    ("sv", "Figur 3: bild, FN: stat, 3:e, CD:arna"),
    ("hu", "Azt mondta: „Igen, 5%”."),
    ("el", "Τι είναι; «Ναι», είπε."),
    ("ar", "نعم، هل هذا؟ لا؛ شكرا."),
    ("hi", "यह क्या है। हिन्दी भाषा"),
    ("zh", "他说：“你好”，然后走了。"),
    ("ja", "これは「本」です。"),
]


@pytest.mark.parametrize(("language", "line"), LINES)
def test_the_line_comes_back(language: str, line: str) -> None:
    tokens = Tokenizer(language, combining=True).tokenize(line)
    assert Detokenizer(language).detokenize(tokens) == line


@pytest.mark.parametrize(
    ("language", "word"),
    [
        ("th", "ผู้ใหญ่"),
        ("hi", "हिन्दी"),
        ("ta", "தமிழ்"),
        ("km", "ភាសាខ្មែរ"),
        ("he", "שָׁלוֹם"),
        ("ar", "مُحَمَّد"),
        ("vi", "Tie\u0302\u0301ng"),
        ("fa", "می\u200cخواهم"),
        ("fr", "e\u0301te\u0301"),
        ("en", "👩🏽\u200d💻"),
    ],
)
def test_marks_stay_with_their_characters(language: str, word: str) -> None:
    assert Tokenizer(language, combining=True).tokenize(f"{word}, {word}.") == [
        word, ",", word, ".",
    ]  # fmt: skip
