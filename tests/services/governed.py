"""Worlds of governed memories: files as people and other tools write them, and approvals as a person gives them."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from engram.bootstrap import App
from engram.core.memory import FOLDERS, Memory
from engram.services.memories import Loaded
from engram.services.proposed import Committed, Proposed
from engram.vault import memory_file

TODAY = "2026-03-02"
YESTERDAY = "2026-03-01"
TOMORROW = "2026-03-03"


def root_of(app: App) -> Path:
    return Path(app.roots.named("workspace").root.path)


def global_of(app: App) -> Path:
    return Path(app.roots.global_.root.path)


def foreign(root: Path, id: str, text: str, *, type: str = "rule", folder: str = "", **fields: Any) -> Path:
    """A memory file that no approval of this machine made, as a checkout or a copy brings it."""
    memory = Memory(id=id, type=type, title=f"About {id}", text=text, updated=TODAY, **fields)
    place = root / (folder or FOLDERS[type])
    place.mkdir(parents=True, exist_ok=True)
    path = place / f"{id}.md"
    path.write_text(memory_file.render(memory, scope="workspace"), encoding="utf-8")
    return path


def written(root: Path, path: str, header: Mapping[str, str], body: str) -> Path:
    """A file in somebody's own words: header lines as given."""
    place = root / path
    place.parent.mkdir(parents=True, exist_ok=True)
    lines = "".join(f"{name}: {value}\n" for name, value in header.items())
    place.write_text(f"---\n{lines}---\n\n{body}", encoding="utf-8")
    return place


def save(app: App, text: str, *, scope: str | None = None, how: str = "token", **given: Any) -> Committed:
    """Propose and approve all of it."""
    return app.proposals.commit(app.proposals.propose(text, scope=scope, **given).token, "all", how=how)


def saved_id(app: App, text: str, **given: Any) -> str:
    """Save one candidate that becomes a memory; its id."""
    (outcome,) = save(app, text, **given).outcomes
    assert outcome.result == "written", outcome
    return outcome.id


def lines_of(proposed: Proposed) -> list[str]:
    return [plan.verdict.line for plan in proposed.proposal.plans]


def results(done: Committed) -> list[str]:
    return [outcome.result for outcome in done.outcomes]


def ids(keys: tuple[str, ...]) -> list[str]:
    """`workspace:rule:x` → `x`."""
    return [key.rpartition(":")[2] for key in keys]


def shown(app: App, query: str | None = None, **given: Any) -> Loaded:
    return app.memories.load(query, **given)


def state_of(app: App, id: str) -> str:
    """How `id` comes when asked for: body, or the reason on its card."""
    loaded = app.memories.fetch(id)
    if loaded.pack.bodies:
        return "body"
    return loaded.pack.text.rpartition("(")[2].rstrip(")")


def files(root: Path) -> dict[str, str]:
    """Every memory file of a root by path, as text."""
    return {
        str(path.relative_to(root)): path.read_bytes().decode("utf-8")
        for path in sorted(root.rglob("*.md"))
        if ".staging" not in path.parts
    }
