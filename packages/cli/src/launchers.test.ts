import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { launchersOf } from "./launchers.ts";

interface Case {
  readonly name: string;
  /** From this process's parent upwards. */
  readonly commandLines: readonly string[];
  /** How many of them started it for the user. */
  readonly launchers: number;
}

const cases: readonly Case[] = [
  {
    name: "npm, its shell and the bootstrap",
    commandLines: ["node scripts/bootstrap.mjs demo", "sh -c node scripts/bootstrap.mjs demo", "npm start", "bash"],
    launchers: 3,
  },
  {
    name: "npm without a shell between",
    commandLines: ["node scripts/bootstrap.mjs demo", "npm run flotilla -- serve", "-bash"],
    launchers: 2,
  },
  { name: "npx", commandLines: ["sh -c flotilla up", "npm exec flotilla up", "zsh"], launchers: 2 },
  {
    name: "npm's program run by its path",
    commandLines: ["node /usr/lib/node_modules/npm/bin/npm-cli.js start", "bash"],
    launchers: 1,
  },
  {
    name: "pnpm from its store",
    commandLines: ["/bin/dash -c node scripts/bootstrap.mjs flotilla", "node /opt/pnpm/bin/pnpm.cjs flotilla", "bash"],
    launchers: 2,
  },
  { name: "a user's shell is none", commandLines: ["bash", "sshd"], launchers: 0 },
];

describe("the launchers of a process", () => {
  for (const { name, commandLines, launchers } of cases)
    it(name, async () => {
      const found = await launchersOf(1, async (pid) => {
        const commandLine = commandLines[pid - 1];
        return commandLine === undefined ? undefined : { pid, parent: pid + 1, startedAt: "", commandLine };
      });
      assert.deepEqual(
        found.map(({ commandLine }) => commandLine),
        commandLines.slice(0, launchers),
      );
    });
});
