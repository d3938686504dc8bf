/** Definitions of kinds in a real API server. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { noopLogger, until } from "@flotilla/runtime";
import { type Definition, keepDefinitions, shippedDefinitions } from "./kind-definitions.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const path = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });

describe("definitions of kinds", { skip: server === undefined && whyNoApiserver }, () => {
  it("are made, healed and brought up to date; those of others are left alone", { timeout: 180_000 }, async () => {
    assert.ok(server !== undefined);
    const { api } = server;
    const shipped = await shippedDefinitions();
    assert.ok(shipped.length > 10);
    const [foreign, ...ours] = shipped;
    assert.ok(foreign !== undefined);
    await api.create(path, foreign);
    const keeping = async (version: string, definitions: readonly Definition[], check: () => Promise<void>) => {
      const stop = new AbortController();
      const running = keepDefinitions({ api, definitions, version, log: noopLogger, everyMs: 100 }, stop.signal);
      try {
        await Promise.race([check(), running]);
      } finally {
        stop.abort();
      }
      await running;
    };
    const name = ours[0]?.metadata.name ?? "";
    const versionOf = async (one: string) =>
      (await api.metadata(`${path}/${one}`))?.metadata.annotations?.["flotilla.dev/version"];

    await keeping("1.0.0", shipped, async () => {
      for (const { metadata } of ours) await until(() => versionOf(metadata.name ?? ""), soon(`${metadata.name}`));
      const uid = async () => (await api.metadata(`${path}/${name}`))?.metadata.uid;
      const first = await uid();
      await api.delete(`${path}/${name}`);
      await until(async () => ![first, undefined].includes(await uid()), soon("it to be made again"));
    });
    assert.equal(await versionOf(foreign.metadata.name ?? ""), undefined);

    const before = (await server.writes()).length;
    assert.equal(before, shipped.length + 2);
    await keeping("1.0.1", shipped, () => new Promise((resolve) => setTimeout(resolve, 1_000)));
    assert.equal((await server.writes()).length, before, "what is as it should be is not written");

    // A newer version ships one that differs.
    const [first] = ours;
    assert.ok(first !== undefined);
    const spec = structuredClone(first.spec) as { names: { shortNames?: string[] } };
    spec.names.shortNames = ["changed"];
    const newer = { ...first, spec };
    await keeping("1.1.0", [newer], async () => {
      await until(async () => (await versionOf(name)) === "1.1.0", soon("the newer one"));
    });
    await keeping("1.0.9", shipped, () => new Promise((resolve) => setTimeout(resolve, 500)));
    const stored = await api.get<{ readonly spec: typeof spec; readonly metadata: object }>(`${path}/${name}`);
    assert.deepEqual([await versionOf(name), stored?.spec.names.shortNames], ["1.1.0", ["changed"]]);
  });
});
