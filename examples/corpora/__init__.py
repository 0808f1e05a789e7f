"""A corpus from the network to plain text: fetched, checked, unpacked, in one form.

Python's own library is all that is used, so that it can be run before anything is installed.
"""


class CorpusError(Exception):
    """What the user can mend, in one sentence."""
