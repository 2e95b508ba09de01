// The loop of protocol.py's lines: each is a command, whose result is one line.
import { createInterface } from "node:readline";

export const PATIENCE_MS = 120_000;

// `options` is filled before the first command.
export async function serve(commands, options) {
  for await (const line of createInterface({ input: process.stdin })) {
    const [command, ...words] = line.split("\t");
    if (command === "option") {
      options[words[0]] = words[1];
      continue;
    }
    try {
      console.log(["done", ...((await commands[command](...words)) ?? [])].join("\t"));
    } catch (error) {
      console.log(`failed\t${error}`.replaceAll("\n", " "));
    }
    if (command === "close") process.exit(0);
  }
}

// Returns the values that were seen, once there are `count`, or patience ends.
export async function poll(seen, count) {
  const end = Date.now() + PATIENCE_MS;
  while (seen.size < Number(count) && Date.now() < end) {
    await new Promise((resolve) => setTimeout(resolve, 20));
  }
  return [...seen].sort();
}
