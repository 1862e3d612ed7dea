"""The reference is what the code says, and every page that is pointed at exists."""

from __future__ import annotations

import importlib.util
import re
import sys
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]


def _generator():  # type: ignore[no-untyped-def]
    spec = importlib.util.spec_from_file_location("generate", ROOT / "docs" / "generate.py")
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.mark.skipif(sys.version_info[:2] != (3, 11), reason="argparse lays out its help anew in later versions")
@pytest.mark.parametrize("page", ["commands", "tools"])
def test_the_generated_reference_is_up_to_date(page: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("COLUMNS", "100")
    wanted = getattr(_generator(), page)()
    there = (ROOT / "docs" / "reference" / f"{page}.md").read_text(encoding="utf-8")
    assert there == wanted, "run: python docs/generate.py"


def test_the_tables_of_agent_programs_are_up_to_date() -> None:
    there = (ROOT / "docs" / "hosts.md").read_text(encoding="utf-8")
    assert there == _generator().hosts(), "run: python docs/generate.py"


def test_every_link_between_pages_leads_somewhere() -> None:
    pages = [ROOT / "README.md", *(ROOT / "docs").rglob("*.md"), *(ROOT / "bench").glob("*.md")]
    for page in pages:
        for target in re.findall(r"\]\(([^)#]+)\)", page.read_text(encoding="utf-8")):
            if "://" not in target:
                assert (page.parent / target).exists(), f"{page.name}: {target}"
