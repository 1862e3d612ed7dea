// Connects with an official TypeScript client and calls every tool; prints one JSON line.
// node every_tool.mjs FLAVOUR COMMAND ARG… with FLAVOUR: legacy, auto, pin (client 2) or sdk1 (sdk 1).
const [flavour, command, ...args] = process.argv.slice(2);

async function connect() {
  const about = { name: "every-tool", version: "1" };
  const place = { command, args, env: process.env, stderr: "inherit" };
  if (flavour === "sdk1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const client = new Client(about);
    await client.connect(new StdioClientTransport(place));
    return client;
  }
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = flavour === "pin" ? { pin: "2026-07-28" } : flavour;
  const client = new Client(about, { versionNegotiation: { mode } });
  await client.connect(new StdioClientTransport(place));
  return client;
}

const learned = "## Key Learnings:\n\n1. refresh tokens need one transaction to rotate\n";
const calls = [
  ["mem_session_start", { id: "s1", project: "shop" }],
  ["mem_suggest_topic_key", { type: "architecture", title: "Auth architecture" }],
  ["mem_save", { title: "Auth architecture", content: "signed tokens", topic_key: "architecture/auth" }],
  ["mem_search", { query: "which tokens are signed" }],
  ["mem_context", {}],
  ["mem_get_observation", { id: 1 }],
  ["mem_update", { id: 1, content: "signed tokens, rotated" }],
  ["mem_save_prompt", { content: "make login survive" }],
  ["mem_capture_passive", { content: learned }],
  ["mem_timeline", { observation_id: 1 }],
  ["mem_session_summary", { content: "## Goal\nlogin", project: "shop" }],
  ["mem_session_end", { id: "s1" }],
  ["mem_stats", {}],
  ["mem_delete", { id: 1 }],
];

const client = await connect();
const { tools } = await client.listTools();
const called = [];
for (const [name, given] of calls) {
  const result = await client.callTool({ name, arguments: given });
  if (result.isError) throw new Error(`${name}: ${JSON.stringify(result)}`);
  called.push(name);
}
const missing = await client.callTool({ name: "mem_get_observation", arguments: { id: 999 } });
const instructions = client.getInstructions();
await client.close();
console.log(JSON.stringify({ tools: tools.map((tool) => tool.name), called, missing: missing.isError, instructions }));
