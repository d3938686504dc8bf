/** The injection templates of a real kube-apiserver's ConfigMap: followed as they change, kept where the API server is away. */
import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { InjectionDocuments } from "@flotilla/injection";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { followInjectionMap } from "./injection-config-map.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const namespace = "istio-system";
const name = "istio-sidecar-injector-canary";
const maps = `/api/v1/namespaces/${namespace}/configmaps`;
const map = (config: string, resourceVersion?: string) => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { name, namespace, ...(resourceVersion !== undefined && { resourceVersion }) },
  data: { config, values: "{}" },
});

describe("the ConfigMap with injection templates", { skip: server === undefined && whyNoApiserver }, () => {
  const heard: InjectionDocuments[] = [];
  const stop = new AbortController();
  let directory = "";
  let running: Promise<void> = Promise.resolve();
  const api = () => (server as RunningApiserver).api;
  const file = () => join(directory, "injection.json");
  const options = () => ({ api: api(), namespace, name, file: file(), log: noopLogger, random: Math.random });
  const last = (): string | undefined => heard.at(-1)?.config;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "webhook-injection-"));
    await api().create("/api/v1/namespaces", { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
    running = (async () => {
      for await (const one of followInjectionMap(options(), stop.signal)) heard.push(one);
    })();
    await until(() => heard.length > 0, { withinMs: 30_000, what: "the first documents" });
  });
  after(async () => {
    stop.abort();
    await running;
    await server?.[Symbol.asyncDispose]();
    await rm(directory, { recursive: true });
  });

  it("leaves the built-in templates where it is not there", () =>
    assert.deepEqual(heard[0], { source: `built-in, there is no ConfigMap ${name}` }));

  it("counts once it is there, and with each change", async () => {
    const { metadata } = await api().create(maps, map("one"));
    await until(() => last() === "one", { withinMs: 30_000, what: "the new ConfigMap" });
    await api().replace(`${maps}/${name}`, map("two", metadata.resourceVersion));
    await until(() => last() === "two", { withinMs: 30_000, what: "its change" });
  });

  it("counts as it was where the API server is away at the start", async () => {
    await (server as RunningApiserver).stop();
    const ended = new AbortController();
    const documents = followInjectionMap(options(), ended.signal);
    const first = await documents.next();
    assert.equal(first.done === true ? undefined : first.value.config, "two");
    ended.abort();
    await documents.return();
    await (server as RunningApiserver).start();
  });

  it("gives way to the built-in templates when it is deleted", async () => {
    await api().delete(`${maps}/${name}`);
    await until(() => last() === undefined, { withinMs: 60_000, what: "the built-in templates" });
  });
});
