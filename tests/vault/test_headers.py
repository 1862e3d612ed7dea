"""The quick reading of our own headers says what the library says."""

from __future__ import annotations

import yaml
from hypothesis import example, given
from hypothesis import strategies as st

from engram.vault import front_matter

NAMES = st.from_regex(r"[a-z_]{1,12}", fullmatch=True)
TEXTS = st.text(max_size=40)
VALUES = TEXTS | st.integers(0, 10**6) | st.booleans() | st.lists(TEXTS.filter(bool), max_size=5)


@given(st.dictionaries(NAMES, VALUES, max_size=6))
@example({"a": "2026-01-01", "b": "no", "c": ["x: y", "null", "- z"], "d": 'say "it"\\', "e": "12:30"})
def test_a_header_that_we_write_reads_the_same_with_and_without_the_library(fields: dict[str, object]) -> None:
    header = front_matter.write(fields)  # type: ignore[arg-type]

    quick = front_matter._read_own(header)

    by_library = yaml.load(header, Loader=yaml.BaseLoader) or {}
    assert quick is None or quick == by_library
    assert front_matter.read(header) == by_library


@given(st.text(max_size=200))
@example("a: [b, c: d]\n")
@example("a: -x\nb: x:\n")
@example("a: yes\nb: 0x1f\nc: .5\n")
def test_any_header_that_is_read_quickly_means_the_same_to_the_library(header: str) -> None:
    quick = front_matter._read_own(header)

    if quick is not None:
        assert quick == (yaml.load(header, Loader=yaml.BaseLoader) or {})
