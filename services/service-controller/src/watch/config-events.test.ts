import assert from "node:assert/strict";
import { test } from "node:test";
import { connectBus, createPublisher, createSeal } from "@flotilla/bus";
import type { ConfigChange } from "@flotilla/model";
import { noopLogger } from "@flotilla/runtime";
import { configEvents, inputGroups } from "./config-events.ts";
import type { InputGroup } from "./input-source.ts";

const seal = createSeal("a key for this test");

function put(name: string, host: string, kind = "ServiceEntry"): ConfigChange {
  const key = { kind, namespace: "n", name };
  const spec = { hosts: [host] };
  return { type: "config", op: "put", key, value: { key, labels: {}, annotations: {}, creationTimeMs: 0, spec } };
}

function short(group: InputGroup | undefined): string {
  return (group?.inputs ?? [])
    .map((input) => ("key" in input && "kind" in input.key ? `${input.op} ${input.key.kind}/${input.key.name}` : ""))
    .sort()
    .join(", ");
}

test("the first group waits for config-controller's word and holds what concerns services", async () => {
  const stop = new AbortController();
  await using bus = await connectBus({ url: "embedded:config-events", clientName: "t", log: noopLogger }, stop.signal);
  const publisher = createPublisher({ bus, publisher: "config-controller", seal, log: noopLogger, nowMs: () => 1 });
  await publisher.publish([put("early", "early.example")]);
  const source = configEvents({ bus, nowMs: () => 1 });
  const groups = source.groups(stop.signal)[Symbol.asyncIterator]();
  const next = async () => short((await groups.next()).value as InputGroup | undefined);

  const first = next();
  await publisher.synchronize([put("a", "a.example"), put("b", "b.example", "VirtualService"), put("c", "", "Secret")]);
  assert.equal(await first, "delete ServiceEntry/early, put ServiceEntry/a");
  await publisher.publish([put("v", "v.example", "VirtualService")]);
  await publisher.publish([put("d", "d.example"), put("w", "w.example", "WorkloadEntry"), put("s", "", "Secret")]);
  assert.equal(await next(), "put ServiceEntry/d, put WorkloadEntry/w");

  stop.abort();
  await groups.return?.();
});

test("after the bus has begun anew, what it no longer holds is deleted", async () => {
  async function* items() {
    const cause = { publisher: "config-controller", epoch: "e", revision: 1, eventTimeMs: 5 };
    yield { kind: "group", group: { changes: [put("a", "1"), put("b", "1")], cause, position: 2 } } as const;
    yield { kind: "caught-up", position: 2, epoch: "1" } as const;
    yield { kind: "reset", reason: "lost", epoch: "2" } as const;
    yield { kind: "group", group: { changes: [put("b", "2")], cause, position: 1 } } as const;
    yield { kind: "caught-up", position: 1, epoch: "2" } as const;
  }
  const seen: string[] = [];
  for await (const group of inputGroups(items(), () => 1)) seen.push(short(group));
  assert.deepEqual(seen, ["put ServiceEntry/a, put ServiceEntry/b", "delete ServiceEntry/a, put ServiceEntry/b"]);
});
