/** The whole service in this process, on an embedded bus and store, with one client. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { decodeTrustReport, trustReportBucket } from "@flotilla/auth";
import { type Bus, connectBus, createPublisher, type Publisher } from "@flotilla/bus";
import { decodeDistribution, distributionBucket } from "@flotilla/model";
import { create, typeUrl } from "@flotilla/proto";
import { NodeSchema } from "@flotilla/proto/envoy/config/core/v3/base_pb";
import { noopLogger, until } from "@flotilla/runtime";
import { freePorts } from "@flotilla/servers";
import { XdsClient } from "@flotilla/xds/client";
import { grpcTransport } from "@flotilla/xds/grpc";
import { main } from "./main.ts";
import { aConfig, aService, put } from "./testing/mesh.ts";

const busUrl = "embedded:xds-server-main";
const stop = new AbortController();
const clients = new AbortController();
const soon = (what: string) => ({ withinMs: 30_000, everyMs: 5, what });
const proxy = "sidecar~192.0.2.9~client.shop~shop.svc.cluster.local";
let port = 0;
let bus: Bus;
let publisher: Publisher;
let running: Promise<void>;

async function page(path: string, at = port + 2) {
  const response = await fetch(`http://127.0.0.1:${at}${path}`);
  return { status: response.status, text: await response.text() };
}

before(async () => {
  port = await freePorts(4);
  bus = await connectBus({ url: busUrl, clientName: "t", log: noopLogger }, stop.signal);
  publisher = createPublisher({ bus, publisher: "one", seal: undefined, log: noopLogger, nowMs: Date.now });
  running = main(
    {
      ...{ BUS_URL: busUrl, STORE_URL: busUrl, HEALTH_HOST: "127.0.0.1", LOG_LEVEL: "silent" },
      ...{ XDS_HOST: "127.0.0.1", XDS_PORT: String(port), HTTP_PORT: String(port + 1), HEALTH_PORT: String(port + 2) },
      ...{ POD_NAME: "replica-1", REQUIRED_PUBLISHERS: "one" },
    },
    stop.signal,
  );
  await until(() => page("/ready").catch(() => undefined), soon("pages"));
});
after(async () => {
  stop.abort(new Error("the test is over"));
  await Promise.allSettled([running]);
  await bus[Symbol.asyncDispose]();
});

function connect(onCluster: (names: readonly string[]) => void) {
  const names = new Set<string>();
  const client = new XdsClient({
    transport: grpcTransport({ address: `127.0.0.1:${port}` }),
    form: "delta",
    node: create(NodeSchema, { id: proxy, metadata: { NAMESPACE: "shop", CLUSTER_ID: "Kubernetes" } }),
    backoffMs: () => 5,
    onUpdate: ({ typeUrl: type, changed }) => {
      if (type !== typeUrl.cluster) return;
      for (const { name } of changed) names.add(name);
      onCluster([...names]);
    },
  });
  client.subscribe(typeUrl.cluster);
  return client.run(clients.signal);
}

describe("xds-server", () => {
  it("is not ready, and serves nothing, until its publishers have published everything", async () => {
    assert.equal((await page("/ready")).status, 503);
    await assert.rejects(fetch(`http://127.0.0.1:${port}/`), "the xDS port is not open");
    await publisher.synchronize(put(aService("web", "shop")));
    await until(async () => (await page("/ready")).status === 200, soon("readiness"));
    assert.equal((await page("/ready", port + 1)).status, 200, "the second port is ready, too");
  });

  it("sends a proxy what there is, and what comes later", async (t) => {
    let clusters: readonly string[] = [];
    const connected = connect((names) => {
      clusters = names;
    });
    t.after(async () => {
      clients.abort();
      await Promise.allSettled([connected]);
    });
    const has = (name: string) => clusters.includes(`outbound|80||${name}.shop.svc.cluster.local`);
    await until(() => has("web"), soon("the first service"));
    const rule = aConfig("VirtualService", "shop", "web", {
      ...{ hosts: ["web"], http: [{ route: [{ destination: { host: "web" } }] }] },
    });
    await publisher.publish(put(aService("later", "shop"), rule));
    await until(() => has("later"), soon("the later service"));

    await t.test("reports over the bus how far changes have come", async () => {
      const values = await bus.keyValue(distributionBucket, {});
      const reports = async () =>
        (await values.entries()).flatMap(({ value }) => (value ? [decodeDistribution(value)] : []));
      const found = await until(async () => (await reports())[0], soon("a report"));
      assert.match(JSON.stringify(found), /replica-1/);
    });

    await t.test("reports over the bus which proxies are connected", async () => {
      const values = await bus.keyValue(trustReportBucket, {});
      const connectedProxies = async () =>
        (await values.entries()).flatMap(({ value }) => (value ? decodeTrustReport(value) : []));
      const found = await until(async () => (await connectedProxies())[0], soon("a report"));
      const { pod, host, identities, roots } = found ?? {};
      assert.deepEqual(
        { pod, host, identities, roots },
        { pod: "shop/client", host: "127.0.0.1", identities: [], roots: undefined },
      );
    });

    await t.test("shows the proxy and the mesh on its pages", async () => {
      const pages = [await page("/debug/syncz"), await page("/debug/syncz", port + 1)];
      for (const { status, text } of pages) {
        assert.equal(status, 200);
        assert.match(text, /client\.shop/);
      }
      assert.match((await page("/metrics")).text, /^pilot_xds\{[^}]*\} 1$/m);
    });
  });

  it("has no TLS port without the address of ca", async () => {
    await assert.rejects(fetch(`https://127.0.0.1:${port + 3}/`));
    assert.doesNotMatch((await page("/ready")).text, /waiting for ca/);
  });
});
