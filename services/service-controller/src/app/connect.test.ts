import assert from "node:assert/strict";
import { test } from "node:test";
import { connectBus, createPublisher } from "@flotilla/bus";
import type { ServiceChange } from "@flotilla/model";
import { defaultRegistrySettings, Registry } from "@flotilla/registry";
import { noopLogger } from "@flotilla/runtime";
import { publishedAddresses } from "./connect.ts";

test("a successor reads the addresses that were given from what was published", async () => {
  const stop = new AbortController();
  const log = noopLogger;
  await using bus = await connectBus({ url: "embedded:published-addresses", clientName: "t", log }, stop.signal);
  assert.deepEqual(await publishedAddresses(bus, stop.signal), []);

  const registry = new Registry(defaultRegistrySettings);
  const key = { kind: "ServiceEntry", namespace: "n", name: "e" };
  const ports = [{ number: 80, name: "tcp" }];
  const spec = { hosts: ["a.example", "b.example", "*.c.example"], ports, resolution: "DNS" };
  const value = { key, labels: {}, annotations: {}, creationTimeMs: 0, spec };
  registry.apply([{ type: "config", op: "put", key, value }]);
  const publisher = createPublisher({ bus, publisher: "service-controller", seal: undefined, log, nowMs: Date.now });
  await publisher.synchronize(registry.state());
  const [one, two] = await publishedAddresses(bus, stop.signal);
  assert.deepEqual([one?.hostname, two?.hostname].sort(), ["a.example", "b.example"]);
  assert.match(one?.autoAllocatedIpv4 ?? "", /^240\.240\./);

  // A later change of another service, in a group of its own, removes nothing.
  const added = { ...value, key: { ...key, name: "f" }, spec: { ...spec, hosts: ["d.example"] } };
  const { changes } = registry.apply([{ type: "config", op: "put", key: added.key, value: added }]);
  await publisher.publish(changes);
  const all = await publishedAddresses(bus, stop.signal);
  assert.deepEqual(all.map(({ hostname }) => hostname).sort(), ["a.example", "b.example", "d.example"]);

  const gone = registry
    .state()
    .find((change): change is ServiceChange => "name" in change.key && change.key.hostname === "a.example");
  assert.ok(gone?.type === "service");
  await publisher.publish([{ type: "service", op: "delete", key: gone.key }]);
  const left = await publishedAddresses(bus, stop.signal);
  assert.deepEqual(left.map(({ hostname }) => hostname).sort(), ["b.example", "d.example"]);
});
