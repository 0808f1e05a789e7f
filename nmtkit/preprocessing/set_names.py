"""Names of test sets, which become names of files."""

import re
from collections.abc import Mapping
from typing import Any

from nmtkit.errors import ConfigError
from nmtkit.text.names import NAMES
from nmtkit.text.subword import SUBWORD_FILES
from nmtkit.text.truecaser import TRUECASE

_TEST_SET_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
_RESERVED_NAMES = {"train", "dev", "vocab", "words", "held", TRUECASE, NAMES, *SUBWORD_FILES}


def check_test_names(tests: Mapping[str, Any]) -> None:
    """Raise ConfigError for a name that no file can have, or that prepare uses itself."""
    for name in tests:
        if not _TEST_SET_NAME.fullmatch(name) or name in _RESERVED_NAMES:
            raise ConfigError(
                f"'{name}' cannot be the name of a test set; choose letters, digits, '.', '_'"
                f" and '-', and none of {', '.join(sorted(_RESERVED_NAMES))}"
            )
