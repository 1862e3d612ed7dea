"""What each `mem_*` tool does: one service call, then text and structure from the same value."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from engram.bootstrap import App
from engram.services import views

Reply = tuple[str, dict[str, Any]]
Run = Callable[[App, dict[str, Any]], Reply]


def _save(app: App, args: dict[str, Any]) -> Reply:
    return views.saved(app.observations.save(**args))


def _search(app: App, args: dict[str, Any]) -> Reply:
    query = args.pop("query")
    # Models ask for more than there is to have; the most is what they get.
    if "limit" in args:
        args["limit"] = min(max(args["limit"], 1), 20)
    return views.found(app.search.find(query, **args), cards=app.memory_cards(query))


def _context(app: App, args: dict[str, Any]) -> Reply:
    if "limit" in args:
        args["limit"] = min(max(args["limit"], 1), 100)
    return views.context(app.context.recent(**args))


def _session_summary(app: App, args: dict[str, Any]) -> Reply:
    return views.saved(app.observations.save_summary(args.pop("content"), **args))


def _session_start(app: App, args: dict[str, Any]) -> Reply:
    return views.session(app.sessions.start(args.pop("id"), **args))


def _session_end(app: App, args: dict[str, Any]) -> Reply:
    return views.session(app.sessions.end(args.pop("id"), **args))


def _get_observation(app: App, args: dict[str, Any]) -> Reply:
    return views.detail(app.observations.get(args["id"]))


def _suggest_topic_key(app: App, args: dict[str, Any]) -> Reply:
    key = app.observations.suggest_topic_key(
        type=args.get("type"), title=args.get("title"), content=args.get("content")
    )
    return f"Suggested topic_key: {key}", {"topic_key": key}


def _capture_passive(app: App, args: dict[str, Any]) -> Reply:
    return views.captured(app.observations.capture(args.pop("content"), **args))


def _save_prompt(app: App, args: dict[str, Any]) -> Reply:
    saved = app.sessions.save_prompt(args["content"], session_id=args.get("session_id"), project=args.get("project"))
    return views.prompt(saved)


def _update(app: App, args: dict[str, Any]) -> Reply:
    return views.saved(app.observations.update(args.pop("id"), **args))


def _delete(app: App, args: dict[str, Any]) -> Reply:
    return views.deleted(app.observations.delete(args["id"], hard=args.get("hard_delete", False)))


def _stats(app: App, args: dict[str, Any]) -> Reply:
    return views.stats(app.status.stats())


def _timeline(app: App, args: dict[str, Any]) -> Reply:
    return views.timeline(app.observations.timeline(args.pop("observation_id"), **args))


CALLS: dict[str, Run] = {
    "mem_save": _save,
    "mem_search": _search,
    "mem_context": _context,
    "mem_session_summary": _session_summary,
    "mem_session_start": _session_start,
    "mem_session_end": _session_end,
    "mem_get_observation": _get_observation,
    "mem_suggest_topic_key": _suggest_topic_key,
    "mem_capture_passive": _capture_passive,
    "mem_save_prompt": _save_prompt,
    "mem_update": _update,
    "mem_delete": _delete,
    "mem_stats": _stats,
    "mem_timeline": _timeline,
}
