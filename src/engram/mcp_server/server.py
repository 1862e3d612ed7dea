"""What a server offers: tables of tools, resources and prompts, the same for every client. No I/O, light imports."""

from __future__ import annotations

from engram.mcp_server.wire import Prompt, Resource, Template, Tool

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Sequence
    from typing import Any

    Message = dict[str, Any]


class Server:
    """The tables, and what goes with them.

    `list_resources` gives the list of resources anew each time, for those that come and go. `root` names the place
    that dialogs are about; `report` takes failures of ours for the log; `dialog_seconds` is how long a person of a
    handshake client has for an answer; `subscriptions` are of that era too.
    """

    def __init__(
        self,
        *,
        name: str,
        version: str,
        instructions: str,
        tools: Sequence[Tool] = (),
        resources: Sequence[Resource] = (),
        templates: Sequence[Template] = (),
        prompts: Sequence[Prompt] = (),
        list_resources: Callable[[], list[Message]] | None = None,
        complete: Callable[[Message], list[str]] | None = None,
        logs: bool = False,
        subscriptions: bool = False,
        root: str = "",
        report: Callable[[BaseException], None] | None = None,
        dialog_seconds: float = 60.0,
    ) -> None:
        self.info = {"name": name, "version": version}
        self.instructions = instructions
        self.tools = {tool.name: tool for tool in tools}
        self.resources = {resource.uri: resource for resource in resources}
        self.templates = tuple(templates)
        self.list_resources = list_resources
        self.prompts = {prompt.name: prompt for prompt in prompts}
        self.complete = complete
        self.logs = logs
        self.subscriptions = subscriptions
        self.root = root
        self.report = report
        self.dialog_seconds = dialog_seconds
        self._seal: Any = None

    @property
    def seal(self) -> Any:
        """Seals state that a modern client carries for us; the key lives as long as this process."""
        if self._seal is None:
            from engram.mcp_server.sealing import Seal

            self._seal = Seal(self.root)
        return self._seal

    def capabilities(self) -> Message:
        found: Message = {}
        if self.tools:
            found["tools"] = {}
        if self.resources or self.templates or self.list_resources is not None:
            found["resources"] = {}
        if self.prompts:
            found["prompts"] = {}
        if self.complete is not None:
            found["completions"] = {}
        if self.logs:
            found["logging"] = {}
        return found

    def tool_list(self) -> Message:
        return {"tools": [tool.listed() for tool in self.tools.values()]}

    def resource(self, uri: str) -> tuple[Resource | Template, dict[str, str]] | None:
        """The row that serves `uri`, and the values of its template."""
        if uri in self.resources:
            return self.resources[uri], {}
        for template in self.templates:
            values = template.match(uri)
            if values is not None:
                return template, values
        return None
