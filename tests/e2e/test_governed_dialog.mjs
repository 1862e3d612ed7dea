// An official TypeScript client with a person behind it: proposes three memories and a note, and answers the dialogs.
// node test_governed_dialog.mjs FLAVOUR ANSWER COMMAND ARG… with FLAVOUR: legacy, auto, pin (client 2) or sdk1 (sdk 1),
// ANSWER: accept, decline, cancel. Prints one JSON line.
const [flavour, answer, command, ...args] = process.argv.slice(2);
const forms = [];

function fill(schema) {
  if (schema.properties.save) return { save: true };
  if (schema.properties.approve) return { approve: ["1", "3"] };
  return Object.fromEntries(Object.keys(schema.properties).map((name) => [name, name !== "candidate_2"]));
}

async function person(request) {
  forms.push(request.params);
  return answer === "accept" ? { action: answer, content: fill(request.params.requestedSchema) } : { action: answer };
}

async function connect() {
  const about = { name: "dialog", version: "1" };
  const capabilities = { elicitation: { form: {} } };
  const place = { command, args, env: process.env, stderr: "inherit" };
  if (flavour === "sdk1") {
    const { Client } = await import("@modelcontextprotocol/sdk/client/index.js");
    const { StdioClientTransport } = await import("@modelcontextprotocol/sdk/client/stdio.js");
    const { ElicitRequestSchema } = await import("@modelcontextprotocol/sdk/types.js");
    const client = new Client(about, { capabilities });
    client.setRequestHandler(ElicitRequestSchema, person);
    await client.connect(new StdioClientTransport(place));
    return client;
  }
  const { Client } = await import("@modelcontextprotocol/client");
  const { StdioClientTransport } = await import("@modelcontextprotocol/client/stdio");
  const mode = flavour === "pin" ? { pin: "2026-07-28" } : flavour;
  const client = new Client(about, { capabilities, versionNegotiation: { mode } });
  client.setRequestHandler("elicitation/create", person);
  await client.connect(new StdioClientTransport(place));
  return client;
}

const client = await connect();
const text = process.env.CANDIDATES;
const saved = await client.callTool({ name: "engram_save_session", arguments: { text } });
const noted = await client.callTool({ name: "engram_note", arguments: { text: "the parser is half done" } });
await client.close();
console.log(JSON.stringify({ forms, saved, noted }));
