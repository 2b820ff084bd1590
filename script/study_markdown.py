"""Markdown as the documents of studies have it."""

import textwrap


def wrapped(text):
    """A paragraph as lines.

    >>> wrapped("one-two " * 20)[0][-7:]
    'one-two'
    """
    return textwrap.wrap(text, 120, break_on_hyphens=False)


def table(head, rows):
    """A table as lines, with an empty one after it.

    >>> table(["a", "b"], [["1", "2"]])
    ['| a | b |', '|---|---|', '| 1 | 2 |', '']
    """
    return ["| " + " | ".join(head) + " |", "|" + "---|" * len(head), *("| " + " | ".join(row) + " |" for row in rows), ""]
