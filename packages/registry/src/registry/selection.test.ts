import assert from "node:assert/strict";
import { test } from "node:test";
import { config, put, registry, service } from "./sample-objects.fixture.ts";

const kinds = { ip: "10.2.0.1", name: "vm.example", socket: "unix:///run/app.sock" };

/** `address:port` of what the host of each resolution gets; observed at a running istiod. */
const expected: Readonly<Record<string, readonly string[]>> = {
  static: ["10.2.0.1:8080"],
  none: ["10.2.0.1:8080"],
  dns: ["10.2.0.1:8080", "vm.example:8080", "/run/app.sock:0"],
  "dns-round-robin": ["10.2.0.1:8080"],
  service: ["10.2.0.1:80"],
};

const one = registry();
one.apply([
  put(service("service", { ports: [{ name: "http", port: 80 }], selector: { app: "vm" } })),
  ...Object.entries(kinds).map(([name, address]) => config("WorkloadEntry", name, { address, labels: { app: "vm" } })),
  ...["STATIC", "NONE", "DNS", "DNS_ROUND_ROBIN"].map((resolution) => {
    const name = resolution.toLowerCase().replaceAll("_", "-");
    const ports = [{ number: 80, targetPort: 8080, name: "http" }];
    const spec = { hosts: [`${name}.example`], ports, resolution, workloadSelector: { labels: { app: "vm" } } };
    return config("ServiceEntry", name, spec);
  }),
]);

for (const [name, addresses] of Object.entries(expected)) {
  test(`${name} takes ${addresses.length} of an address, a name and a socket`, () => {
    const found = one.state().flatMap((change) => {
      if (change.type !== "endpoints" || change.op === "delete" || !change.key.hostname.startsWith(`${name}.`))
        return [];
      return change.value.map(({ addresses: [address], port }) => `${address}:${port}`);
    });
    assert.deepEqual(found, addresses);
  });
}

test("the network of a machine is what it says itself", () => {
  const two = registry();
  const labels = { app: "vm", "topology.istio.io/network": "by-label" };
  two.apply([
    put({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name: "istio-system", labels: { "topology.istio.io/network": "x" } },
    }),
    config("WorkloadEntry", "a", { address: "10.2.0.1", labels }),
    config("WorkloadEntry", "b", { address: "10.2.0.2", labels: { app: "vm" }, network: "own" }),
    put(service("s", { selector: { app: "vm" } })),
  ]);
  const networks = two
    .state()
    .flatMap((change) =>
      change.type === "endpoints" && change.op === "put" ? change.value.map(({ network }) => network) : [],
    );
  assert.deepEqual(networks, ["", "own"]);
});
