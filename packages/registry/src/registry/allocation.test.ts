import assert from "node:assert/strict";
import { test } from "node:test";
import type { ConfigChange } from "@flotilla/model";
import { defaultRegistrySettings } from "../settings.ts";
import { Registry } from "./registry.ts";
import { config } from "./sample-objects.fixture.ts";

/** A small range, so that hosts meet. */
const settings = { ...defaultRegistrySettings, autoAllocateIpv4: "10.9.8.0/24" };

function entry(name: string, more: object = {}, labels: Readonly<Record<string, string>> = {}): ConfigChange {
  const spec = { hosts: [`${name}.example`], ports: [{ number: 80, name: "http" }], resolution: "DNS", ...more };
  return config("ServiceEntry", name, spec, labels);
}

function withStatus(change: ConfigChange, value: string): ConfigChange {
  if (change.op === "delete") return change;
  const host = `${change.key.name}.example`;
  return { ...change, value: { ...change.value, status: { addresses: [{ value, host }] } } };
}

function addresses(one: Registry): Readonly<Record<string, string | undefined>> {
  return Object.fromEntries(
    one
      .state()
      .flatMap((change) =>
        change.type === "service" && change.op === "put"
          ? [[change.key.name, change.value.autoAllocatedIpv4] as const]
          : [],
      ),
  );
}

const names = Array.from({ length: 60 }, (_, i) => `h${i}`);

test("a restart finds the addresses that were given, whatever went meanwhile", () => {
  const before = new Registry(settings);
  for (const name of names) before.apply([entry(name)]);
  before.apply(
    names.slice(0, 30).map((name): ConfigChange => ({ type: "config", op: "delete", key: entry(name).key })),
  );
  const given = addresses(before);
  const after = new Registry(settings);
  for (const change of before.state()) {
    if (change.type === "service" && change.op === "put") after.remember(change.value);
  }
  after.apply(
    names
      .slice(30)
      .reverse()
      .map((name) => entry(name)),
  );
  assert.deepEqual(addresses(after), Object.fromEntries(Object.entries(given).reverse()));
});

test("addresses of other entries are avoided, given in their spec, in a range of it or in their status", () => {
  const one = new Registry(settings);
  one.apply([entry("a")]);
  const free = addresses(one)["a"] ?? "";
  for (const other of [
    entry("b", { addresses: [free] }),
    entry("b", { addresses: [`${free}/30`] }),
    withStatus(entry("b"), free),
  ]) {
    const two = new Registry(settings);
    two.apply([other, entry("a")]);
    assert.notEqual(addresses(two)["a"], free);
    const later = new Registry(settings);
    later.apply([entry("a")]);
    later.apply([other]);
    assert.notEqual(addresses(later)["a"], free);
  }
});

test("services that opt out get no address", () => {
  const one = new Registry(settings);
  one.apply([
    entry("labelled", {}, { "networking.istio.io/enable-autoallocate-ip": "false" }),
    entry("passthrough", { resolution: "NONE" }),
    entry("wildcard", { hosts: ["*.example"] }),
    withStatus(entry("kept"), "10.1.2.3"),
  ]);
  assert.deepEqual(addresses(one), {
    labelled: undefined,
    passthrough: undefined,
    wildcard: undefined,
    kept: "10.1.2.3",
  });
});

// Numbers of a running istiod.
test("without allocation the hash decides, for all alike, and services of one host share the lowest slot", () => {
  const one = new Registry({ ...defaultRegistrySettings, autoAllocate: false });
  const inDefault = (name: string, host: string): ConfigChange => {
    const change = entry(name, { hosts: [host] });
    const key = { ...change.key, namespace: "default" };
    return change.op === "put" ? { ...change, key, value: { ...change.value, key } } : change;
  };
  one.apply([
    inDefault("one", "istio.io"),
    inDefault("two", "istio.io"),
    withStatus(inDefault("b", "b.example"), "10.1.2.3"),
  ]);
  assert.deepEqual(addresses(one), { one: "240.240.91.120", two: "240.240.91.120", b: "240.240.69.213" });
});

test("a wildcard has an address only where the proxy that is called resolves its hosts, by allocation and by status", () => {
  const of = (resolution: string, labels = {}, given?: string) => {
    const one = new Registry(settings);
    const made = entry("w", { hosts: ["*.w.example"], resolution }, labels);
    const status = { addresses: [{ value: given, host: "*.w.example" }] };
    one.apply([given === undefined || made.op === "delete" ? made : { ...made, value: { ...made.value, status } }]);
    return addresses(one)["w"];
  };
  assert.ok(of("DYNAMIC_DNS")?.startsWith("10.9.8."));
  assert.equal(of("DNS"), undefined);
  assert.equal(of("DYNAMIC_DNS", {}, "240.240.0.1"), "240.240.0.1");
  assert.equal(of("DNS", {}, "240.240.0.1"), undefined);
  assert.equal(of("DYNAMIC_DNS", { "networking.istio.io/enable-autoallocate-ip": "False" }, "240.240.0.1"), undefined);
});
