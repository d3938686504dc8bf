/** Changes that count as published, the kinds that are sent, and the deletes that a snapshot causes. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { ConfigChange, ConfigKey } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import type { AggregateGroup } from "../aggregate/merge-sources.ts";
import { publishChanges, sendable } from "./publish-changes.ts";

const put = (kind: string, name: string): ConfigChange => {
  const key = { kind, namespace: "shop", name };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec: {} } };
};
const changed = (...changes: ConfigChange[]): AggregateGroup => ({
  ...{ snapshot: false, changes, eventTimeMs: 1_000, source: "files" },
});
const snapshot = (keep: (key: ConfigKey) => boolean = () => false): AggregateGroup => ({
  ...{ snapshot: true, changes: [], counts: new Map([["Secret", 1]]), keep },
});

interface Seen {
  readonly sent: string[];
  readonly seconds: number[];
  readonly logged: string[];
  readonly firsts: unknown[];
  readonly snapshots: number[];
  readonly pruned: string[];
}

/** @param counts whether this replica publishes; a standby publishes nothing of what it is given */
async function published(groups: readonly AggregateGroup[], { counts = true, canSeal = true } = {}): Promise<Seen> {
  const seen: Seen = { sent: [], seconds: [], logged: [], firsts: [], snapshots: [], pruned: [] };
  const known = [put("Gateway", "kept"), put("Gateway", "gone"), put("Secret", "secret"), put("Gateway", "unread")];
  await publishChanges(
    (async function* () {
      yield* groups;
    })(),
    {
      publisher: {
        publish: async (changes) => {
          const all = [...changes].map(({ key }) =>
            "name" in key ? `${"kind" in key ? key.kind : ""}/${key.name}` : "",
          );
          if (counts) seen.sent.push(...all);
          return counts ? all.length : 0;
        },
        prune: async (keeps) => {
          const gone = known.filter(({ key }) => !keeps(key)).map(({ key }) => key.name);
          seen.pruned.push(...gone);
          return gone.length;
        },
      } as Parameters<typeof publishChanges>[1]["publisher"],
      metrics: { publishSeconds: { observe: (value: number) => void seen.seconds.push(value) } } as Parameters<
        typeof publishChanges
      >[1]["metrics"],
      log: {
        ...noopLogger,
        info: (event, fields) => {
          seen.logged.push(event);
          if (event === "published") seen.firsts.push(fields?.["first"]);
        },
      },
      canSeal,
      nowMs: () => 3_000,
      onSnapshot: async () => void seen.snapshots.push(seen.sent.length),
      isInView: ({ name }) => name === "kept" || name === "secret",
    },
    new AbortController().signal,
  );
  return seen;
}

describe("changes of the configuration", () => {
  it("are counted with the time since their event", async () => {
    const { sent, seconds, logged } = await published([changed(put("Gateway", "a"), put("Secret", "b"))]);
    assert.deepEqual([sent, seconds, logged], [["Gateway/a", "Secret/b"], [2], ["published"]]);
  });

  it("are logged with the first object of them that is sent", async () => {
    const changes = [changed(put("Secret", "b"), put("Gateway", "a"), put("Gateway", "c")), changed()];
    assert.deepEqual((await published(changes, { canSeal: false })).firsts, ["Gateway/shop/a"]);
  });

  it("that a standby does not publish are not counted", async () => {
    const { seconds, logged } = await published([changed(put("Gateway", "a"))], { counts: false });
    assert.deepEqual([seconds, logged], [[], []]);
  });

  it("hold back Secrets that cannot be sealed", async () => {
    const { sent } = await published([changed(put("Gateway", "a"), put("Secret", "b"))], { canSeal: false });
    assert.deepEqual(sent, ["Gateway/a"]);
    assert.deepEqual(
      [...sendable([put("Secret", "b"), put("Gateway", "a")], false)].map(({ key }) => key.name),
      ["a"],
    );
  });

  it("begin with a snapshot, and a later one takes away what is in no view and not kept", async () => {
    const keep = ({ name }: ConfigKey) => name === "unread";
    const { snapshots, pruned, logged } = await published([snapshot(), changed(put("Gateway", "a")), snapshot(keep)]);
    assert.deepEqual([snapshots, pruned], [[0], ["gone"]]);
    assert.deepEqual(logged, ["initial sync complete", "published", "published"]);
  });

  it("are emptied when they are done with, so that they are not held until the next", async () => {
    const group = changed(put("Gateway", "a"));
    await published([group]);
    assert.deepEqual(group.changes, []);
  });
});
