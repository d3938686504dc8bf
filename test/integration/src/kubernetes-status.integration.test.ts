/**
 * The status of objects in a real API server, as a proxy that is subscribed to a real xds-server makes it: NATS is real too.
 * Nothing is written while nothing changes, and a restart of config-controller publishes nothing.
 */
import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { fileURLToPath } from "node:url";
import { type Bus, connectBus, createPublisher } from "@flotilla/bus";
import { main as configController } from "@flotilla/config-controller";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { encodeProgress, progressBucket, progressKey } from "@flotilla/model";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { delay, noopLogger, until } from "@flotilla/runtime";
import { freePorts, type RunningServer, startNats } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { main as xdsServer } from "@flotilla/xds-server";
import { parseAllDocuments } from "yaml";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const crds = fileURLToPath(new URL("../../../packages/kinds/crds/istio.yaml", import.meta.url));
const definitions = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions";
const virtualServices = "/apis/networking.istio.io/v1/namespaces/default/virtualservices";
const soon = (what: string) => ({ withinMs: 60_000, what, everyMs: 50 });

interface Stored {
  readonly metadata: {
    readonly resourceVersion: string;
    readonly generation: number;
    readonly managedFields?: readonly { readonly manager: string; readonly subresource?: string }[];
  };
  readonly spec: object;
  readonly status?: {
    readonly observedGeneration?: number;
    readonly conditions?: readonly {
      readonly type: string;
      readonly status: string;
      readonly reason: string;
      readonly message: string;
      readonly observedGeneration: number;
    }[];
  };
}

const route = (timeout: unknown) => ({
  apiVersion: "networking.istio.io/v1",
  kind: "VirtualService",
  metadata: { name: "web", namespace: "default" },
  spec: { hosts: ["web.example"], http: [{ timeout, route: [{ destination: { host: "web.example" } }] }] },
});

describe("the status of objects in Kubernetes", { skip: server === undefined && whyNoApiserver }, () => {
  let directory: string;
  let nats: RunningServer;
  let bus: Bus;
  let port: number;
  let words: string | undefined;
  const stop = new AbortController();
  const running: Promise<void>[] = [];

  /** Ends with the function that is given. */
  const startController = () => {
    const end = new AbortController();
    const ended = configController(
      {
        ...{
          BUS_URL: `nats://127.0.0.1:${nats.port}`,
          CLUSTER_KUBECONFIG: server?.kubeconfig ?? "",
          LOG_LEVEL: "error",
        },
        ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(port), WORK_DIR: directory, POD_NAMESPACE: "default" },
        ...{ API_PORT: String(port + 4) },
      },
      end.signal,
    );
    return async () => {
      end.abort(new Error("the test ends it"));
      await ended;
    };
  };
  const isReady = async () => {
    const answer = await fetch(`http://127.0.0.1:${port}/ready`).catch(() => undefined);
    return answer?.status === 200;
  };
  const stored = () => server?.api.get<Stored>(`${virtualServices}/web`);
  const condition = async (type: string) => (await stored())?.status?.conditions?.find((one) => one.type === type);
  const become = (type: string, status: string, message: RegExp) =>
    until(
      async () => {
        const found = await condition(type);
        return found?.status === status && message.test(found.message);
      },
      soon(`${type} ${status} with ${message}`),
    );
  /** The status may be written in between: then it is tried again. */
  const replace = (object: object) =>
    until(async () => {
      const { metadata } = (await stored()) ?? {};
      const replaced = server?.api.replace(`${virtualServices}/web`, { ...object, metadata });
      return replaced?.then(
        () => true,
        () => false,
      );
    }, soon("the object to be replaced"));
  const writes = async () => {
    const page = await (await fetch(`http://127.0.0.1:${port}/metrics`)).text();
    return Number(/^flotilla_status_writes_total (\d+)$/m.exec(page)?.[1] ?? 0);
  };
  let endController: () => Promise<void>;

  before(async () => {
    directory = await mkdtemp(join(tmpdir(), "flotilla-status-"));
    nats = await startNats({ directory, env: process.env });
    port = await freePorts(6);
    const url = `nats://127.0.0.1:${nats.port}`;
    bus = await connectBus({ url, clientName: "t", log: noopLogger }, stop.signal);
    for (const document of parseAllDocuments(await readFile(crds, "utf8"))) {
      const definition: unknown = document.toJS();
      if (definition !== null) await server?.api.create(definitions, definition);
    }
    const isServed = async () => (await server?.api.get(virtualServices)) !== undefined;
    await until(isServed, soon("the CRDs to be served"));
    // There are no services: their controller has reported so.
    const services = { bus, publisher: "service-controller", seal: undefined, log: noopLogger, nowMs: Date.now };
    await createPublisher(services).synchronize([]);
    const progress = await bus.keyValue(progressBucket);
    const everything = { epoch: bus.epoch, read: Number.MAX_SAFE_INTEGER, published: 0 };
    await progress.put(progressKey, encodeProgress(everything));
    endController = startController();
    running.push(
      xdsServer(
        {
          ...{ BUS_URL: url, STORE_URL: "embedded:kubernetes-status", LOG_LEVEL: "error", WORK_DIR: directory },
          ...{ XDS_HOST: "127.0.0.1", XDS_PORT: String(port + 1), XDS_TLS_PORT: String(port + 2) },
          ...{ HEALTH_HOST: "127.0.0.1", HEALTH_PORT: String(port + 3), HTTP_PORT: String(port + 5) },
        },
        stop.signal,
      ),
    );
    const client = new XdsClient({
      form: "delta",
      transport: grpcTransport({ address: `127.0.0.1:${port + 1}` }),
      node: create(NodeSchema, {
        id: "sidecar~127.0.1.11~web.default~default.svc.cluster.local",
        metadata: { NAMESPACE: "default", CLUSTER_ID: "Kubernetes" },
      }),
      backoffMs: () => 200,
      check: ({ typeUrl: type }) => (type === typeUrl.route ? words : undefined),
    });
    for (const type of [typeUrl.cluster, typeUrl.listener]) client.subscribe(type);
    client.subscribe(typeUrl.route, ["80"]);
    running.push(client.run(stop.signal));
    await until(isReady, soon("config-controller"));
  });

  after(async () => {
    stop.abort(new Error("the test is over"));
    await endController();
    await Promise.all(running);
    await bus[Symbol.asyncDispose]();
    await nats[Symbol.asyncDispose]();
    await rm(directory, { recursive: true, force: true });
  });

  it("says that an object is accepted and live, by our field manager on the status alone", {
    timeout: 180_000,
  }, async () => {
    const entry = {
      ...{
        apiVersion: "networking.istio.io/v1",
        kind: "ServiceEntry",
        metadata: { name: "web", namespace: "default" },
      },
      spec: { hosts: ["web.example"], ports: [{ number: 80, name: "http", protocol: "HTTP" }], resolution: "DNS" },
    };
    await server?.api.create("/apis/networking.istio.io/v1/namespaces/default/serviceentries", entry);
    await server?.api.create(virtualServices, route("1s"));
    await become("Reconciled", "True", /^\d\/1 proxies up to date|^0\/0 proxies/);
    assert.equal((await condition("Accepted"))?.status, "True");
    const { metadata, status } = (await stored()) ?? {};
    assert.equal(status?.observedGeneration, 1);
    const own = metadata?.managedFields?.filter(({ manager }) => manager === "flotilla-status") ?? [];
    assert.deepEqual(
      own.map(({ subresource }) => subresource),
      ["status"],
    );
  });

  it("says why an object is refused, although the last good one stays in force", { timeout: 180_000 }, async () => {
    // The API server takes it, as only the meaning of the field is wrong.
    const wrong = { hosts: ["web.example"], http: [{ route: [{ destination: { host: "a" }, weight: -1 }] }] };
    await replace({ ...route("1s"), spec: wrong });
    await become("Accepted", "False", /spec\.http\[0\]\.route\[0\]\.weight/);
    assert.equal((await condition("Accepted"))?.observedGeneration, 2);
    await replace(route("2s"));
    await become("Accepted", "True", /^$/);
  });

  it("writes nothing while nothing changes, nor when a predecessor has written it", { timeout: 180_000 }, async () => {
    const isReported = async () => {
      const { metadata, status } = (await stored()) ?? {};
      const all = status?.conditions ?? [];
      return all.length === 3 && all.every((one) => one.observedGeneration === metadata?.generation);
    };
    await until(isReported, soon("all of the last generation"));
    await become("Reconciled", "True", /proxies/);
    // xds-server finds it, and reports it after the proxy has acknowledged the route.
    await become("PassedAnalysis", "False", /there is no host web\.example/);
    // A write is in the object before its answer is counted.
    const auditedWrites = async () =>
      ((await server?.writes()) ?? []).filter(({ resource }) => resource.endsWith("/status")).length;
    await until(async () => (await writes()) === (await auditedWrites()), soon("all writes to be counted"));
    const version = async () => (await stored())?.metadata.resourceVersion;
    const [before, count] = [await version(), await writes()];
    assert.ok(count > 0);
    await delay(4_000);
    assert.deepEqual([await version(), await writes()], [before, count]);
    const sequences = async () => (await bus.lastValues("flotilla.v1.config.>")).map(({ sequence }) => sequence);
    const published = await sequences();
    await endController();
    endController = startController();
    await until(isReady, soon("the restarted one"));
    await delay(4_000);
    assert.deepEqual(await sequences(), published, "a restart with nothing changed publishes nothing");
    assert.deepEqual([await version(), await writes()], [before, 0]);
    await replace(route("3s"));
    await until(async () => (await writes()) > 0, soon("the restarted one to write"));
  });
});
