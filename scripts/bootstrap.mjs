#!/usr/bin/env node
/**
 * Set-up on a fresh machine, behind `npm start` and `npm test`: needs Node 20 and npm, nothing else.
 * Installs the dependencies (Node 24 among them) and hands over to Node 24. Plain JavaScript without
 * dependencies, because at this point there are none.
 *
 * The program that is handed over to ends with this process: it has a channel to it (`ipc`), whose end asks it to stop.
 * SIGINT, SIGTERM and SIGHUP close the channel; so does the end of this process, whatever ended it.
 */
import { spawn } from "node:child_process";
import { createHash } from "node:crypto";
import { existsSync, mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { constants } from "node:os";
import { dirname, join } from "node:path";
import { fileURLToPath } from "node:url";

const root = dirname(dirname(fileURLToPath(import.meta.url)));
const pnpm = "pnpm@12.21.0";
const stamp = join(root, "node_modules", ".flotilla-installed");
const signals = ["SIGINT", "SIGTERM", "SIGHUP"];
const parent = process.ppid;
/** The command ends itself within this, or is killed. */
const stopWithinMs = 60_000;

/** Commands that may be handed over to, and the script that is each one. */
const commands = {
  demo: ["packages/cli/bin/flotilla.ts", "demo"],
  flotilla: ["packages/cli/bin/flotilla.ts"],
  pack: ["scripts/bundle/package.ts"],
  test: ["scripts/all-tests.ts"],
};

const [name, ...rest] = process.argv.slice(2);
const command = commands[name];
if (command === undefined) fail(`unknown command "${name}", commands are: ${Object.keys(commands).join(", ")}`);
if (Number(process.versions.node.split(".")[0]) < 20)
  fail(`Node 20 or newer is needed to set up, this is ${process.version}`);

await install();
// The process that started this one has ended meanwhile.
if (process.ppid !== parent) fail("the process that started this one has ended");
await handOver();

async function handOver() {
  const [script, ...args] = command;
  // After `--` Node takes no option for itself: it would read `--env-file`.
  const child = spawn(node24(), ["--", join(root, script), ...args, ...rest], {
    cwd: callersDirectory(),
    stdio: ["inherit", "inherit", "inherit", "ipc"],
    env: withNodeFirst(),
  });
  let isStopping = false;
  const onSignal = () => {
    if (isStopping) child.kill("SIGKILL");
    else if (child.connected) child.disconnect();
    isStopping = true;
    setTimeout(() => child.kill("SIGKILL"), stopWithinMs).unref();
  };
  endLike(await ended(child, onSignal));
}

/** npm starts scripts in the directory of package.json; paths are meant from where npm was called. */
function callersDirectory() {
  const { INIT_CWD: given, npm_lifecycle_event: script } = process.env;
  const isOurScript = script === "start" || script === "flotilla";
  return isOurScript && given !== undefined && process.cwd() === root ? given : process.cwd();
}

async function install() {
  const wanted = createHash("sha256")
    .update(readFileSync(join(root, "pnpm-lock.yaml")))
    .update(`${process.platform}-${process.arch}`)
    .digest("hex");
  if (existsSync(stamp) && readFileSync(stamp, "utf8") === wanted && existsSync(node24())) return;
  const started = Date.now();
  say(`installing dependencies with ${pnpm} (Node 24 included, about 100 MB the first time)`);
  const child = spawn("npx", ["-y", pnpm, "install", "--frozen-lockfile"], {
    cwd: root,
    stdio: ["ignore", "inherit", "inherit"],
  });
  const end = await ended(child, (signal) => child.kill(signal));
  if (end.signal !== null) endLike(end);
  if (end.code !== 0)
    fail(`installing failed${end.error === undefined ? "" : `: ${end.error.message}`}; the lines above tell why`);
  mkdirSync(dirname(stamp), { recursive: true });
  writeFileSync(stamp, wanted);
  say(`installed in ${((Date.now() - started) / 1000).toFixed(1)} s`);
}

/** Resolves to how the child ended; `onSignal` is called for signals that come meanwhile. */
function ended(child, onSignal) {
  for (const signal of signals) process.on(signal, onSignal);
  return new Promise((resolve) => {
    child.once("error", (error) => resolve({ code: 1, signal: null, error }));
    child.once("exit", (code, signal) => resolve({ code, signal }));
  }).finally(() => {
    for (const signal of signals) process.off(signal, onSignal);
  });
}

/** With the exit code of the child, or 128 and the number of the signal that ended it. */
function endLike({ code, signal, error }) {
  if (error !== undefined) fail(error.message);
  process.exit(signal === null ? code : 128 + constants.signals[signal]);
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
