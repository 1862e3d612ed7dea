"""What each `engram_*` tool does, and the memories as resources and prompt: one service call, then the envelope."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from urllib.parse import quote, unquote

from engram.bootstrap import App
from engram.errors import EngramError, InvalidInput, NotFound
from engram.mcp_server import approval, arguments, eras
from engram.mcp_server.approval import Dialogs
from engram.mcp_server.calls_in_flight import Call
from engram.mcp_server.tools.memories import ABOUT_INDEX, INDEX, MARKDOWN, ONE_MEMORY
from engram.mcp_server.wire import INTERNAL, INVALID_PARAMS, Failure, Result
from engram.services import memory_views
from engram.services.memory_views import View
from engram.services.proposals import role_names

CONTRACT_VERSION = "1"
# After these a session start may show something else; a person has just waited for longer than looking takes.
_CHANGING = (
    "engram_commit",
    "engram_save",
    "engram_save_session",
    "engram_note",
    "engram_set_role",
    "engram_set_rule_variant",
)
Run = Callable[[App, dict[str, Any], Call, Dialogs], View]


def run(name: str, app: App, values: dict[str, Any], unknown: list[str], call: Call, dialogs: Dialogs) -> Result:
    """One call of a tool, as the seed's envelope; an error carries everything in its text."""
    try:
        text, data, diagnostics = CALLS[name](app, values, call, dialogs)
    except EngramError as error:
        return failed(error)
    if name in _CHANGING:
        app.keep_ready()
    if ignored := arguments.ignored(unknown):
        diagnostics = [*diagnostics, {"id": "arguments.ignored", "severity": "warning", "message": ignored}]
    envelope = {
        "contract_version": CONTRACT_VERSION,
        "ok": True,
        "data": {**data, "text": text},
        "diagnostics": diagnostics,
    }
    return Result(text, structured=envelope)


def failed(error: EngramError) -> Result:
    finding = {"id": error.code, "severity": "error", "message": error.message}
    if error.hint:
        finding["remediation"] = error.hint
    envelope = {"contract_version": CONTRACT_VERSION, "ok": False, "data": None, "diagnostics": [finding]}
    return Result(error.sentence(), structured=envelope, is_error=True)


def _load(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    if "id" in args:
        view = memory_views.loaded(app.memories.fetch(args["id"]))
        if "budget_tokens" in args:
            note = {"id": "load.budget", "severity": "info", "message": "budget_tokens has no effect together with id"}
            return view[0], view[1], [*view[2], note]
        return view
    return memory_views.loaded(app.memories.load(args.pop("query", None), **args))


def _route(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    task = args.get("query") or args.get("task")
    if not task:
        raise InvalidInput("query: is required", hint="the task in a sentence")
    return memory_views.routed(app.memories.route(task))


def _search(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    limit = min(max(args.get("limit", 20), 1), 100)
    return memory_views.found(app.memories.search(args["query"], limit=limit, type=args.get("type")))


def _verify(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    return memory_views.verified(app.review.verify(args.get("scope", "all")))


def _status(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    text, data, diagnostics = memory_views.health(app.health.look())
    asks = dialogs.is_on and call.can_elicit()
    data["elicitation"] = asks
    data["protocol"] = eras.MODERN[0] if call.modern else call.peer.version
    return f"{text}\nApproval: {'in a dialog' if asks else 'by token in chat'}", data, diagnostics


def _save(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    return approval.ask(
        app,
        call,
        dialogs,
        lambda: app.proposals.propose(
            args["text"],
            type=args.get("type"),
            scope=args.get("scope"),
            roles=role_names(args.get("role", "")),
            is_single=True,
            tool="engram_save",
        ),
    )


def _save_session(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    return approval.ask(
        app,
        call,
        dialogs,
        lambda: app.proposals.propose(args["text"], scope=args.get("scope"), roles=role_names(args.get("role", ""))),
    )


def _commit(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    call.check()
    return memory_views.committed(app.proposals.commit(args["approval_token"], args["approve"]))


def _note(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    return approval.ask(
        app,
        call,
        dialogs,
        lambda: app.proposals.propose_note(
            args["text"], objective=args.get("objective"), type=args.get("type"), scope=args.get("scope")
        ),
    )


_RELOAD = "What is loaded may differ now: call engram_load again."


def _set_role(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    wanted = args.get("roles", args.get("role"))
    if wanted is None:
        now = list(app.trust.settings()["roles"].value)
        return f"Roles: {', '.join(now) or 'none set'}.", {"roles": now}, []
    app.trust.change_setting("roles", wanted)
    now = list(app.trust.settings()["roles"].value)
    return f"Roles: {', '.join(now) or 'none set'}. {_RELOAD}", {"roles": now}, []


def _set_rule_variant(app: App, args: dict[str, Any], call: Call, dialogs: Dialogs) -> View:
    wanted = args["variant"]
    if wanted == "off":
        app.trust.change_setting("rule_variants.enabled", False)
    elif wanted != "status":
        app.trust.change_setting("rule_variants.enabled", True)
        app.trust.change_setting("rule_variants.active", wanted)
    settings = app.trust.settings()
    now = str(settings["rule_variants.active"].value) if settings["rule_variants.enabled"].value else "off"
    text = f"Rule variant: {now}." if wanted == "status" else f"Rule variant: {now}. {_RELOAD}"
    return text, {"variant": now}, []


CALLS: dict[str, Run] = {
    "engram_load": _load,
    "engram_route": _route,
    "engram_search": _search,
    "engram_verify": _verify,
    "engram_status": _status,
    "engram_save": _save,
    "engram_save_session": _save_session,
    "engram_commit": _commit,
    "engram_set_role": _set_role,
    "engram_set_rule_variant": _set_rule_variant,
    "engram_note": _note,
}


# -- resources ---------------------------------------------------------------------------------------------------------


def resources(app: App) -> list[dict[str, Any]]:
    """The index, then the memories that are used most. Raises `Failure` with the reason when they cannot be read."""
    try:
        return _listed(app)
    except EngramError as error:
        raise Failure(INTERNAL, error.sentence()) from error


def _listed(app: App) -> list[dict[str, Any]]:
    limit = int(app.trust.settings()["mcp.resource_limit"].value)
    rows: list[dict[str, Any]] = [
        {
            "uri": INDEX,
            "name": "index",
            "title": "Memories",
            "description": ABOUT_INDEX,
            "mimeType": MARKDOWN,
        }
    ]
    listed: set[str] = set()
    for entry in app.memories.resources(limit):
        if entry.id in listed or not _is_segment(entry.id):
            continue  # one address reads all memories of an id
        listed.add(entry.id)
        rows.append(
            {
                "uri": ONE_MEMORY.replace("{id}", quote(entry.id, safe="")),
                "name": entry.id,
                "title": entry.title,
                "description": entry.summary,
                "mimeType": MARKDOWN,
            }
        )
    return rows


def _is_segment(name: str) -> bool:
    """Whether a name can stand in an address: no path, and no list of ids."""
    return not any(sign in name for sign in ("/", "\\", "\x00", ",", ":")) and name.strip(".") != ""


def read_index(app: App) -> str:
    try:
        return memory_views.index(app.memories.index())
    except EngramError as error:
        raise Failure(INTERNAL, error.sentence()) from error


def read_memory(app: App, uri: str, id: str, call: Call) -> str:
    """The body as `engram load --id` gives it; counts as a fetch. Raises `Failure` for an id that is none."""
    try:
        name = unquote(id, errors="strict")
        if not _is_segment(name):
            raise NotFound("no such memory")
        return app.memories.fetch(name).pack.text
    except (NotFound, InvalidInput, UnicodeDecodeError) as error:
        code = INVALID_PARAMS if call.modern else eras.RESOURCE_NOT_FOUND
        raise Failure(code, "no such resource", {"uri": uri}) from error
    except EngramError as error:
        raise Failure(INTERNAL, error.sentence()) from error


PROPOSE = """\
Propose what this session taught about the project, for a person to approve.

1. Worth keeping: what will matter in later sessions, holds for others than you, is not said already (engram_search),
   and can be understood without this chat. Not worth keeping: passing states, guesses, secrets, what the code says.
2. Write one line for each, at most 8:
   TYPE: rule | TEXT: the sentence as it shall stand | TRIGGERS: words of tasks that need it
   TYPE is rule (always, never, prefer), skill (steps) or knowledge (facts, decisions). UPDATE: id rewrites a memory,
   SUPERSEDES: id replaces one that no longer holds, DEPENDS_ON: id names what must be known first, KEEP: both keeps a
   possible duplicate.
3. Show the lines in chat, unedited. Then call engram_save_session with them.
4. With a dialog the person answers there. Else wait for a plain yes in chat, then call engram_commit with the
   approval_token and "all" or the approved numbers. Never before. A corrected candidate needs a new proposal.
5. What comes back as deferred tells which answer it waits for; propose it again with that answer."""


def propose_prompt(given: dict[str, Any]) -> dict[str, Any]:
    text = given.get("text")
    said = f"{PROPOSE}\n\nWhat it is about:\n{text}" if isinstance(text, str) and text.strip() else PROPOSE
    return {
        "description": "How to propose memories",
        "messages": [{"role": "user", "content": {"type": "text", "text": said}}],
    }
