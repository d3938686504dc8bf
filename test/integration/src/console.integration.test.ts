/**
 * The console's server before a real control plane: five processes, NATS and Redis, a subscribed proxy and a real Envoy that rejects
 * resources it cannot take. The answers of each endpoint, the callers that may ask, the data that is never shown, and the events.
 */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync } from "node:fs";
import { loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { openLocalIssuer } from "@flotilla/auth";
import { allReady, type ControlPlane, startControlPlane } from "@flotilla/cli/testing";
import { envoyBootstrap, startEnvoy } from "@flotilla/dataplane";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { until } from "@flotilla/runtime";
import { findServer, freePorts } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { type ConsoleAnswer, ConsoleClient, collectEvents, startConsole } from "./console/console-client.ts";
import { consoleObjects, listedEndpoints, secretValue } from "./console/listed-endpoints.ts";

const workDir = mkdtempSync(join(tmpdir(), "flotilla-console-"));
const stop = new AbortController();
const owned = new AsyncDisposableStack();
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });
let plane: ControlPlane;
let writer: ConsoleClient;
let reader: ConsoleClient;

const tokenFor = async (account: string, audience = "flotilla-api"): Promise<string> => {
  const [namespace = "", serviceAccount = ""] = account.split("/");
  return (await openLocalIssuer(workDir)).mintToken({ namespace, serviceAccount, audience });
};

const apply = (client: ConsoleClient, yaml: string, dryRun = false): Promise<ConsoleAnswer> =>
  client.ask("POST", "/api/v1/objects/apply", { yaml, namespace: "shop", dryRun });

/** How the last generation of an object reached the fleet. */
const arrivalOf = async (object: string) =>
  (await reader.get(`/api/v1/changes?object=${encodeURIComponent(object)}&limit=1`)).body.rows[0]?.arrival;

function connectProxy(name: string): void {
  const metadata = { NAMESPACE: "shop", LABELS: { app: name }, INSTANCE_IPS: "127.0.1.11", CLUSTER_ID: "Kubernetes" };
  const client = new XdsClient({
    form: "delta",
    transport: grpcTransport({ address: `127.0.0.1:${plane.layout.ports.xds}` }),
    node: create(NodeSchema, { id: `sidecar~127.0.1.11~${name}.shop~shop.svc.cluster.local`, metadata }),
    backoffMs: () => 200,
  });
  client.subscribe(typeUrl.cluster);
  client.subscribe(typeUrl.listener);
  client.subscribe(typeUrl.route, ["80"]);
  const running = client.run(stop.signal);
  owned.defer(() => running);
}

describe("the console", { timeout: 300_000 }, () => {
  before(async () => {
    const settings = { LOG_LEVEL: "info", API_READERS: "istio-system/reader" };
    const shared = { embedded: false, config: undefined, mesh: undefined, networks: undefined, settings, workDir };
    const options = { ...shared, firstPort: await freePorts(12) };
    plane = owned.use(await startControlPlane({ options, logs: "files", onProgress: () => undefined }));
    await allReady(plane, 90_000, () => undefined, stop.signal);
    const { ports } = plane.layout;
    const at = (port: number) => `http://127.0.0.1:${port}`;
    const console = owned.use(
      await startConsole({
        ...{ WORK_DIR: workDir, CONSOLE_PAGE_DIR: workDir, CONSOLE_CA: at(ports.caHealth) },
        // A service that other tests keep waiting is not away.
        CONSOLE_UPSTREAM_TIMEOUT: "60s",
        ...{ CONSOLE_CONFIG_CONTROLLER: at(ports.configHealth), CONSOLE_SERVICE_CONTROLLER: at(ports.serviceHealth) },
        ...{ CONSOLE_XDS_SERVER: at(ports.xdsHealth), CONSOLE_WEBHOOK: at(ports.webhookHealth) },
      }),
    );
    writer = new ConsoleClient(console.url);
    reader = new ConsoleClient(console.url);
    assert.equal((await writer.signIn(await tokenFor("istio-system/flotilla-admin"))).status, 201);
    assert.equal((await reader.signIn(await tokenFor("istio-system/reader"))).status, 201);
    connectProxy("web");
    connectProxy("cart");
    const applied = await apply(writer, consoleObjects);
    assert.equal(applied.status, 200, JSON.stringify(applied.body));
    const isThere = async () => (await writer.get("/api/v1/proxies")).body.total === 2;
    await until(isThere, soon("the proxies"));
    const isMade = async () => (await writer.get("/api/v1/objects/VirtualService/shop/web/resources")).body.total > 0;
    await until(isMade, soon("the route"));
  });

  after(async () => {
    stop.abort();
    await owned.disposeAsync();
    rmSync(workDir, { recursive: true, force: true });
  });

  describe("asks who calls", () => {
    it("refuses every endpoint without a session", async () => {
      const signedOut = new ConsoleClient(writer.url);
      const listed = [...listedEndpoints.map(({ path }) => path), "/api/v1/events", "/api/v1/session"];
      const answers = await Promise.all(listed.map((path) => signedOut.get(path)));
      for (const [i, { status, body }] of answers.entries())
        assert.deepEqual([listed[i], status, body.error?.code], [listed[i], 401, "no-session"]);
    });

    const refused = [
      { name: "a token of no account", token: async () => "a.b.c", code: "bad-token" },
      { name: "no token", token: async () => "", code: "bad-request" },
      {
        name: "a token for another audience",
        token: () => tokenFor("istio-system/reader", "other"),
        code: "bad-token",
      },
    ] as const;
    for (const { name, token, code } of refused)
      it(`does not sign in with ${name}`, async () => {
        const { body } = await new ConsoleClient(writer.url).signIn(await token());
        assert.equal(body.error.code, code);
      });

    it("names the caller and what it may, and keeps the token to itself", async () => {
      const { status, body, headers } = await reader.get("/api/v1/session");
      assert.deepEqual([status, body.account, body.mayWrite], [200, "istio-system/reader", false]);
      assert.ok(
        !JSON.stringify(body).includes(await tokenFor("istio-system/reader").then((text) => text.slice(0, 30))),
      );
      assert.equal(headers.get("cache-control"), "no-store");
      assert.equal((await writer.get("/api/v1/session")).body.mayWrite, true);
    });

    it("shows a caller of a namespace what is of it, and nothing of the control plane", async () => {
      const caller = new ConsoleClient(writer.url);
      const { body } = await caller.signIn(await tokenFor("bank/till"));
      assert.deepEqual([body.onlyNamespace, body.mayWrite], ["bank", false]);
      assert.equal((await caller.get("/api/v1/proxies")).body.total, 0);
      const objects = await caller.get("/api/v1/objects");
      assert.deepEqual([objects.status, objects.body.error.code], [403, "forbidden"]);
      const overview = await caller.get("/api/v1/overview");
      assert.equal(overview.status, 200);
      assert.ok(overview.body.away.some(({ reason }: { reason: string }) => reason === "forbidden"));
    });

    const foreign = [
      { name: "of another origin", headers: { origin: "https://evil.test", "sec-fetch-site": "cross-site" } },
      {
        name: "of another port of this host",
        headers: { origin: "http://127.0.0.1:1", "sec-fetch-site": "same-site" },
      },
    ] as const;
    for (const { name, headers } of foreign)
      it(`refuses writes ${name}`, async () => {
        const body = { yaml: consoleObjects, dryRun: true };
        const answer = await writer.ask("POST", "/api/v1/objects/apply", body, headers);
        assert.deepEqual([answer.status, answer.body.error.code], [403, "cross-site"]);
      });

    it("forbids other sites its answers and frames, and the page everything that is not its own, on every answer", async () => {
      for (const path of ["/", "/proxies", "/api/v1/overview", "/api/v1/nothing"]) {
        const { headers } = await reader.get(path);
        const policy = headers.get("content-security-policy") ?? "";
        const sources = policy.split("; ").map((directive) => directive.split(" "));
        assert.ok(
          sources.some(([name, ...of]) => name === "default-src" && of.join() === "'none'"),
          policy,
        );
        const all = new Set(sources.flatMap(([, ...of]) => of));
        assert.deepEqual(all, new Set(["'none'", "'self'", "data:"]), policy);
        assert.ok(policy.includes("frame-ancestors 'none'"), policy);
        const own = ["x-frame-options", "cross-origin-resource-policy", "x-content-type-options", "referrer-policy"];
        assert.deepEqual(
          own.map((name) => headers.get(name)),
          ["DENY", "same-origin", "nosniff", "no-referrer"],
        );
        assert.equal(headers.get("access-control-allow-origin"), null);
      }
    });

    it("ends a session when its caller signs out", async () => {
      const caller = new ConsoleClient(writer.url);
      await caller.signIn(await tokenFor("istio-system/reader"));
      await using received = collectEvents(caller);
      await until(() => received.events.length > 0, soon("hello"));
      assert.equal((await caller.ask("DELETE", "/api/v1/session")).status, 204);
      await until(() => received.events.at(-1)?.type === "session-ended", soon("the end of the stream"));
      assert.equal((await caller.get("/api/v1/overview")).status, 401);
    });
  });

  describe("answers", () => {
    for (const { path, isRight } of listedEndpoints)
      it(`${path.split("?")[0]}`, async () => {
        let last: ConsoleAnswer | undefined;
        const isAnswered = async () => {
          last = await reader.get(path);
          return last.status === 200 && isRight(last.body) && (last.body.away ?? []).length === 0;
        };
        // Objects and proxies of the test were there before; counts and states of the last ones may follow.
        const what = () => `the right answer, not ${last?.status} ${JSON.stringify(last?.body).slice(0, 2_000)}`;
        await until(isAnswered, { ...soon("an answer"), withinMs: 20_000 }).catch(() => assert.fail(what()));
      });

    it("refuses parameters that a list does not have, and more than 200 rows", async () => {
      for (const query of ["limit=201", "colour=red", "sort=colour"])
        assert.equal((await reader.get(`/api/v1/proxies?${query}`)).status, 400, query);
    });

    it("has no statistics of a proxy whose admin interface is not known", async () => {
      const { status, body } = await reader.get("/api/v1/proxies/web.shop/stats");
      assert.deepEqual([status, body.error.code], [404, "not-found"]);
      assert.equal((await reader.get("/api/v1/proxies/web.shop")).body.hasStats, false);
    });

    it("shows no value of a Secret anywhere", async () => {
      const paths = [
        ...listedEndpoints.map(({ path }) => path),
        "/api/v1/objects/Secret/shop/pair",
        "/api/v1/proxies/web.shop/config-dump",
        "/api/v1/objects/Secret/shop/pair/history",
      ];
      const answers = await Promise.all(paths.map((path) => writer.get(path)));
      for (const [i, { body }] of answers.entries())
        for (const value of [secretValue, Buffer.from(secretValue).toString("base64")])
          assert.ok(!JSON.stringify(body).includes(value), `${paths[i]} shows the Secret`);
    });
  });

  describe("writes for those who may", () => {
    const timeout = (value: string) => consoleObjects.replace("timeout: 1s", `timeout: ${value}`);

    it("a reader may not", async () => {
      const answer = await apply(reader, timeout("2s"));
      assert.deepEqual([answer.status, answer.body.error.code], [403, "forbidden"]);
      const deleted = await reader.ask("DELETE", "/api/v1/objects/VirtualService/shop/web");
      assert.equal(deleted.status, 403);
      const level = await reader.ask("PUT", "/api/v1/settings/ca/ca/levels", { scope: "default", level: "debug" });
      assert.equal(level.status, 403);
    });

    it("a dry run shows what would change, and changes nothing", async () => {
      const { body } = await apply(writer, timeout("2s"), true);
      const changed = body.items.filter(({ result }: { result: string }) => result === "configured");
      assert.deepEqual(
        changed.map(({ object, differences }: { object: string; differences: { path: string }[] }) => [
          object,
          differences.map(({ path }) => path),
        ]),
        [["VirtualService/shop/web", ["spec.http[0].timeout"]]],
      );
      const { body: object } = await writer.get("/api/v1/objects/VirtualService/shop/web");
      assert.match(object.manifest, /timeout: 1s/);
    });

    it("refused objects are named by field and line", async () => {
      const { status, body } = await apply(writer, timeout("[]"));
      assert.deepEqual([status, body.error.code], [422, "invalid"]);
      const [cause] = body.error.causes;
      const line = timeout("[]")
        .split("\n")
        .findIndex((text) => text.includes("timeout: []"));
      assert.match(cause.field, /http\[0\]\.timeout/);
      assert.equal(cause.line, line + 1, JSON.stringify(body));
    });

    it("an event comes when an object was applied, and when it has arrived", async () => {
      await using received = collectEvents(reader);
      await until(() => received.events.some(({ type }) => type === "hello"), soon("hello"));
      const appliedMs = performance.now();
      assert.equal((await apply(writer, timeout("3s"))).status, 200);
      const isIt = ({ type, data }: (typeof received.events)[number]) =>
        type === "generation" &&
        data.objects.some(({ object }: { object: string }) => object === "VirtualService/shop/web");
      await until(() => received.events.some(isIt), soon("the generation"));
      const event = received.events.find(isIt);
      assert.equal(event?.data.by, "istio-system/flotilla-admin (API)");
      assert.ok(event !== undefined && event.atMs > appliedMs);
      const isSettled = ({ type, data }: (typeof received.events)[number]) =>
        type === "objects" && data.settled.includes("VirtualService/shop/web");
      await until(() => received.events.some(isSettled), soon("its arrival"));
      // Both proxies got its route and took it.
      const { messages, bytes, lastAckMs, waiting, rejections } = await arrivalOf("VirtualService/shop/web");
      assert.deepEqual([messages >= 2, bytes > 0, lastAckMs > 0, waiting, rejections], [true, true, true, 0, 0]);
      const { live, concerned } = (await reader.get("/api/v1/objects/VirtualService/shop/web")).body;
      assert.deepEqual([live, concerned], [2, 2]);
    });

    it("a caller of a namespace gets an event when its proxies are sent something, and none of other objects", async () => {
      const [owner, stranger] = [new ConsoleClient(writer.url), new ConsoleClient(writer.url)];
      await owner.signIn(await tokenFor("shop/till"));
      await stranger.signIn(await tokenFor("bank/till"));
      await using seen = collectEvents(owner);
      await using unseen = collectEvents(stranger);
      const fleetEvents = ({ events }: typeof seen) =>
        events.flatMap(({ type, data }) => (type === "fleet" ? [data] : []));
      // The first look at a namespace is no news: another change follows until one is.
      let seconds = 10;
      const isNews = async () => {
        await apply(writer, timeout(`${seconds++}s`));
        return fleetEvents(seen).length > 0;
      };
      await until(isNews, { ...soon("an event of its proxies"), everyMs: 1_000 });
      const [{ total, byState }] = fleetEvents(seen);
      assert.deepEqual([total, byState.synced + byState.sending, byState.rejected], [2, 2, 0]);
      await until(() => unseen.events.length > 0, soon("hello"));
      // States of services are for everybody.
      assert.deepEqual(
        new Set(unseen.events.map(({ type }) => type)).difference(new Set(["services"])),
        new Set(["hello"]),
      );
    });

    it("a log level is changed while the service runs", async () => {
      const levels = async () => {
        const { body } = await writer.get("/api/v1/settings");
        const found = body.services.find(({ service }: { service: string }) => service === "ca");
        return found.levels.find(({ scope }: { scope: string }) => scope === "default").level;
      };
      const path = "/api/v1/settings/ca/ca/levels";
      assert.equal((await writer.ask("PUT", path, { scope: "default", level: "debug" })).status, 204);
      assert.equal(await levels(), "debug");
      assert.equal((await writer.ask("PUT", path, { scope: "default", level: "loud" })).status, 400);
      await writer.ask("PUT", path, { scope: "default", level: "info" });
    });
  });

  it("shows the object that a real Envoy rejects, after an event, and prints the delay", async () => {
    const discoveryAddress = `127.0.0.1:${plane.layout.ports.xds}`;
    const node = { name: "envoy", namespace: "shop", serviceAccount: "e", labels: {}, address: "127.0.0.1" };
    const bootstrap = envoyBootstrap({ node, discoveryAddress, delta: true, adminPort: 0 }) as {
      dynamic_resources?: { lds_config?: unknown };
    };
    // Clusters are enough, and ports of listeners may be taken on this host.
    delete bootstrap.dynamic_resources?.lds_config;
    const binary = await findServer("envoy", { env: process.env });
    await using _envoy = await startEnvoy({ binary, directory: workDir, name: "envoy", bootstrap: bootstrap as never });
    const isConnected = async () => (await reader.get("/api/v1/proxies")).body.total === 3;
    await until(isConnected, soon("Envoy"));
    await using received = collectEvents(reader);
    await until(() => received.events.some(({ type }) => type === "hello"), soon("hello"));
    const appliedMs = performance.now();
    const { status, body } = await apply(writer, rejectedPatch);
    assert.equal(status, 200, JSON.stringify(body));
    const isIt = ({ type, data }: (typeof received.events)[number]) =>
      type === "rejections" && data.added.some(({ object }: { object: string }) => object === "EnvoyFilter/shop/web");
    await until(() => received.events.some(isIt), soon("the rejection"));
    const tookMs = (received.events.find(isIt)?.atMs ?? 0) - appliedMs;
    const load = loadavg()[0] ?? 0;
    console.log(`the rejected object was shown after ${Math.round(tookMs)} ms, at a load of ${load.toFixed(1)}`);
    const [group] = (await reader.get("/api/v1/rejections")).body.rows;
    assert.deepEqual([group.object, group.type, group.proxies], ["EnvoyFilter/shop/web", "cds", ["envoy.shop"]]);
    assert.match(group.message, /ConnectTimeout/);
    assert.equal(group.field, "Cluster.ConnectTimeout");
    const { body: object } = await reader.get("/api/v1/objects/EnvoyFilter/shop/web");
    assert.equal(object.state, "rejected");
    assert.ok((await arrivalOf("EnvoyFilter/shop/web")).rejections >= 1);
    // It is withheld, and stays rejected when the proxy takes something else.
    const clusters = async () => (await reader.get("/api/v1/proxies?search=envoy.shop")).body.rows[0].types.cds;
    const { ackedGeneration } = await clusters();
    const late = (consoleObjects.split("---")[0] ?? "").replaceAll("web", "late");
    assert.equal((await apply(writer, late)).status, 200);
    const hasTaken = async () => (await clusters()).ackedGeneration > ackedGeneration;
    await until(hasTaken, soon("the other service to be acknowledged"));
    assert.equal((await clusters()).state, "rejected");
    assert.equal((await reader.get("/api/v1/objects/EnvoyFilter/shop/web")).body.state, "rejected");
    assert.equal((await writer.ask("DELETE", "/api/v1/objects/EnvoyFilter/shop/web")).status, 200);
    const isCleared = ({ type, data }: (typeof received.events)[number]) =>
      type === "rejections" && data.cleared.includes("EnvoyFilter/shop/web");
    await until(() => received.events.some(isCleared), soon("the rejection to be over"));
  });

  it("reports a killed xds-server by an event, and its return", async () => {
    const startOfXds = async () => {
      const { services } = (await reader.get("/api/v1/overview")).body;
      return services.find(({ service }: { service: string }) => service === "xds-server")?.startedAt;
    };
    const startedAt = await startOfXds();
    await using received = collectEvents(reader);
    await until(() => received.events.some(({ type }) => type === "hello"), soon("hello"));
    const xds = plane.services.find(({ name }) => name === "xds-server");
    const pid = xds?.pid ?? 0;
    process.kill(pid, "SIGKILL");
    const stateEvents = () =>
      received.events.flatMap(({ type, data }) =>
        type === "services" ? data.services.filter(({ service }: { service: string }) => service === "xds-server") : [],
      );
    // It may be away for less than the second between two looks.
    await until(() => stateEvents().length > 0, soon("an event of it"));
    const isBack = async () => (await reader.get("/api/v1/overview")).body.proxies.total >= 2;
    await until(isBack, soon("it to be back"));
    await until(() => stateEvents().at(-1)?.state === "ready", soon("the event that it is back"));
    assert.notEqual(await startOfXds(), startedAt);
    assert.notEqual(plane.services.find(({ name }) => name === "xds-server")?.pid, pid);
  });
});

/** Envoy refuses a timeout of 0s; validation does not check what a patch leads to. */
const rejectedPatch = `
apiVersion: networking.istio.io/v1alpha3
kind: EnvoyFilter
metadata: { name: web, namespace: shop }
spec:
  configPatches:
  - applyTo: CLUSTER
    match: { context: SIDECAR_OUTBOUND, cluster: { service: web.example } }
    patch: { operation: MERGE, value: { connect_timeout: 0s } }
`;
