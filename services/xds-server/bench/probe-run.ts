/** `xdsprobe load` as the proxies: another process, and another implementation of the protocol than ours. */
import { spawn } from "node:child_process";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { type EditFigures, type EditRun, editsPerRun, median } from "./edit-figures.ts";
import { virtualServiceOf } from "./mesh-objects.ts";

interface Report {
  readonly allSyncedMs: number;
  readonly push: { readonly p50Ms: number };
  readonly pushCompletion: { readonly p50Ms: number };
  readonly triggers: readonly {
    readonly missed: number;
    readonly received: Readonly<Record<string, { readonly bytes: number }>>;
  }[];
}

export async function probeRun(
  binary: string,
  { address, clients, form, config, workDir }: EditRun,
): Promise<EditFigures> {
  const node = join(workDir, "node.json");
  const route = join(workDir, "route.json");
  const out = join(workDir, `load-${clients}.json`);
  writeFileSync(node, JSON.stringify(proxy));
  writeFileSync(route, JSON.stringify(virtualServiceOf(1, "MARK")));
  const trigger = `sed s/MARK/{}/ '${route}' > '${route}.new' && mv '${route}.new' '${join(config, "route.yaml")}'`;
  await run(binary, [
    "load",
    ...["--addr", address, "--count", String(clients), "--ramp", "1s", "--delta-share", form === "delta" ? "1" : "0"],
    ...["--template", node, "--triggers", String(editsPerRun), "--trigger-cmd", trigger, "--out", out],
  ]);
  const { allSyncedMs, push, pushCompletion, triggers } = JSON.parse(readFileSync(out, "utf8")) as Report;
  const missed = triggers.reduce((sum, trigger) => sum + trigger.missed, 0);
  if (missed > 0) throw new Error(`${missed} edits were missed by a proxy`);
  const bytes = triggers.map(({ received }) => Object.values(received).reduce((sum, type) => sum + type.bytes, 0));
  return {
    proxies: "xdsprobe",
    allSyncedMs,
    p50Ms: push.p50Ms,
    lastMs: pushCompletion.p50Ms,
    bytesPerEdit: median(bytes),
  };
}

/** `{i}` and `{ip}` are filled in for each proxy. */
const proxy = {
  name: "client",
  id: "sidecar~{ip}~client-{i}.mesh~mesh.svc.cluster.local",
  metadata: { NAMESPACE: "mesh", INSTANCE_IPS: "{ip}", LABELS: { app: "client" }, CLUSTER_ID: "Kubernetes" },
};

function run(binary: string, args: readonly string[]): Promise<void> {
  const child = spawn(binary, args, { stdio: ["ignore", "ignore", "inherit"] });
  return new Promise((resolve, reject) => {
    child.once("error", reject);
    child.once("exit", (code) => (code === 0 ? resolve() : reject(new Error(`${binary} ended with code ${code}`))));
  });
}
