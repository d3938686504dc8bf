/** The alerts of k8s/observability, evaluated by Prometheus itself: promtool on PATH, or the one that PROMTOOL_BIN names. */
import assert from "node:assert/strict";
import { spawnSync } from "node:child_process";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { describe, it } from "node:test";
import { fileURLToPath } from "node:url";

const folder = join(dirname(fileURLToPath(import.meta.url)), "../../k8s/observability");
const promtool = process.env["PROMTOOL_BIN"] ?? "promtool";

function run(...args: readonly string[]): { readonly status: number | null; readonly output: string } {
  const { status, stdout, stderr } = spawnSync(promtool, args, { cwd: folder, encoding: "utf8", timeout: 60_000 });
  return { status, output: `${stdout}${stderr}` };
}

const skip = run("--version").status !== 0 && "no promtool: install Prometheus, or name its promtool by PROMTOOL_BIN";
if (skip !== false) process.stdout.write(`SKIPPED: ${skip}\n`);

describe("alerts, by promtool", { skip }, () => {
  for (const args of [
    ["check", "rules", "rules.yaml"],
    ["test", "rules", "rules.test.yaml"],
  ])
    it(args.join(" "), () => {
      const { status, output } = run(...args);
      assert.equal(status, 0, output);
      assert.match(output, /SUCCESS/);
    });

  it("check config of Compose's Prometheus", () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-prometheus-"));
    const text = readFileSync(join(folder, "../../compose/observability/prometheus.yaml"), "utf8");
    writeFileSync(
      join(directory, "prometheus.yaml"),
      text.replace("/etc/prometheus/rules.yaml", join(folder, "rules.yaml")),
    );
    const { status, output } = run("check", "config", join(directory, "prometheus.yaml"));
    rmSync(directory, { recursive: true });
    assert.equal(status, 0, output);
    assert.match(output, /rules found/);
  });
});
