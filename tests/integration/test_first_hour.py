"""What new users try in their first hour; each test says what went wrong in version 0.1."""

import json
import lzma
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result

Nmtkit = Callable[..., Result]
Write = Callable[..., list[Path]]

CHINESE = ["显示帮助信息并退出。", "文件不存在。", "请选择要安装的软件包。", "无法打开目录。"]
ENGLISH = ["Show the help and exit.", "No such file.", "Choose the packages.", "Cannot open it."]


@pytest.fixture
def write(tmp_path: Path) -> Write:
    """Return a function: `write(src=[...], tgt=[...])` writes both sides of a bitext."""

    def call(name: str = "train", **sides: list[str]) -> list[Path]:
        for side, lines in sides.items():
            text = "".join(f"{line}\n" for line in lines)
            (tmp_path / f"{name}.{side}").write_text(text, encoding="utf-8")
        return [tmp_path / f"{name}.{side}" for side in sides]

    return call


def rows(path: Path) -> list[str]:
    return path.read_text(encoding="utf-8").split("\n")[:-1]


def test_every_corpus_is_used(nmtkit: Nmtkit, write: Write, tmp_path: Path) -> None:
    """Of two `--train`, only the last one was used."""
    first = write("first", en=["one dog"], fr=["un chien"])
    second = write("second", en=["two cats", "a tree"], fr=["deux chats", "un arbre"])
    languages = ["-s", "en", "-t", "fr", "--subword", "none", "-o", tmp_path / "out"]
    nmtkit("prepare", "--train", *first, "--train", *second, *languages)
    assert rows(tmp_path / "out" / "train.src") == ["one dog", "two cats", "a tree"]
    corpora = json.loads((tmp_path / "out" / "manifest.json").read_text())["corpora"]
    assert [corpus["pairs"] for corpus in corpora] == [1, 2]


@pytest.mark.parametrize(
    ("languages", "status", "message"),
    [
        ([], 2, "--src-language"),
        (["-s", "German", "-t", "fr"], 1, "did you mean -s de?"),
        (["-s", "xx", "-t", "fr"], 1, "-s xx: not a language code"),
    ],
)
def test_languages_are_never_assumed(
    nmtkit: Nmtkit,
    write: Write,
    tmp_path: Path,
    languages: list[str],
    status: int,
    message: str,
) -> None:
    """All of these were prepared as English."""
    files = write(de=["Der Hund läuft z. B. im Wald."], fr=["Le chien court dans la forêt."])
    result = nmtkit("prepare", "--train", *files, *languages, "-o", tmp_path / "out", status=status)
    assert message in result.stderr
    assert not (tmp_path / "out").exists()


def test_german_abbreviations_are_words(nmtkit: Nmtkit, write: Write, tmp_path: Path) -> None:
    """They were split as if the text were English: `z . B.`."""
    files = write(de=["Der Hund läuft z.B. im Wald."], fr=["Le chien court dans la forêt."])
    languages = ["-s", "de", "-t", "fr", "--subword", "none", "-o", tmp_path / "out"]
    nmtkit("prepare", "--train", *files, *languages)
    assert "z.B." in rows(tmp_path / "out" / "train.src")[0].split()


def test_lengths_of_chinese_are_not_those_of_clauses(
    nmtkit: Nmtkit, write: Write, tmp_path: Path
) -> None:
    """A clause was one word: good pairs fell to `--max-ratio`, and overlong ones stayed."""
    english = [f"{line} {other}" for line in ENGLISH for other in ENGLISH]
    chinese = [f"{line}{other}" for line in CHINESE for other in CHINESE]
    files = write(
        en=[*english, " ".join(ENGLISH * 40), "No."], zh=[*chinese, "".join(CHINESE * 40), "不。"]
    )
    options = ["--subword-size", 330, "--max-length", 100, "-o", tmp_path / "out"]
    log = nmtkit("prepare", "--train", *files, "-s", "en", "-t", "zh", *options).stderr
    assert "SentencePiece" in log
    assert len(rows(tmp_path / "out" / "train.src")) == len(english) + 1
    manifest = json.loads((tmp_path / "out" / "manifest.json").read_text())
    gone = manifest["splits"]["train"]["dropped"]
    assert {reason: count for reason, count in gone.items() if count} == {"long": 1}


def test_marks_of_thai_stay_with_their_letters(
    nmtkit: Nmtkit, write: Write, tmp_path: Path
) -> None:
    """Words were cut at every mark, for good."""
    files = write(en=["where are you"], th=["คุณ อยู่ ที่ไหน"])
    options = ["--tokenizer", "moses", "--subword", "none", "-o", tmp_path / "out"]
    nmtkit("prepare", "--train", *files, "-s", "en", "-t", "th", *options)
    assert rows(tmp_path / "out" / "train.tgt") == ["คุณ อยู่ ที่ไหน"]


def test_markup_is_kept_whole(nmtkit: Nmtkit, write: Write, tmp_path: Path) -> None:
    """It became `< b > Hello </b > {name}% s http://a.b/c? d = e`."""
    line = "<b>Hello</b> {name} %s http://a.b/c?d=e"
    files = write(en=[line], fr=[line.replace("Hello", "Bonjour")])
    languages = ["-s", "en", "-t", "fr", "--subword", "none", "-o", tmp_path / "out"]
    nmtkit("prepare", "--train", *files, *languages, "--clean", "none")
    words = rows(tmp_path / "out" / "train.src")[0].split()
    assert {"<b>", "</b>", "{name}", "%s", "http://a.b/c?d=e"} <= set(words)


def test_compressed_input_is_translated_as_its_text(
    nmtkit: Nmtkit, model: Path, tmp_path: Path
) -> None:
    """The bytes of an `.xz` file were translated, with exit status 0."""
    text = "one two\nthree\n"
    (tmp_path / "input.xz").write_bytes(lzma.compress(text.encode()))
    plain = nmtkit("translate", "-m", model, input=text).stdout
    assert nmtkit("translate", "-m", model, tmp_path / "input.xz").stdout == plain


def test_a_byte_order_mark_is_no_word(nmtkit: Nmtkit, model: Path, tmp_path: Path) -> None:
    """It was a token of the training data, and of what was translated."""
    plain = nmtkit("translate", "-m", model, input="one two\n").stdout
    (tmp_path / "marked").write_text("\ufeffone two\n", encoding="utf-8")
    marked = nmtkit("translate", "-m", model, tmp_path / "marked")
    assert marked.stdout == plain
    assert "byte order mark" in marked.stderr


def test_another_corpus_needs_another_folder(
    nmtkit: Nmtkit, corpus: Path, prepared: Path, small: list[str], tmp_path: Path
) -> None:
    """With vocabularies of one size, training went on from the old model without a word."""
    output = tmp_path / "model"
    nmtkit("train", prepared, "-o", output, "--recipe", "toy", *small)
    files = [corpus / "test.en", corpus / "test.fr", "--dev", corpus / "dev.en", corpus / "dev.fr"]
    options = ["-s", "en", "-t", "fr", "--subword", "none", "-o", tmp_path / "other"]
    nmtkit("prepare", "--train", *files, *options)
    for side in ("src", "tgt"):
        vocabulary = (prepared / f"vocab.{side}").read_bytes()
        (tmp_path / "other" / f"vocab.{side}").write_bytes(vocabulary)
    files_before = {path: path.read_bytes() for path in output.rglob("*.safetensors")}
    refused = nmtkit(
        "train", tmp_path / "other", "-o", output, "--recipe", "toy", *small, status=1
    ).stderr
    assert f"--from {output}" in refused
    assert files_before == {path: path.read_bytes() for path in output.rglob("*.safetensors")}


def test_no_piece_of_the_training_data_is_unknown(
    nmtkit: Nmtkit, write: Write, tmp_path: Path
) -> None:
    """Of joint merges, pieces that one side never saw became `<unk>`."""
    files = write(en=["the lower lower low"] * 4, fr=["le lowest lowest lowe low"] * 4)
    out = tmp_path / "out"
    nmtkit("prepare", "--train", *files, "-s", "en", "-t", "fr", "--bpe", 12, "-o", out)
    nmtkit("shortlist", out)
    for side in ("src", "tgt"):
        vocabulary = {row.split("\t")[0] for row in rows(out / f"vocab.{side}")}
        assert {piece for line in rows(out / f"train.{side}") for piece in line.split()} <= (
            vocabulary
        )


def test_names_are_copied_not_invented(nmtkit: Nmtkit, write: Write, tmp_path: Path) -> None:
    """The model spelt them, piece by piece: `NOTHING LEF` became `NOINOINOINHOIGIGI`."""
    names = [f"{first}{last}" for first in ("Kar", "Mel", "Tov") for last in ("in", "ar", "ov")]
    english = [f"I met {name} in the town." for name in names]
    french = [f"J'ai vu {name} dans la ville." for name in names]
    test = write("test", en=["I met Zorbax in the town."], fr=["J'ai vu Zorbax dans la ville."])
    out = tmp_path / "out"
    train = write(en=english * 2, fr=french * 2)
    nmtkit("prepare", "--train", *train, "--test", "t", *test, "-s", "en", "-t", "fr",
           "--bpe", 20, "-o", out)  # fmt: skip
    for side in ("src", "tgt"):
        assert "❶" in rows(out / f"t.{side}")[0].split()
        assert all({"❶", "❷", "❸", "❹", "❺", "❻"} & set(line.split()) for line in
                   rows(out / f"train.{side}"))  # fmt: skip


def test_typography_is_restored(nmtkit: Nmtkit, write: Write, tmp_path: Path) -> None:
    """German was written as `l 'Élysée; O' Neill 's 3,5%`."""
    from nmtkit.text.detokenizer import Detokenizer

    line = "l'Élysée; O'Neill's 3,5 %"
    files = write(de=[line], fr=[line])
    languages = ["-s", "de", "-t", "fr", "--subword", "none", "-o", tmp_path / "out"]
    nmtkit("prepare", "--train", *files, *languages, "--clean", "none")
    detokenizer = Detokenizer("de", unescape=False, joiners=True)
    assert detokenizer.detokenize(rows(tmp_path / "out" / "train.src")[0].split()) == line
