/** Mistakes in starting a control plane: one line that names what is wrong and what helps, exit code 2, nothing left behind. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { once } from "node:events";
import { mkdtempSync, rmSync } from "node:fs";
import { type AddressInfo, createServer } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { freePorts } from "@flotilla/servers";
import { type Launched, launch, program, root } from "./local/flotilla.ts";

const answerMs = 60_000;

interface Case {
  readonly name: string;
  readonly args: (plane: Launched) => readonly string[];
  readonly line: (plane: Launched) => RegExp;
}

const cases: readonly Case[] = [
  {
    name: "a config directory that is not there",
    args: () => ["up", "--config", "/no/such/mesh"],
    line: () => /--config.*\/no\/such\/mesh/,
  },
  {
    name: "a missing MeshConfig",
    args: () => ["up", "--mesh", "/no/mesh.yaml"],
    line: () => /--mesh.*\/no\/mesh\.yaml/,
  },
  {
    name: "missing MeshNetworks",
    args: () => ["serve", "--networks", "/no/networks.yaml"],
    line: () => /--networks.*\/no\/networks\.yaml/,
  },
  {
    name: "a missing env file, by way of bootstrap.mjs",
    args: () => ["up", "--env-file", "/no/such.env"],
    line: () => /--env-file.*\/no\/such\.env/,
  },
  { name: "a port out of range", args: () => ["up", "--xds-port", "70000"], line: () => /--xds-port.*70000.*65524/ },
  {
    name: "replicas of a service that does not exist",
    args: () => ["up", "--replicas", "envoy=2"],
    line: () => /--replicas.*envoy=2.*xds-server/,
  },
  {
    name: "a work directory in use, by demo",
    args: ({ workDir }) => ["demo", "--work-dir", workDir],
    line: ({ child, workDir }) =>
      new RegExp(
        `CLI_IN_USE\\] flotilla serve \\(process ${child.pid}\\) runs in .* ${workDir}: .*--work-dir DIR --xds-port`,
      ),
  },
  {
    name: "ports of another control plane",
    args: ({ firstPort }) => ["up", "--work-dir", `${tmpdir()}/flotilla-mistakes-other`, "--xds-port", `${firstPort}`],
    line: ({ child, firstPort }) =>
      new RegExp(
        `CLI_PORT_TAKEN\\] port ${firstPort} on 127\\.0\\.0\\.1 is in use by process ${child.pid} .*--xds-port`,
      ),
  },
];

describe("a mistake", () => {
  const directory = mkdtempSync(join(tmpdir(), "flotilla-mistakes-"));
  const owned = new AsyncDisposableStack();
  let plane: Launched;

  before(async () => {
    plane = owned.use(await launch({ command: [process.execPath, program, "serve", "--embedded"] }));
    await plane.ready();
  });
  after(async () => {
    await owned.disposeAsync();
    for (const left of [directory, `${tmpdir()}/flotilla-mistakes-other`])
      rmSync(left, { recursive: true, force: true });
  });

  const runFlotilla = (args: readonly string[]) => {
    const isNamed = args.includes("--work-dir") || args.includes("--xds-port");
    const place = isNamed ? [] : ["--work-dir", directory];
    // As package.json has it: Node itself would read --env-file without `--`.
    const all = ["--", "scripts/bootstrap.mjs", "flotilla", ...args, ...place];
    return spawnSync(process.execPath, all, { cwd: root, encoding: "utf8", timeout: answerMs });
  };

  for (const { name, args, line } of cases)
    it(`is answered in one line: ${name}`, () => {
      const { status, stderr } = runFlotilla(args(plane));
      assert.equal(status, 2, stderr);
      const [first = "", ...more] = stderr.trimEnd().split("\n");
      assert.match(first, line(plane));
      assert.match(first, /^flotilla: /);
      assert.ok(
        more.every((text) => /usage|--help|^$/i.test(text)),
        stderr,
      );
    });

  it("is answered in one line: a port that another program has", async () => {
    const other = createServer();
    const firstPort = await freePorts(12);
    other.listen(firstPort + 6, "127.0.0.1");
    await once(other, "listening");
    const { port } = other.address() as AddressInfo;
    try {
      const { status, stderr } = runFlotilla([
        "up",
        "--embedded",
        "--work-dir",
        directory,
        "--xds-port",
        `${firstPort}`,
      ]);
      assert.equal(status, 2, stderr);
      assert.match(
        stderr,
        new RegExp(`^flotilla: .* port ${port} .* in use by process ${process.pid} \\(.*--xds-port.*\\n$`),
      );
    } finally {
      other.close();
    }
  });
});
