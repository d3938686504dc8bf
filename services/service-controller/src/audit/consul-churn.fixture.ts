/** A real Consul whose services change all the time, and a registry that follows it with its audit. */
import assert from "node:assert/strict";
import { ClusterRegistries, defaultRegistrySettings } from "@flotilla/registry";
import { delay, noopLogger, until } from "@flotilla/runtime";
import { consulSource } from "../watch/consul-source.ts";
import { auditedSource } from "./audited-source.ts";

const serviceNames = 20;

/** To the agent itself. */
export async function write(url: string, path: string, body: unknown): Promise<void> {
  const send = async () => {
    const response = await fetch(`${url}${path}`, { method: "PUT", body: JSON.stringify(body) });
    // The object to delete may have gone by a crash.
    if (!response.ok && response.status !== 404) throw new Error(`${response.status} ${await response.text()}`);
    await response.arrayBuffer();
    return true;
  };
  await until(send, { withinMs: 30_000, what: `${path} to be taken`, everyMs: 50 });
}

export async function churn(url: string, writes: number, random: () => number): Promise<void> {
  for (let index = 0; index < writes; index++) {
    const id = Math.floor(random() * serviceNames * 3);
    if (random() < 0.2) await write(url, `/v1/agent/service/deregister/i${id}`, {});
    else {
      const service = { Name: `s${id % serviceNames}`, ID: `i${id}`, Address: "10.0.0.1", Port: 1_000 + index };
      await write(url, "/v1/agent/service/register", service);
    }
    if (index % 10 === 0) await delay(5);
  }
}

export interface FollowedConsul extends AsyncDisposable {
  readonly repaired: number;
  /** Everything that is known, and what is wrong. */
  state(): string;
  problems(): readonly string[];
  /** True when the state held equals a fresh read of the catalog. */
  equalsCatalog(): Promise<boolean>;
}

export function followConsul(url: string, datacenters: readonly string[] = []): FollowedConsul {
  const source = consulSource({
    ...{ url, token: undefined, tokenFile: undefined, certificateAuthorities: undefined, datacenters },
    ...{ namespaces: [], partition: "", connections: 50, syncTimeoutMs: 20_000, log: noopLogger },
    ...{ nowMs: Date.now, random: Math.random, onProblems: () => undefined },
  });
  let repaired = 0;
  const onRepair = (_: string, count: number) => {
    repaired += count;
  };
  const times = { everyMs: 2_000, settleMs: 1_000, nowMs: Date.now };
  const audited = auditedSource(source, { ownCluster: "Kubernetes", log: noopLogger, onRepair, ...times });
  const registry = new ClusterRegistries(defaultRegistrySettings);
  const stop = new AbortController();
  const done = (async () => {
    for await (const { inputs } of audited.groups(stop.signal)) registry.apply(inputs);
  })();
  return {
    get repaired() {
      return repaired;
    },
    state: () => textOf(registry),
    problems: () => source.problems().map(({ object, reason }) => `${object}: ${reason}`),
    equalsCatalog: async () => {
      const other = new ClusterRegistries(defaultRegistrySettings);
      const listed = (await source.list?.(AbortSignal.timeout(10_000))) ?? [];
      assert.ok(listed.length > 0, "the catalog is read");
      for (const { inputs } of listed) other.apply(inputs);
      return other.state().length > serviceNames && textOf(registry) === textOf(other);
    },
    async [Symbol.asyncDispose]() {
      stop.abort();
      await done;
      await source[Symbol.asyncDispose]();
    },
  };
}

function textOf(registry: ClusterRegistries): string {
  return registry
    .state()
    .map((change) => JSON.stringify(change))
    .sort()
    .join("\n");
}
