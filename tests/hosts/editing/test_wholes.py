"""A file that is ours from the first byte to the last."""

from __future__ import annotations

import pytest

from engram.hosts.editing import wholes
from engram.hosts.editing.edit import Edit, Untouched
from engram.hosts.parts import Whole

NEW = Whole(path="", text=f"<!-- {wholes.MARK} -->\nnew\n")
OLD = f"<!-- {wholes.MARK} -->\nold\n"


def test_a_file_that_is_missing_is_written() -> None:
    assert wholes.put(None, NEW, known="", force=False) == Edit(text=NEW.text, status="written")


@pytest.mark.parametrize("known", ["", OLD, NEW.text])
def test_a_file_that_is_as_it_should_be_is_unchanged(known: str) -> None:
    assert wholes.put(NEW.text, NEW, known=known, force=False).status == "unchanged"


@pytest.mark.parametrize("known", ["", OLD])
def test_an_older_form_of_ours_is_brought_up_to_date(known: str) -> None:
    assert wholes.put(OLD, NEW, known=known, force=False) == Edit(text=NEW.text, status="updated")


@pytest.mark.parametrize(
    ("text", "known", "reason"),
    [
        ("mine\n", "", "somebody else's"),
        ("", "", "somebody else's"),
        ("mine\n", OLD, "somebody else's"),
        (OLD + "more", OLD, "by hand"),
    ],
)
def test_a_file_of_a_person_is_only_replaced_or_removed_by_force(text: str, known: str, reason: str) -> None:
    for edit in (wholes.put, wholes.take):
        with pytest.raises(Untouched, match=reason) as left:
            edit(text, NEW, known=known, force=False)
        assert left.value.status == "kept"

    assert wholes.put(text, NEW, known=known, force=True) == Edit(text=NEW.text, status="updated")
    assert wholes.take(text, NEW, known=known, force=True) == Edit(text="", status="removed")


@pytest.mark.parametrize("known", ["", OLD])
def test_a_file_of_ours_is_removed(known: str) -> None:
    assert wholes.take(OLD, NEW, known=known, force=False) == Edit(text="", status="removed")
