import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { cpSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const here = dirname(fileURLToPath(import.meta.url));
const scenarios = join(here, "../scenarios");

function conformance(...args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(process.execPath, [join(here, "main.ts"), ...args], {
    encoding: "utf8",
    timeout: 60_000,
  });
  return { status, output: stdout + stderr };
}

describe("pnpm conformance", () => {
  const empty = mkdtempSync(join(tmpdir(), "conformance-"));
  after(() => rmSync(empty, { recursive: true }));
  const bare = ["--corpus", join(empty, "none")];

  const failing = [
    { name: "fails without scenarios", args: [...bare, "--scenarios", empty], says: /nothing was compared/ },
    { name: "fails on an unknown name", args: [...bare, "servces"], says: /is called servces/ },
    {
      name: "fails where the named corpus is not at hand",
      args: [...bare, "xds"],
      says: /skipped: .*\n(.*\n)*nothing was compared/,
    },
    {
      name: "fails where no proxy has the wanted type",
      args: [...bare, "telemetry", "--proxy-type", "ztunnel"],
      says: /nothing was/,
    },
  ];
  for (const { name, args, says } of failing) {
    it(name, () => {
      const { status, output } = conformance(...args);
      assert.match(output, says);
      assert.equal(status, 1);
    });
  }

  it("compares a scenario of the project", () => {
    const { status, output } = conformance(...bare, "virtualservice/rollout");
    assert.match(output, /all scenarios +parity: (\d+)\/\1 \(100\.0 %\) +whole: 1\/1/);
    assert.equal(status, 0);
  });

  it("reads folders of captures without a file of rules", () => {
    const folder = join(empty, "captures/g/one");
    mkdirSync(join(folder, "golden/web"), { recursive: true });
    mkdirSync(join(folder, "input"));
    cpSync(join(scenarios, "virtualservice/rollout/scenario.yaml"), join(folder, "scenario.yaml"));
    for (const step of ["01-half", "02-header", "03-delete"])
      mkdirSync(join(folder, "steps", step), { recursive: true });
    const blackHole = {
      altStatName: "BlackHoleCluster;",
      connectTimeout: "11s",
      name: "BlackHoleCluster",
      type: "STATIC",
    };
    writeFileSync(join(folder, "golden/web/cds.json"), JSON.stringify({ resources: { BlackHoleCluster: blackHole } }));
    const { output } = conformance(...bare, "--scenarios", join(empty, "captures"), "g", "--verbose");
    assert.match(output, /connectTimeout: want "11s" got "10s"/);
  });
});
