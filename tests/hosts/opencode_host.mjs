// Stands for OpenCode: loads the plugin and plays it the steps of a file. node opencode_host.mjs PLUGIN STEPS FOLDER
// A step is [hook, input, output]; what the hooks made of their outputs is printed as one JSON list. The plugin is loaded
// as often as `copies` says, as OpenCode does with a global one and one of the workspace.
import { readFileSync } from "node:fs";
import { pathToFileURL } from "node:url";

const [plugin, steps, directory] = process.argv.slice(2);
const { words, play, copies } = JSON.parse(readFileSync(steps, "utf8"));
const client = {
  session: {
    messages: async ({ path }) => {
      if (!(path.id in words)) throw new Error("no such session");
      return { data: words[path.id] };
    },
  },
};
const made = await import(pathToFileURL(plugin));
const loaded = [];
for (let copy = 0; copy < copies; copy += 1) {
  const again = await import(`${pathToFileURL(plugin)}?${copy}`);
  loaded.push(await again.EngramPlugin({ client, directory, worktree: directory }));
}
const outputs = [];
for (const [name, input, output] of play) {
  for (const hooks of loaded) await hooks[name](input, output);
  outputs.push(output ?? null);
}
console.log(JSON.stringify({ exports: Object.keys(made), outputs }));
