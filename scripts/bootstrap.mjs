#!/usr/bin/env node
/**
 * Set-up on a fresh machine, behind `npm start` and `npm test`: needs Node 20 and npm, nothing else.
 * Installs the dependencies (Node 24 among them) and hands over to Node 24. Plain JavaScript without
 * dependencies, because at this point there are none.
 */
import { spawnSync } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pnpm = "pnpm@12.21.0";
const stamp = join(root, "node_modules", ".flotilla-installed");

/** Commands that may be handed over to, and the script that is each one. */
const commands = {
  demo: ["packages/cli/bin/flotilla.ts", "demo"],
  flotilla: ["packages/cli/bin/flotilla.ts"],
  test: ["scripts/all-tests.ts"],
};

const [name, ...rest] = process.argv.slice(2);
const command = commands[name];
if (command === undefined) fail(`unknown command "${name}", know: ${Object.keys(commands).join(", ")}`);
if (Number(process.versions.node.split(".")[0]) < 20)
  fail(`Node 20 or newer is needed to set up, this is ${process.version}`);

install();
const [script, ...args] = command;
const run = spawnSync(node24(), [join(root, script), ...args, ...rest], {
  cwd: process.cwd(),
  stdio: "inherit",
  env: withNodeFirst(),
});
process.exitCode = run.status ?? 1;

function install() {
  const wanted = createHash("sha256")
    .update(readFileSync(join(root, "pnpm-lock.yaml")))
    .update(process.version)
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted && existsSync(node24())) return;
  const started = Date.now();
  say(`installing dependencies with ${pnpm} (Node 24 included, about 100 MB the first time)`);
  const { status, error } = spawnSync("npx", ["-y", pnpm, "install", "--frozen-lockfile"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  if (status !== 0)
    fail(`installing failed${error === undefined ? "" : `: ${error.message}`}; the lines above tell why`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
  say(`installed in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** Node 24 lies inside an optional dependency, one package a platform. */
function node24() {
  const inside = join(root, "node_modules", `node-${process.platform}-${process.arch}`, "bin", "node");
  if (existsSync(inside)) return inside;
  return Number(process.versions.node.split(".")[0]) >= 24 ? process.execPath : inside;
}

function withNodeFirst() {
  const path = [dirname(node24()), join(root, "node_modules", ".bin"), process.env.PATH].join(":");
  return { ...process.env, PATH: path };
}

function say(text) {
  process.stderr.write(`flotilla: ${text}\n`);
}

function fail(text) {
  say(text);
  process.exit(1);
}
