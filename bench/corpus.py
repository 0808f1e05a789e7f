"""Benchmark corpus: tokenised Multi30k with shortlists of 10,000 words per side."""

from pathlib import Path

from timing import NMTKIT, BenchError, report_progress, run_command

SHORTLIST_SIZE = 10_000
SPLITS = ("train", "val", "test2016")


def prepared_folder(data: Path | None, work: Path) -> Path:
    """Return the prepared folder; tokenise the text and build the vocabularies on the first call.

    :param data: A folder with train, val and test2016, `.en` and `.fr`.
    :raises BenchError: No folder is given, or a file is missing in it.
    """
    folder = work / "prepared"
    if (folder / "vocab.tgt").is_file():
        return folder
    if data is None:
        raise BenchError("there is no text yet: name the folder of raw Multi30k with --data")
    files = {split: [data / f"{split}.{side}" for side in ("en", "fr")] for split in SPLITS}
    for path in (path for pair in files.values() for path in pair):
        if not path.is_file():
            raise BenchError(
                f"{path}: no such file; make -C examples/multi30k-en-fr data downloads it"
            )
    report_progress(f"tokenising {data} into {folder}")
    texts: list[str | Path] = ["--train", *files["train"], "--dev", *files["val"]]
    test: list[str | Path] = ["--test", "test2016", *files["test2016"]]
    sides: list[str | Path] = ["-s", "en", "-t", "fr", "--subword", "none"]
    output: list[str | Path] = ["--max-length", "100", "--force", "--output", folder]
    run_command([*NMTKIT, "prepare", *texts, *test, *sides, *output], work / "prepare.log")
    run_command(
        [*NMTKIT, "shortlist", folder, "--size", str(SHORTLIST_SIZE)], work / "shortlist.log"
    )
    return folder
