/** The ConfigMaps of the roots, as namespaces and maps come, change and go. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { RootConfigMaps } from "./root-config-maps.ts";

const namespace = (name: string, more: object = {}) => ({
  apiVersion: "v1",
  kind: "Namespace",
  metadata: { name, ...more },
});
const mapOf = (name: string) => `/api/v1/namespaces/${name}/configmaps/roots`;
const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 5 });
const turns = async () => {
  for (let turn = 0; turn < 50; turn++) await new Promise(setImmediate);
};

function follow(...names: readonly string[]) {
  const memory = createMemoryApi(
    Object.fromEntries(names.map((name) => [`/api/v1/namespaces/${name}`, namespace(name)])),
  );
  const state: { data: Readonly<Record<string, string>> | undefined } = { data: { "root-cert.pem": "R" } };
  const watched: string[] = [];
  memory.refusal = ({ verb, path }) => {
    if (verb === "watch") watched.push(path);
    return undefined;
  };
  const stop = new AbortController();
  const maps = new RootConfigMaps({
    ...{ api: memory.api, name: "roots", data: () => state.data, log: noopLogger, random: () => 0 },
  });
  const running = maps.run(stop.signal);
  // Unhandled while the test waits for something else.
  running.catch(() => undefined);
  const dataIn = (name: string) => memory.read<{ readonly data: object }>(mapOf(name))?.data;
  const appear = (name: string, more?: object) => memory.put(`/api/v1/namespaces/${name}`, namespace(name, more));
  const end = async () => {
    stop.abort();
    await running;
  };
  return { memory, state, watched, stop, running, dataIn, appear, [Symbol.asyncDispose]: end };
}

describe("the roots in a ConfigMap", () => {
  const roots = { "root-cert.pem": "R" };

  it("are written to each namespace that lives, and is not one of Kubernetes itself", async () => {
    await using one = follow("shop", "kube-system");
    one.appear("ending", { deletionTimestamp: "2026-01-01T00:00:00Z" });
    await until(() => one.dataIn("shop") !== undefined, soon("the first"));
    one.appear("bank");
    await until(() => one.dataIn("bank") !== undefined, soon("the new one"));
    assert.deepEqual([one.dataIn("shop"), one.dataIn("bank")], [roots, roots]);
    assert.deepEqual([one.dataIn("kube-system"), one.dataIn("ending")], [undefined, undefined]);
  });

  it("are written nowhere while there are none", async () => {
    await using one = follow("shop");
    one.state.data = undefined;
    await until(() => one.watched.length === 2, soon("both lists"));
    one.appear("bank");
    await turns();
    assert.deepEqual(one.memory.writes, []);
    one.state.data = roots;
    one.appear("late");
    await until(() => one.dataIn("late") !== undefined, soon("the roots"));
    assert.deepEqual([one.dataIn("shop"), one.dataIn("bank")], [roots, roots]);
  });

  it("are written again where they are edited or deleted, beside keys of others", async () => {
    await using one = follow("shop");
    await until(() => one.dataIn("shop") !== undefined, soon("the first"));
    one.memory.put(mapOf("shop"), {
      apiVersion: "v1",
      kind: "ConfigMap",
      data: { "root-cert.pem": "wrong", own: "stays" },
    });
    await until(() => one.memory.writes.length === 2, soon("the correction"));
    assert.deepEqual(one.dataIn("shop"), { ...roots, own: "stays" });
    one.memory.remove(mapOf("shop"));
    await until(() => one.memory.writes.length === 3, soon("the map again"));
    assert.deepEqual(one.dataIn("shop"), roots);
    assert.deepEqual(
      one.memory.writes.map(({ verb }) => verb),
      ["create", "replace", "create"],
    );
  });

  it("are written to the other namespaces where one refuses", async () => {
    await using one = follow("shop", "bank");
    one.memory.refusal = ({ verb, path }) =>
      verb === "create" && path.includes("/shop/") ? new KubeError("KUBE_REFUSED", "forbidden") : undefined;
    await until(() => one.dataIn("bank") !== undefined, soon("the other one"));
    assert.equal(one.dataIn("shop"), undefined);
  });

  it("are written no more after the end", async () => {
    await using one = follow("shop");
    await until(() => one.dataIn("shop") !== undefined, soon("the first"));
    one.state.data = { "root-cert.pem": "new" };
    one.stop.abort();
    await one.running;
    assert.deepEqual(one.dataIn("shop"), roots);
  });
});
