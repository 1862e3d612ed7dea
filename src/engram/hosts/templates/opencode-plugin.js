// engram:generated: a link wrote this file and will write it again
// Asks the command line of Engram what a session should know, and adds that to the system prompt.
import { spawn } from "node:child_process";

const COMMAND = ["engram"];
const PATIENCE = 10_000; // milliseconds
const MOST = 1_000_000; // characters of an answer

// The answer of `engram hook opencode EVENT`; null for whatever is no JSON object of a program that ended well.
function ask(directory, event, payload) {
  return new Promise((resolve) => {
    let answer = "";
    let child;
    const timer = setTimeout(() => end(null), PATIENCE);
    function end(value) {
      clearTimeout(timer);
      if (child && child.exitCode === null) child.kill("SIGKILL");
      resolve(value);
    }
    try {
      child = spawn(COMMAND[0], [...COMMAND.slice(1), "hook", "opencode", event], {
        cwd: directory,
        stdio: ["pipe", "pipe", "ignore"],
        windowsHide: true,
      });
      child.on("error", () => end(null));
      child.stdin.on("error", () => {});
      child.stdout.on("error", () => {});
      child.stdout.setEncoding("utf8");
      child.stdout.on("data", (piece) => {
        answer += piece;
        if (answer.length > MOST) end(null);
      });
      child.on("close", (code) => end(code === 0 ? parsed(answer) : null));
      child.stdin.end(JSON.stringify({ ...payload, hook_event_name: event, cwd: directory }));
    } catch {
      end(null);
    }
  });
}

function parsed(text) {
  try {
    const value = JSON.parse(text);
    return value !== null && typeof value === "object" && !Array.isArray(value) ? value : null;
  } catch {
    return null;
  }
}

function contextOf(answer) {
  const text = answer?.hookSpecificOutput?.additionalContext;
  return typeof text === "string" ? text : "";
}

function said(parts) {
  const texts = (parts ?? []).filter((part) => part?.type === "text" && !part.synthetic && !part.ignored);
  return texts.map((part) => part.text ?? "").join("\n");
}

// Linked globally and in a workspace, the plugin is there twice; for each folder the one that was loaded last speaks.
const speakers = (globalThis[Symbol.for("engram.opencode")] ??= new Map());

export const EngramPlugin = async ({ client, directory }) => {
  const me = Symbol("engram");
  speakers.set(directory, me);
  const contexts = new Map(); // session → what to add to its system prompt
  const begun = new Set();
  const children = new Set(); // sessions of sub-agents

  // `replace` and `clear` change what is kept for a session; all else, a failure too, leaves the last that was valid.
  function keep(session, answer) {
    const action = answer?.engramHook?.action;
    if (action === "clear") contexts.delete(session);
    if (action === "replace" && contextOf(answer)) contexts.set(session, contextOf(answer));
    return answer;
  }

  async function begin(session, source) {
    if (keep(session, await ask(directory, "SessionStart", { session_id: session, source }))) begun.add(session);
  }

  async function lastWords(session) {
    try {
      const answer = await client.session.messages({ path: { id: session } });
      const last = (answer?.data ?? []).filter((message) => message?.info?.role === "assistant").at(-1);
      return said(last?.parts);
    } catch {
      return "";
    }
  }

  const isSilent = () => speakers.get(directory) !== me;

  async function onEvent(event) {
    const about = event?.properties ?? {};
    const session = about.sessionID ?? about.info?.id;
    if (!session) return;
    if (event.type === "session.created" && about.info?.parentID) children.add(session);
    if (event.type === "session.compacted") await begin(session, "compact");
    if (event.type === "session.idle") {
      const name = children.has(session) ? "SubagentStop" : "Stop";
      await ask(directory, name, { session_id: session, last_assistant_message: await lastWords(session) });
    }
    if (event.type === "session.deleted") {
      if (begun.has(session)) await ask(directory, "SessionEnd", { session_id: session });
      for (const kept of [contexts, begun, children]) kept.delete(session);
    }
  }

  return {
    event: async ({ event }) => {
      try {
        if (!isSilent()) await onEvent(event);
      } catch {
        // A host must never stumble over its memory.
      }
    },
    "chat.message": async (input, output) => {
      try {
        const session = input?.sessionID;
        const prompt = said(output?.parts);
        if (isSilent() || !session || children.has(session) || !prompt.trim()) return;
        if (!begun.has(session)) await begin(session, "startup");
        keep(session, await ask(directory, "UserPromptSubmit", { session_id: session, prompt }));
      } catch {
        // As above.
      }
    },
    // Some models take one system text only, so ours goes to the end of the last one.
    "experimental.chat.system.transform": async (input, output) => {
      const context = contexts.get(input?.sessionID);
      const system = output?.system;
      if (isSilent() || !context || !Array.isArray(system)) return;
      if (system.length === 0) system.push(context);
      else system[system.length - 1] = `${system[system.length - 1]}\n\n${context}`;
    },
    "experimental.session.compacting": async (input, output) => {
      try {
        if (isSilent()) return;
        const answer = await ask(directory, "PreCompact", { session_id: input?.sessionID });
        const context = contextOf(answer);
        if (context && Array.isArray(output?.context)) output.context.push(context);
      } catch {
        // As above.
      }
    },
  };
};
