"""The token estimate beside counts of the real `o200k` vocabulary."""

from __future__ import annotations

import json

import pytest

from engram.core.text import count_tokens
from engram.mcp_server.profiles import ALL_TOOLS, instructions
from engram.mcp_server.tools.memories import TOOLS as GOVERNED
from engram.mcp_server.tools.observations import TOOLS

# (text, tokens by o200k_base)
SAMPLES = [
    (
        "La sesión anterior terminó con errores de autenticación porque la base de datos no estaba disponible; "
        "decidimos reintentar tres veces antes de avisar al usuario y guardar el motivo en el registro.",
        39,
    ),
    ("データベースの移行は夜間に行い、失敗した場合は自動的に元に戻します。", 28),
    ("Мы решили перейти на токены, потому что хранение сессий не масштабируется на несколько серверов.", 22),
    ("قررنا استخدام الرموز المميزة لأن تخزين الجلسات لا يتوسع", 16),
]


@pytest.mark.parametrize(("text", "real"), SAMPLES)
def test_the_estimate_is_within_thirty_percent_of_the_real_count(text: str, real: int) -> None:
    assert 0.9 * real <= count_tokens(text) <= 1.3 * real


def test_the_instructions_fit_512_characters_for_every_selection() -> None:
    for chosen in ([tool] for tool in ALL_TOOLS):
        assert 0 < len(instructions(chosen)) <= 512
    assert "mem_search" in instructions(TOOLS)


def test_nothing_costs_nothing_and_more_text_costs_more() -> None:
    assert count_tokens("") == 0
    assert count_tokens("a word") < count_tokens("a word and another one")


def test_the_eleven_governed_tools_cost_at_most_sixteen_hundred_tokens() -> None:
    rows = [{name: value for name, value in row.items() if name not in ("profile", "interactive")} for row in GOVERNED]

    assert len(rows) == 11
    assert count_tokens(json.dumps(rows, ensure_ascii=False, separators=(",", ":"))) <= 1600
