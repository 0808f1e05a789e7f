"""Text in another language than the one named, or with its sides swapped, is refused."""

import logging
import random
from collections.abc import Callable
from pathlib import Path

import pytest

from nmtkit.config import TextConfig
from nmtkit.errors import DataError
from nmtkit.io.bitext import PairBlock
from nmtkit.preprocessing import language_check
from nmtkit.preprocessing.language_check import LanguageCheck
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.settings import PrepareSettings

pytest.importorskip("py3langid")

EN_FR = TextConfig(src_language="en", tgt_language="fr")

TEXTS = {
    "en": "the of and to in that it is was for on are with they be at one have this from by not but"
    " what all were when we there can an your which their said if do will each about how up"
    " out them then she many some these would other into has more two like him see time could"
    " no make than first been its who now people my made over did down only way find use may"
    " water long little very after words called just where most know get through back much"
    " before go good new write our used me man too any day same right look think also around"
    " another came come work three word must because does part even place well such here take"
    " why things help put years different away again off went old number great tell men say"
    " small every found still between name should home big give air line set own under read"
    " last never us left end along while might next sound below",
    "fr": "de la le et les des en un du une que est pour qui dans a par plus pas au sur ne se ce il"
    " sont avec son aux nous été ont cette mais ses ou fait comme tout ces peut leur bien même"
    " si deux elle être également entre encore très sans aussi après autres dont où depuis"
    " doit avoir lors ainsi pays année notre vous temps avant sous jour toujours toute grand"
    " premier monde moins contre faire fois trois autre petit chez cela donc jamais quelque"
    " vie alors femme homme jours heure moment ville maison enfants travail question point"
    " place partie eau nom soir chose main rien mieux pendant personne mère père tête tant peu"
    " quand celui votre rue mot guerre terre porte voix quatre cinq loin beaucoup trop hier"
    " demain nuit matin enfin puis chaque plusieurs ici fille fils yeux histoire force suite"
    " nouveau bon haut droit gauche compte état gens fin",
}
"""The most frequent words, in sentences that mean nothing."""


def sentences(language: str, count: int = 250, seed: int = 1) -> list[bytes]:
    words, chosen = TEXTS[language].split(), random.Random(seed)
    return [" ".join(chosen.choices(words, k=chosen.randint(6, 14))).encode() for _ in range(count)]


@pytest.fixture(scope="module")
def texts() -> dict[str, list[bytes]]:
    return {language: sentences(language) for language in TEXTS}


def check(src: str, tgt: str, src_lines: list[bytes], tgt_lines: list[bytes]) -> None:
    numbers = range(1, len(src_lines) + 1)
    LanguageCheck(src, tgt).check(PairBlock(src_lines, tgt_lines, ("a.x", "a.y"), numbers))


def test_text_in_its_languages_passes(texts: dict[str, list[bytes]]) -> None:
    check("en", "fr", texts["en"], texts["fr"])
    check("en-GB", "fr-CA", texts["en"], texts["fr"])


def test_swapped_sides_are_refused(texts: dict[str, list[bytes]]) -> None:
    message = (
        r"^a\.x and a\.y: the sides look swapped: 100% of the source .* French \(fr\), 100% of the"
        r" target .* English \(en\); swap the files, or -s and -t, or use --no-language-check"
    )
    with pytest.raises(DataError, match=message):
        check("en", "fr", texts["fr"], texts["en"])


@pytest.mark.parametrize(
    ("src", "tgt", "message"),
    [
        (
            "en",
            "de",
            r"^a\.y: 100% .* French \(fr\), not like German \(de\); .* give -t fr, or use",
        ),
        ("tr", "fr", r"^a\.x: 100% .* English \(en\), not like Turkish \(tr\); .* give -s en, or"),
        ("zh-Hant", "fr", r"^a\.x: .*not like Chinese \(zh-Hant\)"),
    ],
)
def test_another_language_is_refused(
    texts: dict[str, list[bytes]], src: str, tgt: str, message: str
) -> None:
    with pytest.raises(DataError, match=message):
        check(src, tgt, texts["en"], texts["fr"])


def code(number: int) -> bytes:
    name = f"x{number}"
    return f"for (int {name} = 0; {name} < n; ++{name}) {{ f_{number}(a[{name}]); }}".encode()


CHANGES: dict[str, Callable[[bytes], bytes]] = {
    "numbers only": lambda line: str(len(line) * 7919).encode(),
    "code": lambda line: code(len(line)),
    "short lines": lambda line: line.split()[0],
    "BPE": lambda line: line.replace(b"e", b"e@@ "),
    "SentencePiece": lambda line: b"\xe2\x96\x81" + line.replace(b" ", b" \xe2\x96\x81"),
    "upper case": lambda line: line.decode().upper().encode(),
    "markup": lambda line: b'<span class="keycode">' + line + b"</span> &amp;",
    "bytes that are not UTF-8": lambda line: line + b" \xff",
    "few words": lambda line: b"one two three four five six seven eight nine ten",
    "blank": lambda line: b"",
}


@pytest.mark.parametrize("change", CHANGES)
def test_hard_cases_pass(texts: dict[str, list[bytes]], change: str) -> None:
    src, tgt = (list(map(CHANGES[change], texts[language])) for language in ("en", "fr"))
    check("en", "fr", src, tgt)
    if change in ("numbers only", "code", "few words", "blank"):  # then nothing is identified
        check("ja", "ru", src, tgt)


def test_related_and_unknown_languages_pass(
    texts: dict[str, list[bytes]], caplog: pytest.LogCaptureFixture
) -> None:
    check("en", "wa", texts["en"], texts["fr"])  # Walloon, which is hard to tell from French
    with caplog.at_level(logging.INFO, logger="nmtkit"):
        check("tlh", "fr", texts["en"], texts["fr"])
    assert caplog.messages == ["py3langid does not know Klingon: it is not checked"]


def test_copied_pairs_say_nothing(texts: dict[str, list[bytes]]) -> None:
    check("en", "fr", texts["en"], texts["en"])


def test_short_files_are_not_identified(
    texts: dict[str, list[bytes]], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(language_check, "language_identifier", lambda: pytest.fail("not needed"))
    check("ja", "ru", texts["en"][:20], texts["fr"][:20])


def test_the_missing_package_is_said_once(
    texts: dict[str, list[bytes]], monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def missing() -> None:
        raise ModuleNotFoundError("py3langid")

    monkeypatch.setattr(language_check, "language_identifier", missing)
    checker = LanguageCheck("ja", "ru")
    with caplog.at_level(logging.INFO, logger="nmtkit"):
        for _ in range(2):
            checker.check(PairBlock(texts["en"], texts["fr"], ("a", "b"), range(1, 251)))
    (message,) = caplog.messages
    assert "are not checked; to check them: pip install" in message


def test_prepare_checks_every_file_before_it_writes_anything(
    texts: dict[str, list[bytes]], tmp_path: Path
) -> None:
    for language, lines in texts.items():
        (tmp_path / f"a.{language}").write_bytes(b"\n".join(lines) + b"\n")
    files = tmp_path / "a.en", tmp_path / "a.fr"
    swapped = PrepareSettings(text=TextConfig(src_language="fr", tgt_language="en"))
    with pytest.raises(DataError, match="the sides look swapped"):
        prepare(swapped, tmp_path / "out", files)
    with pytest.raises(DataError, match="the sides look swapped"):
        prepare(PrepareSettings(), tmp_path / "out", files, dev=files[::-1])
    assert not (tmp_path / "out").exists()
    manifest = prepare(swapped, tmp_path / "out", files, language_check=False)
    assert manifest["splits"]["train"]["pairs"] == 250


def test_one_file_for_both_sides_is_refused(tmp_path: Path) -> None:
    (tmp_path / "a.en").write_text("A b c.\n" * 9)
    (tmp_path / "link").symlink_to(tmp_path / "a.en")
    files = tmp_path / "a.en", tmp_path / "link"
    with pytest.raises(DataError, match="a.en and .*link are the same file; name one in English"):
        prepare(PrepareSettings(text=EN_FR), tmp_path / "out", files)
    manifest = prepare(PrepareSettings(text=EN_FR), tmp_path / "out", files, language_check=False)
    assert manifest["splits"]["train"]["pairs"] == 9


def test_running_text_of_a_script_without_blanks_is_found_in_linear_time() -> None:
    assert language_check._running_text("水" * 300_000) == "水" * 300_000
