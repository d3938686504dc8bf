/** Permissions to publish, write and read, subject by subject, on a real NATS server with the users of `flotilla up`. */
import assert from "node:assert/strict";
import { mkdtempSync, readdirSync, readFileSync, rmSync, statSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { setImmediate as nextTurn } from "node:timers/promises";
import { noopLogger, timeLimit, until } from "@flotilla/runtime";
import { type RunningServer, startNats, startNatsCluster } from "@flotilla/servers";
import { connect, type NatsConnection, nkeyAuthenticator } from "nats";
import {
  type BusCredentials,
  type BusService,
  busServices,
  createBusCredentials,
  natsAuthorization,
} from "./access.ts";
import type { Bus } from "./bus.ts";
import { connectBus } from "./connect.ts";
import { storedStreams } from "./stored-streams.ts";
import { decodeChange } from "./topics.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-access-"));
let server: RunningServer;
let credentials: BusCredentials;
const connections = new Map<BusService, NatsConnection>();
const stop = new AbortController();

before(async () => {
  credentials = createBusCredentials(join(directory, "credentials"));
  server = await startNats({ directory, env: process.env, authorization: natsAuthorization(credentials.users) });
  for (const service of busServices) connections.set(service, await raw(service));
});
after(async () => {
  stop.abort();
  await Promise.all([...connections.values()].map((connection) => connection.close()));
  await server?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

function raw(service: BusService): Promise<NatsConnection> {
  const url = new URL(credentials.urlFor(service, server.url));
  const seed = readFileSync(url.searchParams.get("nkey") ?? "");
  const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed.toString()));
  return connect({ servers: url.host, authenticator, inboxPrefix: `_INBOX.${service}` });
}

function connectionOf(service: BusService): NatsConnection {
  const connection = connections.get(service);
  assert.ok(connection !== undefined);
  return connection;
}

/** Those that are refused: the server reports each before it answers a ping that is sent after them. */
async function refusedToPublish(service: BusService, subjects: readonly string[]): Promise<ReadonlySet<string>> {
  const connection = await raw(service);
  const refused = new Set<string>();
  // Ends with the connection only where something is reported after that.
  void (async () => {
    for await (const { permissionContext } of connection.status()) refused.add(permissionContext?.subject ?? "");
  })();
  for (const subject of subjects) connection.publish(subject, "{}");
  await connection.flush();
  // Reported errors wait to be read here.
  await nextTurn();
  await connection.close();
  return refused;
}

async function refusedToHear(service: BusService, subjects: readonly string[]): Promise<ReadonlySet<string>> {
  const connection = await raw(service);
  const refused = new Set<string>();
  for (const subject of subjects)
    connection.subscribe(subject, { callback: (error) => void (error === null || refused.add(subject)) });
  await connection.flush();
  await connection.close();
  return refused;
}

const all: readonly BusService[] = busServices;
const publishers: readonly BusService[] = ["ca", "config-controller", "service-controller"];

/** Written down by hand: what the generated users are held against. */
const published: readonly (readonly [subject: string, services: readonly BusService[]])[] = [
  ["flotilla.v1.config.ServiceEntry.shop.reviews", ["config-controller"]],
  ["flotilla.v1.config.MeshConfig.istio-system.mesh", ["config-controller"]],
  ["flotilla.v1.config.Secret.shop.key", ["config-controller"]],
  ["flotilla.v1.config.TrustBundle.istio-system.mesh", ["ca"]],
  ["flotilla.v1.service.Kubernetes.shop.host.name", ["service-controller"]],
  ["flotilla.v1.endpoints.Kubernetes.shop.host", ["service-controller"]],
  ["flotilla.v1.sync.ca", ["ca"]],
  ["flotilla.v1.sync.config-controller", ["config-controller"]],
  ["flotilla.v1.sync.service-controller", ["service-controller"]],
  ["flotilla.v1.horizon", publishers],
  ["flotilla.v1.anything.else", []],
  ["flotilla.v2.config.ServiceEntry.shop.reviews", []],
];

const bucketWriters: Readonly<Record<string, readonly BusService[]>> = {
  "flotilla-config": ["config-controller"],
  "flotilla-ledger": ["config-controller"],
  "flotilla-ca": ["ca"],
  "flotilla-ca-roots": ["ca"],
  "flotilla-duties": ["service-controller"],
  "flotilla-config-controller": ["config-controller"],
  "flotilla-service-controller": ["service-controller"],
  "flotilla-ca-lease": ["ca"],
  "flotilla-progress": ["service-controller"],
  "flotilla-distribution": ["xds-server"],
  "flotilla-trust-reports": ["xds-server"],
  "flotilla-machines": ["xds-server"],
};

/** Where these are not the writers. */
const configurers: Readonly<Record<string, readonly BusService[]>> = {
  "flotilla-progress": ["config-controller"],
  "flotilla-distribution": ["config-controller"],
  "flotilla-trust-reports": ["ca"],
  "flotilla-machines": ["service-controller"],
};

const bucketReaders: Readonly<Record<string, readonly BusService[]>> = {
  ...bucketWriters,
  "flotilla-progress": ["service-controller", "config-controller"],
  "flotilla-distribution": ["xds-server", "config-controller"],
  "flotilla-trust-reports": ["xds-server", "ca"],
  "flotilla-machines": ["xds-server", "service-controller"],
};

const requests: readonly (readonly [subject: string, services: readonly BusService[]])[] = [
  ["$JS.API.INFO", all],
  ["$JS.API.STREAM.INFO.FLOTILLA", all],
  ["$JS.API.STREAM.CREATE.FLOTILLA", all],
  ["$JS.API.STREAM.MSG.GET.FLOTILLA", all],
  ["$JS.API.CONSUMER.CREATE.FLOTILLA.c.flotilla.v1.config.>", all],
  ["$JS.API.CONSUMER.CREATE.FLOTILLA.c.flotilla.v1.config.MeshConfig.>", all],
  ["$JS.API.CONSUMER.CREATE.FLOTILLA.c.flotilla.v1.endpoints.>", all.filter((one) => one !== "webhook")],
  ["$JS.API.CONSUMER.CREATE.FLOTILLA", all.filter((one) => one !== "webhook")],
  ["$JS.API.STREAM.UPDATE.FLOTILLA", publishers],
  ["$JS.API.STREAM.MSG.DELETE.FLOTILLA", publishers],
  ["$JS.API.STREAM.DELETE.FLOTILLA", []],
  ["$JS.API.STREAM.PURGE.FLOTILLA", []],
  ["$JS.API.STREAM.SNAPSHOT.FLOTILLA", []],
  ["$JS.API.STREAM.RESTORE.FLOTILLA", []],
  ["$JS.API.DIRECT.GET.FLOTILLA", []],
  ["$JS.API.CONSUMER.MSG.NEXT.FLOTILLA.c", []],
  ["$JS.API.CONSUMER.DURABLE.CREATE.FLOTILLA.c", []],
  ["$JS.API.CONSUMER.DELETE.FLOTILLA.c", []],
  ["$JS.API.STREAM.CREATE.OTHER", []],
  ["$JS.API.STREAM.LIST", []],
  ["$JS.API.STREAM.NAMES", []],
  ["$JS.API.ACCOUNT.PURGE.x", []],
  ["$SYS.REQ.SERVER.PING", []],
  ["_INBOX.xds-server.x", []],
  ["anything", []],
];

const buckets = Object.entries(bucketWriters).flatMap(([bucket, writers]) => {
  const readers = bucketReaders[bucket] ?? [];
  const api = (call: string): string => `$JS.API.${call}.KV_${bucket}`;
  return [
    [`$KV.${bucket}.key`, writers],
    [api("STREAM.UPDATE"), configurers[bucket] ?? writers],
    [api("STREAM.INFO"), readers],
    [api("STREAM.CREATE"), readers],
    [api("STREAM.MSG.GET"), readers],
    [`${api("CONSUMER.CREATE")}.c.$KV.${bucket}.>`, readers],
    [api("CONSUMER.CREATE"), []],
    [api("STREAM.DELETE"), []],
    [api("STREAM.PURGE"), []],
    [api("STREAM.MSG.DELETE"), []],
    [api("DIRECT.GET"), []],
  ] as const;
});

describe("permissions on NATS", () => {
  it("the table of this test names every stored bucket", () => {
    const stored = storedStreams.map(({ stream }) => stream).filter((stream) => stream !== "FLOTILLA");
    assert.deepEqual(
      Object.keys(bucketWriters)
        .map((bucket) => `KV_${bucket}`)
        .sort(),
      [...stored].sort(),
    );
  });

  for (const service of busServices)
    it(`${service} publishes and requests what is its own, and nothing else`, async () => {
      const rows = [...published, ...requests, ...buckets];
      const subjects = rows.map(([subject]) => subject);
      const refused = await refusedToPublish(service, subjects);
      const allowed = subjects.filter((subject) => !refused.has(subject));
      const expected = rows.filter(([, services]) => services.includes(service)).map(([subject]) => subject);
      assert.deepEqual(allowed, expected);
    });

  for (const service of busServices)
    it(`${service} listens to its own answers only`, async () => {
      const own = `_INBOX.${service}.>`;
      const others = busServices.filter((other) => other !== service).map((other) => `_INBOX.${other}.>`);
      const subjects = [own, ...others, "_INBOX.>", ">", "flotilla.v1.>", "$KV.>", "$JS.>", "$SYS.>"];
      const refused = await refusedToHear(service, subjects);
      assert.deepEqual(
        subjects.filter((subject) => !refused.has(subject)),
        [own],
      );
    });

  it("clients without credentials or with an unknown key are not connected", async () => {
    const anonymous = connect({ servers: `127.0.0.1:${server.port}`, reconnect: false });
    await assert.rejects(anonymous, /Authorization Violation/);
    const strange = createBusCredentials(join(directory, "strange"));
    const url = strange.urlFor("config-controller", server.url);
    const connecting = connectBus(
      { url, clientName: "config-controller", log: noopLogger },
      AbortSignal.timeout(1_500),
    );
    await assert.rejects(connecting, /abort|timeout/i);
  });

  it("a filter that the subject of the request does not name is refused by the server", async () => {
    const config = { name: "c", filter_subject: "flotilla.v1.endpoints.>", deliver_subject: "_INBOX.webhook.x" };
    await using _bus = await opened("config-controller");
    const answer = await connectionOf("webhook").request(
      "$JS.API.CONSUMER.CREATE.FLOTILLA.c.flotilla.v1.config.>",
      JSON.stringify({ stream_name: "FLOTILLA", config }),
    );
    assert.match(answer.string(), /did not match filtered subject/);
  });

  it("a consumer does not deliver into the stream what its maker may not publish", async () => {
    await using bus = await opened("xds-server");
    await (await bus.keyValue("distribution")).put("evil", new TextEncoder().encode("{}"));
    const subject = "flotilla.v1.config.ServiceEntry.shop.evil";
    const stream = "KV_flotilla-distribution";
    const config = { name: "c", filter_subject: "$KV.flotilla-distribution.evil", deliver_subject: subject };
    const made = await connectionOf("xds-server").request(
      `$JS.API.CONSUMER.CREATE.${stream}.c.$KV.flotilla-distribution.evil`,
      JSON.stringify({ stream_name: stream, config: { ...config, ack_policy: "none", deliver_policy: "all" } }),
    );
    assert.match(made.string(), /"delivered"/, "the consumer exists");
    // Written after it: both would have been delivered by then.
    await (await bus.keyValue("distribution")).put("evil", new TextEncoder().encode("{}"));
    assert.deepEqual(await bus.lastValues("flotilla.v1.config.ServiceEntry.>"), []);
  });

  it("an answer that is sent to another subject orders nothing, and holds nothing of its sender's", async () => {
    await using bus = await opened("config-controller");
    await (await bus.keyValue("config")).put("object", new TextEncoder().encode("{}"));
    const connection = connectionOf("webhook");
    const subject = "flotilla.v1.config.ServiceEntry.shop.answer";
    for (const reply of [
      "$JS.API.STREAM.DELETE.KV_flotilla-config",
      "$JS.API.STREAM.PURGE.KV_flotilla-config",
      subject,
    ])
      connection.publish("$JS.API.STREAM.INFO.FLOTILLA", "", { reply });
    await connection.flush();
    // differs: NATS does not ask who may publish where an answer goes. Its own text arrives there, which is no change.
    const stored = await until(async () => (await bus.lastValues(subject))[0], {
      withinMs: 60_000,
      what: "the answer",
    });
    assert.throws(() => decodeChange(stored.payload), { code: "BUS_BAD_EVENT" });
    assert.ok((await (await bus.keyValue("config")).get("object")) !== undefined);
  });

  it("services work with their permissions: the stream, buckets of their own, buckets of others", () => works(opened));

  it("and on a cluster of servers", { timeout: 180_000 }, async () => {
    const authorization = natsAuthorization(credentials.users);
    const options = { directory: join(directory, "cluster"), env: process.env, size: 3, authorization };
    await using cluster = await startNatsCluster(options);
    const [first = "", ...others] = cluster.url.split(",");
    await works((service) => {
      const url = [credentials.urlFor(service, first), ...others].join(",");
      const common = { url, clientName: service, log: noopLogger, replicas: 3 };
      return connectBus(common, timeLimit(60_000, stop.signal).signal);
    });
    for (const { logFile } of cluster.servers) assert.doesNotMatch(readFileSync(logFile, "utf8"), /Violation/);
  });

  it("files of seeds are their owner's alone", () => {
    const files = readdirSync(join(directory, "credentials"));
    assert.equal(files.length, busServices.length);
    for (const file of files) assert.equal(statSync(join(directory, "credentials", file)).mode & 0o777, 0o600);
    assert.equal(statSync(join(directory, "nats.conf")).mode & 0o777, 0o600);
  });

  function opened(service: BusService) {
    const url = credentials.urlFor(service, server.url);
    return connectBus({ url, clientName: service, log: noopLogger }, stop.signal);
  }

  /** Exercises the bus as services use it, each with its own account. */
  async function works(open: (service: BusService) => Promise<Bus>): Promise<void> {
    await using writer = await open("xds-server");
    await using reader = await open("config-controller");
    const values = await reader.keyValue("distribution");
    await (await writer.keyValue("distribution")).put("replica", new TextEncoder().encode("1"));
    assert.equal((await values.entries()).filter(({ key }) => key === "replica").length, 1);
    const payload = new TextEncoder().encode("{}");
    const [sequence] = await reader.publish([{ subject: "flotilla.v1.config.Gateway.shop.g", payload }]);
    await using webhook = await open("webhook");
    const found = (await webhook.lastValues("flotilla.v1.config.>")).filter(({ subject }) => /Gateway/.test(subject));
    assert.deepEqual(
      found.map((message) => message.sequence),
      [sequence],
    );
    const gateways = "flotilla.v1.config.Gateway.>";
    assert.equal(await reader.lastSequence(gateways), sequence);
    await until(async () => (await reader.count(gateways)) === 1, {
      withinMs: 60_000,
      what: "one value on any server",
    });
    await reader.forget([sequence ?? 0]);
    assert.deepEqual(await webhook.lastValues("flotilla.v1.config.Gateway.>"), []);
  }
});
