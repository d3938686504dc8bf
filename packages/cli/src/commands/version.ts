/** `flotilla version`. */
import { readFileSync } from "node:fs";
import type { Command } from "../command.ts";

export function packageVersion(): string {
  const { version } = JSON.parse(readFileSync(new URL("../../package.json", import.meta.url), "utf8")) as {
    version: string;
  };
  return version;
}

export const version: Command = async () => {
  process.stdout.write(`flotilla ${packageVersion()} (node ${process.versions.node})\n`);
  return 0;
};
