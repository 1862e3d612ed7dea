"""Turn what is there into proposals: observations, working notes, guidance files, and roots of other tools."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace

from engram.core.candidate import Candidate, plain_candidate
from engram.core.clean import clean
from engram.core.memory import TYPE_WORDS, TYPES
from engram.core.ports import Store
from engram.core.text import content_hash
from engram.errors import Conflict, EngramError, InvalidInput, NotFound
from engram.paths import seen_from
from engram.services.memory_roots import MemoryRoot, MemoryRoots, author
from engram.services.proposals import Proposals
from engram.services.proposed import Proposed
from engram.services.refusals import refuse
from engram.vault import folder, ledger, setup
from engram.vault.ledger import FileChange, Line
from engram.vault.roots import root_at

# Where agents' programs keep what they are told, relative to a workspace.
GUIDANCE_FILES = (
    "AGENTS.md",
    "CLAUDE.md",
    "GEMINI.md",
    ".cursorrules",
    ".windsurfrules",
    ".clinerules",
    ".github/copilot-instructions.md",
)
GUIDANCE_FOLDERS = (".cursor/rules", ".claude/rules", ".windsurf/rules", ".clinerules", ".github/instructions")
MAX_GUIDANCE_BYTES = 1024 * 1024
MAX_GUIDANCE = 200


@dataclass(frozen=True, slots=True, kw_only=True)
class Gathered:
    """What guidance files gave: proposals (a few candidates each), and what was left out and why."""

    files: tuple[str, ...]
    proposals: tuple[Proposed, ...]
    known: int
    refused: tuple[str, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class ImportedRoot:
    """Files of another root: taken in as they are, there already, or left out with the reason."""

    source: str
    target: str
    is_dry_run: bool
    written: tuple[str, ...]
    unchanged: tuple[str, ...]
    left_out: tuple[str, ...]


class Promotion:
    """`store` opens the observations when they are needed; `new_batch` names a batch; times are RFC 3339 of `now`."""

    def __init__(
        self,
        roots: MemoryRoots,
        proposals: Proposals,
        store: Callable[[], Store],
        *,
        now: Callable[[], str],
        new_batch: Callable[[], str],
    ) -> None:
        self._roots = roots
        self._proposals = proposals
        self._store = store
        self._now = now
        self._new_batch = new_batch

    # -- observations and notes ------------------------------------------------------------------------------------

    def promote(
        self, id: str, *, type: str | None = None, scope: str | None = None, title: str | None = None
    ) -> Proposed:
        """Propose a working note (by its id) or an observation (by its number) as a memory that cites it."""
        kind = (type or "").strip().lower()
        if kind and kind not in TYPE_WORDS:
            raise InvalidInput("type: is not one", hint=f"one of: {', '.join(TYPES)}")
        number = id.strip().removeprefix("#")
        if number.isascii() and number.isdigit():
            candidate = self._of_observation(int(number), kind)
        else:
            candidate, scope = self._of_note(id.strip(), kind, scope)
        if title:
            candidate = replace(candidate, title=clean(" ".join(title.split())[:120]))
        refuse(f"{candidate.title}\n{candidate.text}")
        return self._proposals.propose_candidates([candidate], scope=scope, tool="promote")

    def _of_observation(self, id: int, kind: str) -> Candidate:
        with self._store().read() as tx:
            row = tx.observation(id)
        if row is None:
            raise NotFound(f"no observation #{id}", hint="`engram search` lists ids")
        made = plain_candidate(row.content, type=kind or None, title=row.title)
        triggers = (row.topic_key.replace("/", " ").replace("-", " "),) if row.topic_key else ()
        return replace(
            made,
            triggers=triggers,
            tags=(row.type,),
            evidence_refs=(row.sync_id,),
            derived_from=(f"session:{row.session_id}",),
            source="observation",
        )

    def _of_note(self, id: str, kind: str, scope: str | None) -> tuple[Candidate, str]:
        for place in self._roots.existing():
            for row in place.index.by_id(id):
                if row.memory is None or not row.memory.tier:
                    continue
                made = plain_candidate(row.memory.text, type=kind or row.memory.type, title=row.memory.title)
                made = replace(made, evidence_refs=(f"note:{id}",), source=f"note:{id}")
                return made, scope or place.root.scope
        raise NotFound(f"no working note `{id}`", hint="`engram review` lists notes; an observation is `#12`")

    # -- guidance files --------------------------------------------------------------------------------------------

    def from_guidance(self, paths: Sequence[str], *, scope: str | None = None, dry_run: bool = False) -> Gathered:
        """Candidates out of guidance files (all that the workspace has when none is named), eight a proposal.

        What a memory says already is left out, so that a second run proposes nothing new; passages with secrets or
        forged instructions are named and left out.
        """
        from engram.core.guidance import passages

        files = [os.path.join(self._roots.folder, path) for path in paths] if paths else self._guidance_files()
        if not files:
            raise NotFound("no guidance files here", hint=f"name one, like {', '.join(GUIDANCE_FILES[:2])}")
        candidates: list[Candidate] = []
        refused: list[str] = []
        for path in files:
            shown = seen_from(path, self._roots.folder)
            text = _guidance_text(path)
            digest = content_hash(text)[:16]
            for passage in passages(text):
                try:
                    refuse(f"{passage.title}\n\n{passage.text}")
                except EngramError as error:
                    refused.append(f"{shown} line {passage.line}: {error.message}")
                    continue
                made = plain_candidate(passage.text, type=passage.type, title=passage.title, triggers=passage.triggers)
                candidates.append(
                    replace(
                        made,
                        source=shown,
                        derived_from=(f"{shown}#{digest}",),
                    )
                )
        return self._gathered(files, candidates[:MAX_GUIDANCE], refused, scope, dry_run=dry_run)

    def _gathered(
        self,
        files: Sequence[str],
        candidates: Sequence[Candidate],
        refused: Sequence[str],
        scope: str | None,
        *,
        dry_run: bool,
    ) -> Gathered:
        waiting = {content_hash(c.text) for one in self._proposals.waiting() for c in one.proposal.candidates}
        unasked = [candidate for candidate in candidates if content_hash(candidate.text) not in waiting]
        new: list[Candidate] = []
        said: set[str] = set()
        for candidate, is_known in zip(unasked, self._proposals.are_known(unasked, scope=scope), strict=True):
            digest = content_hash(candidate.text)
            if digest in said or is_known:
                continue
            said.add(digest)
            new.append(candidate)
        proposals = []
        for at in range(0, len(new), 8):
            group = [replace(one, number=number) for number, one in enumerate(new[at : at + 8], 1)]
            if not dry_run:
                proposals.append(self._proposals.propose_candidates(group, scope=scope, tool="engram propose --from"))
            else:
                proposals.append(self._proposals.preview(group, scope=scope, tool="engram propose --from"))
        return Gathered(
            files=tuple(files),
            proposals=tuple(proposals),
            known=len(candidates) - len(new),
            refused=tuple(refused),
        )

    def _guidance_files(self) -> list[str]:
        found = []
        for name in GUIDANCE_FILES:
            path = os.path.join(self._roots.folder, *name.split("/"))
            if os.path.isfile(path):
                found.append(path)
        for name in GUIDANCE_FOLDERS:
            place = os.path.join(self._roots.folder, *name.split("/"))
            if os.path.isdir(place):
                found += [
                    os.path.join(at, file)
                    for at, _, names in sorted(os.walk(place))
                    for file in sorted(names)
                    if file.endswith((".md", ".mdc"))
                ]
        return found

    # -- roots of other tools --------------------------------------------------------------------------------------

    def import_target(self, scope: str | None = None) -> str:
        """The folder that `import_root` would write to. Raises `NotFound` without a workspace root and a scope."""
        return self._target(scope).root.path

    def _target(self, scope: str | None) -> MemoryRoot:
        if scope is None and self._roots.workspace is None:
            raise NotFound(
                "this workspace has no memories yet", hint="engram init makes a place; or say --scope global"
            )
        return self._roots.named(scope or "workspace")

    def import_root(self, source: str, *, dry_run: bool, scope: str | None = None) -> ImportedRoot:
        """Copy the memories of another root, byte for byte, into this workspace's, or the one of `scope`.

        They are not approved by that: they show as cards until a person approves them. Derived files of the other
        tool are left where they are; a file that is here with another text stays as it is here.
        """
        given = os.path.abspath(os.path.expanduser(source))
        nested = os.path.join(given, ".agents", ".engram")
        origin = root_at(nested if os.path.isdir(nested) else given, scope="workspace")
        found = folder.walk(origin)
        if not found.files:
            raise NotFound(f"{source}: holds no rules/, skills/ or knowledge/ with Markdown files")
        place = self._target(scope)
        if place.root.path == origin.path:
            raise Conflict("that is this workspace's own root", hint="engram trust")
        changes: list[FileChange] = []
        unchanged: list[str] = []
        left_out: list[str] = []
        with place.ledger.locked():
            if not dry_run:
                setup.create(place.root)
            place.refresh(whole=True)
            for path, stamp in sorted(found.files.items()):
                read = folder.read(origin, path, stamp)
                if read.memory is None or read.memory.tier:
                    left_out.append(f"{path}: {read.problem or 'a working note'}")
                    continue
                text = folder.text_of(origin, path)
                try:
                    refuse(text)
                except EngramError as error:
                    left_out.append(f"{path}: {error.message}")
                    continue
                there = folder.stamp_of(place.root, path)
                if there is not None:
                    same = folder.text_of(place.root, path) == text
                    (unchanged if same else left_out).append(path if same else f"{path}: is here with another text")
                    continue
                taken = {row.memory.type for row in place.index.by_id(read.memory.id) if row.memory is not None}
                taken |= {change.type for change in changes if change.id == read.memory.id}
                if read.memory.type in taken:
                    left_out.append(f"{path}: a {read.memory.type} `{read.memory.id}` is here already")
                    continue
                changes.append(FileChange(path=path, before=None, after=text, id=read.memory.id, type=read.memory.type))
            if changes and not dry_run:
                by, _ = author(self._roots.folder, self._roots.settings())
                line = Line(
                    event=ledger.COMMIT,
                    at=self._now(),
                    root=place.root.path,
                    how="import",
                    by=by,
                    batch=self._new_batch(),
                    changes=tuple(changes),
                )
                place.write(line)
        return ImportedRoot(
            source=source,
            target=place.root.path,
            is_dry_run=dry_run,
            written=tuple(change.path for change in changes),
            unchanged=tuple(unchanged),
            left_out=tuple(left_out),
        )


def _guidance_text(path: str) -> str:
    try:
        if os.path.getsize(path) > MAX_GUIDANCE_BYTES:
            raise InvalidInput(f"{path}: is longer than {MAX_GUIDANCE_BYTES // 1024} KB", hint="split it")
        with open(path, encoding="utf-8-sig", errors="replace") as file:
            return file.read()
    except OSError as error:
        raise InvalidInput(f"{path}: cannot be read: {error.strerror}") from error
