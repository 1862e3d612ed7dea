"""Check a tool's arguments against its schema: typed values, or an `InvalidInput` that names the parameter."""

from __future__ import annotations

from engram.errors import InvalidInput

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

# Larger than any id; a bigger number is not an id but noise, and SQLite could not hold it.
MAX_INTEGER = 2**53


def check(schema: dict[str, Any], given: dict[str, Any]) -> tuple[dict[str, Any], list[str]]:
    """Values for the parameters that were given, and the names of those that the tool does not know.

    `""` and null mean not given. Whole numbers may come as `12`, `12.0` or `"12"`; where text is expected, an
    object, list or number is taken as its JSON.
    """
    properties: dict[str, Any] = schema.get("properties", {})
    values: dict[str, Any] = {}
    for name, wanted in properties.items():
        raw = given.get(name)
        if raw is None or raw == "":
            continue
        values[name] = _value(name, wanted, raw)
    for name in schema.get("required", ()):
        if name not in values:
            problem = "must not be blank" if given.get(name) == "" else "is required"
            raise InvalidInput(f"{name}: {problem}", hint=_accepted(name, properties[name]))
    return values, [name for name in given if name not in properties]


def ignored(unknown: list[str]) -> str:
    """What is said of parameters that a tool does not know; "" when there are none."""
    if not unknown:
        return ""
    from engram.core.clean import clean

    return f"ignored, not a parameter: {', '.join(clean(name)[:60] for name in unknown[:10])}"


def _value(name: str, wanted: dict[str, Any], raw: Any) -> Any:
    if "enum" in wanted:
        text = _text(raw).strip().lower()
        if text in wanted["enum"]:
            return text
        if not text:
            raise InvalidInput(f"{name}: must not be blank", hint=_accepted(name, wanted))
        raise InvalidInput(f"{name}: is not one of the accepted values", hint=_accepted(name, wanted))
    if "anyOf" in wanted or wanted["type"] == "array":
        return raw  # what reads it knows its forms, and names them
    if wanted["type"] == "integer":
        return _integer(name, wanted, raw)
    if wanted["type"] == "boolean":
        return _boolean(name, wanted, raw)
    return _text(raw)


def _integer(name: str, wanted: dict[str, Any], raw: Any) -> int:
    number: int | None = None
    if isinstance(raw, bool):
        number = None
    elif isinstance(raw, int):
        number = raw
    elif isinstance(raw, float) and raw.is_integer():
        number = int(raw)
    elif isinstance(raw, str) and raw.strip().isascii() and raw.strip().isdigit() and len(raw.strip()) <= 16:
        number = int(raw.strip())
    if number is None or not 0 <= number <= MAX_INTEGER:
        raise InvalidInput(f"{name}: must be a whole number, not negative", hint=_accepted(name, wanted))
    return number


def _boolean(name: str, wanted: dict[str, Any], raw: Any) -> bool:
    if isinstance(raw, bool):
        return raw
    if isinstance(raw, str) and raw.strip().lower() in ("true", "false"):
        return raw.strip().lower() == "true"
    raise InvalidInput(f"{name}: must be true or false", hint=_accepted(name, wanted))


def _text(raw: Any) -> str:
    if isinstance(raw, str):
        return raw
    import json

    return json.dumps(raw, ensure_ascii=False)


def _accepted(name: str, wanted: dict[str, Any]) -> str:
    if "enum" in wanted:
        return f"{name} is one of: {', '.join(wanted['enum'])}"
    if "anyOf" in wanted or wanted["type"] == "array":
        return f"{name} is {wanted.get('description', 'a list')}"
    form = {"integer": "a whole number such as 12", "boolean": "true or false", "string": "text"}[wanted["type"]]
    return f"{name} is {form}"
