/** Processes that ask a real API server for one Lease. */
import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { after, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import type { Lease } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const started: ChildProcess[] = [];
after(async () => {
  for (const child of started) child.kill("SIGKILL");
  await server?.[Symbol.asyncDispose]();
});

interface Asking {
  readonly child: ChildProcess;
  readonly said: () => string;
}

function ask(kubeconfig: string, holder: string, version: string): Asking {
  const script = fileURLToPath(new URL("./candidate-process.fixture.ts", import.meta.url));
  const child = spawn(process.execPath, [script, holder, version], {
    env: { ...process.env, KUBECONFIG: kubeconfig },
    stdio: ["ignore", "pipe", "inherit"],
  });
  started.push(child);
  let said = "";
  child.stdout?.setEncoding("utf8").on("data", (text: string) => {
    said += text;
  });
  return { child, said: () => said.trim().split("\n").join(", ") };
}
const soon = (what: string) => ({ withinMs: 60_000, what });

describe("one Lease of a real API server", { skip: server === undefined && whyNoApiserver }, () => {
  it("a killed holder is followed by the other, a newer version takes over, a stopped one lets go at once", {
    timeout: 180_000,
  }, async () => {
    assert.ok(server !== undefined);
    const { api, kubeconfig } = server;
    const stored = () => api.get<Lease>("/apis/coordination.k8s.io/v1/namespaces/default/leases/istio-leader");
    const first = ask(kubeconfig, "first", "1.0.0");
    await until(() => first.said() === "held", soon("the first to hold it"));
    const second = ask(kubeconfig, "second", "1.0.0");
    await until(() => second.said() === "not held", soon("the second to wait"));
    first.child.kill("SIGKILL");
    await until(() => second.said() === "not held, held", soon("the second to take over"));
    assert.equal((await stored())?.spec?.leaseTransitions, 1);

    const newer = ask(kubeconfig, "newer", "1.1.0");
    await until(() => newer.said() === "not held, held", soon("the newer one to take over"));
    await until(() => second.said() === "not held, held, not held", soon("the older one to let go"));

    newer.child.kill("SIGTERM");
    await once(newer.child, "exit");
    const after = (await stored())?.spec?.holderIdentity;
    assert.ok(after === "" || after === "second", `${after}`);
    await until(() => second.said().endsWith("not held, held"), soon("the older one to have it back"));
  });
});
