/** Credentials that change faster than they can be used, in every order that an API server's answers can come in. */
import assert from "node:assert/strict";
import { test } from "node:test";
import { configKeyText, objectKey } from "@flotilla/model";
import { noopLogger, until } from "@flotilla/runtime";
import { FakeCluster, seeded } from "./fake-cluster.fixture.ts";
import { kubernetesSource } from "./kubernetes-source.ts";

const secrets = "/api/v1/namespaces/istio-system/secrets";
const services = "/api/v1/services";

function kubeconfig(token: string): string {
  return JSON.stringify({
    "current-context": "c",
    contexts: [{ name: "c", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://east" } }],
    users: [{ name: "u", user: { token } }],
  });
}

function service(name: string, port: number): { readonly metadata: { readonly name: string } } {
  const metadata = { name, namespace: "shop" };
  return {
    apiVersion: "v1",
    kind: "Service",
    metadata,
    spec: { clusterIP: "None", ports: [{ name: "http", port }] },
  } as {
    readonly metadata: { readonly name: string };
  };
}

/** The endpoints that the source has yielded of the other cluster: name → port. */
function follow(own: FakeCluster, east: FakeCluster) {
  const stop = new AbortController();
  const config = { server: "https://own", credentials: () => Promise.resolve({ token: "own" }) };
  const source = kubernetesSource({
    config,
    clusterId: "Kubernetes",
    systemNamespace: "istio-system",
    syncTimeoutMs: 0,
    log: noopLogger,
    nowMs: Date.now,
    random: () => 0,
    open: (to) => (to.server === "https://own" ? own : east).open(to),
    onProblems: () => undefined,
  });
  const reported = new Map<string, number>();
  const steps: string[] = [];
  let lastUnread: readonly string[] = [];
  const done = (async () => {
    for await (const { inputs, unread = [] } of source.groups(stop.signal)) {
      lastUnread = unread;
      for (const input of inputs) {
        if (input.type === "cluster") reported.clear();
        if (input.type !== "object" || input.cluster !== "east") continue;
        if (input.op === "delete") reported.delete(configKeyText(input.key));
        else {
          const { ports = [] } = input.object["spec"] as { readonly ports?: readonly { readonly port: number }[] };
          const key = configKeyText(objectKey(input.object));
          const before = reported.get(key) ?? 0;
          const port = ports[0]?.port ?? 0;
          if (port < before) steps.push(`${key}: ${port} after ${before}`);
          reported.set(key, port);
        }
      }
    }
  })();
  return {
    source,
    reported,
    get unread() {
      return lastUnread;
    },
    /** Steps that went back to an older state. */
    steps,
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
      await source[Symbol.asyncDispose]();
    },
  };
}

async function turns(count: number): Promise<void> {
  for (let turn = 0; turn < count; turn++) await new Promise((resolve) => setImmediate(resolve));
}

/** Rotations in bursts; after each burst everything must arrive, and nothing may have gone back. */
async function rotate(seed: number, bursts: number): Promise<void> {
  const random = seeded(seed);
  const own = new FakeCluster(random, 8);
  const east = new FakeCluster(random, 40);
  own.tokens.add("own");
  let [token, port] = [0, 1];
  const expected = new Map<string, number>();
  const setSecret = () => {
    east.tokens.add(`t${++token}`);
    const data = { east: Buffer.from(kubeconfig(`t${token}`)).toString("base64") };
    own.put(secrets, { metadata: { name: "east", namespace: "istio-system" }, data } as never);
  };
  const change = () => {
    const name = `s${Math.floor(random() * 3)}`;
    const key = `Service/shop/${name}`;
    if (expected.has(key) && random() < 0.2) {
      east.delete(services, name);
      expected.delete(key);
    } else {
      east.put(services, service(name, ++port));
      expected.set(key, port);
    }
  };
  setSecret();
  change();
  await using followed = await follow(own, east);
  for (let burst = 0; burst < bursts; burst++) {
    for (let left = 1 + Math.floor(random() * 4); left > 0; left--) {
      const before = `t${token}`;
      if (random() < 0.05) {
        own.delete(secrets, "east");
        await turns(Math.floor(random() * 30));
      }
      setSecret();
      await turns(Math.floor(random() * 30));
      east.tokens.delete(before);
      change();
      await turns(Math.floor(random() * 30));
    }
    const text = (map: ReadonlyMap<string, number>) => [...map].map(String).sort().join(" ");
    await until(() => text(followed.reported) === text(expected), {
      withinMs: 30_000,
      what: "all changes",
      everyMs: 1,
    }).catch((cause: unknown) => {
      const said = followed.source.problems().map(({ object, reason }) => `${object}: ${reason}`);
      const what = `seed ${seed}, burst ${burst}: reported ${text(followed.reported)}, there is ${text(expected)}; ${said}`;
      throw new Error(what, { cause });
    });
    assert.deepEqual(followed.steps, [], `seed ${seed}, burst ${burst}`);
  }
}

test("whatever overtakes what, the newest credentials are used and every change arrives", async () => {
  for (let seed = 1; seed <= 40; seed++) await rotate(seed, 25);
});

test("a cluster that cannot be followed any more is reported as old, until it can", async () => {
  const random = seeded(1);
  const own = new FakeCluster(random, 8);
  own.tokens.add("own");
  await using followed = await follow(own, own);
  const { source } = followed;
  await until(() => source.clusters()[0]?.syncStatus === "synced", {
    withinMs: 30_000,
    what: "the cluster to be read",
  });
  assert.deepEqual(source.old(), []);
  own.tokens.delete("own");
  let port = 0;
  // Until the server ends a watch.
  const isOld = () => {
    own.put(services, service("s", ++port));
    return source.old().length > 0;
  };
  await until(isOld, { withinMs: 30_000, what: "a refusal", everyMs: 1 });
  assert.deepEqual(source.old(), ["Kubernetes/Kubernetes", "External/Kubernetes"]);
  await until(() => followed.unread.join() === source.old().join(), { withinMs: 30_000, what: "it to be reported" });
  own.tokens.add("own");
  await until(() => source.old().length === 0 && followed.unread.length === 0, {
    withinMs: 30_000,
    what: "the end of it",
  });
});
