"""What results about memories say, as text and as data: the same for MCP and the command line."""

from __future__ import annotations

from collections.abc import Sequence
from difflib import unified_diff
from typing import Any

from engram._version import __version__
from engram.core.candidate import Candidate
from engram.core.memory import title_for
from engram.core.quoting import defang
from engram.core.text import count_tokens, plural
from engram.core.verdict import Action
from engram.services.health import Health
from engram.services.memories import FoundEntries, Listed, Loaded, Routed
from engram.services.memory_showing import Entry
from engram.services.promotion import Gathered, ImportedRoot
from engram.services.proposed import Committed, Outcome, Preview, Proposed
from engram.services.review import Inbox, Verified
from engram.services.undoing import ToUndo

View = tuple[str, dict[str, Any], list[dict[str, Any]]]

# Hosts cut replies above 10,000 characters; a proposal shares what is left of that among its candidates.
LONGEST_PROPOSAL = 8_600


def _notes(id: str, notes: Sequence[str], severity: str = "warning") -> list[dict[str, Any]]:
    return [{"id": id, "severity": severity, "message": note} for note in notes]


# -- reading -----------------------------------------------------------------------------------------------------------


def loaded(value: Loaded) -> View:
    lines = [f"Note: {note}" for note in (*value.notes, *value.missing)]
    if value.explained:
        lines.append("Why:")
        lines += [f"  {row.place:<8} {row.id} · {row.score:.2f} · {row.reason}" for row in value.explained]
    text = _with_room(value.pack.text, lines, value.budget)
    data: dict[str, Any] = {
        "selected_keys": list(value.pack.selected),
        "body_keys": list(value.pack.bodies),
        "card_ids": list(value.card_ids),
        "omitted_ids": list(value.omitted_ids),
        "tokens": count_tokens(text),
    }
    if value.explained:
        data["explain"] = [
            {
                "id": row.id,
                "type": row.type,
                "scope": row.scope,
                "score": row.score,
                "place": row.place,
                "reason": row.reason,
            }
            for row in value.explained
        ]
    return text, data, _notes("load.note", value.notes) + _notes("load.missing", value.missing)


def _with_room(text: str, lines: Sequence[str], budget: int | None) -> str:
    """`text` and as many of the lines as the budget has room for; all of them are in the structure."""
    if budget is None:
        return "\n".join(part for part in (text, *lines) if part)
    spent = count_tokens(text) + 10
    kept = [text] if text else []
    for at, line in enumerate(lines):
        spent += count_tokens(line) + 1
        if spent > budget:
            if count_tokens("\n".join(kept)) + 10 <= budget:
                kept.append(f"({len(lines) - at} more lines)")
            break
        kept.append(line)
    return "\n".join(kept)


def routed(value: Routed) -> View:
    intent = value.intent
    lines = [f"Task: {intent.kind} (confidence {intent.confidence:.2f})"]
    if intent.signs:
        lines[0] += f", by: {', '.join(intent.signs[:6])}"
    lines += [_entry(entry) for entry in value.entries] or ["No memory matches this task."]
    data = {
        "task": {"kind": intent.kind, "confidence": intent.confidence, "signs": list(intent.signs)},
        "entries": [_row(entry) for entry in value.entries],
    }
    return "\n".join(lines), data, []


def found(value: FoundEntries) -> View:
    lines = [_entry(entry) for entry in value.entries] or ["No memory has these words."]
    if value.total > len(value.entries):
        lines.append(f"{value.total - len(value.entries)} more; a larger limit shows them.")
    data = {"entries": [_row(entry) for entry in value.entries], "total": value.total}
    return "\n".join(lines), data, []


def index(value: Listed) -> str:
    lines = list(value.cards) or ["No memories yet."]
    if value.more:
        lines.append(f"({value.more:,} more; engram_search finds them by words, engram_load loads those of a task)")
    return "\n".join(lines)


def _row(entry: Entry) -> dict[str, Any]:
    return {"id": entry.id, "type": entry.type, "scope": entry.scope, "score": entry.score}


def _entry(entry: Entry) -> str:
    label = f" ({entry.note})" if entry.note else " (team)" if entry.standing == "team" else ""
    return f"- {entry.id} · {entry.type} · {entry.scope} · {entry.score:.2f} · {entry.summary}{label}"


# -- proposing ---------------------------------------------------------------------------------------------------------


def proposed(value: Proposed, *, asks: bool = True, prefix: str = "") -> View:
    """A proposal with its candidates in full. `asks`: with the token, and how to go on."""
    proposal = value.proposal
    lines = [prefix] if prefix else []
    lines.append(f"Proposal {proposal.name}: {plural(len(proposal.candidates), 'candidate')}, nothing is saved yet.")
    room = LONGEST_PROPOSAL // max(len(value.previews), 1) if asks else None
    for shown in value.previews:
        lines += ["", *_within(_preview(shown, value), room, proposal.name)]
    lines += [f"Note: {notice}" for notice in value.notices]
    if asks and value.token:
        lines += [
            "",
            "Show these candidates to the person unedited. Only after they have approved: engram_commit with",
            f"approval_token: {value.token}",
            'approve: "all" or a list of numbers. The token works once, until ' + proposal.expires_at + ".",
        ]
    data: dict[str, Any] = {
        "proposal": proposal.name,
        "expires_at": proposal.expires_at,
        "candidates": [_planned(shown) for shown in value.previews],
    }
    if asks and value.token:
        data["approval_token"] = value.token
    return "\n".join(lines), data, _notes("propose.note", value.notices, "info")


def _preview(shown: Preview, value: Proposed) -> list[str]:
    plan = shown.plan
    candidate = next(one for one in value.proposal.candidates if one.number == plan.number)
    if value.proposal.kind == "note":
        lines = [f"{plan.number}. Working note {plan.id} ({plan.scope}), until {value.proposal.note['valid_until']}"]
        if value.proposal.note["objective"]:
            lines.append(f"   Objective: {value.proposal.note['objective']}")
        return [*lines, *_quoted(shown.after)]
    verdict = plan.verdict
    lines = [
        f"{plan.number}. {candidate.type} {plan.id} ({plan.scope})",
        f"   Verdict: {verdict.line}",
        f"   Why: {verdict.reason}",
    ]
    if verdict.doubt:
        lines.append(f"   Will be deferred: {verdict.doubt}; answer with UPDATE, SUPERSEDES, DEPENDS_ON or KEEP: both")
    elif verdict.related and verdict.action is not Action.ADD:
        lines.append(f"   Related: {', '.join(verdict.related)}")
    if verdict.action is Action.NOOP:
        return lines
    lines.append(f"   File: {plan.path}")
    lines += _fields(candidate)
    if verdict.action is Action.ADD:
        return [*lines, *_quoted(shown.after)]
    if shown.rest:
        lines += ["   Approved with it, the rest of the file:", *_quoted(shown.rest)]
    diff = unified_diff(shown.before.split("\n"), shown.after.split("\n"), "now", "then", lineterm="", n=1)
    return [*lines, *_quoted("\n".join(line for line in diff if not line.startswith(("---", "+++"))))]


def _fields(candidate: Candidate) -> list[str]:
    """Everything besides the text that will stand in the file because the candidate says so."""
    lines = []
    if candidate.title != title_for(candidate.text):
        lines.append(f"   Title: {defang(candidate.title)}")
    for name in ("triggers", "tags", "depends_on", "role", "evidence_refs", "derived_from"):
        if getattr(candidate, name):
            lines.append(f"   {name.replace('_', ' ').capitalize()}: {defang(', '.join(getattr(candidate, name)))}")
    for name in ("confidence", "valid_from", "valid_until"):
        if getattr(candidate, name):
            lines.append(f"   {name.replace('_', ' ').capitalize()}: {getattr(candidate, name)}")
    if candidate.always:
        lines.append("   Always on: loaded in every session")
    for name, text in (("origin", candidate.origin), *candidate.variants.items()):
        if text:
            lines.append(f"   {name.capitalize()}:")
            lines += _quoted(text)
    return lines


def _quoted(text: str) -> list[str]:
    return [f"   | {line}" for line in defang(text).split("\n")]


def _within(lines: list[str], room: int | None, name: str) -> list[str]:
    """As much as fits into `room` characters, and where the rest is."""
    whole = "\n".join(lines)
    if room is None or len(whole) <= room:
        return lines
    said = f"   | … {len(whole) - room:,} more characters; `engram review {name}` shows all, or propose fewer at once"
    return [*whole[: max(room - len(said), 200)].split("\n"), said]


def _planned(shown: Preview) -> dict[str, Any]:
    plan = shown.plan
    row: dict[str, Any] = {
        "n": plan.number,
        "verdict": plan.verdict.line,
        "id": plan.id,
        "scope": plan.scope,
        "file": plan.path,
        "reason": plan.verdict.reason,
    }
    if plan.verdict.target:
        row["target_id"] = plan.verdict.target
    if plan.verdict.doubt:
        row["deferred"] = plan.verdict.doubt
    if plan.verdict.related:
        row["related"] = list(plan.verdict.related)
    return row


def committed(value: Committed) -> View:
    lines = [_outcome(outcome) for outcome in value.outcomes]
    if value.batch and value.is_undo:
        lines.append("That batch is taken back; `engram undo` takes back the one before it.")
    elif value.batch:
        lines.append(f"Batch {value.batch}; `engram undo` takes it back.")
    elif not value.wrote:
        lines.insert(0, "Nothing was written.")
    groups = ("written", "updated", "superseded", "deferred", "skipped", "approved", "archived", "removed", "restored")
    data: dict[str, Any] = {"batch": value.batch}
    for name in groups:
        rows = [_result(outcome) for outcome in value.outcomes if outcome.result == name]
        if rows or name in ("written", "updated", "superseded", "deferred", "skipped"):
            data[name] = rows
    if value.kind == "note" and value.outcomes:
        note = value.outcomes[0]
        data = {"id": note.id, "file": note.path, "valid_until": note.valid_until}
        lines = [f"Working note {note.id} is saved in {note.path}, until {note.valid_until}."]
    lines += [f"Note: {notice}" for notice in value.notices]
    return "\n".join(lines), data, _notes("commit.note", value.notices, "info")


def _outcome(outcome: Outcome) -> str:
    said = f"{outcome.number}. {outcome.result} {outcome.id} ({outcome.scope})"
    if outcome.path:
        said += f" in {outcome.path}"
    return f"{said}: {outcome.reason}" if outcome.reason else said


def _result(outcome: Outcome) -> dict[str, Any]:
    row: dict[str, Any] = {"n": outcome.number, "id": outcome.id, "scope": outcome.scope}
    if outcome.path:
        row["file"] = outcome.path
    if outcome.reason:
        row["reason"] = outcome.reason
    if outcome.related:
        row["related_ids"] = list(outcome.related)
    return row


def to_undo(value: ToUndo) -> str:
    lines = [f"Batch {value.batch} of {value.at}, by {defang(value.by) or 'unknown'} ({value.how}). Taking it back:"]
    for file in value.files:
        name = f"{file.id} " if file.id else ""
        lines.append(f"- {file.result}: {name}({file.scope}) in {file.path}")
        lines += _quoted(file.diff) if file.diff else []
    return "\n".join(lines)


def gathered(value: Gathered) -> View:
    count = sum(len(one.proposal.candidates) for one in value.proposals)
    lines = [
        f"{plural(count, 'candidate')} in {plural(len(value.proposals), 'proposal')}"
        f" from {plural(len(value.files), 'file')}; {value.known} known already."
    ]
    for one in value.proposals:
        lines += ["", proposed(one, asks=False)[0]]
    lines += [f"Left out: {reason}" for reason in value.refused]
    data = {
        "files": list(value.files),
        "proposals": [proposed(one, asks=False)[1] for one in value.proposals],
        "known": value.known,
        "refused": list(value.refused),
    }
    return "\n".join(lines), data, _notes("propose.refused", value.refused)


def imported(value: ImportedRoot) -> View:
    head = "Would take in" if value.is_dry_run else "Took in"
    lines = [
        f"{head} {plural(len(value.written), 'file')} from {value.source} into {value.target};"
        f" {len(value.unchanged)} are here already."
    ]
    lines += [f"  {path}" for path in value.written[:20]]
    if len(value.written) > 20:
        lines.append(f"  and {len(value.written) - 20} more")
    lines += [f"Left out: {reason}" for reason in value.left_out]
    if value.written and not value.is_dry_run:
        lines.append("They show as cards until a person approves them: engram review, then engram approve.")
    data = {
        "source": value.source,
        "target": value.target,
        "dry_run": value.is_dry_run,
        "written": list(value.written),
        "unchanged": list(value.unchanged),
        "left_out": list(value.left_out),
    }
    return "\n".join(lines), data, []


# -- looking after -----------------------------------------------------------------------------------------------------


def verified(value: Verified) -> View:
    wrong = value.wrong
    lines = [f"{plural(len(value.rows), 'file')} looked at: {value.count('ok')} ok, {len(wrong)} to look at."]
    lines += [f"- {row.state} · {row.scope} · {row.path}" + (f": {row.detail}" if row.detail else "") for row in wrong]
    if wrong:
        lines.append("`engram review` shows what was changed, `engram approve <id>` approves it.")
    lines += [f"Note: {note}" for note in value.notes]
    states = ("ok", "edited", "unapproved", "missing", "unreadable", "extra")
    data = {
        "counts": {state: value.count(state) for state in states},
        "files": [
            {"scope": row.scope, "path": row.path, "state": row.state, "id": row.id, "detail": row.detail}
            for row in value.rows
            if row.state != "ok"
        ],
    }
    return "\n".join(lines), data, _notes("verify.ledger", value.notes, "error")


def inbox(value: Inbox) -> View:
    lines: list[str] = []
    for one in value.proposals:
        lines += [proposed(one, asks=False)[0], f"approve: engram approve {one.proposal.name}", ""]
    for row in value.changed:
        lines += [f"{row.standing}: {row.id} · {row.type} · {row.scope} · {row.path}"]
        lines += [f"   {line}" for line in defang(row.diff).split("\n")[2:42]]
        lines += [f"approve: engram approve {row.scope}:{row.type}:{row.id}", ""]
    for file in value.unreadable:
        lines.append(f"cannot be read: {file.scope} · {file.path}: {file.detail}")
    for note in value.notes:
        lines.append(f"working note: {note.id} · {note.scope} · {note.detail} (engram promote {note.id})")
    data = {
        "proposals": [proposed(one, asks=False)[1] for one in value.proposals],
        "changed": [
            {
                "id": row.id,
                "type": row.type,
                "scope": row.scope,
                "path": row.path,
                "standing": row.standing,
                "diff": row.diff,
            }
            for row in value.changed
        ],
        "unreadable": [{"scope": row.scope, "path": row.path, "detail": row.detail} for row in value.unreadable],
        "notes": [{"scope": row.scope, "id": row.id, "path": row.path, "detail": row.detail} for row in value.notes],
    }
    return "\n".join(lines).rstrip() or "Nothing waits for you.", data, []


def health(value: Health) -> View:
    lines = [f"Engram {__version__}, workspace {value.workspace}"]
    for root in value.roots:
        counts = root.counts
        kinds = ", ".join(f"{counts[kind]} {kind}" for kind in ("rule", "skill", "knowledge") if counts[kind])
        trust = f"trusted ({root.why_trusted})" if root.is_trusted else "not trusted"
        profile = f", profile {root.profile}" if root.profile else ""
        lines.append(f"{root.scope}: {memories(counts['memories'])}{f' ({kinds})' if kinds else ''}, {trust}{profile}")
        others = {**{name: counts[name] for name in ("notes", "unreadable", "ignored")}, "expired": root.expired}
        if any(others.values()):
            lines.append("  " + ", ".join(f"{count} {name}" for name, count in others.items() if count))
    stats = value.stats
    if stats is not None:
        lines.append(
            f"observations: {stats.observations:,} in {plural(len(stats.projects), 'project')},"
            f" {plural(stats.sessions, 'session')}, {plural(stats.prompts, 'prompt')}"
        )
    lines.append(f"waiting for approval: {value.waiting}")
    lines += [f"- {line}" for line in value.attention] or ["all well"]
    data = {
        "version": __version__,
        "workspace": value.workspace,
        "healthy": not value.attention,
        "attention": list(value.attention),
        "memories": sum(root.counts["memories"] for root in value.roots),
        "roots": [
            {
                "scope": root.scope,
                "path": root.path,
                "profile": root.profile,
                "trusted": root.is_trusted,
                "trust": root.why_trusted,
                "counts": root.counts,
                "standings": root.standings,
                "expired": root.expired,
            }
            for root in value.roots
        ],
        "waiting": value.waiting,
        "observations": None
        if stats is None
        else {
            "observations": stats.observations,
            "sessions": stats.sessions,
            "prompts": stats.prompts,
            "projects": len(stats.projects),
        },
    }
    return "\n".join(lines), data, []


def memories(count: int) -> str:
    return "1 memory" if count == 1 else f"{count:,} memories"
