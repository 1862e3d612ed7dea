"""Which project a folder belongs to, without asking `git`: `services.projects.detect` in the small language."""

from __future__ import annotations

import os

from engram import places
from engram.hook import sql

UNSCOPED = "unscoped"
_CONFIG = os.path.join(".engram", "config.json")
_MOST = 256 * 1024


def key_of(folder: str, *, home: str, data_folder: str) -> str:
    """The key of the project that observations of work in `folder` are kept under, before aliases."""
    return _key(_name(folder, home=home, data_folder=data_folder))


def _key(name: str) -> str:
    if not name.isascii():
        from unicodedata import normalize

        return normalize("NFC", " ".join(normalize("NFC", name).split()).casefold())
    return " ".join(name.split()).casefold()


def _name(folder: str, *, home: str, data_folder: str) -> str:
    named = os.environ.get("ENGRAM_PROJECT", "").strip()
    if named:
        return named
    folder, home = os.path.realpath(folder), os.path.realpath(home)
    base = at = folder
    while at != home:
        config = os.path.join(at, _CONFIG)
        if os.path.isfile(config) and os.path.realpath(os.path.dirname(config)) != os.path.realpath(data_folder):
            name = _configured(config)
            if name:
                return name
        if os.path.isdir(os.path.join(at, places.ROOT)):
            base = at
            break
        above = os.path.dirname(at)
        if above == at:
            break
        at = above
    tree, _, common = places.git_folders(base)
    if tree and tree != home:
        return _repository_name(tree, common)
    if base != folder:
        return os.path.basename(base) or UNSCOPED
    if base == home or _is_no_project(base):
        return UNSCOPED
    return os.path.basename(base)


def _configured(path: str) -> str:
    text = _text(path)
    if not sql.is_object(text):
        return ""
    name, other = sql.texts_of(text, ("$.project_name", "$.project"))
    return (name or other).strip()


def _repository_name(tree: str, common: str) -> str:
    origin = _origin(_text(os.path.join(common, "config")))
    if origin:
        last = origin.rstrip("/").removesuffix(".git").replace("\\", "/").replace(":", "/").rsplit("/", 1)[-1]
        if last:
            return last
    folder = common if common.endswith(".git") else tree
    base = os.path.basename(folder.rstrip("/\\"))
    if base == ".git":
        return os.path.basename(os.path.dirname(folder))
    return base.removesuffix(".git") or os.path.basename(tree)


def _origin(config: str) -> str:
    """The address of the remote `origin` in a configuration file of Git; the last one counts, as for Git."""
    found = ""
    is_origin = False
    for raw in config.split("\n"):
        line = raw.strip()
        if line.startswith("["):
            section = line.partition("]")[0].replace("\t", " ")
            is_origin = section[1:].split(" ", 1)[0].lower() == "remote" and section.endswith('"origin"')
            line = line.partition("]")[2].strip()
        name, equals, value = line.partition("=")
        if is_origin and equals and name.strip().lower() == "url":
            found = _value(value.strip())
    return found


def _value(text: str) -> str:
    """A value as Git reads it: quotes, escapes and comments."""
    found = []
    is_quoted = is_escaped = False
    for char in text:
        if is_escaped:
            found.append({"n": "\n", "t": "\t", "b": "\b"}.get(char, char))
            is_escaped = False
        elif char == "\\":
            is_escaped = True
        elif char == '"':
            is_quoted = not is_quoted
        elif char in "#;" and not is_quoted:
            break
        else:
            found.append(char)
    return "".join(found).strip()


def _is_no_project(folder: str) -> bool:
    named = [os.environ.get(name, "") for name in ("TMPDIR", "TEMP", "TMP")]
    temporary = {os.path.realpath(place) for place in (*named, "/tmp", "/var/tmp", "/usr/tmp") if place}
    below = any(folder == place or folder.startswith(place + os.sep) for place in temporary)
    return below or os.path.dirname(folder) == folder


def _text(path: str) -> str:
    try:
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read(_MOST)
    except OSError:
        return ""
