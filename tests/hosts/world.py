"""A person's home and project, made for links: programs at fixed paths, a clock that counts runs."""

from __future__ import annotations

import itertools
import os
from collections.abc import Sequence
from dataclasses import dataclass, field
from pathlib import Path

from engram.services.links import Links, Programs, Ran

SERVER = ("engram-mcp",)
ENGRAM = ("/opt/engram/bin/engram",)
OLDER = Programs(
    server=("uvx", "--from", "engram-keep==0.0.1", "engram-mcp"), engram=("/opt/old/engram",), version="0.0.1"
)
NOW = Programs(server=SERVER, engram=ENGRAM, version="1.2.3")


@dataclass
class World:
    """`tree` is what lies in home and project, without the copies that runs keep; `ran` what was started."""

    folder: Path
    environ: dict[str, str] = field(default_factory=dict)
    ran: list[tuple[str, ...]] = field(default_factory=list)
    answer: Ran = field(default_factory=lambda: Ran(status=0, said="done"))

    def __post_init__(self) -> None:
        for place in (self.home, self.project):
            place.mkdir(parents=True, exist_ok=True)
        self._count = itertools.count(1)

    @property
    def home(self) -> Path:
        return self.folder / "person"

    @property
    def project(self) -> Path:
        return self.folder / "shop"

    @property
    def data(self) -> Path:
        return self.folder / "data"

    def links(self, programs: Programs = NOW) -> Links:
        return Links(
            data_folder=str(self.data),
            home=str(self.home),
            environ={"PATH": str(self.folder / "bin"), **self.environ},
            platform="linux",
            programs=lambda: programs,
            stamp=lambda: f"20260301T{next(self._count):06d}Z",
            run=self._run,
        )

    def _run(self, words: Sequence[str]) -> Ran:
        self.ran.append(tuple(words))
        return self.answer

    def program(self, name: str) -> Path:
        """A program of that name on PATH."""
        path = self.folder / "bin" / name
        path.parent.mkdir(exist_ok=True)
        path.write_text("#!/bin/sh\n")
        path.chmod(0o755)
        return path

    def write(self, name: str, data: str | bytes) -> Path:
        """`name` from the folder of this world: `shop/.mcp.json`."""
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(data.encode() if isinstance(data, str) else data)
        return path

    def tree(self) -> dict[str, bytes | str | None]:
        found: dict[str, bytes | str | None] = {}
        for top in (self.home, self.project):
            for path in sorted(top.rglob("*")):
                if path.name.endswith(".bak"):
                    continue
                name = str(path.relative_to(self.folder))
                if path.is_symlink():
                    found[name] = f"link to {os.readlink(path)}"
                else:
                    found[name] = None if path.is_dir() else path.read_bytes()
        return found

    def times(self) -> dict[str, int]:
        paths = [path for top in (self.home, self.project) for path in top.rglob("*")]
        return {str(path): os.lstat(path).st_mtime_ns for path in paths}
