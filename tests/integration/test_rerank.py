"""`nmtkit nbest rerank` and `nmtkit nbest tune` through the real command line."""

import gzip

import pytest

LIST = (
    "0 ||| un x  ||| LM0= -1 TM0= -9 -1 RNN0= -20 ||| -4.40479\n"
    "0 ||| un deux  ||| LM0= -3 TM0= -8 -1e-05 RNN0= -2 ||| -5 ||| 0-0 1-1\n"
    "0 |||  ||| LM0= -1 TM0= 0 0 RNN0= -90 ||| -6\n"
    "2 ||| bonjour  ||| LM0= -2 TM0= 1 0 RNN0= -3 ||| -7\n"
    "2 ||| bonjour trois quatre cinq ||| LM0= -2 TM0= -1 0 RNN0= -3 ||| -7\n"
)
REFERENCES = "un deux\nhuit\nbonjour trois quatre cinq\nneuf\n"
INI = "[feature]\nKENLM name=LM0\n[weight]\nLM0= 0.5\nTM0= 0.25 0.1\nUnknownWordPenalty0= 1\n"


@pytest.fixture
def files(tmp_path):
    for name, text in (("list", LIST), ("ref", REFERENCES), ("moses.ini", INI)):
        (tmp_path / name).write_text(text)
    (tmp_path / "list.gz").write_bytes(gzip.compress(LIST.encode()))
    return tmp_path


def test_reranking_by_total_keeps_the_list_byte_for_byte(nmtkit, files):
    for name in ("list", "list.gz"):
        again = files / f"again-{name}"
        result = nmtkit("nbest", "rerank", files / name, "--list", again)
        assert result.stdout == "un x\n\nbonjour\n"
        assert "no hypotheses for 1 sentence; the output has empty lines" in result.stderr
        data = again.read_bytes()
        assert (gzip.decompress(data) if name.endswith("gz") else data).decode() == LIST
    ini, unchanged = files / "moses.ini", files / "unchanged"
    own = ["--weights-file", ini, "--original", ini, "--list", unchanged]
    result = nmtkit("nbest", "rerank", "-", *own, input=LIST)
    assert unchanged.read_text() == LIST
    assert "moses.ini: no weight for RNN0; using 0" in result.stderr


def test_mean_with_a_feature_reorders_the_list(nmtkit, files):
    out = files / "out"
    result = nmtkit(
        "nbest",
        "rerank",
        files / "list",
        "--mean-with",
        "RNN0",
        "--list",
        out,
        "-o",
        files / "best",
    )
    assert result.stdout == ""
    assert (files / "best").read_text() == "un deux\n\nbonjour\n"
    rows = [line.split(" ||| ") for line in out.read_text().splitlines()[:3]]
    assert [row[3] for row in rows] == ["-3.500000", "-12.202395", "-48.000000"]
    assert rows[0][4] == "0-0 1-1"
    assert sorted(r.split("|||")[1] for r in out.read_text().split("\n")[:-1]) == sorted(
        r.split("|||")[1] for r in LIST.split("\n")[:-1]
    )


def test_weights_without_the_original_leave_the_totals_out(nmtkit, files):
    result = nmtkit(
        "nbest", "rerank", files / "list", "--weights-file", files / "moses.ini", "--sentences", 4
    )
    assert result.stdout == "\n\nbonjour\n\n"
    assert "not in the list, ignored: UnknownWordPenalty0" in result.stderr
    assert "no hypotheses for 2 sentences" in result.stderr


def test_the_oracle_bleu_is_logged(nmtkit, files):
    result = nmtkit("nbest", "rerank", files / "list", "--oracle", files / "ref")
    assert result.stdout == "un deux\n\nbonjour trois quatre cinq\n\n"
    best = files / "best"
    best.write_text(result.stdout)
    figure = nmtkit("evaluate", best, files / "ref").stdout.split()[2]
    assert f"oracle: BLEU {figure}\n" in result.stderr
    assert float(figure) > 50


def test_several_references_are_those_of_evaluate(nmtkit, files):
    other = files / "other"
    other.write_text(
        "".join(f"{line[::-1]}\n" for line in (files / "ref").read_text().split("\n")[:-1])
    )
    numbered = files / "moses"
    for number, name in enumerate(("ref", "other")):
        (files / f"moses{number}").write_text((files / name).read_text())
    both = ["--oracle", files / "ref", "--oracle", other]
    result = nmtkit("nbest", "rerank", files / "list", *both)
    best = files / "best"
    best.write_text(result.stdout)
    figure = nmtkit("evaluate", best, files / "ref", "--reference", other).stdout.split()[2]
    assert f"oracle: BLEU {figure}\n" in result.stderr
    assert nmtkit("nbest", "rerank", files / "list", "--oracle", numbered).stdout == result.stdout
    options = ["--method", "mira", "--epochs", 3]
    tuned = nmtkit("nbest", "tune", files / "list", files / "ref", "--reference", other, *options)
    assert nmtkit("nbest", "tune", files / "list", numbered, *options).stdout == tuned.stdout


@pytest.mark.parametrize(
    "options", [[], ["--method", "mira", "--epochs", 20], ["--restarts", 1, "--seed", 3]]
)
@pytest.mark.parametrize("start", [[], ["--start", "moses.ini"]])
def test_rerank_reads_tuned_weights(nmtkit, files, options, start):
    start = [files / s if "." in s else s for s in start]
    arguments = ["nbest", "tune", files / "list.gz", files / "ref", *options, *start]
    message = nmtkit(*arguments, "-o", files / "tuned").stderr
    assert nmtkit(*arguments).stdout == (files / "tuned").read_text()
    ranked = nmtkit(
        "nbest", "rerank", files / "list", "--weights-file", files / "tuned", "--sentences", 4
    )
    (files / "best").write_text(ranked.stdout)
    figure = nmtkit("evaluate", files / "best", files / "ref").stdout.split()[2]
    last = message.splitlines()[-1].split()
    assert last[:3] == ["nmtkit:", "BLEU", f"{figure},"]
    assert float(figure) >= float(last[-4])
    again = [
        "nbest",
        "tune",
        files / "list",
        files / "ref",
        "--restarts",
        0,
        "--start",
        files / "tuned",
    ]
    assert f"BLEU {figure} with the starting weights" in nmtkit(*again).stderr


@pytest.mark.parametrize(
    ("arguments", "status", "message"),
    [
        (["nbest", "rerank", "none"], 1, "none: cannot be read"),
        (["nbest", "rerank", "list", "--weights-file", "none"], 1, "none: cannot be read"),
        (["nbest", "rerank", "list", "--weights-file", "ref"], 1, "ref: has no section [weight]"),
        (
            ["nbest", "rerank", "list", "--mean-with", "CSLM0"],
            1,
            "list:1: has no values of 'CSLM0'",
        ),
        (["nbest", "rerank", "list", "--mean-with", "TM0"], 1, "list:1: has 2 values of 'TM0'"),
        (["nbest", "rerank", "list", "--sentences", "2"], 1, "list:4: sentence 2, counted from 0"),
        (["nbest", "rerank", "bad"], 1, "bad:1: expected at least 4 fields"),
        (
            ["nbest", "rerank", "odd", "--weights-file", "moses.ini"],
            1,
            "odd:2: has the features LM0 (1), but",
        ),
        (
            ["nbest", "rerank", "list", "--weights-file", "xm"],
            1,
            "xm: has weights for 'XM0', which is not a feature",
        ),
        (
            ["nbest", "rerank", "list", "--weights-file", "moses.ini", "--original", "xm"],
            1,
            "xm: has weights for 'XM0', which is not a feature",
        ),
        (["nbest", "rerank", "list", "--weights-file", "rest"], 1, "no section [original-weight]"),
        (["nbest", "rerank", "list", "--oracle", "short"], 1, "list:4: sentence 2"),
        (["nbest", "rerank", "list", "--oracle", "ref", "--oracle", "short"], 1, "short has 2"),
        (["nbest", "tune", "list", "ref", "--reference", "short"], 1, "short has 2"),
        (["nbest", "rerank", "-", "--oracle", "-"], 2, "stdin ('-') can be only one"),
        (["nbest", "tune", "list", "-", "--reference", "-"], 2, "stdin ('-') can be only one"),
        (
            ["nbest", "rerank", "list", "--oracle", "ref", "--mean-with", "RNN0"],
            2,
            "exclude each other",
        ),
        (
            ["nbest", "rerank", "list", "--oracle", "ref", "--sentences", "4"],
            2,
            "--sentences and --oracle exclude each other",
        ),
        (
            ["nbest", "rerank", "list", "--original", "moses.ini"],
            2,
            "--original needs --weights-file",
        ),
        (["nbest", "rerank", "list", "--list", "-"], 2, "need different files"),
        (["nbest", "rerank", "-", "--weights-file", "-"], 2, "stdin ('-') can be only one"),
        (["nbest", "tune", "list", "none"], 1, "none: cannot be read"),
        (["nbest", "tune", "bad", "ref"], 1, "bad:1: expected at least 4 fields"),
        (["nbest", "tune", "odd", "ref"], 1, "odd:2: has the features"),
        (["nbest", "tune", "empty", "ref"], 1, "the n-best list is empty"),
        (["nbest", "tune", "list", "short"], 1, "list:4: sentence 2, counted from 0, is beyond"),
        (["nbest", "tune", "list", "ref", "--start", "xm"], 1, "xm: has weights for 'XM0'"),
        (
            ["nbest", "tune", "list", "ref", "--restarts", "1", "--method", "mira"],
            2,
            "--restarts needs",
        ),
        (["nbest", "tune", "list", "ref", "--epochs", "1"], 2, "--epochs needs --method mira"),
        (["nbest", "tune", "-", "-"], 2, "stdin ('-') can be only one"),
    ],
)
def test_errors_are_one_line(nmtkit, files, monkeypatch, arguments, status, message):
    monkeypatch.chdir(files)
    (files / "bad").write_text("nonsense\n")
    (files / "odd").write_text("".join(LIST.splitlines(True)[:1]) + "0 ||| x ||| LM0= 1 ||| 1\n")
    (files / "xm").write_text("[weight]\nXM0= 1\n")
    (files / "rest").write_text("[weight]\nRest0= 1\n")
    (files / "short").write_text("un deux\nhuit\n")
    (files / "empty").write_text("")
    result = nmtkit(*arguments, *([] if "--list" in arguments else ["-o", "out"]), status=status)
    errors = [line for line in result.stderr.splitlines() if line.startswith("nmtkit: error: ")]
    assert len(errors) == 1 and message in errors[0]
    assert not (files / "out").exists()


def test_existing_files_are_kept(nmtkit, files):
    out = files / "out"
    out.write_text("kept")
    for arguments in (
        ["nbest", "rerank", files / "list", "-o", out],
        ["nbest", "rerank", files / "list", "--list", out],
        ["nbest", "tune", files / "list", files / "ref", "-o", out, "--restarts", 0],
    ):
        assert "exists already; use --force" in nmtkit(*arguments, status=1).stderr
        assert out.read_text() == "kept"
    nmtkit("nbest", "rerank", files / "list", "-o", out, "--force")
    assert out.read_text().startswith("un x\n")


def test_empty_lists_have_empty_output(nmtkit):
    assert nmtkit("nbest", "rerank", "-", input="").stdout == ""
    assert nmtkit("nbest", "rerank", "-", "--sentences", 2, input="").stdout == "\n\n"
