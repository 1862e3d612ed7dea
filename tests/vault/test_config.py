"""Settings of memories: sparse files, where a value came from, and what was wrong with it."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from engram.errors import InvalidInput, SettingsError
from engram.vault import config


def settings_file(folder: Path, text: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    path = folder / config.FILE
    path.write_text(text, encoding="utf-8")
    return path


def test_nothing_set_is_every_default(tmp_path: Path) -> None:
    found = config.effective([str(tmp_path / "gone"), str(tmp_path)])

    assert {name: setting.value for name, setting in found.items()} == {
        name: key.default for name, key in config.KEYS.items()
    }
    assert {setting.origin for setting in found.values()} == {"default"}


def test_the_later_file_wins_and_every_value_says_where_it_came_from(tmp_path: Path) -> None:
    first = settings_file(tmp_path / "a", '{"scope": "global", "load": {"limit": 3, "max_tokens": 400}}')
    second = settings_file(tmp_path / "b", '\ufeff{"load.limit": 5}')

    found = config.effective([str(tmp_path / "a"), str(tmp_path / "b")])

    assert (found["load.limit"].value, found["load.limit"].origin) == (5, str(second))
    assert (found["load.max_tokens"].value, found["load.max_tokens"].origin) == (400, str(first))
    assert (found["scope"].value, found["roles"].origin) == ("global", "default")


WRONG: list[tuple[str, Any]] = [
    ("load.limit", 0),
    ("load.limit", 33),
    ("load.limit", "many"),
    ("load.limit", True),
    ("load.limit", 1.5),
    ("load.limit", None),
    ("load.limit", []),
    ("load.max_tokens", 199),
    ("load.max_tokens", "16001"),
    ("load.working_ttl_days", -1),
    ("scope", "team"),
    ("scope", 1),
    ("trust.team", "maybe"),
    ("rule_variants.enabled", "yes"),
    ("rule_variants.active", "severe"),
    ("roles", "a/b"),
    ("roles", [1]),
    ("roles", {}),
    ("default_profile", 1),
    ("author.name", "x" * 1001),
]


@pytest.mark.parametrize(("name", "value"), WRONG)
def test_a_wrong_value_is_named_and_counts_as_not_given(tmp_path: Path, name: str, value: Any) -> None:
    good = settings_file(tmp_path / "a", "{}")
    bad = settings_file(tmp_path / "b", json.dumps({name: value}))

    setting = config.effective([str(good.parent), str(bad.parent)])[name]

    assert (setting.value, setting.origin) == (config.KEYS[name].default, "default")
    assert setting.problem.startswith(f"{bad}: {name} ")
    with pytest.raises(InvalidInput) as raised:
        config.read_value(name, value)
    assert raised.value.message.startswith(f"{name}: ")


@pytest.mark.parametrize(
    ("name", "value"), [("load.limit", "²"), ("load.limit", "9" * 5000), ("author.name", "\ud800")]
)
def test_no_value_can_do_harm(tmp_path: Path, name: str, value: str) -> None:
    settings_file(tmp_path, json.dumps({name: value}))

    assert config.effective([str(tmp_path)])[name].problem


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        ("load.limit", "12", 12),
        ("scope", " Both ", "both"),
        ("rule_variants.enabled", "TRUE", True),
        ("roles", "backend, reviewer,backend", ["backend", "reviewer"]),
        ("roles", ["a"], ["a"]),
        ("roles", "none", []),
        ("roles", "all", []),
        ("roles", "", []),
        ("author.name", "  Ada \n Lovelace ", "Ada Lovelace"),
        ("trust.team", "card", "card"),
    ],
)
def test_a_value_is_read_as_people_write_it(name: str, value: Any, expected: Any) -> None:
    assert config.read_value(name, value) == expected


def test_a_setting_that_is_none_is_refused_by_name() -> None:
    with pytest.raises(InvalidInput) as raised:
        config.check_key("load.speed")

    assert "load.limit" in (raised.value.hint or "")


def test_setting_a_value_keeps_all_else_and_stays_sparse(tmp_path: Path) -> None:
    path = settings_file(
        tmp_path, '{"theirs": {"deep": [1, "ü"]}, "load": {"semantic": true}, "scope": "both", "$schema": "x"}'
    )

    config.change_file(str(path), "load.limit", 4)
    config.change_file(str(path), "scope", None)

    assert json.loads(path.read_text(encoding="utf-8")) == {
        "theirs": {"deep": [1, "ü"]},
        "load": {"semantic": True, "limit": 4},
        "$schema": "x",
    }
    assert list(json.loads(path.read_text(encoding="utf-8"))) == ["theirs", "load", "$schema"]
    assert "ü" in path.read_text(encoding="utf-8")


def test_the_first_setting_makes_a_file_of_one_value(tmp_path: Path) -> None:
    path = tmp_path / "new" / config.FILE

    config.change_file(str(path), "trust.team", "card")
    assert json.loads(path.read_text(encoding="utf-8")) == {"trust": {"team": "card"}}

    config.change_file(str(path), "trust.team", None)
    assert json.loads(path.read_text(encoding="utf-8")) == {}


@pytest.mark.parametrize("text", ["", "{", "[]", "null", '"x"', "{'a': 1}", '{"a": 1,}', "[" * 100_000])
def test_a_file_that_is_no_json_object_is_named_and_never_overwritten(tmp_path: Path, text: str) -> None:
    """Fault 27 of the earlier system."""
    path = settings_file(tmp_path, text)

    with pytest.raises(SettingsError, match=r"cannot be read|must be") as raised:
        config.effective([str(tmp_path)])
    assert str(path) in raised.value.message
    with pytest.raises(SettingsError):
        config.change_file(str(path), "scope", "both")
    assert path.read_text(encoding="utf-8") == text


@pytest.mark.parametrize(
    "text", ['{"load.limit": 3}', '{"load": {"limit": 2}, "load.limit": 3}'], ids=["dotted", "both spellings"]
)
def test_a_value_in_either_spelling_can_be_changed_and_taken_out(tmp_path: Path, text: str) -> None:
    path = settings_file(tmp_path, text)

    config.change_file(str(path), "load.limit", 6)
    assert config.effective([str(tmp_path)])["load.limit"].value == 6

    config.change_file(str(path), "load.limit", None)
    assert config.effective([str(tmp_path)])["load.limit"].origin == "default"
