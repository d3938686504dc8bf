/**
 * A stranger on the port without TLS claims to be a registered machine that has proven its identity on the secure one: the machine
 * keeps its endpoint, and the clash is reported.
 */
import assert from "node:assert/strict";
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { credentials } from "@grpc/grpc-js";

const objects = `apiVersion: networking.istio.io/v1
kind: WorkloadGroup
metadata: {name: vms, namespace: shop}
spec: {metadata: {labels: {app: vm}}, template: {serviceAccount: vm, ports: {http: 8080}}}
---
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: vm, namespace: shop}
spec:
  hosts: [vm.example]
  ports: [{number: 80, name: http, protocol: HTTP}]
  resolution: STATIC
  location: MESH_INTERNAL
  workloadSelector: {labels: {app: vm}}
`;
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });

describe("claims of a registered machine", () => {
  const workDir = mkdtempSync(join(tmpdir(), "flotilla-claims-"));
  const stop = new AbortController();
  const owned = new AsyncDisposableStack();
  let plane: ControlPlane;

  before(async () => {
    const config = join(workDir, "config");
    mkdirSync(config);
    writeFileSync(join(config, "vm.yaml"), objects);
    const options = {
      ...{ workDir, config, mesh: undefined, networks: undefined, embedded: true },
      firstPort: await freePorts(12),
      settings: { LOG_LEVEL: "silent" },
    };
    plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    await allReady(plane, 90_000, () => undefined, stop.signal);
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  /** As a proxy of the machine connects, from the address. */
  function connect(address: string, transport: Parameters<typeof grpcTransport>[0]): void {
    const client = new XdsClient({
      form: "delta",
      node: create(NodeSchema, {
        id: `sidecar~${address}~vm-1.shop~shop.svc.cluster.local`,
        metadata: { NAMESPACE: "shop", AUTO_REGISTER_GROUP: "vms", INSTANCE_IPS: address },
      }),
      transport: grpcTransport(transport),
      backoffMs: () => 500,
      onUpdate: () => undefined,
    });
    client.subscribe(typeUrl.cluster);
    const running = client.run(stop.signal);
    owned.defer(() => running);
  }
  const page = async (path: string): Promise<string> =>
    (await fetch(`http://127.0.0.1:${plane.layout.ports.serviceHealth}/debug/${path}`)).text();
  const addresses = async (): Promise<readonly string[]> =>
    (await page("endpointz?host=vm.example")).match(/10\.9\.0\.\d+/g) ?? [];

  it("are distinguished by their proofs: the proven one stays, and the clash is reported", async () => {
    const { ports } = plane.layout;
    const token = await (await openLocalIssuer(workDir)).mintToken({ namespace: "shop", serviceAccount: "vm" });
    const tls = credentials.createSsl(readFileSync(join(workDir, "root-cert.pem")));
    const secure = { address: `127.0.0.1:${ports.xdsTls}`, serverName: "istiod.istio-system.svc", tls, token };
    connect("10.9.0.1", secure);
    await until(async () => (await addresses()).includes("10.9.0.1"), soon("the machine's endpoint"));

    connect("10.9.0.66", { address: `127.0.0.1:${ports.xds}` });
    await until(async () => /claimed by 10\.9\.0\.66 too, not proven/.test(await page("problems")), soon("the clash"));
    assert.deepEqual([...new Set(await addresses())], ["10.9.0.1"]);
  });
});
