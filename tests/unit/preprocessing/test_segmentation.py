"""How text is split is chosen by its script, unless it is given."""

import logging
from collections.abc import Callable
from dataclasses import replace
from pathlib import Path
from typing import Any
from unicodedata import normalize

import pytest

from nmtkit.config import TextConfig
from nmtkit.data.manifest import text_config
from nmtkit.errors import ConfigError
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.segmentation import (
    Segmentation,
    choose_method,
    choose_size,
    warn_of_rules,
)
from nmtkit.preprocessing.settings import AUTO, PrepareSettings
from nmtkit.preprocessing.splits import SIDES
from nmtkit.text.pipeline import TextPipeline
from nmtkit.text.subword.normalization import Normalization

TEXTS = {
    "en": "The cat sat on the mat, and then it went away.",
    "de": "Die Katze saß auf der Matte und ging dann fort.",
    "ru": "Кошка сидела на коврике, а потом ушла.",
    "ko": "고양이가 매트 위에 앉아 있다가 가 버렸다.",
    "ar": "جلست القطة على السجادة ثم ذهبت بعيدا.",
    "zh": "猫坐在垫子上，然后走开了。",
    "ja": "猫はマットの上に座って、それから去っていった。",
    "th": "แมวนั่งบนเสื่อแล้วก็จากไป",
    "km": "ឆ្មាអង្គុយលើកន្ទេលហើយបន្ទាប់មកក៏ចេញទៅ",
    "my": "ကြောင်သည်ဖျာပေါ်တွင်ထိုင်ပြီးထွက်သွားသည်။",
    "lo": "ແມວນັ່ງຢູ່ເທິງເສື່ອແລ້ວກໍ່ໜີໄປ",
    "bo": "བྱི་ལ་དེ་གདན་ལ་བསྡད་ནས་ཕྱིན་སོང།",
    "hi": "बिल्ली चटाई पर बैठी और फिर चली गई।",
    "ta": "பூனை பாயில் அமர்ந்து பின்னர் சென்றது.",
    "fa": "گربه روی زیرانداز نشست و سپس رفت؛ می‌خواهم.",
    "tr": "Kedi paspasın üzerine oturdu ve sonra gitti.",
}

WORDS = {"en", "de", "ru", "ko"}
"""Languages whose words Moses's rules find."""


def settings_for(tgt: str, **options: Any) -> PrepareSettings:
    segmentation = Segmentation(**options)
    text = TextConfig(src_language="en", tgt_language=tgt, **segmentation.text_settings())
    return PrepareSettings(text=text, **segmentation.subword_settings())


@pytest.mark.parametrize("language", TEXTS)
def test_the_script_chooses(language: str) -> None:
    settings = choose_method(settings_for(language), [TEXTS["en"]], [TEXTS[language]])
    settings.check()
    method = "bpe" if language in WORDS else "sentencepiece"
    assert (settings.subword_method, settings.text.raw) == (method, method == "sentencepiece")


@pytest.mark.parametrize("nfc", [True, False])
def test_accents_as_marks_are_normalised_or_warned_of(
    nfc: bool, caplog: pytest.LogCaptureFixture
) -> None:
    given = settings_for("de")
    settings = replace(given, text=replace(given.text, nfc=nfc))
    chosen = choose_method(settings, [TEXTS["en"]], [normalize("NFD", "Käse für Jörg")])
    assert chosen.text.raw != nfc
    assert ("--nfc" in caplog.text) != nfc


@pytest.mark.parametrize("switch", ["hyphens", "escape", "protected", "joiners"])
def test_switches_that_were_asked_for_are_not_given_up(switch: str) -> None:
    settings = replace(settings_for("zh"), asked=(switch,))
    with pytest.raises(ConfigError, match=f"--{switch}"):
        choose_method(settings, [TEXTS["en"]], [TEXTS["zh"]])


@pytest.mark.parametrize("asked", [(), ("nfc",)])
def test_raw_text_is_normalised_on_request(asked: tuple[str, ...]) -> None:
    settings = replace(settings_for("zh"), asked=asked)
    settings = choose_method(settings, [TEXTS["en"]], [TEXTS["zh"]])
    settings.check()
    assert settings.text.nfc == bool(asked)


def test_text_counts_more_than_the_code() -> None:
    settings = choose_method(settings_for("de"), [TEXTS["en"]], [TEXTS["zh"]])
    assert settings.subword_method == "sentencepiece"


def test_some_words_of_another_script_do_not_matter() -> None:
    settings = choose_method(settings_for("de"), [TEXTS["en"] * 9], [TEXTS["de"] * 9 + "猫"])
    assert settings.subword_method == "bpe"


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({}, (AUTO, "joint", False, False, 1)),
        ({"bpe": 9}, ("bpe", "joint", False, False, 1)),
        ({"bpe": 9, "separate": True}, ("bpe", "separate", False, False, 1)),
        ({"codes": ["a"]}, ("bpe", "joint", False, False, 0)),
        ({"codes": ["a", "b"], "vocabulary_threshold": 5}, ("bpe", "separate", False, False, 5)),
        ({"tokenized": True}, ("bpe", "joint", False, True, 1)),
        ({"tokenizer": "moses"}, ("bpe", "joint", False, False, 1)),
        ({"tokenizer": "none"}, (AUTO, "joint", False, True, 1)),
        ({"subword": "sentencepiece"}, ("sentencepiece", "joint", True, False, 1)),
        ({"subword": "sentencepiece", "tokenizer": "none"},
         ("sentencepiece", "joint", True, False, 1)),
        ({"subword": "sentencepiece", "tokenizer": "moses"},
         ("sentencepiece", "joint", False, False, 1)),
        ({"subword": "sentencepiece", "tokenized": True},
         ("sentencepiece", "joint", False, True, 1)),
        ({"subword": "none"}, ("bpe", "none", False, False, 0)),
        ({"subword": "none", "tokenizer": "none"}, ("bpe", "none", False, True, 0)),
        ({"subword": "bpe", "tokenizer": "none"}, ("bpe", "joint", False, True, 1)),
    ],
)  # fmt: skip
def test_options_become_settings(options: dict[str, Any], expected: tuple[object, ...]) -> None:
    settings = settings_for("fr", **options)
    settings.check()
    text = settings.text
    threshold = text.vocabulary_threshold
    found = (settings.subword_method, text.subwords, text.raw, text.tokenized, threshold)
    assert found == expected


@pytest.mark.parametrize(
    ("options", "problem"),
    [
        ({"bpe": 9, "subword": "none"}, "BPE and --subword none exclude each other"),
        ({"bpe": 9, "subword": "sentencepiece"}, "BPE and --subword sentencepiece exclude"),
        ({"bpe": 9, "size": 9}, "--subword-size is the size of --subword"),
        ({"subword": "none", "glossaries": ["x"]}, "--subword none excludes all other options"),
        ({"subword": "none", "size": 3}, "--subword none excludes all other options"),
        ({"subword": "none", "separate": True}, "--subword none excludes all other options"),
        ({"subword": "none", "vocabulary_threshold": 3}, "--subword none excludes all other opt"),
        ({"tokenized": True, "tokenizer": "moses"}, "tokenised text needs no tokenizer"),
        ({"subword": "sentencepiece", "glossaries": ["x"]}, "use BPE, or no glossary"),
        ({"glossaries": ["("]}, r"glossary '\(': not a regular expression"),
        ({"vocabulary_threshold": -1}, "threshold of -1 .* is not negative"),
    ],
)
def test_contradictions_are_refused(options: dict[str, Any], problem: str) -> None:
    with pytest.raises(ConfigError, match=problem):
        settings_for("fr", **options).check()


@pytest.mark.parametrize(("pairs", "size"), [(10, 8000), (100_000, 16_000), (10**7, 32_000)])
def test_the_corpus_chooses_the_size(pairs: int, size: int) -> None:
    assert choose_size(settings_for("fr"), pairs).merges == size
    assert choose_size(settings_for("fr", bpe=7), pairs).merges == 7
    assert choose_size(settings_for("fr", subword="none"), pairs).merges == 0


def test_words_that_moses_would_cut_are_reported(caplog: pytest.LogCaptureFixture) -> None:
    with caplog.at_level(logging.WARNING):
        choose_method(settings_for("zh", bpe=7), [TEXTS["en"]], [TEXTS["zh"]])
    assert "zh: it is written without blanks" in caplog.text


def write(folder: Path, name: str, lines: list[str]) -> Path:
    (folder / name).write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")
    return folder / name


@pytest.mark.parametrize("language", ["zh", "th", "hi"])
def test_raw_text_is_prepared_and_given_back(tmp_path: Path, language: str) -> None:
    src = write(tmp_path, "a.en", [TEXTS["en"]] * 9)
    tgt = write(tmp_path, "a.x", [TEXTS[language]] * 9)
    odd = [f" {TEXTS[language]}  x\u3000▁\u2028 ", "", TEXTS["ja"], "</s> <unk>"]
    read = f"{TEXTS[language]} x\u3000▁\u2028"
    dev = write(tmp_path, "d.en", odd), write(tmp_path, "d.x", odd)
    for workers in (1, 2):
        out = tmp_path / f"out{workers}"
        manifest = prepare(settings_for(language), out, (src, tgt), dev, workers=workers)
    assert manifest["splits"]["train"]["pairs"] == 9
    assert manifest["text"]["raw"] is True
    text = text_config(manifest, out)
    for side in SIDES:
        name = f"dev.{side}"
        assert (out / name).read_bytes() == (tmp_path / "out1" / name).read_bytes()
        pipeline = TextPipeline.load(out, side, text)
        lines = (out / name).read_text(encoding="utf-8").split("\n")[:-1]
        given = odd if side == "tgt" else [read, *odd[1:]]
        assert [pipeline.line(line.split()) for line in lines] == given
        known = {
            line.rpartition(" ")[0] for line in (out / f"pieces.{side}").read_text().split("\n")
        }
        assert {p for line in lines for p in line.split()} <= known | {"▁"} | {
            f"<0x{byte:02X}>" for byte in range(256)
        }


def test_joint_bpe_gives_no_side_pieces_that_it_never_had(tmp_path: Path) -> None:
    src = write(tmp_path, "a.en", ["lower lowest newer newest"] * 9)
    tgt = write(tmp_path, "a.fr", ["noir noire blanc blanche l o w e s t r n i c h a b"] * 9)
    dev = write(tmp_path, "d.en", ["blanche noire"]), write(tmp_path, "d.fr", ["lower newest"])
    settings = settings_for("fr", bpe=40)
    prepare(settings, tmp_path / "out", (src, tgt), dev)
    for side in ("src", "tgt"):
        train = set((tmp_path / f"out/train.{side}").read_text().split())
        pieces = set((tmp_path / f"out/dev.{side}").read_text().split())
        assert all(len(piece.removesuffix("@@")) == 1 for piece in pieces - train)


def test_rare_pieces_are_split_in_the_training_data_too(tmp_path: Path) -> None:
    lines = ["lower lowest"] * 9 + ["low"] * 2
    src, tgt = write(tmp_path, "a.en", lines), write(tmp_path, "a.fr", lines)
    settings = settings_for("fr", bpe=40, vocabulary_threshold=5)
    prepare(settings, tmp_path / "out", (src, tgt))
    last = (tmp_path / "out/train.src").read_text().splitlines()[-1]
    assert last == "l@@ o@@ w" or last.split()[-1] != "low"


class _Rules(Normalization):
    """Writes text by a function."""

    def __init__(self, write: Callable[[str], str]) -> None:
        super().__init__(b"")
        self._write = write

    def normalize(self, line: str) -> str:
        return self._write(line)


def test_rules_that_fold_case_or_are_not_applied_are_reported(
    caplog: pytest.LogCaptureFixture,
) -> None:
    text, plain, folding = TextConfig(raw=True), _Rules(str), _Rules(str.casefold)
    for rules in ([plain, plain], [folding, plain], [None, None]):
        warn_of_rules(text, rules)
    warn_of_rules(TextConfig(tokenized=True), [plain, plain])
    assert not caplog.messages
    warn_of_rules(text, [plain, folding])
    assert "fr: the SentencePiece model writes all text in small letters" in caplog.messages[0]
    warn_of_rules(TextConfig(tokenized=True), [folding, folding])
    assert "words of tokenised text are left unchanged" in caplog.messages[1]
    assert len(caplog.messages) == 2
