import pytest

from nmtkit.data.manifest import read_manifest
from nmtkit.errors import DataError


def test_the_manifest_is_read(tmp_path):
    (tmp_path / "manifest.json").write_text('{"format": 1, "text": {"bpe": "joint"}, "more": 2}')
    assert read_manifest(tmp_path) == {"format": 1, "text": {"bpe": "joint"}, "more": 2}


def test_a_folder_without_a_manifest_names_the_remedy(tmp_path):
    with pytest.raises(DataError, match=r"manifest\.json: cannot be read.*nmtkit prepare"):
        read_manifest(tmp_path)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("{", "not JSON"),
        ("[" * 100_000, "not JSON"),
        ("[]", "not of format 1"),
        ('{"format": 2, "text": {}}', "not of format 1"),
        ('{"format": 1}', "has no section 'text'"),
        ('{"format": 1, "text": []}', "has no section 'text'"),
    ],
)
def test_an_invalid_manifest_is_refused(tmp_path, text, message):
    (tmp_path / "manifest.json").write_text(text)
    with pytest.raises(DataError, match=f"manifest.json: {message}.*prepare the folder again"):
        read_manifest(tmp_path)
