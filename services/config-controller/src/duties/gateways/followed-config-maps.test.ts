/** ConfigMaps that are named one by one, each followed for as long as it is named. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { type ConfigMap, KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { configMapName, FollowedConfigMaps } from "./followed-config-maps.ts";

const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 2 });
const nameOf = (name: string, namespace = "shop") => configMapName.write({ namespace, name });
const path = (name: string, namespace = "shop") => `/api/v1/namespaces/${namespace}/configmaps/${name}`;
const map = (value: string) => ({ apiVersion: "v1", kind: "ConfigMap", data: { value } });

function following() {
  const memory = createMemoryApi({ [path("a")]: map("1"), [path("a", "bank")]: map("of another namespace") });
  const failures: unknown[] = [];
  const state = { changes: 0 };
  const maps = new FollowedConfigMaps({
    ...{ api: memory.api, log: noopLogger, random: () => 0 },
    onChange: () => void state.changes++,
    onFailure: (error) => void failures.push(error),
  });
  const value = (found: ConfigMap | null | undefined) => (found === null ? null : found?.data?.["value"]);
  return { memory, maps, state, failures, valueOf: (name: string) => value(maps.get(nameOf(name))) };
}

describe("a ConfigMap that is named", () => {
  it("is followed, once, until it is not named any more", async () => {
    const { memory, maps, state, valueOf } = following();
    using _ = maps;
    maps.name(new Set([nameOf("a")]));
    assert.equal(valueOf("a"), undefined, "not known yet");
    await until(() => valueOf("a") === "1", soon("the ConfigMap"));
    assert.equal(state.changes, 1);
    maps.name(new Set([nameOf("a"), nameOf("none")]));
    assert.equal(valueOf("a"), "1", "it stays known");
    await until(() => valueOf("none") === null, soon("the one that is not there"));
    assert.equal(state.changes, 2);
    memory.put(path("a"), map("2"));
    await until(() => valueOf("a") === "2", soon("the change"));
    memory.put(path("none"), map("3"));
    await until(() => valueOf("none") === "3", soon("the new one"));
    assert.equal(state.changes, 4);
    memory.remove(path("a"));
    await until(() => valueOf("a") === null, soon("the end"));
    maps.name(new Set([nameOf("none")]));
    assert.deepEqual([valueOf("a"), valueOf("none")], [undefined, "3"]);
  });

  it("is forgotten with all others at the end", async () => {
    const { maps, valueOf } = following();
    maps.name(new Set([nameOf("a")]));
    await until(() => valueOf("a") === "1", soon("the ConfigMap"));
    maps[Symbol.dispose]();
    assert.equal(valueOf("a"), undefined);
  });

  it("is waited for while the API server refuses it, and reports defects", async () => {
    const { memory, maps, failures, valueOf } = following();
    using _ = maps;
    let isRefused = true;
    memory.refusal = () => (isRefused ? new KubeError("KUBE_REFUSED", "forbidden") : undefined);
    maps.name(new Set([nameOf("a")]));
    isRefused = false;
    await until(() => valueOf("a") === "1", soon("the ConfigMap"));
    memory.refusal = () => {
      throw new TypeError("x is no function");
    };
    maps.name(new Set([nameOf("b")]));
    await until(() => failures.length === 1, soon("the defect"));
  });
});
