"""Put the parts of a link into the files of an agent program, and take them out again: one file after the other, each
with one copy, one write, and one line that says what became of it."""

from __future__ import annotations

import copy
import hashlib
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import Any

from engram.hosts import foreign_file
from engram.hosts.editing import blocks, elements, json_text, members, tables, wholes
from engram.hosts.editing.edit import Edit, Status, Untouched
from engram.hosts.foreign_file import Found
from engram.hosts.parts import Block, Element, Member, Part, Table, Told, Whole
from engram.hosts.registry import Kept, OurFile, Patch, Registry

FilePart = Block | Whole | Member | Element | Table


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """What became of parts of one file, or (without a `path`) what only the person can do, by `command`.

    `features` are what the parts are for; `backup` is the copy that was kept.
    """

    owner: str
    path: str
    features: tuple[str, ...]
    status: Status
    reason: str = ""
    backup: str = ""
    command: tuple[str, ...] = ()

    @property
    def is_trouble(self) -> bool:
        """Whether something that was asked for is not done."""
        return self.status in ("skipped", "conflict", "failed") or (
            self.status == "kept" and "server" in self.features and not self.reason.startswith(NEEDED)
        )


NEEDED = "needed by "


@dataclass(slots=True)
class _Done:
    """What to put back when a run is to be as if it had not been."""

    found: Found
    left: bytes | None


@dataclass(slots=True, kw_only=True)
class Run:
    """One run over any number of links. `save` keeps the registry; `stamp` is the time, as it stands in the names of
    copies; with `plan` nothing is written, and what would be is remembered for this run (also in `registry`, which is a
    copy then)."""

    registry: Registry
    save: Callable[[], None]
    stamp: str
    plan: bool = False
    _planned: dict[str, bytes | None] = field(default_factory=dict)
    _copied: dict[str, str] = field(default_factory=dict)
    _done: list[_Done] = field(default_factory=list)

    # -- put ---------------------------------------------------------------------------------------------------------

    def put(self, owner: str, parts: Sequence[Part], *, force: bool = False) -> list[Change]:
        """All `parts` stand where they belong. A file for which that cannot be is named; the others are done."""
        return _told(owner, parts) + [
            change for path, here in _by_path(parts) for change in self._put_into(owner, path, here, force=force)
        ]

    def _put_into(self, owner: str, path: str, parts: list[FilePart], *, force: bool) -> list[Change]:
        try:
            found = self._read(path)
        except Untouched as error:
            return [_change(owner, path, parts, error.status, error.reason)]
        ours = self._known(found)
        outcomes: list[tuple[FilePart, Status, str]] = []
        text: str | None = None if found.data is None else found.text
        for part in parts:
            name = _name(part)
            try:
                edit = _put(text, part, ours.parts.get(name), force=force)
            except Untouched as error:
                outcomes.append((part, error.status, error.reason))
                continue
            outcomes.append((part, edit.status, edit.reason))
            if edit.status != "written" and name not in ours.parts:
                ours.patches = None  # what was there before it is not known
            elif edit.text != text:
                _patched(ours, text, edit.text)
            _remember(ours, name, part, owner, edit)
            text = edit.text
        if not ours.parts:
            return _grouped(owner, path, outcomes)
        try:
            backup = self._write(found, text or "", ours)
        except Untouched as error:
            return [_change(owner, path, parts, error.status, error.reason)]
        return _grouped(owner, path, outcomes, backup)

    def take_old(self, owner: str, parts: Sequence[Part]) -> list[Change]:
        """Parts of this owner that an earlier link has put and that belong to it no longer are gone."""
        now = {(os.path.realpath(path), _name(part)) for path, here in _by_path(parts) for part in here}
        changes: list[Change] = []
        for target, ours in list(self.registry.files.items()):
            old = [
                _part(target, kept)
                for name, kept in ours.parts.items()
                if owner in kept.owners and (target, name) not in now
            ]
            if old:
                changes += self._take_from(owner, target, old, force=False)
        self._remove_folders()
        return changes

    # -- take --------------------------------------------------------------------------------------------------------

    def take(self, owner: str, parts: Sequence[Part], *, force: bool = False) -> list[Change]:
        """Nothing of this owner's is left, neither of `parts` nor of what is remembered; what another owner needs
        stays."""
        todo = dict(_by_path(parts))
        for target, ours in self.registry.files.items():
            mine = [_part(target, kept) for kept in ours.parts.values() if owner in kept.owners]
            path = next((one for one in todo if os.path.realpath(one) == target), target)
            names = {_name(part) for part in todo.get(path, [])}
            missing = [part for part in mine if _name(part) not in names]
            if missing:
                todo[path] = [*todo.get(path, []), *missing]
        changes = [change for path, here in todo.items() for change in self._take_from(owner, path, here, force=force)]
        self._remove_folders()
        return changes

    def _take_from(self, owner: str, path: str, parts: list[FilePart], *, force: bool) -> list[Change]:
        try:
            found = self._read(path)
        except Untouched as error:
            return [_change(owner, path, parts, error.status, error.reason)]
        if found.data is None:
            self._forget(found.target, owner)
            return []
        is_known = found.target in self.registry.files
        ours = self._known(found)
        text = found.text
        outcomes: list[tuple[FilePart, Status, str]] = []
        is_whole = False
        for part in parts:
            name = _name(part)
            kept = ours.parts.get(name)
            others = [one for one in kept.owners if one != owner] if kept else []
            if kept and others:
                kept.owners = others
                outcomes.append((part, "kept", NEEDED + ", ".join(others)))
                continue
            try:
                edit = _take(text, part, kept, force=force)
            except Untouched as error:
                outcomes.append((part, error.status, error.reason))
                continue
            outcomes.append((part, edit.status, edit.reason))
            if edit.text != text:
                _patched(ours, text, edit.text)
            is_whole = is_whole or (isinstance(part, Whole) and edit.status == "removed")
            text = edit.text
            ours.parts.pop(name, None)
        left: str | None = text
        if not ours.parts and not is_whole:
            left = _left(ours, text, parts, is_known=is_known, is_changed=text != found.text)
        elif not ours.parts:
            left = None
        try:
            backup = self._write(found, left, ours)
        except Untouched as error:
            return [_change(owner, path, parts, error.status, error.reason)]
        return [change for change in _grouped(owner, path, outcomes, backup) if change.status != "unchanged"]

    def _forget(self, target: str, owner: str) -> None:
        ours = self.registry.files.get(target)
        if ours is None:
            return
        for name in list(ours.parts):
            ours.parts[name].owners = [one for one in ours.parts[name].owners if one != owner]
            if not ours.parts[name].owners:
                del ours.parts[name]
        if not ours.parts:
            del self.registry.files[target]
        self.save()

    def _remove_folders(self) -> None:
        """Folders that we made go when nothing is in them any more."""
        if self.plan:
            return
        before = list(self.registry.folders)
        for folder in sorted(before, key=len, reverse=True):
            with suppress(OSError):  # something is in it, or it is gone
                os.rmdir(folder)
            if not os.path.isdir(folder):
                self.registry.folders.remove(folder)
        if self.registry.folders != before:
            self.save()

    # -- back --------------------------------------------------------------------------------------------------------

    def roll_back(self, before: Registry) -> list[str]:
        """Every file as this run found it, the last one first, and the registry as `before`; returns the paths that
        could not be put back, since another program has changed them meanwhile."""
        stuck = []
        for done in reversed(self._done):
            now = Found(path=done.found.path, target=done.found.target, data=done.left, mode=done.found.mode)
            try:
                if done.found.data is None:
                    foreign_file.remove(now)
                else:
                    foreign_file.replace(now, done.found.data)
            except Untouched:
                stuck.append(done.found.path)
        made = [one for one in self.registry.folders if one not in before.folders]
        for folder in sorted(made, key=len, reverse=True):
            with suppress(OSError):  # something is in it
                os.rmdir(folder)
        self.registry.files, self.registry.links = before.files, before.links
        self.registry.folders = before.folders
        self.save()
        self._done.clear()
        return stuck

    # -- files -------------------------------------------------------------------------------------------------------

    def _read(self, path: str) -> Found:
        found = foreign_file.read(path)
        if found.target in self._planned:
            return Found(path=path, target=found.target, data=self._planned[found.target], mode=found.mode)
        return found

    def _known(self, found: Found) -> OurFile:
        """A copy of what is remembered of the file; of one that is gone or new, that we make it."""
        ours = self.registry.files.get(found.target)
        if ours is None or found.data is None:
            return OurFile(is_made=found.data is None)
        ours = copy.deepcopy(ours)
        if ours.hash != _hash(found.data):
            ours.patches = None
        return ours

    def _write(self, found: Found, text: str | None, ours: OurFile) -> str:
        """The file and what is remembered of it, in this order of safety: first remember, so that nothing of ours is
        ever in a file without anybody knowing. Returns the copy that was kept."""
        data = None if text is None else found.encoded(text)
        is_changed = data != found.data
        earlier = self.registry.files.get(found.target)
        is_ours = (
            earlier is not None
            and earlier.is_made
            and earlier.patches is not None
            and earlier.hash == _hash(found.data or b"")
        )
        if is_changed:
            foreign_file.need_writable(found)
        if data is not None:
            ours.hash = _hash(data)
        if data is None or not ours.parts:
            self.registry.files.pop(found.target, None)
        else:
            self.registry.files[found.target] = ours
        if self.plan:
            self._planned[found.target] = data
            return ""
        if not is_changed:
            if self.registry.files.get(found.target) != earlier:
                self.save()
            return ""
        backup = self._copied.get(found.target, "")
        try:
            if not is_ours and not backup:
                backup = foreign_file.keep_copy(found, self.stamp)
                self._copied[found.target] = backup
            if data is None:
                foreign_file.remove(found)
                self.save()
            else:
                self.save()
                made = foreign_file.replace(found, data)
                if made:
                    self.registry.folders += [one for one in made if one not in self.registry.folders]
                    self.save()
        except BaseException:
            if earlier is None:
                self.registry.files.pop(found.target, None)
            else:
                self.registry.files[found.target] = earlier
            self.save()
            raise
        self._done.append(_Done(found, data))
        return backup


def _by_path(parts: Iterable[Part]) -> list[tuple[str, list[FilePart]]]:
    grouped: dict[str, list[FilePart]] = {}
    for part in parts:
        if not isinstance(part, Told):
            grouped.setdefault(part.path, []).append(part)
    return list(grouped.items())


def _told(owner: str, parts: Iterable[Part]) -> list[Change]:
    return [
        Change(owner=owner, path="", features=(one.feature,), status="told", reason=one.why, command=one.command)
        for one in parts
        if isinstance(one, Told)
    ]


def _change(owner: str, path: str, parts: Iterable[FilePart], status: Status, reason: str, backup: str = "") -> Change:
    features = tuple(dict.fromkeys(part.feature for part in parts))
    return Change(owner=owner, path=path, features=features, status=status, reason=reason, backup=backup)


def _grouped(owner: str, path: str, outcomes: list[tuple[FilePart, Status, str]], backup: str = "") -> list[Change]:
    """One change for all parts that fared alike."""
    alike: dict[tuple[Status, str], list[FilePart]] = {}
    for part, status, reason in outcomes:
        alike.setdefault((status, reason), []).append(part)
    return [
        _change(owner, path, parts, status, reason, backup if status in ("written", "updated", "removed") else "")
        for (status, reason), parts in alike.items()
    ]


# -- parts -----------------------------------------------------------------------------------------------------------


def _name(part: FilePart) -> str:
    """By which a part is found again in its file."""
    match part:
        case Member() | Table() | Element():
            return f"{type(part).__name__.lower()} {'.'.join(part.keys)}"
    return type(part).__name__.lower()


def _put(text: str | None, part: FilePart, kept: Kept | None, *, force: bool) -> Edit:
    match part:
        case Whole():
            return wholes.put(text, part, known=_known_text(text, kept), force=force)
        case Block():
            return blocks.put(text or "", part)
        case Member():
            return members.put(text or "", part)
        case Element():
            return elements.put(text or "", part)
        case Table():
            return tables.put(text or "", part)


def _take(text: str, part: FilePart, kept: Kept | None, *, force: bool) -> Edit:
    containers = None if kept is None or kept.containers is None else tuple(kept.containers)
    match part:
        case Whole():
            return wholes.take(text, part, known=_known_text(text, kept), force=force)
        case Block():
            return blocks.take(text, part)
        case Member():
            return members.take(text, part, containers=containers)
        case Element():
            return elements.take(text, part, containers=containers)
        case Table():
            return tables.take(text, part)


def _known_text(text: str | None, kept: Kept | None) -> str:
    """What we last wrote, as far as it takes to compare it with `text`: itself, another one, or "" for nobody knows."""
    if kept is None or text is None:
        return ""
    return text if kept.extra.get("hash") == _hash(text.encode()) else "\0"


def _remember(ours: OurFile, name: str, part: FilePart, owner: str, edit: Edit) -> None:
    kept = ours.parts.get(name)
    if kept is None:
        containers = list(edit.containers) if edit.status == "written" else None
        kept = ours.parts[name] = Kept(kind=type(part).__name__.lower(), containers=containers)
    elif edit.status == "written":
        kept.containers = list(dict.fromkeys([*(kept.containers or []), *edit.containers]))
    kept.feature = part.feature
    if owner not in kept.owners:
        kept.owners.append(owner)
    match part:
        case Member() | Table():
            kept.keys, kept.marks = part.keys, part.marks
        case Element():
            kept.keys, kept.marks = part.keys, part.marks
            kept.extra = {"beside": dict(part.beside)}
        case Block():
            kept.extra = {"heading": dict(part.heading)}
        case Whole():
            kept.extra = {"hash": _hash(edit.text.encode())}


def _part(path: str, kept: Kept) -> FilePart:
    """As much of a part as it takes to take it out."""
    feature: Any = kept.feature
    match kept.kind:
        case "member":
            return Member(path=path, keys=kept.keys, value={}, marks=kept.marks, feature=feature)
        case "table":
            return Table(path=path, keys=kept.keys, value={}, marks=kept.marks, feature=feature)
        case "element":
            beside = kept.extra.get("beside", {})
            value: dict[str, Any] = {"hooks": [{}]}
            return Element(path=path, keys=kept.keys, value=value, marks=kept.marks, beside=beside, feature=feature)
        case "block":
            return Block(path=path, text="", heading=kept.extra.get("heading", {}), feature=feature)
    return Whole(path=path, text="", feature=feature)


# -- back to what a person had ---------------------------------------------------------------------------------------


def _patched(ours: OurFile, before: str | None, after: str) -> None:
    """Remember the way back over this edit."""
    if ours.patches is not None:
        ours.patches.append(_patch(before or "", after))


def _patch(before: str, after: str) -> Patch:
    start = _alike(before, after)
    rest = min(len(before), len(after)) - start
    end = _alike(before[::-1][:rest], after[::-1][:rest])
    return start, len(after) - start - end, before[start : len(before) - end]


def _alike(one: str, other: str) -> int:
    """How many characters at the beginning are the same."""
    pairs = enumerate(zip(one, other, strict=False))
    return next((at for at, (here, there) in pairs if here != there), min(len(one), len(other)))


def _unpatched(text: str, patches: list[Patch] | None) -> str | None:
    """What stood there before all `patches`; None where the way back is lost."""
    if patches is None:
        return None
    for start, length, old in reversed(patches):
        text = text[:start] + old + text[start + length :]
    return text


def _left(ours: OurFile, text: str, parts: Sequence[FilePart], *, is_known: bool, is_changed: bool) -> str | None:
    """What stays of a file in which nothing of ours is left: what a person had, exactly where the way back is known;
    None where nothing stays."""
    before = _unpatched(text, ours.patches) if is_known else None
    left = text if before is None else before
    if ours.is_made and _is_empty(left, parts):
        return None
    if not is_known and is_changed and not left.strip():
        return None  # nobody remembers who made it, and there was nothing in it but ours
    return left


def _is_empty(text: str, parts: Iterable[FilePart]) -> bool:
    """Whether nothing of a person's is left in a file that we made."""
    beside: dict[str, Any] = {}
    for part in parts:
        if isinstance(part, Element):
            beside.update(part.beside)
    if any(isinstance(part, Member | Element) for part in parts):
        return members.is_shell(text, beside)
    return not text.strip()


def _hash(data: bytes) -> str:
    return hashlib.sha256(data).hexdigest()


def is_there(part: FilePart) -> bool:
    """Whether this part of ours stands in its file, in whatever form; a file that cannot be read has none."""
    try:
        found = foreign_file.read(part.path)
        return found.data is not None and _take(found.text, part, None, force=False).status == "removed"
    except Untouched:
        return False


def command_at(part: Member | Table) -> tuple[str, ...]:
    """The words by which a registered server of ours is started, as they stand in the file; none where it is not ours
    or cannot be read."""
    try:
        found = foreign_file.read(part.path)
        text = "" if found.data is None else found.text
        value: Any = json_text.read(text).value if isinstance(part, Member) else tables.read(text)
    except Untouched:
        return ()
    for key in part.keys:
        value = value.get(key) if isinstance(value, Mapping) else None
    if not isinstance(value, Mapping) or not members.is_ours(value, part.marks):
        return ()
    inner = value.get("transport")
    value = inner if isinstance(inner, Mapping) else value
    command, options = value.get("command"), value.get("args")
    words = [*(command if isinstance(command, list) else [command]), *(options if isinstance(options, list) else [])]
    return tuple(words) if all(isinstance(word, str) for word in words) else ()
