"""Engram: persistent memory for AI coding agents."""

from engram._version import __version__ as __version__
