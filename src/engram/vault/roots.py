"""Where memories live: the workspace root, the global root and its profiles. `os.path` only: light to import."""

from __future__ import annotations

import json
import os
import stat
from collections.abc import Mapping
from dataclasses import dataclass, replace

from engram.errors import InvalidInput, NotFound, SettingsError
from engram.paths import is_within
from engram.places import PROFILES, ROOT, digest, git_folders
from engram.places import workspace_root as workspace_place

# Beside the profiles, and never made: stands for the root of one that is missing.
NOWHERE = "no-such-profile"
_PROFILE_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789._-")


@dataclass(frozen=True, slots=True, kw_only=True)
class Root:
    """A folder that holds memories.

    `scope` is workspace or global; `path` its real path. `problem` says why there is none to be read or written: then
    nothing lies at `path`, and nothing may be made there. `identity` is the same for all worktrees of a repository:
    approvals and trust belong to it. `repository` is the work tree that it lies in, "" outside of Git; `git` the
    folder with that work tree's own Git state.
    """

    scope: str
    path: str
    identity: str
    repository: str = ""
    git: str = ""
    profile: str = ""
    problem: str = ""

    @property
    def shared_key(self) -> str:
        """Names the root in all worktrees: its ledger and lock."""
        return digest(self.identity)

    @property
    def exists(self) -> bool:
        return not self.problem and os.path.isdir(self.path)

    def check_writable(self) -> None:
        """Raises `SettingsError` for a root that has a problem, with what mends it."""
        if self.problem:
            raise SettingsError(self.problem, hint=mended(self.profile))


@dataclass(frozen=True, slots=True, kw_only=True)
class Profiles:
    """Named global roots of this user: `paths` by name, and which one is active for all workspaces."""

    active: str
    paths: Mapping[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class Nearest:
    """A workspace root that was found, with what shows by a few looks that searching would find it again.

    `above` are places between the folder and the root where another one would be nearer; `marks` are the device and
    number of the root's folders and of the repository's `.git`.
    """

    root: Root
    above: tuple[str, ...]
    watched: tuple[str, ...]
    marks: tuple[tuple[int, int, int] | None, ...]

    @staticmethod
    def of(folder: str, root: Root) -> Nearest:
        top, at = os.path.dirname(os.path.dirname(root.path)), os.path.realpath(folder)
        above: list[str] = []
        while at not in (top, os.path.dirname(at)):
            above.append(os.path.join(at, ROOT))
            above.append(os.path.join(at, ".git"))
            at = os.path.dirname(at)
        watched = (folder, os.path.dirname(root.path), root.path, os.path.join(top, ".git"))
        return Nearest(root=root, above=tuple(above), watched=watched, marks=tuple(map(_mark_of, watched)))

    def is_still_so(self) -> bool:
        return tuple(map(_mark_of, self.watched)) == self.marks and not any(map(os.path.exists, self.above))


def _mark_of(path: str) -> tuple[int, int, int] | None:
    """What a path leads to; a `.git` that is a file says itself where the repository is, so its time counts as well."""
    try:
        found = os.stat(path)
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_mtime_ns if stat.S_ISREG(found.st_mode) else 0


def workspace_root(folder: str, *, home: str) -> Root | None:
    """The nearest `.agents/.engram` at or above `folder`, or of the main checkout for a linked worktree.

    Never above `home`; None when there is none.
    """
    place = workspace_place(folder, home=home)
    return root_at(place, scope="workspace") if place else None


def new_workspace_root(folder: str) -> Root:
    """The root that `engram init` makes: at the top of the repository, else in `folder` itself."""
    tree, _, _ = git_folders(os.path.realpath(folder))
    return root_at(os.path.join(tree or os.path.realpath(folder), ROOT), scope="workspace")


def root_at(path: str, *, scope: str, profile: str = "") -> Root:
    path = os.path.realpath(path)
    tree, own, common = git_folders(path)
    identity = os.path.join(common, os.path.relpath(path, tree)) if tree else path
    return Root(scope=scope, path=path, identity=identity, repository=tree, git=own, profile=profile)


def global_root(*, data_folder: str, environ: Mapping[str, str], chosen: str = "", workspace_default: str = "") -> Root:
    """`chosen` (`--profile`), `ENGRAM_GLOBAL_DIR`, the active profile, `~/.engram/global`, in this order.

    The active profile is `ENGRAM_PROFILE`, the workspace's `default_profile`, or the user's. The folder need not
    exist. A profile that nobody made on this machine raises `SettingsError` when it was asked for now; as a setting,
    which another machine may have made, it gives a root with a `problem`.
    """
    explicit = environ.get("ENGRAM_GLOBAL_DIR", "").strip()
    if explicit and not chosen:
        return root_at(os.path.abspath(os.path.expanduser(explicit)), scope="global")
    profiles = read_profiles(data_folder)
    asked_for = chosen or environ.get("ENGRAM_PROFILE", "").strip()
    name = asked_for or workspace_default or profiles.active
    if not name:
        return root_at(os.path.expanduser(os.path.join("~", ".engram", "global")), scope="global")
    if name not in profiles.paths and asked_for:
        raise SettingsError("profile: there is none of this name", hint="engram profile list")
    if name not in profiles.paths:
        shown = name if _is_profile_name(name) else "…"
        problem = f"the profile `{shown}` that is set here is not known on this machine"
        return replace(root_at(os.path.join(data_folder, NOWHERE), scope="global", profile=shown), problem=problem)
    return root_at(os.path.expanduser(profiles.paths[name]), scope="global", profile=name)


def mended(profile: str) -> str:
    """The command that makes a missing profile known."""
    return f"engram profile add {profile} PATH"


def _is_profile_name(name: str) -> bool:
    return bool(name) and len(name) <= 64 and name[0].isalnum() and set(name) <= _PROFILE_CHARACTERS


def check_profile_name(name: str) -> str:
    if not _is_profile_name(name):
        raise InvalidInput("profile: not a name", hint="a letter or digit, then letters, digits, `.`, `_`, `-`")
    return name


def read_profiles(data_folder: str) -> Profiles:
    """The user's profiles. Raises `SettingsError` for a file that cannot be read."""
    path = os.path.join(data_folder, PROFILES)
    try:
        with open(path, encoding="utf-8") as file:
            found = json.load(file)
        paths = {str(name): str(row["path"]) for name, row in found["profiles"].items()}
        return Profiles(active=str(found.get("active_profile") or ""), paths=paths)
    except FileNotFoundError:
        return Profiles(active="", paths={})
    except (OSError, ValueError, KeyError, TypeError, AttributeError, RecursionError) as error:
        raise SettingsError(f"{path}: cannot be read", hint="mend or remove it") from error


def write_profiles(data_folder: str, profiles: Profiles) -> None:
    from engram import files

    files.private_folder(data_folder)
    rows = {name: {"path": path} for name, path in sorted(profiles.paths.items())}
    whole = {"active_profile": profiles.active, "profiles": rows}
    files.write_whole(os.path.join(data_folder, PROFILES), json.dumps(whole, ensure_ascii=False, indent=2) + "\n")


def inside(root: Root, relative: str) -> str:
    """The absolute path of a file of the root. Raises `NotFound` for one that would lie outside, links followed."""
    try:
        whole = os.path.realpath(os.path.join(root.path, relative))
    except ValueError:  # no file can have such a name
        whole = ""
    if os.path.isabs(relative) or not whole or not is_within(whole, root.path):
        raise NotFound("a path that leads out of the memory folder")
    return whole
