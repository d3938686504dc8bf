/** The line of progress: on a terminal after a second, gone before other output, and nowhere else. */
import assert from "node:assert/strict";
import { execFile, spawnSync } from "node:child_process";
import { createServer } from "node:http";
import type { AddressInfo } from "node:net";
import { after, afterEach, before, beforeEach, describe, it, mock } from "node:test";
import { fileURLToPath } from "node:url";
import { promisify } from "node:util";
import xterm from "@xterm/headless";
import { recordRun } from "../recorded-run.fixture.ts";
import { ProgressLine, withProgress } from "./progress.ts";
import type { Terminal } from "./terminal.ts";

const whyNoTerminal =
  spawnSync("script", ["--version"]).status !== 0 &&
  "util-linux' script, which gives a program a terminal, is not installed";
const plain = (text: string) => text;

/** A terminal of 40 columns that shows both outputs of a command. */
function aScreen(isTTY: boolean) {
  const screen = new xterm.Terminal({ cols: 40, rows: 6, allowProposedApi: true, convertEol: true });
  let written = "";
  const write = (text: string) => {
    written += text;
    screen.write(text);
  };
  const line = new ProgressLine("asking the services", { output: { isTTY, write }, nowMs: Date.now, paint: plain });
  const terminal: Terminal = {
    print: (text) => write(`${text}\n`),
    write,
    warn: (text) => write(`${text}\n`),
    step: () => undefined,
    paint: (_, text) => text,
    isInteractive: isTTY,
  };
  return {
    line,
    terminal: withProgress(terminal, line),
    written: () => written,
    /** The rows with text, as a user sees them. */
    seen: async () => {
      await new Promise<void>((resolve) => screen.write("", resolve));
      const rows = Array.from(
        { length: 6 },
        (_, row) => screen.buffer.active.getLine(row)?.translateToString(true) ?? "",
      );
      return rows.filter((row) => row !== "");
    },
  };
}

describe("the line of progress", () => {
  beforeEach(() => mock.timers.enable({ apis: ["setInterval", "Date"] }));
  afterEach(() => mock.timers.reset());

  it("is shown after a second, in one row with the seconds, and with the step that the command is at", async () => {
    const { line, terminal, seen } = aScreen(true);
    mock.timers.tick(900);
    assert.deepEqual(await seen(), []);
    mock.timers.tick(100);
    assert.match((await seen()).join(), /^[|/\\-] asking the services, 1 s$/);
    terminal.step("reading their answers");
    mock.timers.tick(1_500);
    assert.match((await seen()).join(), /^[|/\\-] reading their answers, 2 s$/);
    line[Symbol.dispose]();
    assert.deepEqual(await seen(), []);
    mock.timers.tick(5_000);
    assert.deepEqual(await seen(), []);
  });

  it("is erased before the command writes", async () => {
    const { line, terminal, seen } = aScreen(true);
    mock.timers.tick(2_000);
    terminal.print("web   ready");
    assert.deepEqual(await seen(), ["web   ready"]);
    mock.timers.tick(100);
    terminal.warn("flotilla: one replica does not answer");
    line[Symbol.dispose]();
    assert.deepEqual(await seen(), ["web   ready", "flotilla: one replica does not answer"]);
  });

  it("is not written into a pipe or a file", () => {
    const { line, terminal, written } = aScreen(false);
    mock.timers.tick(10_000);
    terminal.print("done");
    line[Symbol.dispose]();
    assert.equal(written(), "done\n");
  });
});

describe("a command that takes longer than a second", () => {
  const server = createServer((_, answer) => void setTimeout(() => answer.end('{"ready":true}'), 2_000));
  let url = "";
  before(async () => {
    await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", () => resolve()));
    url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  });
  after(() => server.close());
  const words = () => ["request", "GET", "/ready", "--url", `xds-server=${url}`];

  it("writes nothing but its answer where its outputs are no terminals", async () => {
    const { code, out, err } = await recordRun(words());
    assert.deepEqual([code, err], [0, ""]);
    assert.match(out, /"ready": ?true/);
  });

  it("shows its progress on a terminal, without colours for NO_COLOR", { skip: whyNoTerminal }, async () => {
    const program = fileURLToPath(new URL("../../bin/flotilla.ts", import.meta.url));
    const command = [process.execPath, program, ...words()].join(" ");
    const onTerminal = async (env: NodeJS.ProcessEnv) => {
      // Node takes a terminal of an unknown CI for one without colours.
      const { NO_COLOR: _, FORCE_COLOR: __, CI: ___, ...inherited } = process.env;
      const options = { env: { ...inherited, TERM: "xterm", ...env } };
      return (await promisify(execFile)("script", ["-qec", command, "/dev/null"], options)).stdout;
    };
    const [coloured, without] = await Promise.all([onTerminal({}), onTerminal({ NO_COLOR: "1" })]);
    for (const text of [coloured, without]) assert.match(text, /waiting for the answer, 1 s[\s\S]*"ready": ?true/u);
    const dim = `${String.fromCharCode(27)}[2m`;
    assert.deepEqual([coloured.includes(dim), without.includes(dim)], [true, false]);
  });
});
