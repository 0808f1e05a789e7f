"""Files that hold text among other things: which parts are to be translated, and all else kept.

A parser finds the segments of a file, and where their translations go. Only these places change;
every other byte is written as it was read.
"""
