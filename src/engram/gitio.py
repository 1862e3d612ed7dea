"""The `git` program: where a repository is, what it is called, what its history says."""

from __future__ import annotations

import os
import subprocess
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from engram.errors import NotFound, Unsupported

# Variables that would make git speak of another repository than the folder's.
_FOREIGN = ("GIT_DIR", "GIT_WORK_TREE", "GIT_INDEX_FILE", "GIT_COMMON_DIR", "GIT_PREFIX", "GIT_NAMESPACE")
# NUL cannot stand in a commit message or a path.
_RECORD, _UNIT = "\0\0", "\0"


@dataclass(frozen=True, slots=True, kw_only=True)
class Repository:
    """`root` is the work tree; `common` the shared metadata folder, the same for all worktrees; `origin` the
    remote's address or None."""

    root: str
    common: str
    origin: str | None

    @property
    def name(self) -> str:
        """The repository's name in its origin, else the folder that holds the shared metadata."""
        if self.origin:
            last = self.origin.rstrip("/").removesuffix(".git").replace("\\", "/").replace(":", "/").rsplit("/", 1)[-1]
            if last:
                return last
        folder = self.common if self.common.endswith(".git") else self.root
        base = os.path.basename(folder.rstrip("/\\"))
        if base == ".git":
            return os.path.basename(os.path.dirname(folder))
        return base.removesuffix(".git") or os.path.basename(self.root)


@dataclass(frozen=True, slots=True, kw_only=True)
class Commit:
    """`committed_at` is RFC 3339 with an offset; `files` the paths it touched."""

    id: str
    author: str
    committed_at: str
    subject: str
    body: str
    files: tuple[str, ...]


def repository(folder: str) -> Repository | None:
    """The repository that `folder` is in, or None; also None when there is no git program."""
    try:
        found = _run(folder, "rev-parse", "--path-format=absolute", "--show-toplevel", "--git-common-dir")
    except (OSError, subprocess.SubprocessError):
        return None
    lines = found.splitlines()
    if len(lines) != 2:
        return None
    try:
        origin = _run(folder, "config", "--get", "remote.origin.url").strip() or None
    except (OSError, subprocess.SubprocessError):
        origin = None
    return Repository(root=os.path.normpath(lines[0]), common=os.path.normpath(lines[1]), origin=origin)


def history(folder: str, *, limit: int | None = None) -> Iterator[Commit]:
    """Commits reachable from HEAD without merges, newest first, read as git prints them.

    Raises `NotFound` when `folder` is no repository, `Unsupported` without a git program.
    """
    if repository(folder) is None:
        raise NotFound(f"{folder}: no git repository here", hint="give the folder of a repository")
    form = "--format=%x00%x00%H%x00%an%x00%cI%x00%s%x00%b%x00"
    command = [
        "git",
        "-C",
        folder,
        "-c",
        "core.quotePath=false",
        "log",
        "--no-merges",
        "--name-only",
        "--no-color",
        "--encoding=UTF-8",
        form,
    ]
    if limit is not None:
        command.append(f"--max-count={limit}")
    try:
        process = subprocess.Popen(
            command,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            stdin=subprocess.DEVNULL,
            env=_environment(),
        )
    except OSError as error:
        raise Unsupported("the `git` program was not found", hint="install git") from error
    with process:
        assert process.stdout is not None
        yield from _commits(process.stdout)
        if process.wait() != 0:
            assert process.stderr is not None
            told = process.stderr.read().decode("utf-8", "replace").strip()
            raise NotFound(f"{folder}: git could not read the history: {told[:300]}")


def _commits(stream: Iterator[bytes]) -> Iterator[Commit]:
    block: list[str] = []
    for line in stream:
        text = line.decode("utf-8", "replace")
        if text.startswith(_RECORD):
            if block:
                yield _commit("".join(block))
            block = [text[len(_RECORD) :]]
        elif block:
            block.append(text)
    if block:
        yield _commit("".join(block))


def _commit(block: str) -> Commit:
    id, author, at, subject, body, names = block.split(_UNIT, 5)
    files = tuple(name for name in names.splitlines() if name.strip())
    return Commit(id=id, author=author, committed_at=at, subject=subject, body=body.strip(" \t\n"), files=files)


def _run(folder: str, *arguments: str) -> str:
    done = subprocess.run(
        ["git", "-C", folder, *arguments],
        capture_output=True,
        stdin=subprocess.DEVNULL,
        timeout=5,
        check=True,
        env=_environment(),
    )
    return done.stdout.decode("utf-8", "replace")


def _environment() -> dict[str, str]:
    kept = {name: value for name, value in os.environ.items() if name not in _FOREIGN}
    return {**kept, "GIT_OPTIONAL_LOCKS": "0", "LC_ALL": "C.UTF-8", "GIT_TERMINAL_PROMPT": "0"}


def author(folder: str) -> tuple[str, str]:
    """(name, address) that Git would commit with in `folder`; "" for what is not configured."""
    found = []
    for name in ("user.name", "user.email"):
        try:
            found.append(_run(folder, "config", "--get", name).strip())
        except (OSError, subprocess.SubprocessError):
            found.append("")
    return found[0], found[1]


def uncommitted(folder: str) -> frozenset[str] | None:
    """Files below `folder` (relative, with `/`) that are not as the last commit has them: new, changed, ignored.

    None outside of a repository or without a git program: nothing is committed there.
    """
    arguments = ("--no-optional-locks", "status", "--porcelain=v1", "-z", "--untracked-files=all", "--ignored=matching")
    try:
        top = _run(folder, "rev-parse", "--show-prefix").strip()
        listed = _run(folder, *arguments, "--no-renames", "--", ".")
    except (OSError, subprocess.SubprocessError):
        return None
    found = set()
    for row in listed.split("\0"):
        path = row[3:]
        if path.startswith(top):
            found.add(path[len(top) :])
    return frozenset(found)


def tracked(folder: str, paths: Sequence[str]) -> list[str]:
    """Which files at or below `paths` (relative to `folder`) Git tracks; none outside of a repository."""
    try:
        return [path for path in _run(folder, "ls-files", "-z", "--", *paths).split("\0") if path]
    except (OSError, subprocess.SubprocessError):
        return []


def in_history(folder: str, paths: Sequence[str]) -> frozenset[str]:
    """Which of the files (relative to `folder`) some commit of some branch holds. One process, however many files."""
    arguments = ("--all", "--full-history", "--no-renames", "--format=", "--name-only", "--relative", "-z")
    try:
        listed = _run(folder, "log", *arguments, "--", ".")
    except (OSError, subprocess.SubprocessError):
        return frozenset()
    return frozenset(paths) & frozenset(name.strip("\n") for name in listed.split("\0"))
