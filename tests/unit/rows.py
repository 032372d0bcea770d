"""Rows of comparison.csv and claims.csv from what a test says of them, everything else empty."""

from dataclasses import MISSING, fields

from fairfl.judgement.rows import _READ, ClaimLine, ComparisonLine


def compared(given: dict, **more) -> ComparisonLine:
    return _row(ComparisonLine, given | more)


def claim(given: dict, **more) -> ClaimLine:
    return _row(ClaimLine, given | more)


def _row(kind, given: dict):
    """Text is read as a cell of the file is."""
    values = {}
    for column in fields(kind):
        value = given.get(column.name, "" if column.default is MISSING else column.default)
        read = _READ.get(column.type, str)
        values[column.name] = read(value or "0" if read is int else value) if isinstance(value, str) else value
    assert given.keys() <= values.keys()
    return kind(**values)
