"""Commands that install optional dependencies, for messages.

This nmtkit may be in no package index, where anyone could register its name for another package. A
command therefore names the place that this nmtkit was installed from, which pip records
(PEP 610); if that is unknown or gone, it names the optional dependencies themselves. Only a message
needs what this module imports, so it is imported then: it takes 30 ms.
"""

from pathlib import Path
from typing import Any

DISTRIBUTION = "nmtkit"


def install_command(extra: str) -> str:
    """Return a shell command that installs the dependencies of an extra.

    :param extra: name of an extra in pyproject.toml, such as "plots".
    """
    import re
    import shlex

    record, requirements = _installation()
    editable = "--editable " if record.get("dir_info", {}).get("editable") else ""
    if place := _place(record):
        is_url = "://" in place
        target = f"{DISTRIBUTION}[{extra}] @ {place}" if is_url else f"{place}[{extra}]"
        return f"pip install {editable}{shlex.quote(target)}"
    pattern = re.compile(rf"(.*);.*\bextra *== *['\"]{re.escape(extra)}['\"]")
    names = [match[1].strip() for line in requirements if (match := pattern.fullmatch(line))]
    if not names:
        return f"pip install, with the packages of the extra '{extra}' in pyproject.toml"
    return shlex.join(["pip", "install", *names])


def installed_from() -> str:
    """Return the path or address that this nmtkit was installed from; empty if it is unknown."""
    return _place(_installation()[0])


def _installation() -> tuple[dict[str, Any], list[str]]:
    """Return pip's record of the installation (empty if there is none) and all requirements."""
    import json
    from importlib import metadata

    try:
        distribution = metadata.distribution(DISTRIBUTION)
        record = json.loads(distribution.read_text("direct_url.json") or "{}")
    except (metadata.PackageNotFoundError, ValueError):
        return _checkout(), []
    return record if isinstance(record, dict) else {}, distribution.requires or []


def _checkout() -> dict[str, Any]:
    """Return a record of the folder above the package if it is a checkout; else an empty one."""
    root = Path(__file__).parents[1]
    return {"url": root.as_uri(), "dir_info": {}} if (root / "pyproject.toml").is_file() else {}


def _place(record: dict[str, Any]) -> str:
    """Return the existing folder or file, or the address, of pip's record; else an empty string."""
    from urllib.parse import unquote, urlsplit

    url = str(record.get("url", ""))
    if url.startswith("file://"):
        path = Path(unquote(urlsplit(url).path))
        is_source = (path / "pyproject.toml").is_file() if path.is_dir() else path.is_file()
        return str(path) if is_source else ""
    if version_control := record.get("vcs_info"):
        url = f"{version_control.get('vcs')}+{url}@{version_control.get('commit_id')}"
    folder = f"#subdirectory={record['subdirectory']}" if record.get("subdirectory") else ""
    return f"{url}{folder}" if "://" in url else ""
