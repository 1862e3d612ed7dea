"""engram doctor: look everything over, and with --repair rebuild what is derived (a copy is kept first).

example: engram doctor --deep
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App

_SIGNS = {"ok": "ok     ", "warning": "warning", "error": "ERROR  "}


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("--deep", action="store_true", help="read every page and every row")
    parser.add_argument("--repair", action="store_true", help="keep a copy, then rebuild what is derived")
    parser.add_argument("--strict", action="store_true", help="a warning counts as a failure (exit 4)")


def run(args: Namespace, app: App) -> Result:
    report = app.doctor.repair() if args.repair else app.doctor.examine(deep=args.deep)
    lines = [f"mended   {line}" for line in report.mended]
    if report.copy:
        lines.insert(0, f"copy     {report.copy}")
    for finding in report.findings:
        lines.append(f"{_SIGNS[finding.level]}  {finding.id}: {finding.message}")
        if finding.remedy:
            lines.append(f"           next: {finding.remedy}")
    worst = report.worst()
    failed = worst == "error" or (worst == "warning" and args.strict)
    return Result(data=report, text="\n".join(lines), status=4 if failed else 0)
