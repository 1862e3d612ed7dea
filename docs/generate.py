"""Write docs/reference/commands.md, tools.md and the tables of docs/hosts.md from the code; a test compares them with
what is there."""

from __future__ import annotations

import os
import sys
from pathlib import Path

REFERENCE = Path(__file__).parent / "reference"
MADE, END = "<!-- made by docs/generate.py -->", "<!-- end -->"


def commands() -> str:
    from engram.cli import COMMANDS, build_parser

    os.environ["COLUMNS"] = "100"
    parts = ["# Commands", "", "Made from the program's own help. `--json` gives every result as JSON."]
    for name in COMMANDS:
        parts += ["", f"## engram {name}", "", "```text", build_parser(name).format_help().rstrip(), "```"]
    return "\n".join(parts) + "\n"


def tools() -> str:
    from engram.mcp_server.profiles import instructions
    from engram.mcp_server.tools import memories, observations

    parts = [
        "# Tools",
        "",
        "Made from the table that the server offers. Unknown parameters are ignored and named in the answer. An empty",
        'text means not given; whole numbers may come as `12`, `12.0` or `"12"`.',
        "",
        "`engram mcp` offers the `mem_*` tools, `engram-mcp` the `engram_*` tools; both take `--tools=` with profiles",
        "and names. Results of the `engram_*` tools are `{contract_version, ok, data, diagnostics}`; `data.text` is",
        "the whole answer for programs that show their model nothing else.",
        "",
        "Instructions sent to the client by `engram mcp`, by `engram-mcp`, and with all tools:",
        "",
        f"> {instructions(observations.TOOLS)}",
        "",
        f"> {instructions(memories.TOOLS)}",
        "",
        f"> {instructions((*observations.TOOLS, *memories.TOOLS))}",
    ]
    for tool in (*observations.TOOLS, *memories.TOOLS):
        schema = tool["inputSchema"]
        hints = [name for name, value in tool["annotations"].items() if value]
        parts += ["", f"## {tool['name']}", "", tool["description"], ""]
        parts.append(f"Profile `{tool['profile']}`; {', '.join(f'`{hint}`' for hint in hints) or 'writes'}.")
        if schema.get("properties"):
            parts += ["", "| parameter | accepts | required | |", "| --- | --- | --- | --- |"]
        for name, wanted in schema.get("properties", {}).items():
            accepts = " or ".join(f"`{one}`" for one in wanted["enum"]) if "enum" in wanted else _kind(wanted)
            required = "yes" if name in schema.get("required", []) else ""
            default = f"default {wanted['default']}" if "default" in wanted else ""
            about = "; ".join(text for text in (wanted.get("description", ""), default) if text)
            parts.append(f"| `{name}` | {accepts} | {required} | {about} |")
        if "outputSchema" in tool:
            parts += ["", f"Gives {', '.join(f'`{name}`' for name in tool['outputSchema']['required'])} and more."]
    return "\n".join(parts) + "\n"


def hosts() -> str:
    """docs/hosts.md with its tables made anew."""
    from engram.hosts.table import ABILITIES, HOSTS, capabilities

    page = (REFERENCE.parent / "hosts.md").read_text(encoding="utf-8")
    before, _, rest = page.partition(f"{MADE}\n")
    after = rest.partition(f"{END}\n")[2]
    rows = capabilities()
    lines = [
        f"| program | {' | '.join(ABILITIES)} |",
        f"| --- |{' --- |' * len(ABILITIES)}",
    ]
    for row in rows:
        cells = ("yes" if cell == "yes" else "yes*" if cell.startswith("yes;") else "–" for cell in row.cells.values())
        lines.append(f"| `{row.host}` | {' | '.join(cells)} |")
    lines += ["", "| program | | |", "| --- | --- | --- |"]
    for row in rows:
        for ability, cell in row.cells.items():
            if cell != "yes":
                lines.append(f"| `{row.host}` | {ability} | {cell.removeprefix('yes; ')} |")
    lines += ["", "| program | compared with |", "| --- | --- |"]
    lines += [f"| {host.title} (`{host.name}`) | {host.checked} |" for host in HOSTS if host.checked]
    return f"{before}{MADE}\n" + "\n".join(lines) + f"\n{END}\n{after}"


def _kind(wanted: dict[str, object]) -> str:
    return str(wanted["type"]) if "type" in wanted else '`"all"` or a list of numbers'


def main() -> int:
    for name, text in (("commands.md", commands()), ("tools.md", tools())):
        (REFERENCE / name).write_text(text, encoding="utf-8")
    (REFERENCE.parent / "hosts.md").write_text(hosts(), encoding="utf-8")
    return 0


if __name__ == "__main__":
    sys.exit(main())
