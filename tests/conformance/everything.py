"""The tools, resources and prompts that the conformance suite asks for by name, on our own protocol core.

python tests/conformance/everything.py PORT
"""

from __future__ import annotations

import json
import sys
import time
from typing import Any

import uvicorn

from engram.mcp_server.core import Call, Prompt, Resource, Result, Server, Template, Tool
from engram.mcp_server.http import build_app

PIXEL = (
    "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR4nGP4z8DwHwAFAAH/iZk9HQAAAABJRU5ErkJggg=="  # a red pixel
)
SOUND = "UklGRiQAAABXQVZFZm10IBAAAAABAAEAQB8AAIA+AAACABAAZGF0YQAAAAA="
NOTHING: dict[str, Any] = {"type": "object", "properties": {}}


def form(message: str, properties: dict[str, Any], required: list[str] | None = None) -> dict[str, Any]:
    schema: dict[str, Any] = {"type": "object", "properties": properties}
    if required is not None:
        schema["required"] = required
    return {"method": "elicitation/create", "params": {"mode": "form", "message": message, "requestedSchema": schema}}


def sampling(text: str, tokens: int) -> dict[str, Any]:
    messages = [{"role": "user", "content": {"type": "text", "text": text}}]
    return {"method": "sampling/createMessage", "params": {"messages": messages, "maxTokens": tokens}}


ROOTS: dict[str, Any] = {"method": "roots/list", "params": {}}
NAME = form("What is your name?", {"name": {"type": "string"}}, ["name"])


def blocks(*content: dict[str, Any]) -> Any:
    return lambda arguments, call: Result("", content=list(content))


def says(text: str) -> Any:
    return lambda arguments, call: Result(text)


def fails(arguments: dict[str, Any], call: Call) -> Result:
    return Result("This tool intentionally returns an error for testing", is_error=True)


def logs(arguments: dict[str, Any], call: Call) -> Result:
    for text in ("Tool execution started", "Tool processing data", "Tool execution completed"):
        call.log("info", text)
        time.sleep(0.05)
    return Result("logged")


def progresses(arguments: dict[str, Any], call: Call) -> Result:
    for done in (0, 50, 100):
        call.progress(done, 100)
        time.sleep(0.05)
    return Result("done")


def samples(arguments: dict[str, Any], call: Call) -> Result:
    request = sampling(str(arguments.get("prompt", "")), 100)
    if "sampling" not in call.capabilities:
        return Result("the client cannot sample", is_error=True)
    answer = call.ask(request["method"], request["params"])
    return Result(f"LLM response: {json.dumps(answer)}")


def elicits(message: str | None, properties: dict[str, Any], required: list[str], lead: str) -> Any:
    def run(arguments: dict[str, Any], call: Call) -> Result:
        if not call.can_elicit():
            return Result("the client shows no forms", is_error=True)
        schema: dict[str, Any] = {"type": "object", "properties": properties, "required": required}
        answer = call.elicit(message or str(arguments.get("message", "")), schema)
        return Result(f"{lead} action={answer['action']}, content={json.dumps(answer.get('content'))}")

    return run


def requires(requests: dict[str, Any], done: str) -> Any:
    def run(arguments: dict[str, Any], call: Call) -> Result:
        answers = call.require(requests, {"asked": sorted(requests)})
        return Result(done + " " + json.dumps(answers))

    return run


def by_capability(arguments: dict[str, Any], call: Call) -> Result:
    offered = {
        "elicitation": ("user_name", NAME),
        "sampling": ("greeting", sampling("Generate a greeting", 50)),
        "roots": ("client_roots", ROOTS),
    }
    wanted = dict(row for name, row in offered.items() if name in call.capabilities)
    if not wanted:
        return Result("nothing to ask with")
    return Result(json.dumps(call.require(wanted)))


def multi_round(arguments: dict[str, Any], call: Call) -> Result:
    second = form("Step 2: What is your favorite color?", {"color": {"type": "string"}}, ["color"])
    if isinstance(call.state, dict) and call.state.get("step") == 2:
        color = call.require({"step2": second}, call.state)["step2"]
        return Result(f"{json.dumps(call.state)} {json.dumps(color)}")
    first = form("Step 1: What is your name?", {"name": {"type": "string"}}, ["name"])
    name = call.require({"step1": first}, {"step": 1})["step1"]
    call.require({"step2": second}, {"step": 2, "name": name})
    return Result("not reached")


DEFAULTS = {
    "name": {"type": "string", "default": "John Doe"},
    "age": {"type": "integer", "default": 30},
    "score": {"type": "number", "default": 95.5},
    "status": {"type": "string", "enum": ["active", "inactive", "pending"], "default": "active"},
    "verified": {"type": "boolean", "default": True},
}
ENUMS = {
    "untitledSingle": {"type": "string", "enum": ["option1", "option2", "option3"]},
    "titledSingle": {
        "type": "string",
        "oneOf": [
            {"const": f"value{n}", "title": f"{name} Option"} for n, name in enumerate(("First", "Second", "Third"), 1)
        ],
    },
    "legacyEnum": {
        "type": "string",
        "enum": ["opt1", "opt2", "opt3"],
        "enumNames": ["Option One", "Option Two", "Option Three"],
    },
    "untitledMulti": {"type": "array", "items": {"type": "string", "enum": ["option1", "option2", "option3"]}},
    "titledMulti": {
        "type": "array",
        "items": {
            "anyOf": [
                {"const": f"value{n}", "title": f"{name} Choice"}
                for n, name in enumerate(("First", "Second", "Third"), 1)
            ]
        },
    },
}
PERSON = {
    "username": {"type": "string", "description": "User's response"},
    "email": {"type": "string", "description": "User's email address"},
}


def tool(name: str, run: Any, schema: dict[str, Any] = NOTHING, *, interactive: bool = False) -> Tool:
    return Tool(name=name, description=f"Fixture {name}", input_schema=schema, run=run, interactive=interactive)


def text_argument(name: str) -> dict[str, Any]:
    return {"type": "object", "properties": {name: {"type": "string"}}, "required": [name]}


IMAGE = {"type": "image", "data": PIXEL, "mimeType": "image/png"}


def embedded(uri: str, kind: str, text: str) -> dict[str, Any]:
    return {"type": "resource", "resource": {"uri": uri, "mimeType": kind, "text": text}}


ABOUT = {
    "$schema": "https://json-schema.org/draft/2020-12/schema",
    "type": "object",
    "$defs": {
        "address": {
            "$anchor": "addressDef",
            "type": "object",
            "properties": {"street": {"type": "string"}, "city": {"type": "string"}},
        }
    },
    "properties": {
        "name": {"type": "string"},
        "address": {"$ref": "#/$defs/address"},
        "contactMethod": {"type": "string", "enum": ["phone", "email"]},
        "phone": {"type": "string"},
        "email": {"type": "string"},
    },
    "allOf": [{"anyOf": [{"required": ["phone"]}, {"required": ["email"]}]}],
    "if": {"properties": {"contactMethod": {"const": "phone"}}, "required": ["contactMethod"]},
    "then": {"required": ["phone"]},
    "else": {"required": ["email"]},
    "additionalProperties": False,
}

TOOLS = [
    tool("test_simple_text", says("This is a simple text response for testing.")),
    tool("test_image_content", blocks(IMAGE)),
    tool("test_audio_content", blocks({"type": "audio", "data": SOUND, "mimeType": "audio/wav"})),
    tool(
        "test_embedded_resource",
        blocks(embedded("test://embedded-resource", "text/plain", "This is an embedded resource content.")),
    ),
    tool(
        "test_multiple_content_types",
        blocks(
            {"type": "text", "text": "Multiple content types test:"},
            IMAGE,
            embedded("test://mixed-content-resource", "application/json", '{"test":"data","value":123}'),
        ),
    ),
    tool("test_tool_with_logging", logs),
    tool("test_logging_tool", logs),
    tool("test_error_handling", fails),
    tool("test_tool_with_progress", progresses),
    tool("test_sampling", samples, text_argument("prompt"), interactive=True),
    tool(
        "test_elicitation",
        elicits(None, PERSON, ["username", "email"], "User response:"),
        text_argument("message"),
        interactive=True,
    ),
    tool(
        "test_elicitation_sep1034_defaults",
        elicits("Please review", DEFAULTS, [], "Elicitation completed:"),
        interactive=True,
    ),
    tool(
        "test_elicitation_sep1330_enums",
        elicits("Please choose", ENUMS, [], "Elicitation completed:"),
        interactive=True,
    ),
    tool("test_reconnection", says("reconnected")),
    tool("json_schema_2020_12_tool", says("ok"), ABOUT),
    tool("test_input_required_result_elicitation", requires({"user_name": NAME}, "Hello!"), interactive=True),
    tool(
        "test_input_required_result_sampling",
        requires({"capital_question": sampling("What is the capital of France?", 100)}, "The model said"),
        interactive=True,
    ),
    tool("test_input_required_result_list_roots", requires({"client_roots": ROOTS}, "Roots:"), interactive=True),
    tool(
        "test_input_required_result_request_state",
        requires({"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])}, "state-ok"),
        interactive=True,
    ),
    tool(
        "test_input_required_result_tampered_state",
        requires({"confirm": form("Please confirm", {"ok": {"type": "boolean"}}, ["ok"])}, "state-ok"),
        interactive=True,
    ),
    tool(
        "test_input_required_result_multiple_inputs",
        requires(
            {"user_name": NAME, "greeting": sampling("Generate a greeting", 50), "client_roots": ROOTS}, "All there:"
        ),
        interactive=True,
    ),
    tool("test_input_required_result_multi_round", multi_round, interactive=True),
    tool("test_input_required_result_capabilities", by_capability, interactive=True),
    tool("test_missing_capability", requires({"greeting": sampling("Hello", 10)}, "ok"), interactive=True),
    tool("test_streaming_elicitation", requires({"user_name": NAME}, "Hello!"), interactive=True),
]


def text_resource(text: str) -> Any:
    return lambda uri, values, call: [{"uri": uri, "mimeType": "text/plain", "text": text}]


def data_of(uri: str, values: dict[str, str], call: Call) -> list[dict[str, Any]]:
    about = {"id": values["id"], "templateTest": True, "data": f"Data for ID: {values['id']}"}
    return [{"uri": uri, "mimeType": "application/json", "text": json.dumps(about)}]


RESOURCES = [
    Resource(
        uri="test://static-text",
        name="text",
        description="text",
        mime_type="text/plain",
        read=text_resource("This is the content of the static text resource."),
    ),
    Resource(
        uri="test://static-binary",
        name="binary",
        description="a pixel",
        mime_type="image/png",
        read=lambda uri, values, call: [{"uri": uri, "mimeType": "image/png", "blob": PIXEL}],
    ),
    Resource(
        uri="test://watched-resource",
        name="watched",
        description="watched",
        mime_type="text/plain",
        read=text_resource("watched"),
    ),
]
TEMPLATES = [
    Template(
        uri="test://template/{id}/data",
        name="template",
        description="by id",
        mime_type="application/json",
        read=data_of,
    )
]


def prompt_says(*content: dict[str, Any]) -> dict[str, Any]:
    return {"messages": [{"role": "user", "content": block} for block in content]}


def text_block(text: str) -> dict[str, Any]:
    return {"type": "text", "text": text}


def asking_prompt(given: dict[str, Any], call: Call) -> dict[str, Any]:
    request = form("What context should the prompt use?", {"context": {"type": "string"}}, ["context"])
    answer = call.require({"user_context": request})["user_context"]
    return prompt_says(text_block(f"Context: {json.dumps(answer)}"))


PROMPTS = [
    Prompt(
        name="test_simple_prompt",
        description="simple",
        run=lambda given, call: prompt_says(text_block("This is a simple prompt for testing.")),
    ),
    Prompt(
        name="test_prompt_with_arguments",
        description="two arguments",
        arguments=[{"name": name, "description": name, "required": True} for name in ("arg1", "arg2")],
        run=lambda given, call: prompt_says(
            text_block(f"Prompt with arguments: arg1='{given['arg1']}', arg2='{given['arg2']}'")
        ),
    ),
    Prompt(
        name="test_prompt_with_embedded_resource",
        description="embeds",
        arguments=[{"name": "resourceUri", "description": "what to embed", "required": True}],
        run=lambda given, call: prompt_says(
            embedded(given["resourceUri"], "text/plain", "Embedded resource content for testing."),
            text_block("Please process the embedded resource above."),
        ),
    ),
    Prompt(
        name="test_prompt_with_image",
        description="an image",
        run=lambda given, call: prompt_says(IMAGE, text_block("Please analyze the image above.")),
    ),
    Prompt(name="test_input_required_result_prompt", description="asks", run=asking_prompt, interactive=True),
]


def build() -> Server:
    return Server(
        name="everything",
        version="1.0.0",
        instructions="Fixtures of the conformance suite.",
        tools=TOOLS,
        resources=RESOURCES,
        templates=TEMPLATES,
        prompts=PROMPTS,
        complete=lambda params: [],
        logs=True,
        subscriptions=True,
        dialog_seconds=10.0,
    )


if __name__ == "__main__":
    uvicorn.run(build_app(build(), token=None), host="127.0.0.1", port=int(sys.argv[1]), log_level="warning")
