import json

import pytest

from nmtkit.data.manifest import read_manifest
from nmtkit.errors import DataError
from nmtkit.io.checksums import with_checksum


def test_the_manifest_is_read(tmp_path):
    (tmp_path / "manifest.json").write_text(
        '{"format": 1, "text": {"subwords": "joint"}, "more": 2}'
    )
    assert read_manifest(tmp_path) == {"format": 1, "text": {"subwords": "joint"}, "more": 2}


def test_a_folder_without_a_manifest_names_the_remedy(tmp_path):
    with pytest.raises(DataError, match=r"manifest\.json: cannot be read.*nmtkit prepare"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not of format 1 or 2"),
        ('{"format": 3, "text": {}}', "not of format 1 or 2"),
        ('{"format": 1}', "has no section 'text'"),
        ('{"format": 1, "text": []}', "has no section 'text'"),
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path, text, message):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=f"manifest.json: {message}.*prepare the folder again"):
        read_manifest(tmp_path)


def test_every_turned_bit_is_noticed(tmp_path):
    path = tmp_path / "manifest.json"
    manifest = with_checksum({"format": 1, "text": {"subwords": "joint"}, "pairs": 29_000})
    path.write_text(json.dumps(manifest, indent=2))
    content = path.read_bytes()
    for position in range(len(content)):
        damaged = bytearray(content)
        damaged[position] ^= 1 << position % 7
        path.write_bytes(damaged)
        try:
            found = read_manifest(tmp_path)
        except DataError:
            continue
        # only other blanks, or the key of the checksum
        assert {**manifest, **found} == {**found, **manifest}, position
