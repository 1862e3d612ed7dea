"""Look the whole installation over, and mend what is derived."""

from __future__ import annotations

import os
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from engram import files, paths
from engram.core.clean import clean
from engram.core.ports import Finding, Store
from engram.core.project import near_duplicate
from engram.settings import Settings

# Rows looked through for secrets without --deep.
NEWEST = 2_000


@dataclass(frozen=True, slots=True, kw_only=True)
class Report:
    """All findings; `mended` are lines of what a repair did, `copy` the file that was kept before it."""

    findings: Sequence[Finding]
    mended: Sequence[str] = ()
    copy: str | None = None

    def worst(self) -> str:
        levels = {finding.level for finding in self.findings}
        return "error" if "error" in levels else "warning" if "warning" in levels else "ok"


class Doctor:
    """`memories` gives the findings on memories."""

    def __init__(
        self,
        store: Store,
        settings: Settings,
        *,
        now: Callable[[], str],
        memories: Callable[[], list[Finding]] = list,
    ) -> None:
        self._memories = memories
        self._store = store
        self._settings = settings
        self._now = now

    def examine(self, *, deep: bool = False) -> Report:
        """Check everything; changes nothing."""
        findings = self._store.check(deep=deep)
        if any(finding.id == "store.pages" and finding.level == "error" for finding in findings):
            return Report(findings=findings)  # what is damaged cannot be read through
        return Report(findings=[*findings, self._secrets(deep=deep), self._projects(), *self._memories()])

    def repair(self) -> Report:
        """Keep a copy, then rebuild what is derived. Never deletes a row."""
        folder = paths.backup_folder(self._settings.data_folder)
        files.private_folder(folder)
        stamp = self._now().replace(":", "").replace("-", "").replace(".", "")
        copy = os.path.join(folder, f"engram-before-repair-{stamp}.db")
        self._store.backup(copy)
        mended = self._store.repair()
        after = self.examine(deep=True)
        return Report(findings=after.findings, mended=mended, copy=copy)

    def _secrets(self, *, deep: bool) -> Finding:
        """Rows that today's scanner would not have let in, such as ones written by an older version."""
        found: list[int] = []
        with self._store.read() as tx:
            for seen, row in enumerate(tx.all_observations(deleted=True, newest_first=True)):
                if not deep and seen >= NEWEST:
                    break
                if clean(row.title) != row.title or clean(row.content) != row.content:
                    found.append(row.id)
        if not found:
            return Finding(id="privacy.at_rest", level="ok", message="no secret or private block at rest")
        shown = ", ".join(f"#{id}" for id in found[:10])
        return Finding(
            id="privacy.at_rest",
            level="warning",
            message=f"{len(found)} observations hold a secret, a private block or control characters: {shown}",
            remedy=f"engram delete {found[0]} --hard (and save again what is worth keeping)",
        )

    def _projects(self) -> Finding:
        with self._store.read() as tx:
            keys = tx.project_keys()
        pairs = []
        for at, key in enumerate(keys[:500]):
            other = near_duplicate(key, keys[:at])
            if other is not None:
                pairs.append((key, other))
        if not pairs:
            return Finding(id="projects.names", level="ok", message="no two projects with nearly the same name")
        shown = "; ".join(f"`{one}` and `{other}`" for one, other in pairs[:5])
        one, other = pairs[0]
        return Finding(
            id="projects.names",
            level="warning",
            message=f"probably the same project: {shown}",
            remedy=f"engram projects merge '{one}' '{other}'",
        )
