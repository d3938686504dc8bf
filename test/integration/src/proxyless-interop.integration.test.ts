/**
 * grpc-go's interop client and servers, configured by a control plane in this process. They run where GRPC_INTEROP names their folder.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import type { JsonObject } from "@flotilla/proto";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { createTestAuthority, type TestAuthority } from "@flotilla/testkit";
import {
  type InteropAnswers,
  type InteropClient,
  missingInterop,
  startInteropClient,
  startInteropServer,
} from "./proxyless/interop.ts";
import { aLocalService, startTestMesh, type TestMesh } from "./proxyless/mesh.ts";
import { writeBootstrap } from "./proxyless/programs.ts";

const folder = process.env["GRPC_INTEROP"] ?? "";
const skip = missingInterop(process.env["GRPC_INTEROP"]);
if (skip !== false) console.warn(`      ${skip}`);

const host = "echo.demo.svc.cluster.local";
const unary = "/grpc.testing.TestService/UnaryCall";
const empty = "/grpc.testing.TestService/EmptyCall";

describe("grpc-go's interop programs", { skip }, () => {
  const owned = new AsyncDisposableStack();
  let mesh: TestMesh;
  let authority: TestAuthority;
  let client: InteropClient;
  let ports: readonly number[];
  const servers = new Map<string, AsyncDisposable>();

  async function environment(name: string, account: string): Promise<NodeJS.ProcessEnv> {
    const pair = await authority.keyPair({ hosts: [`spiffe://cluster.local/ns/demo/sa/${account}`] });
    const certificate = { ...pair, rootPem: authority.rootPem };
    const locality = { region: "eu", zone: "eu-1" };
    return writeBootstrap(mesh.directory, mesh.xdsPort, { name, labels: { app: account }, locality, certificate });
  }

  async function startServer(name: string, account: string, port: number, secure = false): Promise<void> {
    const env = await environment(name, account);
    const maintenancePort = ports.at(servers.size + 5) ?? 0;
    servers.set(name, owned.use(startInteropServer({ folder, env, name, port, maintenancePort, secure })));
  }

  async function startClient(
    target: string,
    place: number,
    secure: boolean,
    account = "client",
  ): Promise<InteropClient> {
    const env = await environment(`${account}-${place}`, account);
    return owned.use(startInteropClient({ folder, env, target, statsPort: ports.at(place) ?? 0, secure }));
  }

  /** Waits for calls that were answered in this way. */
  async function answered(
    what: string,
    isRight: (answers: InteropAnswers) => boolean,
    by: InteropClient = client,
  ): Promise<void> {
    let last: InteropAnswers | undefined;
    const look = async () => {
      last = await by.answers(40);
      return isRight(last);
    };
    await until(look, { withinMs: 60_000, what }).catch((cause: unknown) => {
      throw new Error(`${what}: the last answers were ${JSON.stringify(last)}`, { cause });
    });
  }

  const only =
    (...names: readonly string[]) =>
    (answers: InteropAnswers) =>
      answers.failed === 0 &&
      JSON.stringify(Object.keys(answers.byServer).sort()) === JSON.stringify([...names].sort());
  const subset = (name: string) => ({ destination: { host, subset: name } });
  const put = (kind: string, name: string, spec: object) => mesh.put(kind, name, spec as JsonObject);
  const route = (...http: readonly object[]) => put("VirtualService", "echo", { hosts: [host], http });
  const rule = (policy?: object) =>
    put("DestinationRule", "echo", {
      host,
      subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })),
      ...(policy && { trafficPolicy: policy }),
    });

  before(async () => {
    mesh = owned.use(await startTestMesh({ ENABLE_GRPC_OUTLIER_DETECTION: "true" }));
    authority = await createTestAuthority();
    const firstPort = await freePorts(16);
    ports = Array.from({ length: 16 }, (_, index) => firstPort + index);
    const versions = ["v1", "v2"].map((version, index) => ({ version, port: firstPort + index }));
    put("ServiceEntry", "echo", aLocalService(host, "echo", versions));
    rule();
    for (const { version, port } of versions) await startServer(version, "echo", port);
    client = await startClient(`xds:///${host}:80`, 12, false);
  });
  after(() => owned.disposeAsync());

  it("url map: subsets by path and by header", async () => {
    await answered("both servers", only("v1", "v2"));
    route(
      { match: [{ uri: { exact: empty } }], route: [subset("v2")] },
      { match: [{ uri: { prefix: unary }, headers: { "x-canary": { regex: "y.s" } } }], route: [subset("v2")] },
      { route: [subset("v1")] },
    );
    await answered("the route without a match", only("v1"));
    await client.configure("UnaryCall", { "x-canary": "yes" });
    await answered("the route of the header", only("v2"));
    await client.configure("UnaryCall", { "x-canary": "no" });
    await answered("the route without a match", only("v1"));
    await client.configure("EmptyCall");
    await answered("the route of the path", only("v2"));
    await client.configure("UnaryCall");
  });

  it("weights", async () => {
    route({
      route: [
        { ...subset("v1"), weight: 80 },
        { ...subset("v2"), weight: 20 },
      ],
    });
    await answered("both servers", only("v1", "v2"));
    const { byServer, failed } = await client.answers(400);
    // Six standard deviations of a share of 320.
    assert.ok((byServer["v1"] ?? 0) > 272 && (byServer["v1"] ?? 0) < 368 && failed === 0, JSON.stringify(byServer));
  });

  it("faults", async () => {
    route({ fault: { abort: { grpcStatus: "DATA_LOSS", percentage: { value: 100 } } }, route: [subset("v1")] });
    await answered("no answers", ({ failed }) => failed === 40);
    route({ route: [subset("v1")] });
    await answered("answers again", only("v1"));
  });

  it("affinity: one server for one header value", async () => {
    mesh.remove("VirtualService", "echo");
    rule({ loadBalancer: { consistentHash: { httpHeaderName: "x-user" } } });
    await client.configure("UnaryCall", { "x-user": "a" });
    await answered("one server", ({ byServer, failed }) => failed === 0 && Object.keys(byServer).length === 1);
    await client.configure("UnaryCall");
  });

  it("circuit breaking: calls above the bound fail", async () => {
    rule();
    await client.configure("UnaryCall", { "rpc-behavior": "sleep-1" });
    await answered("answers of all slow calls", only("v1", "v2"));
    rule({ connectionPool: { http: { http2MaxRequests: 5 } } });
    await answered("most calls refused", ({ failed }) => failed > 20 && failed < 40);
    rule();
    await answered("answers of all slow calls", only("v1", "v2"));
    await client.configure("UnaryCall");
  });

  it("outlier detection: a server that fails gets no calls", async () => {
    await answered("both servers", only("v1", "v2"));
    await client.configure("UnaryCall", { "rpc-behavior": "hostname=v2 error-code-2" });
    await answered("errors of one server", ({ failed }) => failed > 10);
    rule({
      outlierDetection: { consecutive5xxErrors: 5, interval: "1s", baseEjectionTime: "60s", maxEjectionPercent: 50 },
    });
    await answered("answers of the other server alone", only("v1"));
    rule();
    await client.configure("UnaryCall");
    await answered("both servers", only("v1", "v2"));
  });

  it("failover, and the way back", async () => {
    const far = "far.demo.svc.cluster.local";
    const [near = 0, other = 0] = ports;
    const endpoints = [
      { version: "v1", port: near, locality: "eu/eu-1" },
      { version: "v2", port: other, locality: "us/us-1" },
    ];
    put("DestinationRule", "far", { host: far, trafficPolicy: { outlierDetection: { consecutive5xxErrors: 5 } } });
    put("ServiceEntry", "far", aLocalService(far, "echo", endpoints));
    const calling = await startClient(`xds:///${far}:80`, 13, false);
    await answered("the own locality", only("v1"), calling);
    await servers.get("v1")?.[Symbol.asyncDispose]();
    await answered("the other locality", only("v2"), calling);
    await startServer("v1", "echo", near);
    await answered("the own locality again", only("v1"), calling);
  });

  it("mutual TLS and authorization", async () => {
    const safe = "safe.demo.svc.cluster.local";
    const port = ports.at(2) ?? 0;
    const selector = { matchLabels: { app: "safe" } };
    const rules = [
      {
        from: [{ source: { principals: ["cluster.local/ns/demo/sa/client"] } }],
        to: [{ operation: { paths: [unary] } }],
      },
    ];
    put("ServiceEntry", "safe", aLocalService(safe, "safe", [{ version: "v1", port }]));
    put("PeerAuthentication", "safe", { selector, mtls: { mode: "STRICT" } });
    put("AuthorizationPolicy", "safe", { selector, rules });
    put("DestinationRule", "safe", { host: safe, trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } });
    await startServer("safe", "safe", port, true);
    const friend = await startClient(`xds:///${safe}:80`, 14, true);
    await answered("an answer over TLS", only("safe"), friend);
    const stranger = await startClient(`xds:///${safe}:80`, 15, true, "stranger");
    await answered("a stranger refused", ({ failed }) => failed === 40, stranger);
    put("AuthorizationPolicy", "safe", { selector, action: "DENY", rules });
    await answered("the caller refused", ({ failed }) => failed === 40, friend);
    await answered("the stranger let in", only("safe"), stranger);
    put("AuthorizationPolicy", "safe", { selector });
    await answered("no caller let in", ({ failed }) => failed === 40, stranger);
    mesh.remove("AuthorizationPolicy", "safe");
    await answered("everybody let in", only("safe"), friend);
  });
});
