/** A process of the test that asks for a lease until it is killed: `node candidate-process.fixture.ts HOLDER VERSION`, a line for each change. */
import { loadKubeConfig, openKubeApi } from "@flotilla/kube-api";
import { delay } from "@flotilla/runtime";
import { KubernetesLease } from "./kubernetes-lease.ts";

const [, , holder = "", version = ""] = process.argv;
const config = await loadKubeConfig(process.env);
if (config === undefined) throw new Error("no kubeconfig");
const lease = new KubernetesLease({
  ...{ api: openKubeApi(config), namespace: "default", name: "istio-leader", ttlMs: 3_000 },
  ...{ nowMs: () => performance.now(), wallClockMs: Date.now },
  candidate: { holder, version, isDefaultRevision: false },
});
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
let held: boolean | undefined;
while (!stop.signal.aborted) {
  const now = await lease.hold();
  if (now !== held) process.stdout.write(`${now ? "held" : "not held"}\n`);
  held = now;
  await delay(200, stop.signal);
}
await lease.release();
process.exit(0);
