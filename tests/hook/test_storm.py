"""While many write, a session starts with right answers all the same."""

from __future__ import annotations

import os
import subprocess
import sys
from pathlib import Path

from engram.bootstrap import App
from tests.hook.host import Host
from tests.services.governed import save

WRITER = """
import sys
from engram.bootstrap import open_app
app = open_app(workspace=sys.argv[1])
print("ready", flush=True)
number = 0
while number < int(sys.argv[3]):
    name = f"{sys.argv[2]}-{number}"
    app.observations.save(title=f"Finding {name}", content=f"What was found, {name}", project="shop")
    number += 1
app.close()
"""


def test_eight_writers_do_not_disturb_a_session_start(app: App, shop: Path, host: Host) -> None:
    save(app, "TYPE: rule | TEXT: Use pnpm, never npm, to install packages. | ALWAYS: true")
    app.observations.save(title="First", content="A store that is there.", project="shop")
    app.close()
    writers = [
        subprocess.Popen(
            [sys.executable, "-c", WRITER, str(shop), str(number), "60"],
            stdout=subprocess.PIPE,
            env={**os.environ, "ENGRAM_PROJECT": "shop"},
        )
        for number in range(8)
    ]
    for writer in writers:
        assert writer.stdout is not None
        assert writer.stdout.readline() == b"ready\n"
    answered = 0
    while any(writer.poll() is None for writer in writers) or not answered:
        told = host.start()
        assert "Use pnpm" in told
        assert "[manual]" in told
        answered += 1
    for writer in writers:
        assert writer.wait() == 0
        assert writer.stdout is not None
        writer.stdout.close()

    with app.store.read() as tx:
        assert tx.counts().observations == 8 * 60 + 1
