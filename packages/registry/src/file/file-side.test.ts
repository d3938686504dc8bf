import assert from "node:assert/strict";
import { test } from "node:test";
import { registry } from "../registry/sample-objects.fixture.ts";
import type { FileChange } from "./file-service.ts";

const http = { name: "http", number: 80, protocol: "HTTP", targetPort: 8080 };
const ledger = {
  host: "ledger.bank.example",
  namespace: "bank",
  addresses: ["10.3.0.7"],
  ports: [http, { name: "tcp", number: 90 }],
  labels: { app: "ledger" },
  endpoints: [
    { address: "192.0.2.1", labels: { version: "v1" }, locality: "eu/eu-1", weight: 2, serviceAccount: "ledger" },
    { address: "192.0.2.2", ports: { http: 8081 }, health: "unhealthy" },
  ],
};
const plain = { host: "plain.example", ports: [http] };

function file(...services: readonly unknown[]): FileChange {
  return { type: "file", services };
}

/** `host`, and its endpoints as `address:port health`. */
function view(one: ReturnType<typeof registry>): Readonly<Record<string, readonly string[]>> {
  const found: Record<string, readonly string[]> = {};
  for (const change of one.state()) {
    if (change.op === "delete") continue;
    if (change.type === "service") found[change.key.hostname] ??= [];
    else if (change.type === "endpoints")
      found[change.key.hostname] = change.value.map((e) => `${e.addresses[0]}:${e.port} ${e.health}`);
  }
  return found;
}

test("a service of the file is one of the mesh, with its endpoints", () => {
  const one = registry();
  const { changes } = one.apply([file(ledger, plain)]);
  assert.deepEqual(view(one), {
    "ledger.bank.example": [
      "192.0.2.1:8080 unknown",
      "192.0.2.1:90 unknown",
      "192.0.2.2:8081 unhealthy",
      "192.0.2.2:90 unhealthy",
    ],
    "plain.example": [],
  });
  const service = changes.find(({ type }) => type === "service");
  assert.ok(service?.type === "service" && service.op === "put");
  assert.deepEqual(service.key, {
    shard: "File/Kubernetes",
    namespace: "bank",
    hostname: "ledger.bank.example",
    name: "ledger.bank.example",
  });
  const { registry: from, defaultAddress, meshExternal, resolution, definedBy } = service.value;
  assert.deepEqual(
    { from, defaultAddress, meshExternal, resolution, definedBy },
    {
      from: "File",
      defaultAddress: "10.3.0.7",
      meshExternal: false,
      resolution: "client-side",
      definedBy: "File/bank/ledger.bank.example",
    },
  );
  const endpoints = changes.find(({ type }) => type === "endpoints");
  assert.ok(endpoints?.type === "endpoints" && endpoints.op === "put");
  const [first] = endpoints.value;
  assert.deepEqual(
    [first?.serviceAccount, first?.locality, first?.weight, first?.tlsMode, first?.labels["version"]],
    ["spiffe://cluster.local/ns/bank/sa/ledger", "eu/eu-1", 2, "istio", "v1"],
  );
});

test("services removed from the file are deleted, equal ones publish nothing, and names are resolved by proxies", () => {
  const one = registry();
  one.apply([file(ledger, plain)]);
  assert.deepEqual(one.apply([file({ ...ledger }, plain)]).changes, []);
  const dns = { ...plain, resolution: "dns", location: "external", endpoints: [{ address: "a.example" }] };
  const { urgent } = one.apply([file(dns)]);
  assert.equal(urgent, true);
  assert.deepEqual(view(one), { "plain.example": ["a.example:8080 unknown"] });
  one.apply([file()]);
  assert.deepEqual(view(one), {});
});

const wrong: readonly (readonly [unknown, string])[] = [
  ["text", "services[1] : is no map of fields"],
  [{ ports: [http] }, "services[1] host: is missing"],
  [{ host: "not a host", ports: [http] }, 'File/default/not a host host: "not a host" is no host name'],
  [{ host: "a.example" }, "File/default/a.example ports: is missing"],
  [{ host: "a.example", ports: [] }, "File/default/a.example ports: is empty"],
  [
    { host: "a.example", ports: [{ ...http, number: 0 }] },
    "File/default/a.example ports[0].number: 0 is no number from 1 to 65535",
  ],
  [
    { host: "a.example", ports: [{ ...http, protocol: "pigeon" }] },
    'File/default/a.example ports[0].protocol: "pigeon" is no protocol, such as HTTP, GRPC, TCP or TLS',
  ],
  [
    { host: "a.example", ports: [http, http] },
    `File/default/a.example ports[1].name: "http" is another port's name too`,
  ],
  [
    { ...plain, namespace: "n", endpoints: [{ address: "a.example" }] },
    'File/n/plain.example endpoints[0].address: "a.example" is no address; names need "resolution: dns"',
  ],
  [
    { ...plain, namespace: "n", endpoints: [{ address: "192.0.2.1", health: "fine" }] },
    'File/n/plain.example endpoints[0].health: "fine" is none of healthy, unhealthy, draining',
  ],
  [
    { ...plain, namespace: "n", endpoints: [{ address: "192.0.2.1", ports: { grpc: 1 } }] },
    "File/n/plain.example endpoints[0].ports.grpc: the service has no port of that name",
  ],
  [
    { ...plain, namespace: "n", adresses: ["10.0.0.1"] },
    "File/n/plain.example adresses: is not known; there are host, ports, namespace, addresses, location, resolution, labels, exportTo, endpoints",
  ],
  [plain, "File/default/plain.example host: is in the file already: the first holds"],
];

for (const [value, says] of wrong) {
  test(`reported of: ${says}`, () => {
    const one = registry();
    one.apply([file(plain, value)]);
    assert.deepEqual(
      one.problems().map(({ object, field, reason }) => `${object} ${field}: ${reason}`),
      [says],
    );
    assert.deepEqual(Object.keys(view(one)), ["plain.example"]);
  });
}

test("a service that becomes wrong keeps its last good version", () => {
  const one = registry();
  one.apply([file(ledger, plain)]);
  const before = view(one);
  assert.deepEqual(one.apply([file({ ...ledger, ports: "none" }, plain)]).changes, []);
  assert.deepEqual(view(one), before);
  assert.equal(one.problems()[0]?.object, "File/bank/ledger.bank.example");
});
