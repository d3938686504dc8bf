/** Workloads of the registry file over service-controller, real NATS and xds-server, as ztunnels are sent them by istio.workload.Address. */
import assert from "node:assert/strict";
import { mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { decode, typeUrl } from "@flotilla/proto";
import { AddressSchema, TunnelProtocol, WorkloadStatus } from "@flotilla/proto/istio/workload/workload_pb";
import { until } from "@flotilla/runtime";
import { startRedis } from "@flotilla/servers";
import { ZtunnelClient } from "./ambient/ztunnel-client.ts";
import { startFleet } from "./clusters/fleet.ts";

const ambient = { PILOT_ENABLE_AMBIENT: "true" };
const service = "bank/ledger.bank.example";
const uid = (address: string) => `Kubernetes/File/FileEndpoint/${service}/${address}`;
const soon = (what: string) => ({ withinMs: 60_000, what });

const head = `
services:
  - host: ledger.bank.example
    namespace: bank
    addresses: [10.3.0.7]
    ports: [{name: http, number: 80, protocol: HTTP, targetPort: 8080}]
    endpoints:
      - {address: 192.0.2.1, locality: eu/eu-1, weight: 2, serviceAccount: ledger, network: office}
`;
const tunnelled = `      - {address: 192.0.2.2, labels: {networking.istio.io/tunnel: http}, health: unhealthy}\n`;

describe("the registry file in an ambient mesh", () => {
  const owned = new AsyncDisposableStack();
  const work = mkdtempSync(join(tmpdir(), "flotilla-ambient-file-"));
  const path = join(work, "registry.yaml");
  let client: ZtunnelClient;
  const write = (text: string) => {
    writeFileSync(`${path}.new`, text);
    renameSync(`${path}.new`, path);
  };
  const held = (name: string) => decode(AddressSchema, client.bytes(name)).type;
  const workload = (address: string) => {
    const { value, case: kind } = held(uid(address));
    assert.equal(kind, "workload");
    return value as Extract<ReturnType<typeof held>, { case: "workload" }>["value"];
  };

  before(async () => {
    owned.defer(() => rmSync(work, { recursive: true, force: true }));
    write(head + tunnelled);
    const redis = owned.use(await startRedis({ directory: join(work, "redis"), env: process.env }));
    const fleet = owned.use(await startFleet({ ...ambient, STORE_URL: redis.url }));
    await fleet.startServiceController("registry", { ...ambient, REGISTRY_FILE: path });
    client = owned.use(new ZtunnelClient(fleet.xdsAddress, typeUrl.address, undefined, { keepBytes: true }));
    await until(() => client.held.length === 3, soon("the service with its workloads"));
  });
  after(() => owned.disposeAsync());

  it("a service has its address, and its endpoints are workloads with what the file declares", () => {
    assert.deepEqual(client.held.toSorted(), [uid("192.0.2.1"), uid("192.0.2.2"), service].sort());
    const { case: kind, value } = held(service);
    assert.ok(kind === "service");
    assert.deepEqual(
      value.addresses.map(({ network, address }) => `${network}/${address.join(".")}`),
      ["/10.3.0.7"],
    );
    const { name, namespace, network, serviceAccount, capacity, tunnelProtocol, services } = workload("192.0.2.1");
    assert.deepEqual(
      { name, namespace, network, serviceAccount, capacity, tunnelProtocol },
      {
        ...{ name: "ledger.bank.example", namespace: "bank", network: "office", serviceAccount: "ledger" },
        ...{ capacity: 2, tunnelProtocol: TunnelProtocol.NONE },
      },
    );
    assert.deepEqual(
      services[service]?.ports.map(({ servicePort, targetPort }) => [servicePort, targetPort]),
      [[80, 8080]],
    );
    const second = workload("192.0.2.2");
    assert.deepEqual(
      [second.tunnelProtocol, second.nativeTunnel, second.status],
      [TunnelProtocol.HBONE, true, WorkloadStatus.UNHEALTHY],
    );
  });

  it("an endpoint that leaves the file is one removal", async () => {
    client.forget();
    write(head);
    await until(() => client.updates.length > 0, soon("the removal"));
    assert.deepEqual(client.updates, [[`-${uid("192.0.2.2")}`]]);
  });
});
