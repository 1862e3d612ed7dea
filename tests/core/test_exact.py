"""What a query means literally."""

from __future__ import annotations

from engram.core.query import parse


def test_an_identifier_that_is_the_question_is_looked_for_literally() -> None:
    assert parse("getUserToken").exact == ("getusertoken",)
    assert parse("session_store").exact == ("session store",)
    assert parse("why does session_store.py fail in tests").exact == ("session store py",)


def test_in_a_longer_question_an_identifier_is_one_word_among_others() -> None:
    assert parse("custom models can be marked as can_stream false in the configuration file").exact == ()


def test_a_quoted_phrase_is_literal_however_long_the_question() -> None:
    question = 'where did we write down that "session store" rows expire after ninety days of nothing'
    assert parse(question).exact == ("session store",)
