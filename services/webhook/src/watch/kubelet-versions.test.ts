/** Native sidecars by the versions of nodes, in an API server that keeps objects in memory. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { KubeletVersions } from "./kubelet-versions.ts";

const path = (name: string) => `/api/v1/nodes/${name}`;
const node = (kubeletVersion: string) => ({ status: { nodeInfo: { kubeletVersion } } });
const auto = { nativeSidecars: "auto", kubernetesVersion: "v1.33.0" } as const;

async function heard(nodes: Readonly<Record<string, string>>) {
  const memory = createMemoryApi(
    Object.fromEntries(Object.entries(nodes).map(([name, version]) => [path(name), node(version)])),
  );
  const versions = new KubeletVersions(auto);
  const stop = new AbortController();
  const running = versions.follow({ api: memory.api, log: noopLogger, random: () => 0 }, stop.signal);
  await until(() => versions.revision > 0, { withinMs: 20_000, everyMs: 2, what: "the nodes" });
  return {
    ...{ memory, versions },
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await running;
    },
  };
}

describe("native sidecars", () => {
  const cases: readonly (readonly [string, Readonly<Record<string, string>>, string | undefined, boolean])[] = [
    ["of nodes that are new enough", { a: "v1.33.0", b: "v1.34.1-gke.5" }, undefined, true],
    ["of one node that is too old", { a: "v1.33.0", b: "v1.32.9" }, undefined, false],
    ["of a pod bound to a new node beside an old one", { a: "v1.33.0", b: "v1.32.9" }, "a", true],
    ["of a pod bound to an old node", { a: "v1.33.0", b: "v1.32.9" }, "b", false],
    ["of a pod bound to a node that is not known", { a: "v1.33.0", b: "v1.32.9" }, "c", false],
    ["of a node without a version", { a: "" }, undefined, false],
    ["of another major version", { a: "v2.0.0" }, undefined, true],
  ];
  for (const [name, nodes, bound, expected] of cases)
    it(`are ${expected ? "used" : "not used"}: ${name}`, async () => {
      await using it = await heard(nodes);
      assert.equal(it.versions.hasNativeSidecars(bound), expected);
    });

  it("follow nodes that come, are upgraded and go", async () => {
    await using it = await heard({ a: "v1.33.0" });
    const becomes = (expected: boolean) =>
      until(() => it.versions.hasNativeSidecars(undefined) === expected, {
        ...{ withinMs: 20_000, everyMs: 2, what: `native sidecars: ${expected}` },
      });
    it.memory.put(path("old"), node("v1.31.0"));
    await becomes(false);
    it.memory.put(path("old"), node("v1.33.0"));
    await becomes(true);
    it.memory.put(path("older"), node("v1.30.0"));
    await becomes(false);
    await it.memory.api.delete(path("older"));
    await becomes(true);
  });

  it("go by the settings without nodes, and where they decide", () => {
    const of = (nativeSidecars: "auto" | "true" | "false", kubernetesVersion: string) =>
      new KubeletVersions({ nativeSidecars, kubernetesVersion }).hasNativeSidecars(undefined);
    const asked = [of("auto", "v1.33.0"), of("auto", "v1.32.0"), of("true", "v1.20.0"), of("false", "v1.40.0")];
    assert.deepEqual(asked, [true, false, true, false]);
  });
});
