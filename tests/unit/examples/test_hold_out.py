"""A test set held out of a bitext shares nothing with the rest."""

from pathlib import Path

import hold_out
import pytest

LINES = 400


@pytest.fixture
def bitext(tmp_path: Path) -> str:
    """Write a bitext in which each pair occurs twice, once with other digits and case."""
    for side in ("en", "fr"):
        half = [f"{side} {'abcdefghij'[n % 10] * (n // 10 + 1)} 7" for n in range(LINES // 2)]
        lines = [*half, *(f"{line[:-2].upper()}, 8." for line in half)]
        (tmp_path / f"all.{side}").write_text("".join(f"{line}\n" for line in lines))
    return str(tmp_path / "all")


def hold(bitext: str, *options: str, pairs: int = 50) -> int:
    folder = Path(bitext).parent
    names = ["--output", str(folder / "test"), "--rest", str(folder / "train")]
    return hold_out.main([bitext, "--pairs", str(pairs), *names, *options])


def lines_of(bitext: str, name: str) -> list[str]:
    return Path(bitext).with_name(name).read_text().splitlines()


def test_no_pair_of_the_rest_is_like_one_of_the_test_set(bitext: str) -> None:
    assert hold(bitext) == 0
    for side in ("en", "fr"):
        test, rest = lines_of(bitext, f"test.{side}"), lines_of(bitext, f"train.{side}")
        keys = {hold_out.key_of(line.encode()) for line in test}
        assert len(test) == len(keys) == 50
        assert len(rest) == LINES - 2 * 50
        assert keys.isdisjoint(hold_out.key_of(line.encode()) for line in rest)
        assert set(test) | set(rest) <= set(lines_of(bitext, f"all.{side}"))


def test_pairs_stay_together_and_in_order(bitext: str) -> None:
    hold(bitext)
    everything = list(zip(lines_of(bitext, "all.en"), lines_of(bitext, "all.fr"), strict=True))
    for name in ("test", "train"):
        pairs = zip(lines_of(bitext, f"{name}.en"), lines_of(bitext, f"{name}.fr"), strict=True)
        places = [everything.index(pair) for pair in pairs]
        assert places == sorted(places)


def test_the_seed_decides(bitext: str) -> None:
    drawn = []
    for seed in ("1", "1", "2"):
        hold(bitext, "--seed", seed)
        drawn.append(lines_of(bitext, "test.en"))
    assert drawn[0] == drawn[1] != drawn[2]


def test_a_bitext_that_is_too_small_or_not_parallel_is_refused(
    bitext: str, capsys: pytest.CaptureFixture[str]
) -> None:
    assert hold(bitext, pairs=LINES // 2 + 1) == 1
    assert "too few distinct ones" in capsys.readouterr().err
    with open(f"{bitext}.fr", "a") as file:
        file.write("one more\n")
    assert hold(bitext) == 1
    assert "400 English and 401 French lines" in capsys.readouterr().err
    assert not Path(bitext).with_name("test.en").exists()


def test_no_line_is_lost_without_a_last_newline(bitext: str) -> None:
    for side in ("en", "fr"):
        path = Path(f"{bitext}.{side}")
        path.write_text(path.read_text() + f"{side} the very last")
    assert hold(bitext) == 0
    for side in ("en", "fr"):
        last = [Path(bitext).with_name(f"{name}.{side}").read_text() for name in ("test", "train")]
        assert all(text.endswith("\n") for text in last)
        assert sum(text.count(f"{side} the very last\n") for text in last) == 1


def test_a_bitext_that_repeats_itself_much_is_drawn_from_again(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for side in ("en", "fr"):
        different = [f"{side} {'abcdefghij'[n % 10] * (n // 10 + 1)}" for n in range(30)]
        lines = [*different, *[f"{side} same"] * 970]
        (tmp_path / f"all.{side}").write_text("".join(f"{line}\n" for line in lines))
    assert hold(str(tmp_path / "all"), pairs=31) == 0
    assert hold(str(tmp_path / "all"), pairs=32) == 1
    assert "too few distinct ones for a test set of 32" in capsys.readouterr().err


@pytest.mark.parametrize("pairs", [0, -3])
def test_a_test_set_has_pairs(bitext: str, pairs: int) -> None:
    with pytest.raises(SystemExit, match="^2$"):
        hold(bitext, pairs=pairs)
