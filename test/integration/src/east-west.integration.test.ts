/** A real Envoy as east-west gateway of an ambient mesh: TLS goes through it by the server name, to the services that TLSRoutes name. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { connect, createServer, type TLSSocket } from "node:tls";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { type EnvoyNode, envoyBootstrap, serveSecrets, startEnvoy } from "@flotilla/dataplane";
import { until } from "@flotilla/runtime";
import { findServer, freePort, freePorts } from "@flotilla/servers";
import { createTestAuthority, type TestAuthority } from "@flotilla/testkit";

const [gatewayIp, backendIp] = ["127.0.1.61", "127.0.1.62"];
const gatewayLabels = {
  "gateway.networking.k8s.io/gateway-name": "ew",
  "gateway.istio.io/managed": "istio.io-eastwest-controller",
};
const node: EnvoyNode = {
  ...{ type: "waypoint", name: "ew", namespace: "istio-system", serviceAccount: "ew", address: gatewayIp },
  labels: gatewayLabels,
  metadata: { NETWORK: "net1", REQUESTED_NETWORK_VIEW: "net1" },
};

const serviceWithPod = (name: string, namespace: string, ip: string, port: number, labels: object) => `
apiVersion: v1
kind: Service
metadata: {name: ${name}, namespace: ${namespace}}
spec: {clusterIP: None, ports: [{name: tls, port: ${port}}], selector: {app: ${name}}}
---
apiVersion: v1
kind: Pod
metadata: {name: ${name}, namespace: ${namespace}, labels: ${JSON.stringify({ app: name, ...labels })}}
spec: {nodeName: n1, serviceAccountName: ${name}}
status: {phase: Running, podIP: ${ip}, conditions: [{type: Ready, status: "True"}]}
---
apiVersion: discovery.k8s.io/v1
kind: EndpointSlice
metadata: {name: ${name}, namespace: ${namespace}, labels: {kubernetes.io/service-name: ${name}}}
addressType: IPv4
endpoints:
  - addresses: [${ip}]
    conditions: {ready: true}
    targetRef: {kind: Pod, name: ${name}, namespace: ${namespace}}
ports: [{name: tls, port: ${port}}]
---`;

/** The network of the cluster and the gateway of it. */
const gateway = (port: number) => `
apiVersion: v1
kind: Namespace
metadata: {name: istio-system, labels: {topology.istio.io/network: net1}}
---
apiVersion: gateway.networking.k8s.io/v1
kind: Gateway
metadata: {name: ew, namespace: istio-system, labels: {topology.istio.io/network: net1}}
spec:
  gatewayClassName: istio-east-west
  listeners:
    - name: mesh
      port: 15008
      protocol: HBONE
      tls: {mode: Terminate, options: {gateway.istio.io/tls-terminate-mode: ISTIO_MUTUAL}}
    - name: tls
      port: ${port}
      protocol: TLS
      hostname: "*.example"
      tls: {mode: Passthrough}
      allowedRoutes: {namespaces: {from: All}}
status: {addresses: [{type: IPAddress, value: ${gatewayIp}}]}
`;

const route = (hostname: string, port: number) => `
apiVersion: gateway.networking.k8s.io/v1
kind: TLSRoute
metadata: {name: api, namespace: shop}
spec:
  parentRefs: [{name: ew, namespace: istio-system}]
  hostnames: [${hostname}]
  rules: [{backendRefs: [{name: api, port: ${port}}]}]
`;

describe("a real Envoy as east-west gateway", () => {
  const owned = new AsyncDisposableStack();
  const work = mkdtempSync(join(tmpdir(), "flotilla-east-west-"));
  const config = join(work, "mesh");
  let authority: TestAuthority;
  let plane: ControlPlane;
  let [port, backendPort] = [0, 0];
  const write = (name: string, text: string): void => {
    writeFileSync(join(work, name), text);
    renameSync(join(work, name), join(config, `${name}.yaml`));
  };

  before(async () => {
    owned.defer(() => rmSync(work, { recursive: true, force: true }));
    mkdirSync(config);
    authority = await createTestAuthority();
    const { keyPem, certificatePem } = await authority.keyPair({ hosts: ["api.example", "www.example"] });
    // Envoy opens no port before it has the certificate of its tunnels.
    const secretSocket = join(work, "sds.sock");
    const certificate = { chain: certificatePem, key: keyPem, roots: authority.rootPem };
    owned.use(await serveSecrets(secretSocket, certificate));
    const backend = createServer({ key: keyPem, cert: certificatePem }, (socket) => socket.end("from the backend"));
    owned.defer(() => void backend.close());
    await once(backend.listen(0, backendIp), "listening");
    backendPort = (backend.address() as AddressInfo).port;
    port = await freePort();
    write("gateway", gateway(port));
    const [of, to] = [serviceWithPod("ew", "istio-system", gatewayIp, port, gatewayLabels), backendPort];
    write("services", `${of}${serviceWithPod("api", "shop", backendIp, to, {})}`);
    write("route", route("api.example", backendPort));
    const ambient = { PILOT_ENABLE_AMBIENT: "true", AMBIENT_ENABLE_MULTI_NETWORK: "true", LOG_LEVEL: "error" };
    plane = owned.use(
      await startControlPlane({
        options: {
          ...{ embedded: true, config, mesh: undefined, networks: undefined, workDir: join(work, "plane") },
          settings: { ...(process.env as Record<string, string>), ...ambient },
          firstPort: await freePorts(12),
        },
        logs: "files",
        onProgress: () => undefined,
      }),
    );
    await allReady(plane, 90_000, () => undefined, new AbortController().signal);
    const discoveryAddress = `127.0.0.1:${plane.layout.ports.xds}`;
    const binary = await findServer("envoy", { env: process.env });
    const bootstrap = envoyBootstrap({ node, discoveryAddress, delta: true, secretSocket, adminPort: 0 });
    owned.use(await startEnvoy({ binary, directory: work, name: "ew", bootstrap }));
  });
  after(() => owned.disposeAsync());

  /** The answer of the backend, over TLS that ends there alone. @throws Error of the connection */
  async function ask(servername: string): Promise<string> {
    const socket: TLSSocket = connect({ host: "127.0.0.1", port, servername, ca: authority.rootPem });
    let text = "";
    for await (const chunk of socket) text += chunk;
    return text;
  }
  const answers = (servername: string) =>
    until(() => ask(servername), { withinMs: 60_000, what: `an answer for ${servername}` });

  it("leads callers to the service of a route by the server name, and closes other connections", async () => {
    assert.equal(await answers("api.example"), "from the backend");
    await assert.rejects(ask("www.example"), /ECONNRESET|disconnected|socket hang up/);
  });

  it("follows the route to another name", async () => {
    write("route", route("www.example", backendPort));
    assert.equal(await answers("www.example"), "from the backend");
    await assert.rejects(ask("api.example"), /ECONNRESET|disconnected|socket hang up/);
  });
});
