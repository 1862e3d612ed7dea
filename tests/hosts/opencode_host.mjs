// Stands for OpenCode: loads the plugin and plays it the steps of a file. node opencode_host.mjs PLUGIN STEPS FOLDER
// A step is [hook, input, output]; what the hooks made of their outputs is printed as one JSON list.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [plugin, steps, directory] = process.argv.slice(2);
const { words, play } = JSON.parse(readFileSync(steps, "utf8"));
const client = {
  session: {
    messages: async ({ path }) => {
      if (!(path.id in words)) throw new Error("no such session");
      return { data: words[path.id] };
    },
  },
};
const made = await import(pathToFileURL(plugin));
const hooks = await made.EngramPlugin({ client, directory, worktree: directory });
const outputs = [];
for (const [name, input, output] of play) {
  await hooks[name](input, output);
  outputs.push(output ?? null);
}
console.log(JSON.stringify({ exports: Object.keys(made), outputs }));
