/**
 * gRPC programs without a proxy: clients and servers with the Node library's own xDS, configured by a control plane in this process.
 */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { createTestAuthority, type TestAuthority } from "@flotilla/testkit";
import { aLocalService, startTestMesh, type TestMesh } from "./proxyless/mesh.ts";
import type { Answers, CallRequest } from "./proxyless/program.ts";
import { type NodeClient, startNodeClient, startNodeServer, writeBootstrap } from "./proxyless/programs.ts";

const host = "echo.demo.svc.cluster.local";
const soon = (what: string) => ({ withinMs: 60_000, what });

describe("gRPC programs without a proxy", () => {
  const owned = new AsyncDisposableStack();
  let mesh: TestMesh;
  let client: NodeClient;
  let authority: TestAuthority;
  let firstPort: number;
  let v1: AsyncDisposable;

  /** A program with a certificate of the account. */
  async function environment(name: string, account: string): Promise<NodeJS.ProcessEnv> {
    const pair = await authority.keyPair({ hosts: [`spiffe://cluster.local/ns/demo/sa/${account}`] });
    const certificate = { ...pair, rootPem: authority.rootPem };
    const locality = { region: "eu", zone: "eu-1" };
    const env = writeBootstrap(mesh.directory, mesh.xdsPort, { name, labels: { app: account }, locality, certificate });
    return { ...env, GRPC_XDS_EXPERIMENTAL_RBAC: "true" };
  }

  /** Calls until the answers are these and no others. */
  async function answered(by: readonly string[], request: Partial<CallRequest> = {}): Promise<void> {
    let last: Answers = {};
    const isAnswered = async () => {
      last = await client.call(`xds:///${host}:80`, { count: 4 * by.length, ...request });
      return JSON.stringify(Object.keys(last).sort()) === JSON.stringify([...by].sort());
    };
    await until(isAnswered, soon(`answers of ${by.join(" and ")}`)).catch((cause: unknown) => {
      throw new Error(`the last answers were ${JSON.stringify(last)}`, { cause });
    });
  }

  const subset = (name: string) => ({ destination: { host, subset: name } });
  const route = (...http: object[]) => mesh.put("VirtualService", "echo", { hosts: [host], http } as never);
  const rule = (policy?: object) =>
    mesh.put("DestinationRule", "echo", {
      host,
      subsets: ["v1", "v2"].map((version) => ({ name: version, labels: { version } })),
      ...(policy && { trafficPolicy: policy }),
    } as never);

  before(async () => {
    mesh = owned.use(await startTestMesh());
    authority = await createTestAuthority();
    firstPort = await freePorts(3);
    const versions = ["v1", "v2"].map((version, index) => ({ version, port: firstPort + index }));
    mesh.put("ServiceEntry", "echo", aLocalService(host, "echo", versions));
    rule();
    v1 = await startNodeServer(await environment("v1", "echo"), "v1", `127.0.0.1:${firstPort}`);
    owned.defer(() => v1[Symbol.asyncDispose]());
    owned.use(await startNodeServer(await environment("v2", "echo"), "v2", `127.0.0.1:${firstPort + 1}`));
    client = owned.use(startNodeClient(await environment("client", "client")));
  });
  after(() => owned.disposeAsync());

  it("calls all endpoints of a service, by any of its names", async () => {
    await answered(["v1", "v2"]);
    const { v1: one = 0, v2: two = 0, ...others } = await client.call("xds:///echo:80", { count: 10 });
    assert.deepEqual([others, one + two], [{}, 10]);
  });

  it("follows a route's subset, and its change", async () => {
    route({ route: [subset("v1")] });
    await answered(["v1"]);
    route({ route: [subset("v2")] });
    await answered(["v2"]);
  });

  it("splits calls by weight", async () => {
    route({
      route: [
        { ...subset("v1"), weight: 80 },
        { ...subset("v2"), weight: 20 },
      ],
    });
    await answered(["v1", "v2"], { count: 50 });
    const { v1: one = 0, ...others } = await client.call(`xds:///${host}:80`, { count: 400 });
    // Six standard deviations: one run in 10⁹ is outside.
    assert.ok(one > 270 && one < 370, `${one} of 400 calls at a weight of 80 %: ${JSON.stringify(others)}`);
  });

  it("matches headers and paths", async () => {
    route(
      { match: [{ headers: { "x-canary": { exact: "yes" } } }], route: [subset("v2")] },
      { match: [{ uri: { prefix: "/demo.Echo/Hi" } }], route: [subset("v2")] },
      { route: [subset("v1")] },
    );
    await answered(["v1"]);
    await answered(["v2"], { headers: { "x-canary": "yes" } });
    await answered(["v1"], { headers: { "x-canary": "no" } });
    await answered(["v2"], { method: "/demo.Echo/Hide" });
  });

  it("injects faults", async () => {
    route({ fault: { abort: { grpcStatus: "DATA_LOSS", percentage: { value: 100 } } }, route: [subset("v1")] });
    await until(
      async () => Object.keys(await client.call(`xds:///${host}:80`))[0]?.startsWith("DATA_LOSS"),
      soon("faults"),
    );
    route({ route: [subset("v1")] });
    await answered(["v1"]);
  });

  it("keeps calls of one header value at one endpoint", async () => {
    mesh.remove("VirtualService", "echo");
    rule({ loadBalancer: { consistentHash: { httpHeaderName: "x-user" } } });
    const endpointsOf = async (user: string) => {
      const answers = await client.call(`xds:///${host}:80`, { count: 6, headers: { "x-user": user } });
      return Object.keys(answers).length;
    };
    const users = ["a", "b", "c", "d", "e", "f"];
    const isKept = async () => {
      for (const user of users) if ((await endpointsOf(user)) !== 1) return false;
      return true;
    };
    await until(isKept, soon("a hash ring"));
  });

  it("goes to another locality when its own is gone", async () => {
    const far = "far.demo.svc.cluster.local";
    const endpoints = [
      { version: "v1", port: firstPort, locality: "eu/eu-1" },
      { version: "v2", port: firstPort + 1, locality: "us/us-1" },
    ];
    mesh.put("DestinationRule", "far", { host: far, trafficPolicy: { outlierDetection: { consecutive5xxErrors: 1 } } });
    mesh.put("ServiceEntry", "far", aLocalService(far, "echo", endpoints));
    const near = async () => JSON.stringify(await client.call(`xds:///${far}:80`, { count: 6 })) === '{"v1":6}';
    await until(near, soon("answers of the own locality alone"));
    await v1[Symbol.asyncDispose]();
    await until(async () => "v2" in (await client.call(`xds:///${far}:80`)), soon("the other locality"));
  });

  it("demands and checks identities of both sides, and who may call which method", async () => {
    const safe = "safe.demo.svc.cluster.local";
    const selector = { matchLabels: { app: "safe" } };
    const rules = [
      {
        from: [{ source: { principals: ["cluster.local/ns/demo/sa/client"] } }],
        to: [{ operation: { paths: ["/demo.Echo/Say"] } }],
      },
    ];
    mesh.put("ServiceEntry", "safe", aLocalService(safe, "safe", [{ version: "v1", port: firstPort + 2 }]));
    mesh.put("PeerAuthentication", "safe", { selector, mtls: { mode: "STRICT" } });
    mesh.put("AuthorizationPolicy", "safe", { selector, rules });
    mesh.put("DestinationRule", "safe", { host: safe, trafficPolicy: { tls: { mode: "ISTIO_MUTUAL" } } });
    const address = `127.0.0.1:${firstPort + 2}`;
    await using _ = await startNodeServer(await environment("safe", "safe"), "safe", address);
    await using stranger = startNodeClient(await environment("stranger", "stranger"));
    const answer = async (from: NodeClient, request: Partial<CallRequest> = {}) =>
      Object.keys(await from.call(`xds:///${safe}:80`, { secure: true, ...request }))[0] ?? "";
    await until(async () => (await answer(client)) === "safe", soon("an answer over TLS"));
    assert.match(await answer(client, { method: "/demo.Echo/Hide" }), /^PERMISSION_DENIED/);
    assert.match(await answer(stranger), /^PERMISSION_DENIED/);
    assert.match(await answer(client, { secure: false }), /^UNAVAILABLE/);
    mesh.put("ServiceEntry", "safe", aLocalService(safe, "other", [{ version: "v1", port: firstPort + 2 }]));
    await until(async () => /^UNAVAILABLE/.test(await answer(client)), soon("a server of another identity refused"));
  });
});
