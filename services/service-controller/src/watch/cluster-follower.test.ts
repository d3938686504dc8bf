/** A connection with new credentials takes over in the order of the cluster's versions, even if it is cut off meanwhile. */
import assert from "node:assert/strict";
import { after, describe, it, mock } from "node:test";
import { type KubeApi, type KubeConfig, KubeError } from "@flotilla/kube-api";
import { until, Wakeup } from "@flotilla/runtime";
import { ClusterFollower } from "./cluster-follower.ts";

const service = (version: number) => ({
  ...{ apiVersion: "v1", kind: "Service", spec: { ports: [{ name: "http", port: version }] } },
  metadata: { name: "web", namespace: "shop", resourceVersion: String(version) },
});

/** An API server as one connection sees it: serves the version that is set, and does not answer while none is set. */
class SeenCluster {
  #version: number | undefined;
  #isCutOff = false;
  readonly #changed = new Set<Wakeup>();

  set(version: number): void {
    [this.#version, this.#isCutOff] = [version, false];
    for (const one of this.#changed) one.wake();
  }

  cutOff(): void {
    this.#isCutOff = true;
    for (const one of this.#changed) one.wake();
  }

  open(config: KubeConfig): KubeApi {
    const next = async (after: number, stop: AbortSignal | undefined): Promise<number> => {
      const changed = new Wakeup();
      this.#changed.add(changed);
      try {
        while (this.#version === undefined || this.#version <= after || this.#isCutOff) {
          if (this.#isCutOff) throw new KubeError("KUBE_AWAY", "connection refused");
          await changed.wait(stop ?? new AbortController().signal);
          if (stop?.aborted === true) throw new KubeError("KUBE_AWAY", "the question was given up");
        }
        return this.#version;
      } finally {
        this.#changed.delete(changed);
      }
    };
    return {
      server: config.server,
      get: async (_path: string, stop?: AbortSignal) => {
        const version = await next(0, stop);
        return { metadata: { resourceVersion: String(version) }, items: [service(version)] };
      },
      lines: async function* (_path: string, stop: AbortSignal, onOpen?: () => void) {
        onOpen?.();
        for (let version = 1; ; ) {
          version = await next(version, stop);
          yield { type: "MODIFIED", object: service(version) };
        }
      },
      [Symbol.dispose]: () => undefined,
    } as unknown as KubeApi;
  }
}

async function turns(): Promise<void> {
  for (let turn = 0; turn < 50; turn++) await new Promise((resolve) => setImmediate(resolve));
}

describe("new credentials of a cluster", () => {
  const owned = new AsyncDisposableStack();
  after(() => owned.disposeAsync());
  const start = () => {
    const clusters = new Map(["old", "new"].map((server) => [server, new SeenCluster()]));
    const of = (server: string): SeenCluster => clusters.get(server) ?? new SeenCluster();
    const ports: number[] = [];
    const follower = new ClusterFollower({
      cluster: "east",
      kinds: [{ kind: "Service", path: "/api/v1/services" }],
      ...{
        nowMs: () => 0,
        random: () => 0,
        onState: () => undefined,
        onFailure: (cause) => assert.fail(String(cause)),
      },
      open: (config) => of(config.server).open(config),
      onChange: (change) => {
        if (change.op !== "put") return;
        const { ports: [port] = [] } = change.object["spec"] as {
          readonly ports?: readonly { readonly port: number }[];
        };
        ports.push(port?.port ?? 0);
      },
    });
    owned.use(follower);
    const connect = (server: string) =>
      follower.connect({ server, credentials: () => Promise.resolve({}) } as KubeConfig);
    return { connect, old: of("old"), new: of("new"), ports };
  };
  /** The new connection has listed version 1, the old one has seen version 2. */
  const startBehind = async () => {
    const it = start();
    it.connect("old");
    it.old.set(1);
    await turns();
    it.old.set(2);
    await turns();
    it.connect("new");
    it.new.set(1);
    await turns();
    assert.deepEqual(it.ports, [1, 2]);
    return it;
  };
  const seconds = async (count: number) => {
    for (let second = 0; second < count; second++) {
      mock.timers.tick(1_000);
      await turns();
    }
  };
  const withTimers = async (run: () => Promise<void>) => {
    mock.timers.enable({ apis: ["setTimeout"] });
    try {
      await run();
    } finally {
      mock.timers.reset();
    }
  };

  it("take over where they read on and stay behind: the cluster was made anew", () =>
    withTimers(async () => {
      const it = await startBehind();
      await seconds(6);
      assert.deepEqual(it.ports, [1, 2, 1]);
    }));

  it("bring no older state back where they were cut off before they had caught up", () =>
    withTimers(async () => {
      const it = await startBehind();
      it.old.cutOff();
      it.new.cutOff();
      await seconds(10);
      assert.deepEqual(it.ports, [1, 2]);
      it.new.set(3);
      await until(() => it.ports.at(-1) === 3, { withinMs: 30_000, what: "what the cluster has now", everyMs: 5 });
      assert.deepEqual(it.ports, [1, 2, 3]);
    }));
});
