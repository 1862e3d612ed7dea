"""engram capabilities: what each agent program can do with Engram, and why not where it cannot.

example: engram capabilities
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace
from typing import TYPE_CHECKING

from engram.cli.output import Result

if TYPE_CHECKING:
    from engram.bootstrap import App


def add_arguments(parser: ArgumentParser) -> None:
    parser.add_argument("host", nargs="?", help="tell of this one only, with the reasons")


def run(args: Namespace, app: App) -> Result:
    from engram.services.links import capabilities

    rows = capabilities(args.host)
    if args.host:
        (row,) = rows
        text = "\n".join([f"{row.host}:", *(f"  {name:<13} {cell}" for name, cell in row.cells.items())])
        return Result(data=rows, text=text)
    names = list(rows[0].cells)
    lines = [f"{'':<12} " + " ".join(f"{name:<12}" for name in names).rstrip()]
    for row in rows:
        cells = (_short(row.cells[name]) for name in names)
        lines.append(f"{row.host:<12} " + " ".join(f"{cell:<12}" for cell in cells).rstrip())
    lines += ["", "`engram capabilities HOST` gives the reasons and limits."]
    return Result(data=rows, text="\n".join(lines))


def _short(cell: str) -> str:
    return "yes" if cell == "yes" else "yes*" if cell.startswith("yes;") else "-"
