"""Files of a bitext."""

from pathlib import Path


def write(folder: Path, name: str, pairs: list[tuple[str, str]]) -> tuple[Path, Path]:
    paths = folder / f"{name}.en", folder / f"{name}.fr"
    for path, lines in zip(paths, zip(*pairs, strict=True), strict=True):
        path.write_text("".join(f"{line}\n" for line in lines))
    return paths
