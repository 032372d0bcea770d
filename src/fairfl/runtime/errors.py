"""Errors that end a command with one clear line instead of a traceback."""

from __future__ import annotations


class FairflError(Exception):
    """A failure that the user can act on; its message is the whole story, in one line."""


class OptionError(FairflError, ValueError):
    """An option that does not exist or has a value that is not allowed."""


class PluginError(FairflError):
    """A plug-in's file that cannot be used as it stands; the message begins with file and line."""


class DataError(FairflError):
    """A data file whose content is not what its data set needs."""


class SourceError(FairflError):
    """A data file that no source could deliver in usable form."""
