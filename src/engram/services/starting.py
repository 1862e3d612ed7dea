"""Make ready what a session start shows of memories, so that the hook only has to look whether it still holds."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping

from engram import places
from engram.core.memory_ports import Indexed, Start, StartRow, Stated
from engram.core.pack import Choice, build
from engram.core.standing import day
from engram.core.text import count_tokens
from engram.places import PROFILES, SETTINGS, any_changed, watched
from engram.services.choosing import Scene, choose, seen_in
from engram.services.memories import choices_of
from engram.services.memory_roots import MemoryRoot, MemoryRoots
from engram.services.memory_showing import Seen, card_of
from engram.vault import folder

# Of the 1,600 tokens of a session start; the rest is for what went on lately.
MEMORY_TOKENS = 1_100
# Working notes that are kept ready; the newest first.
MOST_NOTES = 40


class Starting:
    """The memories of a session start, kept in the index of the workspace's root, or of the global one where there is
    no workspace root."""

    def __init__(self, roots: MemoryRoots, *, now: Callable[[], str], environ: Mapping[str, str]) -> None:
        self._roots = roots
        self._now = now
        self._seen_by = places.deciding(environ)

    def keep_ready(self) -> bool:
        """Make it anew if anything it was made from has changed; whether that was so."""
        keeper = self._keeper()
        if keeper is None:
            return False
        # Looked at first: what changes from now on must be noticed.
        ledgers, decisive = self._ledgers(), self._decisive()
        self._roots.existing()
        kept = keeper.index.start(self._seen_by)
        if kept is not None and self._still_holds(kept, ledgers, decisive):
            return False
        keeper.index.keep_start(self._made(ledgers, decisive))
        return True

    def _keeper(self) -> MemoryRoot | None:
        place = self._roots.workspace
        if place is not None:
            return place
        return self._roots.global_ if self._roots.global_.root.exists else None

    def _still_holds(self, kept: Start, ledgers: list[Stated], decisive: list[Stated]) -> bool:
        if (
            [*kept.ledgers, *kept.decisive] != [*ledgers, *decisive]
            or kept.state != self._state()
            or any_changed(kept.folders)
        ):
            return False
        if kept.stale_on and self._now()[:10] >= kept.stale_on:
            return False
        return not any_changed([(row.file, *row.stamp) for row in kept.rows])

    def _state(self) -> str:
        return " ".join(place.state for place in self._roots.existing())

    # -- making it -------------------------------------------------------------------------------------------------

    def _made(self, ledgers: list[Stated], decisive: list[Stated]) -> Start:
        settings = self._roots.settings()
        found = self._roots.existing()
        # A checkout that nobody trusts says nothing, nor does it stand before what is global.
        trusted = [place for place in found if place.trust.is_trusted]
        today = self._now()[:10]
        around = {
            place.root.path: self._roots.circumstances(place, today=today, settings=settings) for place in trusted
        }
        scene = Scene(settings=settings, places=trusted, around=around)
        chosen = choose(None, scene, limit=int(settings["load.limit"].value))
        choices = choices_of(chosen, settings)
        pack = build(choices, budget=MEMORY_TOKENS, heading=lambda bodies, cards, omitted: "")
        by_key = {seen.key: seen for seen in chosen.everything()}
        shown: dict[str, Choice] = {choice.key: choice for choice in choices}
        rows = [_row(by_key[key], shown[key].body, is_body=True) for key in pack.bodies]
        rows += [_row(by_key[key], shown[key].card, is_body=False) for key in pack.cards]
        rows += _notes(scene)
        workspace = self._roots.workspace
        return Start(
            seen_by=self._seen_by,
            state=self._state(),
            ledgers=ledgers,
            decisive=decisive,
            folders=[stated for place in found for stated in place.stated_folders()],
            stale_on=min((soon for place in trusted if (soon := place.index.begins_after(today))), default=""),
            is_trusted=workspace is None or workspace.trust.is_trusted,
            untrusted=sum(place.index.counts()["memories"] for place in found if place not in trusted),
            selected=len(choices),
            rows=[row for row in rows if row is not None],
        )

    def _ledgers(self) -> list[Stated]:
        places = [place for place in (self._roots.workspace, self._roots.global_) if place is not None]
        return [watched(path) for path in dict.fromkeys(place.ledger.path for place in places)]

    def _decisive(self) -> list[Stated]:
        """What says, beside ledgers, which memories may be shown at all: settings, ignore rules, profiles."""
        paths = [os.path.join(self._roots.data_folder, name) for name in (SETTINGS, PROFILES)]
        workspace, everywhere = self._roots.workspace, self._roots.global_
        for place in (workspace, everywhere):
            if place is not None:
                paths += [os.path.join(place.root.path, SETTINGS), *folder.ignore_places(place.root)]
        stated = [watched(path) for path in dict.fromkeys(paths)]
        return stated if everywhere.root.exists else [*stated, watched(everywhere.root.path, size_counts=False)]


def _row(seen: Seen, text: str, *, is_body: bool, objective: str = "") -> StartRow | None:
    """A memory as it is shown; None for a file that changed since it was read."""
    root, path = seen.place.root, seen.row.path
    stamp = folder.stamp_of(root, path)
    if stamp is None or not _says_the_same(seen.place, seen.row, stamp):
        return None
    return StartRow(
        file=os.path.join(root.path, *path.split("/")),
        stamp=stamp,
        text=text,
        tokens=count_tokens(text) + 1,
        is_body=is_body,
        objective=objective,
        valid_until=day(seen.memory.valid_until) if seen.memory.valid_until else "",
    )


def _says_the_same(place: MemoryRoot, row: Indexed, stamp: tuple[int, int]) -> bool:
    if place.index.has_stamp(row.path, stamp):
        return True
    # A file that was read within the same tick of the clock as it was written has no stamp yet: it is read again.
    read = folder.read(place.root, row.path, stamp)
    same = read.memory is not None and row.memory is not None and read.memory.actual_hash == row.memory.actual_hash
    return same and folder.stamp_of(place.root, row.path) == stamp


def _notes(scene: Scene) -> list[StartRow | None]:
    """Working notes, each as a line for sessions of its objective."""
    found: list[StartRow | None] = []
    for place in scene.places:
        for row in place.index.notes_at_work()[:MOST_NOTES]:
            seen = seen_in(place, row, scene)
            if seen is None or seen.hidden or not seen.memory.objective.strip():
                continue
            objective = " ".join(seen.memory.objective.casefold().split())
            found.append(_row(seen, card_of(seen, seen.card_only), is_body=False, objective=objective))
    return found
