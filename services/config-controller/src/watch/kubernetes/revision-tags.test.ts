/** Tags that point at this revision, as webhooks come and change; and a cluster where they cannot be read. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi, type MemoryApi } from "@flotilla/kube-api/memory";
import { noopLogger, until } from "@flotilla/runtime";
import { RevisionTags } from "./revision-tags.ts";

const path = (name: string) => `/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations/${name}`;
const tagged = (tag: string, revision: string) => ({
  metadata: { labels: { "istio.io/tag": tag, "istio.io/rev": revision } },
});
const soon = (what: string) => ({ withinMs: 20_000, what, everyMs: 2 });

function follow({ api }: MemoryApi) {
  const stop = new AbortController();
  let changes = 0;
  const tags = new RevisionTags({
    ...{ api, revision: "canary", log: noopLogger, random: () => 0 },
    onChange: () => void changes++,
  });
  const running = tags.run(stop.signal);
  const end = async () => {
    stop.abort();
    await running;
  };
  return { tags, changes: () => changes, [Symbol.asyncDispose]: end };
}

describe("tags of a revision", () => {
  it("stand for it while they point at it, and for another one otherwise", async () => {
    const memory = createMemoryApi({ [path("a")]: tagged("stable", "canary"), [path("b")]: tagged("old", "other") });
    await using one = follow(memory);
    await until(() => one.tags.revisionOf("stable") === "stable", soon("the tag"));
    assert.deepEqual([one.tags.isSettled, one.tags.failure], [true, undefined]);
    assert.deepEqual([one.tags.revisionOf("old"), one.tags.revisionOf(undefined)], ["canary", "canary"]);
    memory.put(path("a"), tagged("stable", "other"));
    memory.put(path("b"), tagged("old", "canary"));
    await until(() => one.tags.revisionOf("old") === "old", soon("the other tag"));
    assert.equal(one.tags.revisionOf("stable"), "canary");
  });

  it("are reported as changed only when they are", async () => {
    const memory = createMemoryApi({ [path("a")]: tagged("stable", "canary") });
    await using one = follow(memory);
    await until(() => one.tags.revisionOf("stable") === "stable", soon("the tag"));
    const before = one.changes();
    memory.put(path("b"), tagged("old", "other"));
    memory.put(path("c"), tagged("new", "canary"));
    await until(() => one.tags.revisionOf("new") === "new", soon("the new tag"));
    assert.equal(one.changes(), before + 1);
  });

  const failures = [
    ["are not waited for where they are forbidden, with the reason", "KUBE_REFUSED", true, /forbidden/],
    ["are waited for while the API server is away", "KUBE_AWAY", false, /^undefined$/],
  ] as const;
  for (const [name, code, isSettled, failure] of failures)
    it(name, async () => {
      const memory = createMemoryApi();
      memory.refusal = () => new KubeError(code, "forbidden");
      await using one = follow(memory);
      await until(() => one.changes() > 0, soon("the first look"));
      assert.equal(one.tags.isSettled, isSettled);
      assert.match(String(one.tags.failure), failure);
    });
});
