"""Several training corpora in one prepared folder: counts, ranges, tags, held-out pairs."""

import itertools
from dataclasses import replace
from pathlib import Path

import pytest

from nmtkit.config import TextConfig
from nmtkit.data.manifest import corpus_segments, read_manifest, text_config
from nmtkit.errors import DataError
from nmtkit.preprocessing.corpora import TrainingCorpus
from nmtkit.preprocessing.prepare import prepare
from nmtkit.preprocessing.settings import PrepareSettings
from nmtkit.preprocessing.shortlists import write_shortlists
from nmtkit.text.subword.bpe import undo_bpe
from tests.unit.preprocessing.bitexts import write

JOINT = TextConfig(subwords="joint")


@pytest.fixture
def corpora(tmp_path: Path) -> list[TrainingCorpus]:
    """Two corpora with a pair in common; each has a pair that is dropped."""
    first = [("one cat", "un chat"), ("two cats", "deux chats"), ("", "rien"), ("dogs", "chiens")]
    second = [("two cats", "deux chats"), ("many cats", "des chats"), ("empty", "")]
    return [
        TrainingCorpus(write(tmp_path, "a", first), "news", 2),
        TrainingCorpus(write(tmp_path, "b", second), "web", 0.5, "<bt>"),
    ]


def lines(path: Path) -> list[str]:
    return path.read_text().splitlines()


def test_corpora_follow_one_another_with_counts_and_ranges(
    corpora: list[TrainingCorpus], tmp_path: Path
) -> None:
    manifest = prepare(PrepareSettings(dedup=True), tmp_path / "out", corpora)
    assert lines(tmp_path / "out" / "train.src") == [
        "one cat", "two cats", "dogs", "<bt> many cats",
    ]  # fmt: skip
    news, web = manifest["corpora"]
    assert (news["name"], news["weight"], news["tag"], news["range"]) == ("news", 2, "", [0, 3])
    assert (web["name"], web["weight"], web["tag"], web["range"]) == ("web", 0.5, "<bt>", [3, 4])
    assert (news["read"], news["pairs"], news["dropped"]["empty"]) == (4, 3, 1)
    assert (web["read"], web["pairs"], web["dropped"]["duplicate"]) == (3, 1, 1)
    assert web["files"] == [str(file) for file in corpora[1].files]
    assert manifest["splits"]["train"]["pairs"] == 4
    assert manifest["splits"]["train"]["src_tokens"] == 8
    assert set(manifest["inputs"]) == {str(file) for corpus in corpora for file in corpus.files}
    assert corpus_segments(manifest, "out") == ((3, 2.0), (1, 0.5))
    assert text_config(manifest, "out").tags == ("<bt>",)


@pytest.mark.parametrize("merges", [0, 4])
def test_held_out_pairs_stand_in_no_corpus(
    corpora: list[TrainingCorpus], tmp_path: Path, merges: int
) -> None:
    text = JOINT if merges else TextConfig()
    settings = PrepareSettings(text=text, merges=merges, held_out=2)
    manifest = prepare(settings, tmp_path / "out", corpora)
    counts = [(entry["pairs"], entry.get("held_out", 0)) for entry in manifest["corpora"]]
    train = lines(tmp_path / "out" / "train.src")
    assert sum(pairs for pairs, _ in counts) == len(train)
    assert [sum(count) for count in counts] == [3, 2]
    dev = lines(tmp_path / "out" / "dev.src")
    assert len(dev) == 2
    assert not {line.removeprefix("<bt> ") for line in train} & {
        line.removeprefix("<bt> ") for line in dev
    }
    first, second = manifest["corpora"]
    assert not any(line.startswith("<bt> ") for line in train[slice(*first["range"])])
    assert all(line.startswith("<bt> ") for line in train[slice(*second["range"])])


def test_a_tag_is_one_token_and_in_the_shortlist(
    corpora: list[TrainingCorpus], tmp_path: Path
) -> None:
    prepare(PrepareSettings(text=JOINT, merges=2), tmp_path / "out", corpora)
    tokens = lines(tmp_path / "out" / "train.src")[-1].split()
    assert tokens[0] == "<bt>" and not tokens[1].startswith("<")
    merges = (tmp_path / "out" / "bpe.src").read_text()
    assert "< " not in merges and ">\n" not in merges.replace("</w>", "")
    src, tgt = write_shortlists(tmp_path / "out", 4, 4)
    assert src.vocabulary.words[-1] == "<bt>" and "<bt>" not in tgt.vocabulary


def test_a_glossary_that_matches_no_word_is_reported(
    corpora: list[TrainingCorpus], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    text = replace(JOINT, glossaries=("cat", "<[a-z]+/>"))
    prepare(PrepareSettings(text=text, merges=2), tmp_path / "out", corpora)
    messages = [message for message in caplog.messages if "--glossary" in message]
    assert len(messages) == 1 and "'<[a-z]+/>' matches no word" in messages[0]


@pytest.mark.parametrize("merges", [0, 2])
def test_a_line_with_a_tag_of_another_corpus_keeps_it(tmp_path: Path, merges: int) -> None:
    first = write(tmp_path, "a", [("<b> two cats", "deux chats"), ("one cat", "un chat")])
    second = write(tmp_path, "b", [("many cats", "des chats")])
    corpora = [TrainingCorpus(first, tag="<a>"), TrainingCorpus(second, tag="<b>")]
    text = JOINT if merges else TextConfig()
    prepare(PrepareSettings(text=text, merges=merges), tmp_path / "out", corpora)
    found = [undo_bpe(line.split()) for line in lines(tmp_path / "out" / "train.src")]
    expected = ["<b> two cats", "<a> one cat", "<b> many cats"]
    assert [" ".join(words) for words in found] == expected


def test_a_sentence_begins_after_its_tag(tmp_path: Path) -> None:
    pairs = [("The cat", "Le chat"), ("and the cat", "et le chat"), ("The dog", "Le chien")]
    tagged = TrainingCorpus(write(tmp_path, "a", pairs), tag="<bt>")
    prepare(PrepareSettings(text=TextConfig(case="truecase")), tmp_path / "out", [tagged])
    expected = ["<bt> the cat", "<bt> and the cat", "<bt> the dog"]
    assert lines(tmp_path / "out" / "train.src") == expected


def test_a_tag_of_the_text_is_kept_in_dev_and_test_sets(
    corpora: list[TrainingCorpus], tmp_path: Path
) -> None:
    dev = write(tmp_path, "dev", [("<bt> <b> cats", "<bt> chats"), ("<bt>", "x")])
    prepare(PrepareSettings(), tmp_path / "out", corpora, dev, {"news": dev})
    for name in ("dev", "news"):
        assert lines(tmp_path / "out" / f"{name}.src") == ["<bt> < b > cats", "< bt >"]
        assert lines(tmp_path / "out" / f"{name}.tgt") == ["< bt > chats", "x"]


def test_weights_of_one_are_as_no_weights(corpora: list[TrainingCorpus], tmp_path: Path) -> None:
    files = [tuple(Path(str(file)) for file in corpus.files) for corpus in corpora]
    manifest = prepare(PrepareSettings(), tmp_path / "out", files)
    assert corpus_segments(manifest, "out") == ()
    assert [entry["name"] for entry in manifest["corpora"]] == ["a", "b"]
    whole = [path.read_text() for path in itertools.chain(*files)]
    one = (tmp_path / "one.en", tmp_path / "one.fr")
    one[0].write_text(whole[0] + whole[2])
    one[1].write_text(whole[1] + whole[3])
    prepare(PrepareSettings(), tmp_path / "single", one)
    for name in ("train.src", "train.tgt"):
        assert (tmp_path / "out" / name).read_bytes() == (tmp_path / "single" / name).read_bytes()


def test_one_file_may_hold_both_sides(tmp_path: Path) -> None:
    bitext = tmp_path / "both.tsv"
    bitext.write_text("a cat\tun chat\ndogs\tchiens\n")
    manifest = prepare(
        PrepareSettings(), tmp_path / "out", [(bitext,)], (bitext,), {"news": (bitext,)}
    )
    assert lines(tmp_path / "out" / "train.tgt") == ["un chat", "chiens"]
    assert manifest["splits"]["dev"]["pairs"] == manifest["splits"]["news"]["pairs"] == 2


def test_a_bad_line_of_a_later_corpus_is_named(tmp_path: Path) -> None:
    good = write(tmp_path, "a", [("a", "b")])
    bad = write(tmp_path, "b", [("a", "b"), ("c", "d")])
    bad[1].write_bytes(b"b\n\xff\n")
    with pytest.raises(DataError, match=r"b\.fr:2: not valid UTF-8"):
        prepare(PrepareSettings(), tmp_path / "out", [good, bad])


@pytest.mark.parametrize(
    "corpora",
    [3, [3], [{"pairs": 1}], [{"pairs": -1, "weight": 1}], [{"pairs": 1, "weight": "2"}]],
)
def test_malformed_entries_of_the_manifest_are_refused(corpora: object) -> None:
    with pytest.raises(DataError, match="'corpora' is malformed"):
        corpus_segments({"corpora": corpora}, "folder")


def test_manifests_of_older_versions_have_no_corpora(tmp_path: Path) -> None:
    assert corpus_segments({}, tmp_path) == ()
    prepare(PrepareSettings(), tmp_path / "out", write(tmp_path, "a", [("a", "b")]))
    assert corpus_segments(read_manifest(tmp_path / "out"), tmp_path) == ()
