/**
 * An unmodified pilot-agent in router mode as ingress gateway, with a stock Envoy, over both forms of xDS: what callers from outside meet
 * there. It runs where PILOT_AGENT names its binary.
 */
import assert from "node:assert/strict";
import { X509Certificate } from "node:crypto";
import { mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { Agent, request } from "node:https";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { TLSSocket } from "node:tls";
import { openLocalIssuer } from "@flotilla/auth";
import { allReady, type ControlPlane, call, startControlPlane } from "@flotilla/cli/testing";
import {
  type EnvoyNode,
  type PilotAgent,
  type PilotAgentOptions,
  startEchoServer,
  startPilotAgent,
} from "@flotilla/dataplane";
import { delay, until } from "@flotilla/runtime";
import { findServer, freePorts } from "@flotilla/servers";
import { createTestAuthority, type KeyPair } from "@flotilla/testkit";

const namespace = "shop";
const [gatewayIp, webIp, echoIp] = ["127.0.1.31", "127.0.1.32", "127.0.1.33"];
const firstPort = await freePorts(4);
const [httpPort, httpsPort, webPort, echoPort] = [firstPort, firstPort + 1, firstPort + 2, firstPort + 3];
const nodeOf = (name: string, address: string, type: EnvoyNode["type"] = "sidecar"): EnvoyNode => ({
  ...{ type, name, namespace, serviceAccount: name, labels: { app: name }, address },
});
const sidecars = [nodeOf("web", webIp), nodeOf("echo", echoIp)];
const noAgent =
  process.env["PILOT_AGENT"] === undefined && "PILOT_AGENT names no binary: unmodified gateways were NOT tested";
if (noAgent !== false) console.warn(`      ${noAgent}`);

/** The caller `web` may not read what is secret; the gateway may. */
const objectsFor = (backendPort: number): string => `
apiVersion: networking.istio.io/v1
kind: ServiceEntry
metadata: {name: echo, namespace: shop}
spec:
  hosts: [echo.shop.svc.cluster.local]
  location: MESH_INTERNAL
  resolution: STATIC
  ports: [{number: ${webPort}, name: http, protocol: HTTP, targetPort: ${echoPort}}]
  endpoints: [{address: ${echoIp}, labels: {app: echo}, serviceAccount: echo}]
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: web, namespace: shop}
spec:
  workloadSelector: {labels: {app: web}}
  egress: [{port: {number: ${webPort}, protocol: HTTP, name: http}, bind: ${webIp}, captureMode: NONE, hosts: ["./*"]}]
---
apiVersion: networking.istio.io/v1
kind: Sidecar
metadata: {name: echo, namespace: shop}
spec:
  workloadSelector: {labels: {app: echo}}
  ingress:
    - port: {number: ${echoPort}, protocol: HTTP, name: http}
      bind: ${echoIp}
      captureMode: NONE
      defaultEndpoint: 127.0.0.1:${backendPort}
  egress: [{hosts: ["~/*"]}]
---
apiVersion: security.istio.io/v1
kind: PeerAuthentication
metadata: {name: default, namespace: shop}
spec: {mtls: {mode: STRICT}}
---
apiVersion: networking.istio.io/v1
kind: Gateway
metadata: {name: edge, namespace: shop}
spec:
  selector: {app: edge}
  servers:
    - {port: {number: ${httpPort}, name: http, protocol: HTTP}, bind: ${gatewayIp}, hosts: [shop.example]}
    - port: {number: ${httpsPort}, name: one, protocol: HTTPS}
      bind: ${gatewayIp}
      hosts: [one.example]
      tls: {mode: SIMPLE, credentialName: one}
    - port: {number: ${httpsPort}, name: two, protocol: HTTPS}
      bind: ${gatewayIp}
      hosts: [two.example]
      tls: {mode: SIMPLE, credentialName: two}
---
apiVersion: networking.istio.io/v1
kind: VirtualService
metadata: {name: edge, namespace: shop}
spec:
  hosts: [shop.example, one.example, two.example]
  gateways: [edge]
  http: [{route: [{destination: {host: echo.shop.svc.cluster.local}}]}]
---
apiVersion: security.istio.io/v1
kind: AuthorizationPolicy
metadata: {name: secret, namespace: shop}
spec:
  selector: {matchLabels: {app: echo}}
  action: DENY
  rules:
    - from: [{source: {principals: [cluster.local/ns/shop/sa/web]}}]
      to: [{operation: {paths: ["/secret*"]}}]
`;

describe("an unmodified gateway", { skip: noAgent }, async () => {
  const workDir = mkdtempSync(join(tmpdir(), "fg-"));
  const owned = new AsyncDisposableStack();
  const stop = new AbortController();
  const authority = await createTestAuthority();
  let plane: ControlPlane;
  let config: string;

  const writeSecret = (name: string, { certificatePem, keyPem }: KeyPair): void => {
    const data = { "tls.crt": certificatePem, "tls.key": keyPem };
    const texts = Object.entries(data).map(([key, pem]) => [key, Buffer.from(pem).toString("base64")]);
    const secret = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace }, data: Object.fromEntries(texts) };
    const file = join(config, `secret-${name}.yaml`);
    writeFileSync(`${file}.new`, JSON.stringify(secret));
    renameSync(`${file}.new`, file);
  };

  async function startAgent(node: EnvoyNode, more: Partial<PilotAgentOptions> = {}): Promise<PilotAgent> {
    const ports = await freePorts(2);
    const issuer = await openLocalIssuer(workDir);
    return startPilotAgent({
      binary: process.env["PILOT_AGENT"] ?? "",
      envoy: await findServer("envoy", { env: process.env }),
      ...{ node, discoveryName: "istiod.istio-system.svc", certificateTtl: "1h" },
      directory: join(workDir, node.name),
      discoveryAddress: `127.0.0.1:${plane.layout.ports.xdsTls}`,
      rootFile: join(workDir, "root-cert.pem"),
      token: await issuer.mintToken({ namespace, serviceAccount: node.serviceAccount }),
      ...{ adminPort: ports, statusPort: ports + 1 },
      ...more,
    });
  }

  before(async () => {
    const backend = owned.use(await startEchoServer("v1"));
    config = join(workDir, "mesh");
    mkdirSync(config);
    writeFileSync(join(config, "mesh.yaml"), objectsFor(backend.port));
    for (const name of ["one", "two"]) writeSecret(name, await authority.keyPair({ hosts: [`${name}.example`] }));
    const settings = Object.fromEntries(
      Object.entries(process.env).filter((entry): entry is [string, string] => entry[1] !== undefined),
    );
    const options = {
      ...{ workDir, config, mesh: undefined, networks: undefined },
      ...{ embedded: false, firstPort: await freePorts(20), settings },
    };
    plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    plane.ended.catch(() => undefined);
    await allReady(plane, 240_000, () => undefined, stop.signal);
    const agents = await Promise.all(sidecars.map((node) => startAgent(node)));
    for (const agent of agents) owned.use(agent);
    await Promise.all(agents.map((agent) => agent.ready(120_000)));
  });
  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  const throughGateway = (path: string, host = "shop.example") =>
    call(host, {}, path, { host: gatewayIp, port: httpPort });
  const overTls = (name: string) => httpsCall(`${name}.example`, authority.rootPem);
  const fingerprint = ({ certificatePem }: KeyPair) => new X509Certificate(certificatePem).fingerprint256;

  for (const stateOfTheWorld of [false, true])
    describe(`over ${stateOfTheWorld ? "the state of the world" : "delta"}`, () => {
      let gateway: PilotAgent;
      before(async () => {
        const directory = join(workDir, stateOfTheWorld ? "sotw" : "delta");
        gateway = await startAgent(nodeOf("edge", gatewayIp, "router"), { stateOfTheWorld, directory });
        await gateway.ready(120_000);
        await until(async () => (await throughGateway("/")).status === 200, { withinMs: 60_000, what: "an answer" });
        for (const name of ["one", "two"])
          await until(() => overTls(name).then(Boolean, () => false), { withinMs: 60_000, what: `${name}.example` });
      });
      after(() => gateway[Symbol.asyncDispose]());

      it("calls back ends as itself, by mutual TLS, where another principal may not", async () => {
        const ofWeb = { host: webIp, port: webPort };
        assert.equal((await call(`echo.shop.svc.cluster.local:${webPort}`, {}, "/secret", ofWeb)).status, 403);
        const { status, reply } = await throughGateway("/secret");
        assert.deepEqual([status, reply?.version], [200, "v1"]);
        assert.match(
          String(reply?.headers["x-forwarded-client-cert"]),
          /URI=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/edge/,
        );
      });

      it("answers 404 for a host without a route", async () =>
        assert.equal((await throughGateway("/", "nobody.example")).status, 404));

      it("shows the certificate of each server name, and a new one under load without a failed request", async () => {
        const two = (await overTls("two")).fingerprint;
        const next = await authority.keyPair({ hosts: ["one.example"] });
        const failed: string[] = [];
        let [sent, isDone] = [0, false];
        const load = (async () => {
          while (!isDone) {
            sent++;
            const { status } = await overTls("one").catch((error: Error) => ({ status: error.message }));
            if (status !== 200) failed.push(String(status));
            await delay(5, stop.signal);
          }
        })();
        try {
          await until(() => sent > 20, { withinMs: 60_000, what: "load" });
          writeSecret("one", next);
          const isShown = async () => (await overTls("one")).fingerprint === fingerprint(next);
          await until(isShown, { withinMs: 60_000, what: "the new certificate" });
        } finally {
          isDone = true;
          await load;
        }
        console.log(`      ${sent} requests`);
        assert.deepEqual(failed, []);
        assert.equal((await overTls("two")).fingerprint, two);
      });
    });
});

interface TlsAnswer {
  readonly status: number;
  readonly fingerprint: string;
}

/** On a connection of its own. Rejects where the handshake fails. */
function httpsCall(host: string, rootPem: string): Promise<TlsAnswer> {
  const agent = new Agent({ keepAlive: false, maxCachedSessions: 0 });
  const { promise, resolve, reject } = Promise.withResolvers<TlsAnswer>();
  const options = { host: gatewayIp, port: httpsPort, agent, servername: host, ca: rootPem, headers: { host } };
  const sent = request(options, (response) => {
    const { fingerprint256: fingerprint } = (response.socket as TLSSocket).getPeerCertificate();
    response.resume().once("error", reject);
    response.once("end", () => resolve({ status: response.statusCode ?? 0, fingerprint }));
  });
  sent.once("error", reject).end();
  return promise;
}
