"""Find what was meant."""

from __future__ import annotations

from collections.abc import Callable
from datetime import timedelta

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from engram.bootstrap import App
from engram.core import terms
from engram.errors import InvalidInput
from tests.conftest import Clock


def found(app: App, query: str, **filters: object) -> list[int]:
    return [hit.id for hit in app.search.find(query, **filters).hits]  # type: ignore[arg-type]


def keep(app: App, *texts: str, **fields: str) -> list[int]:
    """Save each text with noise before it, so that finding it is no accident."""
    ids = []
    for number, text in enumerate(texts):
        app.observations.save(title=f"Noise {number} {text[:1]}", content=f"unrelated words {number} about weather")
        ids.append(app.observations.save(**{"title": f"Row {number}", "content": text, **fields}).id)
    return ids


@pytest.mark.parametrize("query", ["", " ", "\n\t ", "\u3000"])
def test_a_blank_query_is_a_clear_error(app: App, query: str) -> None:
    with pytest.raises(InvalidInput, match="query: must not be blank"):
        app.search.find(query)


SIGNS = ['"', "*", "(", ")", ":", "^", "-", "+", "AND", "OR", "NOT", "NEAR", "NEAR(", "{", "}", "'", ";", "--", "\\"]
QUERIES = st.one_of(
    st.text(alphabet=st.characters(codec=None), max_size=60),
    st.lists(st.sampled_from([*SIGNS, "title:", "search_project", "zp1", "auth", "\x00", "🦊", "\ud800", "数"])).map(
        " ".join
    ),
    st.lists(st.sampled_from([*SIGNS, "a", "認", "9"]), max_size=40).map("".join),
    st.text(min_size=1, max_size=3).map(lambda text: text * 3400),
)


@pytest.fixture(scope="module")
def library(tmp_path_factory: pytest.TempPathFactory) -> App:
    from engram.settings import load

    place = tmp_path_factory.mktemp("library")
    app = App(load({"ENGRAM_DATA_DIR": str(place), "ENGRAM_PROJECT": "shop"}), workspace=str(place), process="p-1")
    for text in ("auth model a b", "数据库连接", "🦊 fox", "C# and go", "NEAR AND OR NOT"):
        app.observations.save(title=text, content=f"{text} content", topic_key=f"topic/{text}")
    return app


@settings(max_examples=300, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(query=QUERIES)
def test_no_query_raises_but_a_blank_one(library: App, query: str) -> None:
    if not terms.clean_for_search(query.strip()[:4000]).strip():
        with pytest.raises(InvalidInput):
            library.search.find(query)
    else:
        assert len(library.search.find(query).hits) <= 10


@pytest.mark.parametrize(
    "query",
    [
        "a" * 10_000,
        "word " * 2_000,
        "數" * 10_000,
        "aA" * 5_000,
        "a-" * 5_000,
        '"' * 10_000,
        "\x00a" * 5_000,
        " ".join(f"w{number}" for number in range(3_000)),
        "\ufdfa" * 10_000,
        "\u0300" * 10_000,
        "#1 " * 3_000,
    ],
)
def test_ten_thousand_characters_are_just_text(library: App, query: str) -> None:
    library.search.find(query)


def test_accents_do_not_matter(app: App) -> None:
    (id,) = keep(app, "La Sesión de autenticación caducó")

    for query in ("sesion", "SESIÓN", "autenticacion caduco", "sesi\u0301on"[:4] + "o\u0301n"):
        assert found(app, query)[0] == id


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("我们使用数据库连接池来管理连接", ["数据库", "连接池", "数据", "池", "库", "管理连接"]),
        ("認証トークンを更新する処理", ["認証", "トークン", "更新", "処理", "証", "理"]),
        ("사용자인증 토큰을 갱신한다", ["사용자", "인증", "토큰", "갱신", "증"]),
        ("ระบบยืนยันตัวตนผู้ใช้", ["ยืนยัน", "ผู้ใช้"]),
        ("पानी की टंकी का नियम", ["पानी", "टंकी"]),
        ("Redis数据缓存策略", ["redis", "缓存", "Redis数据"]),
        ("ﾊﾝｶｸ文字の設定", ["ハンカク", "文字"]),
    ],
)
def test_scripts_without_spaces_are_found_by_words_pairs_and_single_signs(
    app: App, text: str, queries: list[str]
) -> None:
    (id,) = keep(app, text)
    app.observations.save(title="別の話題", content="天気の記録 날씨 อากาศ मौसम")

    for query in queries:
        assert found(app, query)[:1] == [id], query


FORMS = ["get_user-token", "getUserToken", "get_user_token", "user token", "GetUserToken", "get-user-token"]


@pytest.mark.parametrize("query", FORMS)
@pytest.mark.parametrize("text", [form for form in FORMS if form != "user token"])
def test_the_forms_of_an_identifier_find_each_other(app: App, text: str, query: str) -> None:
    (id,) = keep(app, f"the function {text} fails")

    assert found(app, query)[:1] == [id]


@pytest.mark.parametrize("query", ["sessionstore", "session_store", "SessionStore", "session store", "session-store"])
@pytest.mark.parametrize("text", ["session_store", "sessionStore", "session-store"])
def test_joined_and_split_names_find_each_other(app: App, text: str, query: str) -> None:
    (id,) = keep(app, f"open the {text} once")

    assert found(app, query)[:1] == [id]


@pytest.mark.parametrize(
    ("text", "queries"),
    [
        ("We moved the service to C# last year", ["C#", "c#", "csharp"]),
        ("Written in C++ for speed", ["C++", "c++", "cpp"]),
        ("Runs on .NET eight", [".NET", ".net", "dotnet"]),
        ("The worker is in Go now", ["go", "Go"]),
        ("See src/middleware/auth.ts for it", ["src/middleware/auth.ts", "auth.ts", "middleware", "middleware/auth"]),
        ("Set utf8mb4 in MySQL", ["utf8mb4", "mysql"]),
        ("Upgrade to v2.14.3 first", ["v2.14.3", "2.14.3"]),
        ("Error E1234 in the log", ["E1234", "e1234", "1234"]),
        ("Path C:\\Users\\ada\\notes.txt", ["C:\\Users\\ada\\notes.txt", "notes.txt"]),
        ("It doesn't restart", ["doesn't restart", "doesn’t restart"]),
        ("XMLHttpRequest is old", ["xmlhttprequest", "XMLHttpRequest", "http request"]),
        ("node_modules/@types/react", ["@types/react"]),
    ],
)
def test_names_of_the_trade_are_found(app: App, text: str, queries: list[str]) -> None:
    (id,) = keep(app, text)

    for query in queries:
        assert found(app, query)[:1] == [id], query


def test_c_sharp_is_not_c_plus_plus(app: App) -> None:
    sharp, plus = keep(app, "Written in C# by us", "Written in C++ by us")

    assert found(app, "C#")[0] == sharp
    assert found(app, "C++")[0] == plus


def test_stop_words_alone_are_still_a_query(app: App) -> None:
    (id,) = keep(app, "to be or not to be")

    assert found(app, "to be or not to be")[0] == id


def test_exact_topic_key_and_id_come_first(app: App) -> None:
    keep(app, *(f"architecture auth model number {number} auth model" for number in range(8)), title="auth model")
    target = app.observations.save(title="Tokens", content="JWT", topic_key="architecture/auth-model")

    assert found(app, "architecture/auth-model")[0] == target.id
    assert found(app, "Architecture/Auth-Model")[0] == target.id
    assert found(app, f"#{target.id}")[0] == target.id
    assert found(app, f"{target.id}")[0] == target.id
    assert found(app, f"see #{target.id} auth model")[0] == target.id


def test_a_quoted_phrase_comes_first(app: App) -> None:
    loose, _, exact = keep(app, "token refresh refresh token the token", "refresh the old token", "the refresh token x")

    assert found(app, '"the refresh token"')[0] == exact
    assert found(app, "“the refresh token” token")[0] == exact
    assert loose in found(app, '"the refresh token"')


def test_a_phrase_that_is_nowhere_still_finds_its_words(app: App) -> None:
    (id,) = keep(app, "the token is refreshed")

    assert found(app, '"token refreshed"') == [id]


def test_all_words_are_preferred_and_relaxing_is_said(app: App) -> None:
    both, one = keep(app, "login timeout after an hour", "login page in blue")

    exact = app.search.find("login timeout")
    assert exact.hits[0].id == both
    assert exact.note == ""
    relaxed = app.search.find("login zeppelin")
    assert {hit.id for hit in relaxed.hits} == {both, one}
    assert relaxed.note != ""
    assert relaxed.hits[0].matched == ("login",)


@pytest.mark.parametrize("query", ["authentcation", "autentication", "authenticaiton"])
def test_a_misspelling_is_found_and_said(app: App, query: str) -> None:
    (id,) = keep(app, "authentication of users")

    result = app.search.find(query)
    assert [hit.id for hit in result.hits] == [id]
    assert query in result.note


def test_the_beginning_of_a_word_is_found_and_said(app: App) -> None:
    (id,) = keep(app, "kubernetes deployment")

    result = app.search.find("kube")
    assert [hit.id for hit in result.hits] == [id]
    assert "beginnings" in result.note


def test_what_is_not_there_is_not_found(app: App) -> None:
    keep(app, "authentication of users")

    result = app.search.find("zeppelin")
    assert (list(result.hits), result.note) == ([], "")


@pytest.mark.parametrize("query", ["zp1", "ZP1", "search_project", "zp", "observation_fts"])
def test_nothing_of_the_machinery_is_found(app: App, query: str) -> None:
    keep(app, "authentication of users")

    assert found(app, query) == []


def test_filters_hold_for_every_way_of_finding(app: App) -> None:
    for project in ("shop", "web"):
        for kind in ("bugfix", "decision"):
            for scope in ("project", "personal"):
                app.observations.save(
                    title="Login timeout",
                    content="getUserToken timed out",
                    project=project,
                    type=kind,
                    scope=scope,
                    topic_key=f"{kind}/login-timeout",
                    session_id="one-conversation",
                )
    for query in ("login timeout", "bugfix/login-timeout", '"login timeout"', "#1 #2 #3 #4", "loginn timeoutt", "logi"):
        assert all(hit.project == "web" for hit in app.search.find(query, project="WEB").hits)
        assert all(hit.type == "bugfix" for hit in app.search.find(query, type=" bugfix ").hits)
        assert all(hit.scope == "personal" for hit in app.search.find(query, scope="Personal").hits)
    assert len(found(app, "login timeout", project="web", type="bugfix", scope="personal")) == 1
    assert found(app, "login", type="\udcff") == []


def test_filters_apply_before_the_limit(app: App) -> None:
    for number in range(80):
        app.observations.save(title=f"Login {number}", content="login login login", project="web")
    target = app.observations.save(title="Other", content="one mention of login in a long text " * 5, project="shop")

    assert found(app, "login", project="shop", limit=1) == [target.id]
    assert len(found(app, "login", limit=20)) == 20


@pytest.mark.parametrize("limit", [0, -1, 21])
def test_limits_outside_1_to_20_are_refused(app: App, limit: int) -> None:
    with pytest.raises(InvalidInput, match="limit"):
        app.search.find("x", limit=limit)


def test_an_unknown_scope_is_refused(app: App) -> None:
    with pytest.raises(InvalidInput, match="scope"):
        app.search.find("x", scope="team")


def test_the_current_project_comes_first(app: App) -> None:
    mine = app.observations.save(title="Login", content="timeout", project="shop")
    theirs = app.observations.save(title="Login", content="timeout", project="web")

    assert found(app, "login timeout") == [mine.id, theirs.id]
    assert found(app, "login timeout", project="web") == [theirs.id]


def test_deleted_rows_are_gone_even_as_neighbours(app: App) -> None:
    ids = [
        app.observations.save(title=f"Step {number}", content=f"word{number} here", session_id="s").id
        for number in range(3)
    ]
    app.observations.delete(ids[0])
    app.observations.delete(ids[2], hard=True)

    assert found(app, "word1") == [ids[1]]
    assert found(app, f"#{ids[0]} #{ids[2]} word0 word2") in ([], [ids[1]])


def test_the_order_is_total_and_stable(make_app: Callable[..., App], clock: Clock) -> None:
    app = make_app()
    clock.step = timedelta(0)
    for number in range(12):
        app.observations.save(title="Same", content="same words", topic_key=f"t/{number}")

    first = found(app, "same words", limit=12)
    assert first == sorted(first, reverse=True)
    assert all(found(app, "same words", limit=12) == first for _ in range(3))
    assert found(make_app(process="other"), "same words", limit=12) == first


def test_a_preview_shows_the_best_passage_and_says_when_it_is_cut(app: App) -> None:
    (id,) = keep(app, "filler " * 300 + "the needle is here " + "filler " * 300)

    (hit,) = (hit for hit in app.search.find("needle").hits if hit.id == id)
    assert "needle" in hit.preview
    assert hit.cut
    assert hit.preview.startswith("…")
    assert len(hit.preview) <= 240


def test_results_are_compact(app: App) -> None:
    from engram.core.text import count_tokens
    from engram.services import views

    keep(app, *("a long text about login " * 100 + str(number) for number in range(10)))
    result = app.search.find("login")

    assert len(result.hits) == 10
    assert count_tokens(views.found(result)[0]) <= 10 * 100


def test_a_private_query_is_not_echoed(app: App) -> None:
    from engram.services import views

    token = "ghp_" + "A1b2C3d4E5f6G7h8I9j0" + "K1l2M3n4O5p6Q7r8"
    assert token not in views.found(app.search.find(f"who uses {token}"))[0]
