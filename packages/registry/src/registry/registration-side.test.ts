import assert from "node:assert/strict";
import { test } from "node:test";
import type { RegisteredWorkload } from "@flotilla/model";
import { defaultRegistrySettings } from "../settings.ts";
import type { RegisteredWorkloadChange } from "./registration-side.ts";
import { Registry } from "./registry.ts";
import { config, registry } from "./sample-objects.fixture.ts";

const identity = "spiffe://cluster.local/ns/n/sa/vm";

function machine(instance: string, over: Partial<RegisteredWorkload> = {}): RegisteredWorkload {
  return {
    key: { namespace: "n", group: "vms", network: "", instance },
    address: "10.9.0.1",
    locality: "",
    labels: {},
    identities: [identity],
    connectedAtMs: 1_000,
    ...over,
  };
}
const put = (one: RegisteredWorkload): RegisteredWorkloadChange => ({ type: "machine", op: "put", machine: one });

function group(spec: object = {}) {
  const template = { serviceAccount: "vm", ports: { http: 8080 }, labels: { app: "vm", tier: "a" } };
  return config("WorkloadGroup", "vms", { metadata: { labels: { tier: "b" } }, template, ...spec });
}

const entry = config("ServiceEntry", "se", {
  hosts: ["vm.example"],
  ports: [{ number: 80, name: "http", protocol: "HTTP" }],
  resolution: "STATIC",
  location: "MESH_INTERNAL",
  workloadSelector: { labels: { app: "vm" } },
});

function endpointsOf(one: ReturnType<typeof registry>) {
  return one.state().flatMap((change) => (change.type === "endpoints" && change.op === "put" ? change.value : []));
}

test("a machine is an endpoint with the labels, ports and identity of its group, whatever comes first", () => {
  const inputs = [
    entry,
    group(),
    put(machine("m1", { labels: { version: "v1", "istio-locality": "x" }, locality: "r/z" })),
  ];
  for (const order of [
    [0, 1, 2],
    [2, 1, 0],
    [1, 2, 0],
  ]) {
    const one = registry();
    for (const index of order) one.apply([inputs[index] as (typeof inputs)[0]]);
    const [endpoint, ...others] = endpointsOf(one);
    assert.equal(others.length, 0);
    assert.deepEqual([endpoint?.addresses, endpoint?.port, endpoint?.locality], [["10.9.0.1"], 8080, "r/z"]);
    assert.equal(endpoint?.serviceAccount, identity);
    assert.equal(endpoint?.definedBy, "WorkloadEntry/n/vms-10.9.0.1");
    const { app, tier, version, "istio-locality": locality } = endpoint?.labels ?? {};
    assert.deepEqual({ app, tier, version, locality }, { app: "vm", tier: "b", version: "v1", locality: undefined });
  }
});

test("a group with a probe takes machines in only while they say that they are healthy", () => {
  const one = registry();
  one.apply([entry, group({ probe: { httpGet: { port: 8080 } } }), put(machine("m1"))]);
  assert.equal(endpointsOf(one).length, 0);
  one.apply([put(machine("m1", { health: { healthy: true, message: "", atMs: 1 } }))]);
  assert.equal(endpointsOf(one).length, 1);
  const { urgent } = one.apply([put(machine("m1", { health: { healthy: false, message: "503", atMs: 2 } }))]);
  assert.deepEqual([endpointsOf(one).length, urgent], [0, true]);
});

test("the registration is the machine's, not its address's: one that moves has one endpoint, two of one address have two", () => {
  const one = registry();
  one.apply([entry, group(), put(machine("m1"))]);
  one.apply([put(machine("m1", { address: "10.9.0.2" }))]);
  assert.deepEqual(
    endpointsOf(one).map(({ addresses }) => addresses[0]),
    ["10.9.0.2"],
  );
  one.apply([put(machine("m2", { address: "10.9.0.2" }))]);
  assert.deepEqual(
    one.problems().map(({ object, reason }) => `${object}: ${reason}`),
    ["Machine/n/m2: 10.9.0.2 is Machine/n/m1's too: both are kept"],
  );
  one.apply([{ type: "machine", op: "delete", machine: machine("m1") }]);
  assert.deepEqual(
    endpointsOf(one).map(({ addresses }) => addresses[0]),
    ["10.9.0.2"],
  );
  one.apply([{ type: "machine", op: "delete", machine: machine("m2") }]);
  assert.equal(endpointsOf(one).length, 0);
});

const refused = [
  { name: "without a group", inputs: [put(machine("m1"))], reason: /no such WorkloadGroup/ },
  {
    name: "without a proven identity",
    inputs: [group(), put(machine("m1", { identities: [] }))],
    reason: /not proven/,
  },
  {
    name: "with another identity",
    inputs: [group(), put(machine("m1", { identities: ["spiffe://cluster.local/ns/n/sa/other"] }))],
    reason: /sa\/other, the group's is spiffe:\/\/cluster.local\/ns\/n\/sa\/vm/,
  },
];
for (const { name, inputs, reason } of refused) {
  test(`a machine ${name} is not registered, and that is said`, () => {
    const one = registry();
    one.apply([entry, ...inputs]);
    assert.equal(endpointsOf(one).length, 0);
    assert.match(one.problems()[0]?.reason ?? "", reason);
  });
}

test("a group that goes takes its machines with it; a trust domain that changes asks for other identities", () => {
  const one = registry();
  one.apply([entry, group(), put(machine("m1"))]);
  one.apply([{ type: "config", op: "delete", key: { kind: "WorkloadGroup", namespace: "n", name: "vms" } }]);
  assert.equal(endpointsOf(one).length, 0);
  one.apply([group()]);
  assert.equal(endpointsOf(one).length, 1);
  one.apply([config("MeshConfig", "mesh", { trustDomain: "other" })]);
  assert.equal(endpointsOf(one).length, 0);
});

test("without a probe a machine that says nothing takes part, and one that says it is unhealthy does not", () => {
  const one = registry();
  one.apply([entry, group(), put(machine("m1"))]);
  assert.equal(endpointsOf(one).length, 1);
  one.apply([put(machine("m1", { health: { healthy: false, message: "503", atMs: 2 } }))]);
  assert.equal(endpointsOf(one).length, 0);
  const deaf = new Registry({ ...defaultRegistrySettings, machineHealthChecks: false });
  deaf.apply([entry, group(), put(machine("m1", { health: { healthy: false, message: "503", atMs: 2 } }))]);
  assert.equal(endpointsOf(deaf).length, 1);
});

const written = config("WorkloadEntry", "by-hand", {
  address: "10.9.9.9",
  labels: { app: "vm" },
  serviceAccount: "vm",
});

function standsFor(name: string, over: Partial<RegisteredWorkload> = {}): RegisteredWorkload {
  const base = machine("m1", over);
  return { ...base, key: { ...base.key, group: "" }, entry: name };
}

test("the health that a machine reports holds for its WorkloadEntry while it is connected", () => {
  const one = registry();
  one.apply([entry, put(standsFor("by-hand"))]);
  assert.match(one.problems()[0]?.reason ?? "", /no such WorkloadEntry/);
  one.apply([written]);
  assert.deepEqual([endpointsOf(one).length, one.problems().length], [1, 0]);
  one.apply([put(standsFor("by-hand", { health: { healthy: false, message: "503", atMs: 2_000 } }))]);
  assert.equal(endpointsOf(one).length, 0);
  const [said] = one.machineRecords().reported;
  assert.deepEqual(said?.status, {
    conditions: [{ type: "Healthy", status: "False", message: "503", lastProbeTime: "1970-01-01T00:00:02.000Z" }],
  });
  one.apply([written]);
  assert.equal(endpointsOf(one).length, 0, "the entry was written again");
  one.apply([{ type: "machine", op: "delete", machine: standsFor("by-hand") }]);
  assert.equal(endpointsOf(one).length, 1);
});

test("a machine of another identity says nothing of an entry", () => {
  const one = registry();
  const health = { healthy: false, message: "503", atMs: 1 };
  one.apply([entry, written, put(standsFor("by-hand", { health, identities: [] }))]);
  assert.equal(endpointsOf(one).length, 1);
  assert.match(one.problems()[0]?.reason ?? "", /not proven, the entry's is/);
});

test("entries that were written for registered machines are no machines of their own", () => {
  const one = registry();
  one.apply([entry, group(), put(machine("m1"))]);
  const [image] = one.machineRecords().registered;
  assert.ok(image !== undefined);
  assert.equal(image.key.name, "vms-10.9.0.1");
  one.apply([{ type: "config", op: "put", key: image.key, value: image }]);
  assert.equal(endpointsOf(one).length, 1);
  one.apply([{ type: "machine", op: "delete", machine: machine("m1") }]);
  assert.equal(endpointsOf(one).length, 0);
});

test("two machines of one address have entries of different names", () => {
  const one = registry();
  one.apply([group(), put(machine("m1")), put(machine("m2", { connectedAtMs: 2_000 }))]);
  const [first, second] = one.machineRecords().registered.map(({ key }) => key.name);
  assert.equal(first, "vms-10.9.0.1");
  assert.match(second ?? "", /^vms-10\.9\.0\.1-[0-9a-z]+$/);
});

const stranger = "spiffe://cluster.local/ns/n/sa/other";

for (const [proof, identities] of [
  ["without a proof", []],
  ["with another identity", [stranger]],
] as const) {
  test(`a machine with a proven identity is not displaced by a newer claim ${proof}, and the clash is reported`, () => {
    const claim = machine("m1", { identities, address: "10.9.6.6", connectedAtMs: 9_000 });
    for (const inputs of [
      [put(machine("m1")), put(claim)],
      [put(claim), put(machine("m1"))],
    ]) {
      const one = registry();
      one.apply([entry, group(), ...inputs]);
      assert.deepEqual(
        endpointsOf(one).map(({ addresses }) => addresses[0]),
        ["10.9.0.1"],
      );
      const [problem, ...others] = one.problems();
      assert.match(problem?.reason ?? "", /^claimed by 10\.9\.6\.6 too, .*: that of 10\.9\.0\.1, .*sa\/vm, stays$/);
      assert.equal(others.length, 0);
      one.apply([{ type: "machine", op: "delete", machine: claim }]);
      assert.deepEqual([endpointsOf(one).length, one.problems().length], [1, 0]);
    }
  });

  test(`the health of an entry is said by its proven machine, not by a newer claim ${proof}`, () => {
    const one = registry();
    const health = { healthy: false, message: "503", atMs: 2_000 };
    const claim = standsFor("by-hand", { identities, connectedAtMs: 9_000, health: { ...health, healthy: true } });
    const elsewhere = { ...claim, key: { ...claim.key, instance: "m2" } };
    one.apply([entry, written, put(standsFor("by-hand", { health })), put(claim), put(elsewhere)]);
    assert.equal(endpointsOf(one).length, 0, "the proven machine is not healthy");
    assert.equal(one.problems().filter(({ reason }) => /^claimed by/.test(reason)).length, 2);
  });
}

test("where identities are not validated, a proven machine still is not displaced by one without a proof", () => {
  const one = new Registry({ ...defaultRegistrySettings, validateMachines: false });
  one.apply([
    entry,
    group(),
    put(machine("m1")),
    put(machine("m1", { identities: [], address: "10.9.6.6", connectedAtMs: 9_000 })),
  ]);
  assert.deepEqual(
    endpointsOf(one).map(({ addresses }) => addresses[0]),
    ["10.9.0.1"],
  );
});
