import assert from "node:assert/strict";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { run } from "../command-line.ts";
import { GrowingFile } from "../logs/log-files.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-logs-"));
const file = (replica: string) => join(workDir, "logs", `${replica}.log`);
const logLine = (level: string, second: number, msg: string) =>
  `${JSON.stringify({ level, time: `2026-01-01T00:00:0${second}.000Z`, service: "x", msg })}\n`;
const show = (...args: readonly string[]) => recordRun(["logs", "--work-dir", workDir, ...args]);

describe("flotilla logs", () => {
  before(() => {
    mkdirSync(join(workDir, "logs"));
    writeFileSync(file("ca"), logLine("info", 1, "first") + logLine("error", 4, "last"));
    writeFileSync(join(workDir, "logs/ca.log.1"), logLine("info", 2, "first of an older file"));
    writeFileSync(file("xds-server-2"), logLine("debug", 2, "second") + logLine("warn", 3, "third"));
  });
  after(() => rmSync(workDir, { recursive: true }));

  const cases: readonly (readonly [args: readonly string[], expected: readonly string[]])[] = [
    [[], ["first", "second", "third", "last"]],
    [["ca"], ["first", "last"]],
    [["xds-server"], ["second", "third"]],
    [
      ["--level", "warn"],
      ["third", "last"],
    ],
    [["--tail", "1"], ["last"]],
    [["--tail", "0"], []],
    [["--since", "1h"], []],
  ];
  for (const [args, expected] of cases)
    it(`shows the chosen lines in order of time: ${args.join(" ")}`, async () => {
      const { code, out } = await show(...args);
      assert.equal(code, 0);
      assert.deepEqual(out.match(/first|second|third|last/g) ?? [], expected);
    });

  it("hands over lines as they were written", async () => {
    const { out } = await show("ca", "-o", "json");
    assert.deepEqual(
      out
        .trim()
        .split("\n")
        .map((text) => JSON.parse(text).msg),
      ["first", "last"],
    );
  });

  for (const cluster of [
    ["--context", "c"],
    ["--kubeconfig", file("ca")],
  ])
    it(`refuses containers and a cluster at once: --compose ${cluster.join(" ")}`, async () => {
      const { code, err } = await show("--compose", ...cluster);
      assert.equal(code, 2);
      assert.match(err, /name two control planes: give one of them/);
    });

  it("names the directory where a log is missing", async () => {
    const { code, err } = await show("webhook");
    assert.equal(code, 1);
    assert.match(err, /logs has no log of webhook: flotilla up writes them/);
  });

  it("follows files, and ends by a signal", async () => {
    let out = "";
    const print = (text: string) => {
      out += `${text}\n`;
    };
    const terminal = {
      print,
      write: print,
      warn: print,
      paint: (_: string, text: string) => text,
      step: () => undefined,
      isInteractive: false,
    };
    const ended = run(["logs", "-f", "--tail", "0", "--work-dir", workDir], {}, terminal);
    let count = 0;
    await until(
      () => {
        appendFileSync(file("ca"), logLine("info", 5, `added-${count++}`));
        return /added-\d/.test(out);
      },
      { withinMs: 20_000, what: "the added line" },
    );
    // A runner of tests in this process ends by SIGINT and SIGTERM itself.
    process.emit("SIGHUP");
    assert.equal(await ended, 0);
    assert.doesNotMatch(out, /first/);
  });
});

describe("flotilla logs --compose", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-compose-"));
  after(() => rmSync(directory, { recursive: true }));
  const lines = [
    `xds-server-1  | ${logLine("warn", 4, "last")}`,
    `ca-1          | ${logLine("info", 1, "first")}`,
    `ca-1          | ${logLine("debug", 2, "second")}`,
  ];
  const compose = (args: readonly string[], script = `cat ${directory}/lines`) => {
    writeFileSync(join(directory, "lines"), lines.join(""));
    writeFileSync(join(directory, "docker"), `#!/bin/sh\necho "$@" > ${directory}/args\n${script}\n`, { mode: 0o755 });
    return recordRun(["logs", "--compose", ...args], { PATH: `${directory}:${process.env["PATH"]}` });
  };
  const cases: readonly (readonly [args: readonly string[], expected: readonly string[], asked: string])[] = [
    [[], ["first", "second", "last"], "ca config-controller service-controller xds-server webhook console"],
    [["ca"], ["first", "second", "last"], "ca"],
    [["ca", "--level", "warn"], ["last"], "ca"],
    [["ca", "--tail", "2"], ["second", "last"], "ca"],
    [["ca", "--tail", "0"], [], "ca"],
    [["ca", "--since", "1500ms"], [], "--since 2s ca"],
    // As they come.
    [["ca", "-f"], ["last", "first", "second"], "--follow ca"],
  ];
  for (const [args, expected, asked] of cases)
    it(`shows the chosen lines: ${args.join(" ")}`, async () => {
      const { code, out } = await compose(args);
      assert.equal(code, 0);
      assert.deepEqual(out.match(/first|second|last/g) ?? [], expected);
      assert.equal(readFileSync(join(directory, "args"), "utf8"), `compose logs --no-color ${asked}\n`);
    });

  it("is as wide as the longest name", async () => {
    const { out } = await compose(["ca"]);
    assert.match(out, /INFO +ca-1 {10}first\n/);
    const [line = ""] = (await compose(["ca", "-f", "--level", "warn"])).out.split("\n");
    assert.match(line, /WARN +xds-server-1 {8}last$/);
  });

  it("ends with the reason of docker", async () => {
    const { code, err } = await compose([], "echo 'no configuration file' >&2; exit 14");
    assert.deepEqual([code, err], [1, "flotilla: [CLI_FAILED] docker compose logs: no configuration file\n"]);
  });
});

describe("a file that grows", () => {
  it("is read by whole lines, from its begin where it became shorter", async () => {
    const path = join(mkdtempSync(join(tmpdir(), "growing-")), "x.log");
    writeFileSync(path, "one\ntw");
    const growing = new GrowingFile(path);
    assert.deepEqual(await growing.readLines(), ["one"]);
    appendFileSync(path, "ö\nthree\n");
    assert.deepEqual(await growing.readLines(), ["twö", "three"]);
    writeFileSync(path, "new\n");
    assert.deepEqual(await growing.readLines(), ["new"]);
    rmSync(path);
  });
});
