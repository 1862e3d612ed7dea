"""A person with an empty home folder, one project, and agent programs that nobody has set up yet."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

from tests.e2e.fake_models import FakeModels
from tests.e2e.governed import Governed, data_of, make_workspace
from tests.e2e.hosts.programs import PACKAGES, folder_of
from tests.e2e.node import node

# A program that hangs, say over a question that nobody can answer, must fail a test.
PATIENCE = 120
KEY = "no-key"


class Person:
    """Every program gets this person's home, a bare environment and no network address but the fake model's."""

    def __init__(self, folder: Path) -> None:
        self.home = folder / "dev"
        self.shop = self.home / "shop"
        self.shop.mkdir(parents=True)

    def run(self, program: str, *arguments: str, cwd: Path | None = None, **environment: str) -> str:
        """What the program wrote, on both streams. Its exit status says little (`mcp list` has 0 either way)."""
        done = subprocess.run(
            [program, *arguments],
            cwd=cwd or self.shop,
            env=self.environment(program, **environment),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            timeout=PATIENCE,
        )
        return done.stdout + done.stderr

    def environment(self, program: str, **more: str) -> dict[str, str]:
        ours = str(Path(sys.executable).parent)
        theirs = [folder_of(program)] if program in PACKAGES else []
        path = os.pathsep.join([*theirs, str(Path(node()).parent), ours, "/usr/bin", "/bin"])
        return {"PATH": path, "HOME": str(self.home), "LANG": "C.UTF-8", "TERM": "dumb", "NO_COLOR": "1", **more}

    def engram(self, *arguments: str, program: str = "engram") -> str:
        """Our own command line, with the commands of `program` on its path."""
        environment = self.environment(program)
        command = [str(Path(sys.executable).parent / "engram"), *arguments]
        done = subprocess.run(
            command, cwd=self.shop, env=environment, stdin=subprocess.DEVNULL, capture_output=True, text=True
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    # -- what each program needs to talk to the fake model ---------------------------------------------------------

    def talk(self, program: str, models: FakeModels, prompt: str, *flags: str) -> str:
        """One headless run with one prompt. The workspace is trusted where a program wants that."""
        ask = {
            "claude": self._claude,
            "codex": self._codex,
            "gemini": self._gemini,
            "opencode": self._opencode,
            "copilot": self._copilot,
        }[program]
        return ask(models, prompt, *flags)

    def _claude(self, models: FakeModels, prompt: str, *flags: str) -> str:
        quiet = {"DISABLE_AUTOUPDATER": "1", "CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC": "1"}
        return self.run("claude", "-p", prompt, *flags, ANTHROPIC_BASE_URL=models.url, ANTHROPIC_API_KEY=KEY, **quiet)

    def _codex(self, models: FakeModels, prompt: str, *flags: str) -> str:
        provider = f'{{name="fake",base_url="{models.url}/v1",env_key="FAKE_KEY",wire_api="responses"}}'
        settings = ('model="fake"', 'model_provider="fake"', f"model_providers.fake={provider}")
        options = [word for setting in settings for word in ("-c", setting)]
        return self.run("codex", "exec", "--skip-git-repo-check", *options, *flags, prompt, FAKE_KEY=KEY)

    def _gemini(self, models: FakeModels, prompt: str, *flags: str) -> str:
        return self.run(
            "gemini", "--skip-trust", *flags, "-p", prompt, GEMINI_API_KEY=KEY, GOOGLE_GEMINI_BASE_URL=models.url
        )

    def _opencode(self, models: FakeModels, prompt: str, *flags: str) -> str:
        provider = {
            "npm": "@ai-sdk/openai-compatible",
            "options": {"baseURL": f"{models.url}/v1", "apiKey": KEY},
            "models": {"fake": {"limit": {"context": 100_000, "output": 1_000}}},
        }
        more = {"model": "fake/fake", "provider": {"fake": provider}, "autoupdate": False}
        return self.run("opencode", "run", *flags, prompt, OPENCODE_CONFIG_CONTENT=json.dumps(more))

    def _copilot(self, models: FakeModels, prompt: str, *flags: str) -> str:
        return self.run(
            "copilot",
            *flags,
            "-p",
            prompt,
            COPILOT_OFFLINE="true",
            COPILOT_MODEL="fake",
            COPILOT_PROVIDER_API_KEY=KEY,
            COPILOT_PROVIDER_BASE_URL=f"{models.url}/v1",
        )

    # -- files of programs -----------------------------------------------------------------------------------------

    def read(self, path: Path) -> Any:
        return json.loads(path.read_text())

    def write(self, path: Path, value: Any) -> None:
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(value if isinstance(value, str) else json.dumps(value))

    def approves_in_claude(self) -> None:
        """What Claude Code writes when a person trusts the folder and says yes to its server. One without the other
        does not count."""
        path = self.home / ".claude.json"
        known = self.read(path) if path.exists() else {}
        known.setdefault("projects", {}).setdefault(str(self.shop), {})["hasTrustDialogAccepted"] = True
        self.write(path, known)
        self.write(self.shop / ".claude" / "settings.local.json", {"enabledMcpjsonServers": ["engram"]})

    def has_a_rule(self, said: str) -> None:
        """One rule that this person approved, in the root of the workspace."""
        make_workspace(self.shop)
        with Governed(self.shop) as server:
            token = data_of(server.call("engram_save", type="rule", text=said))["approval_token"]
            server.call("engram_commit", approval_token=token, approve="all")

    @property
    def rules(self) -> list[str]:
        """The text of every memory in the workspace."""
        return [path.read_text() for path in sorted((self.shop / ".agents" / ".engram").rglob("*.md"))]
