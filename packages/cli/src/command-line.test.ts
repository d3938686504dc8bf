import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { Option } from "commander";
import { commands } from "./commands.ts";
import { apiConnection, dryRun, file, force, selector } from "./definitions/option-groups.ts";
import { recordRun } from "./recorded-run.fixture.ts";

const empty = mkdtempSync(join(tmpdir(), "nowhere-"));
after(() => rmSync(empty, { recursive: true, force: true }));
const nowhere = { FLOTILLA_WORK_DIR: join(empty, "flotilla") };

describe("flotilla", () => {
  for (const args of [[], ["help"], ["--help"], ["-h"]])
    it(`lists all commands and exit codes for ${JSON.stringify(args)}`, async () => {
      const { code, out } = await recordRun(args);
      assert.equal(code, 0);
      for (const { definition } of commands)
        assert.match(out, new RegExp(`^  ${definition.name.split(" ")[0]}(?:\\|\\w+)? `, "m"));
      assert.match(out, /^Exit codes:$/m);
    });

  const helped = [
    [["help", "get"], /^Usage: flotilla get \[options\] <KIND>/],
    [["help", "ps"], /^Usage: flotilla proxy-status\|ps /],
    [["help", "ca"], /^Usage: flotilla ca COMMAND/],
    [["help", "ca", "rotate"], /^Usage: flotilla ca rotate /],
  ] as const;
  for (const [args, says] of helped)
    it(`shows the help of ${args.slice(1).join(" ")}`, async () => {
      const { code, out } = await recordRun(args);
      assert.equal(code, 0);
      assert.match(out, says);
    });

  const mistakes = [
    { args: ["help", "stauts"], says: ["unknown command 'stauts'", "Did you mean status?"] },
    { args: ["help", "ca", "rotat"], says: ["Did you mean rotate?"] },
    { args: ["gte", "vs"], says: ["unknown command 'gte'", "Did you mean get?", "Usage: flotilla COMMAND"] },
    {
      args: ["get", "vs", "--namespcae=x"],
      says: ["Did you mean --namespace?", "Usage: flotilla get [options] <KIND>"],
    },
    { args: ["get"], says: ["missing required argument 'KIND'", "See: flotilla get --help"] },
    { args: ["get", "vs", "-o", "jsn"], says: ["none of table, wide, json, yaml, name"] },
    { args: ["get", "virtualservce"], says: ["[CLI_USAGE]", "virtualservce"] },
    { args: ["ca"], says: ["Usage: flotilla ca COMMAND"] },
    { args: ["ca", "rotat"], says: ["Did you mean rotate?"] },
    { args: ["up", "--xds-port", "70000"], says: ["--xds-port", "from 1 to 65524"] },
    { args: ["up", "--config", "/nowhere/mesh"], says: ["There is no directory /nowhere/mesh"] },
    { args: ["serve", "--env-file", "/nowhere/env"], says: ["There is no file /nowhere/env"] },
    { args: ["wait"], says: ["KIND/NAME.NAMESPACE"] },
    { args: ["wait", "vs/a.b", "--for=ready"], says: ["none of distribution"] },
    { args: ["wait", "vs/a.b", "--timeout=soon"], says: ["a duration such as 30s"] },
    { args: ["wait", "vs/a.b", "--threshold=101"], says: ["from 0 to 100"] },
    { args: ["wait", "vs/a.b", "vs/c.d"], says: ["too many arguments"] },
    { args: ["explain", "x.y"], says: ["missing required argument 'TYPE'"] },
    { args: ["apply"], says: ["needs -f FILE"] },
    { args: ["apply", "-f", "/nowhere/a.yaml"], says: ["/nowhere/a.yaml"] },
    { args: ["delete", "vs"], says: ["needs -f FILE, or KIND and NAME"] },
    { args: ["diff", "12"], says: ["two generations"] },
    { args: ["token"], says: ["--namespace NS"] },
    { args: ["certificate"], says: ["--ca HOST:PORT"] },
    ...["--namespace=a", "--service-account=b", "--ca=127.0.0.1:1", "--out=/nowhere/out"].map((left, _, all) => ({
      args: ["certificate", ...all.filter((one) => one !== left)],
      says: ["certificate needs --namespace NS", "--out DIRECTORY or --sds-socket SOCKET"],
    })),
    { args: ["history", "--limit", "many"], says: ["at least 1", "10000"].slice(1) },
  ];
  for (const { args, says } of mistakes)
    it(`ends with 2 for ${args.join(" ")}`, async () => {
      const { code, out, err } = await recordRun(args, nowhere);
      assert.deepEqual({ code, out }, { code: 2, out: "" });
      for (const words of says) assert.ok(err.includes(words), err);
    });

  for (const args of [["status"], ["get", "vs"], ["history"], ["ca", "status"], ["explain", "a.b", "cds", "c"]])
    it(`ends with 4 where nothing runs: ${args.join(" ")}`, async () => {
      const { code, err } = await recordRun(args, nowhere);
      assert.equal(code, 4);
      assert.match(err, /^flotilla: \[CLI_NOT_RUNNING\] .*nowhere-\w+\/flotilla: start one with `flotilla up`/);
    });

  it("shows its version as text and as JSON", async () => {
    assert.match((await recordRun(["version"])).out, /^flotilla \d+\.\d+\.\d+ \(node \d+/);
    assert.equal(JSON.parse((await recordRun(["version", "-o", "json"])).out).node, process.versions.node);
    assert.match((await recordRun(["--version"])).out, /^flotilla \d/);
  });
});

describe("definitions of commands", () => {
  for (const { definition } of commands) {
    it(`${definition.name}: options have the names that commander gives them`, () => {
      for (const [name, { flags }] of Object.entries(definition.options))
        assert.equal(new Option(flags).attributeName(), name);
    });
    it(`${definition.name}: help names every option and example`, async () => {
      const { code, out } = await recordRun([...definition.name.split(" "), "--help"]);
      assert.equal(code, 0);
      for (const { flags } of Object.values(definition.options)) assert.ok(out.includes(flags), flags);
      for (const [line] of definition.examples) assert.ok(out.includes(`flotilla ${line}`), line);
    });
  }

  it("take shared options from one definition", () => {
    const shared = new Map(
      Object.values({ ...apiConnection, dryRun, force, file, selector }).map((one) => [one.flags, one.help]),
    );
    // Towards ca and xds-server these two name another token and other roots.
    for (const flags of [apiConnection.tokenFile.flags, apiConnection.rootFile.flags]) shared.delete(flags);
    for (const { definition } of commands)
      for (const { flags, help } of Object.values(definition.options))
        assert.equal(shared.get(flags) ?? help, help, `${definition.name} ${flags}`);
  });
});

describe("flags of pilot-discovery", () => {
  it("warns of one that is unknown and names the nearest, before the values are looked at", async () => {
    const { code, err } = await recordRun(["discovery", "--grpcAdr", ":1", "--log_output_level", "loud"], nowhere);
    assert.equal(code, 2);
    assert.match(err, /unknown flag --grpcAdr is ignored; did you mean --grpcAddr\?/);
    assert.match(err, /--log_output_level=loud: loud is none of debug, info, warn, error, fatal, none/);
  });
});
