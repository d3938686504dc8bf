/** Changes that count as published, and how far the configuration is taken in. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { RegistryChange } from "@flotilla/registry";
import { noopLogger } from "@flotilla/runtime";
import { isUnread, publishChanges, type RegistryGroup } from "./publish-changes.ts";

const change: RegistryChange = {
  ...{ type: "service", op: "delete" },
  key: { shard: "Kubernetes/a", namespace: "shop", name: "web", hostname: "web.shop" },
};
const group = (more: Partial<RegistryGroup> = {}): RegistryGroup => ({
  ...{ changes: [change], eventTimeMs: 1_000, source: "files", urgent: false, snapshot: false, unread: [] },
  ...more,
});

/** In the order in which it happened. @param published of the changes of each group: 0 by a standby */
async function happened(groups: readonly RegistryGroup[], published: number): Promise<readonly string[]> {
  const seen: string[] = [];
  type Options = Parameters<typeof publishChanges>[1];
  await publishChanges(
    (async function* () {
      yield* groups;
    })(),
    {
      publisher: {
        publish: async (_, options) => {
          seen.push(`publish ${options?.source}${options?.urgent === true ? " urgent" : ""}`);
          return published;
        },
      } as Options["publisher"],
      metrics: {
        publishSeconds: { observe: (value: number) => void seen.push(`${value} s`) },
        urgent: { add: (value: number) => void seen.push(`urgent ${value}`) },
      } as Options["metrics"],
      log: noopLogger,
      nowMs: () => 3_000,
      onSnapshot: async (unread) => void seen.push(`snapshot without ${unread.join(" ") || "nothing"}`),
      onRead: (position) => void seen.push(`read ${position}`),
    },
    new AbortController().signal,
  );
  return seen;
}

const cases: readonly (readonly [name: string, group: RegistryGroup, published: number, want: readonly string[]])[] = [
  ["a change", group(), 1, ["publish files", "2 s"]],
  ["an urgent one", group({ urgent: true }), 1, ["publish files urgent", "urgent 1", "2 s"]],
  ["one that a standby does not publish", group({ urgent: true }), 0, ["publish files urgent"]],
  ["configuration that changes something", group({ read: 7 }), 1, ["publish files", "read 7", "2 s"]],
  ["configuration that changes nothing", group({ read: 7, changes: [] }), 1, ["read 7"]],
  [
    "everything",
    group({ snapshot: true, read: 7, unread: ["Kubernetes/b"] }),
    1,
    ["snapshot without Kubernetes/b", "read 7"],
  ],
];

describe("changes of services and endpoints", () => {
  for (const [name, one, published, want] of cases)
    it(name, async () => assert.deepEqual(await happened([one], published), want));

  it("of registries that could not be read are left as they were published", () => {
    const key = (shard: string) => ({ shard, namespace: "shop", hostname: "web.shop" });
    assert.deepEqual(
      ["Kubernetes/a", "Kubernetes/b", "Consul/dc1"].map((shard) => isUnread(key(shard), ["Kubernetes/a", "Consul/*"])),
      [true, false, true],
    );
    assert.equal(isUnread({ kind: "Gateway", namespace: "shop", name: "a" }, ["Kubernetes/*"]), false);
  });
});
