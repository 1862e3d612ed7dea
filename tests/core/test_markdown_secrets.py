"""Secrets as notes carry them: bold labels, tables, sentences."""

from __future__ import annotations

import random
import string

import pytest

from engram.core.clean import clean

FORMS = (
    "**Password:** {}",
    "**Password**: {}",
    "**API_KEY**: {}",
    "| API_KEY | {} |",
    "password is: {}",
    "the password is {}",
    "* `DB_PASSWORD`: {}",
    "- **token:** {}",
)


@pytest.mark.parametrize("form", FORMS)
def test_a_value_under_a_label_of_a_note_is_redacted(form: str) -> None:
    chance = random.Random(form)
    for _ in range(50):
        value = "".join(chance.choices(string.ascii_letters + string.digits, k=22)) + "7q"
        assert value not in clean("Notes\n" + form.format(value) + "\nmore")


@pytest.mark.parametrize(
    "prose",
    [
        "**Password:** ask in the channel",
        "| token | what it is for |",
        "| API_KEY | required |",
        "the token is: refreshed every hour",
        "**Key:** value pairs are kept in order",
    ],
)
def test_a_label_with_words_after_it_stays(prose: str) -> None:
    assert clean(prose) == prose
