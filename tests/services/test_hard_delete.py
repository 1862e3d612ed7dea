"""What is deleted for good is not in the file any more, however long it had been there."""

from __future__ import annotations

from pathlib import Path

from engram.bootstrap import App

WORDS = (b"qwertzuiop", b"xanthophyl", b"xerophthalm", b"zymurgy")


def test_words_that_the_index_had_moved_about_are_gone_too(app: App, data: Path) -> None:
    for content in ("old xanthophyllum", "new xerophthalmic"):
        app.observations.save(title="Gone qwertzuiop", content=content, topic_key="a/zymurgyword")
    for number in range(300):
        app.observations.save(
            title=f"Note {number}", content=f"filler {number} " + " ".join(f"w{number}x{n}" for n in range(40))
        )
    app.observations.delete(1, hard=True)
    app.close()

    held = b"".join(file.read_bytes().lower() for file in data.iterdir() if file.is_file())
    assert [word for word in WORDS if word in held] == []
