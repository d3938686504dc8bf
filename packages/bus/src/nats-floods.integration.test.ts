/**
 * The damage that a service with its own credentials can do to the others by many permitted requests, on a real NATS server with the users
 * of `flotilla up`.
 */
import assert from "node:assert/strict";
import { mkdtempSync, readFileSync, rmSync } from "node:fs";
import { connect as connectTcp } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { type RunningServer, startNats } from "@flotilla/servers";
import {
  AckPolicy,
  connect,
  DeliverPolicy,
  type NatsConnection,
  type NatsError,
  nanos,
  nkeyAuthenticator,
  StorageType,
} from "nats";
import { type BusCredentials, type BusService, createBusCredentials, natsAuthorization } from "./access.ts";
import type { Bus } from "./bus.ts";
import { connectBus } from "./connect.ts";
import { boundsOf, maxIdleConsumerMs } from "./stored-streams.ts";

const directory = mkdtempSync(join(tmpdir(), "flotilla-floods-"));
const stop = new AbortController();
let server: RunningServer;
let credentials: BusCredentials;
let attacker: NatsConnection;
let victims: { readonly publisher: Bus; readonly reader: Bus };

before(async () => {
  credentials = createBusCredentials(join(directory, "credentials"));
  server = await startNats({ directory, env: process.env, authorization: natsAuthorization(credentials.users) });
  victims = { publisher: await busOf("config-controller"), reader: await busOf("service-controller") };
  const seed = readFileSync(new URL(urlOf("xds-server")).searchParams.get("nkey") ?? "");
  const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed.toString()));
  attacker = await connect({ servers: new URL(server.url).host, authenticator, inboxPrefix: "_INBOX.xds-server" });
});
after(async () => {
  stop.abort();
  await attacker?.close();
  await victims?.publisher[Symbol.asyncDispose]();
  await victims?.reader[Symbol.asyncDispose]();
  await server?.[Symbol.asyncDispose]();
  rmSync(directory, { recursive: true, force: true });
});

function urlOf(service: BusService): string {
  return credentials.urlFor(service, server.url);
}

function busOf(service: BusService): Promise<Bus> {
  return connectBus({ url: urlOf(service), clientName: service, log: noopLogger }, stop.signal);
}

/** The bus does for others what it did before. */
async function othersGoOn(text: string): Promise<void> {
  const values = await victims.publisher.keyValue("ledger");
  await values.put("proof", Buffer.from(text));
  const again = await (await victims.publisher.keyValue("ledger")).entries();
  assert.deepEqual(
    again.map(({ value }) => Buffer.from(value ?? []).toString()),
    [text],
  );
  const machines = await victims.reader.keyValue("machines");
  assert.ok(Array.isArray(await machines.entries()));
}

const apiCode = (error: unknown): number | undefined => (error as NatsError).api_error?.err_code;

describe("a service that was taken over", () => {
  it("fills its own buckets up to their bound, and no others", async () => {
    await using bus = await busOf("xds-server");
    await bus.keyValue("machines");
    const client = attacker.jetstream();
    const value = Buffer.alloc(4 * 1024 * 1024, 1);
    let stored = 0;
    const refused = await (async () => {
      for (let at = 0; at < 100; at++) {
        await client.publish(`$KV.flotilla-machines.key-${at}`, value);
        stored += value.length;
      }
    })().catch((error: unknown) => error);
    // "maximum bytes exceeded"
    assert.equal(apiCode(refused), 10_077, String(refused));
    assert.ok(stored <= (boundsOf("KV_flotilla-machines").maxBytes ?? 0), `${stored} bytes`);
    await othersGoOn("after a full bucket");
  });

  it("fills its own lease up to its bound", async () => {
    const seed = readFileSync(new URL(urlOf("ca")).searchParams.get("nkey") ?? "");
    const authenticator = nkeyAuthenticator(new TextEncoder().encode(seed.toString()));
    const taken = await connect({ servers: new URL(server.url).host, authenticator, inboxPrefix: "_INBOX.ca" });
    try {
      await using bus = await busOf("ca");
      await bus.keyValue("ca-lease");
      const value = Buffer.alloc(256 * 1024, 1);
      let stored = 0;
      const refused = await (async () => {
        for (let at = 0; at < 100; at++) {
          await taken.jetstream().publish(`$KV.flotilla-ca-lease.key-${at}`, value);
          stored += value.length;
        }
      })().catch((error: unknown) => error);
      // "maximum bytes exceeded"
      assert.equal(apiCode(refused), 10_077, String(refused));
      assert.ok(stored <= (boundsOf("KV_flotilla-ca-lease").maxBytes ?? 0), `${stored} bytes`);
    } finally {
      await taken.close();
    }
  });

  it("cannot lift the bounds, nor make streams without any", async () => {
    const manager = await attacker.jetstreamManager({ checkAPI: false, timeout: 1_000 });
    const { config } = await manager.streams.info("KV_flotilla-machines");
    await assert.rejects(manager.streams.update("KV_flotilla-machines", { ...config, max_bytes: -1 }));
    await assert.rejects(manager.streams.add({ name: "OTHER", subjects: ["other.>"], storage: StorageType.File }));
    await assert.rejects(manager.streams.add({ ...config, max_bytes: -1 }));
  });

  it("makes consumers up to a bound, those who read go on, and consumers end with their listener whatever they were asked to be", async () => {
    const manager = await attacker.jetstreamManager({ checkAPI: false, timeout: 5_000 });
    const { maxConsumers } = boundsOf("FLOTILLA");
    const make = (at: number) =>
      manager.consumers.add("FLOTILLA", {
        ...{
          durable_name: `mine-${at}`,
          filter_subject: "flotilla.v1.config.>",
          deliver_subject: `_INBOX.xds-server.${at}`,
        },
        ...{ ack_policy: AckPolicy.None, deliver_policy: DeliverPolicy.All, mem_storage: true },
      });
    const first = await make(0);
    assert.equal(first.config.inactive_threshold, nanos(maxIdleConsumerMs));
    let made = 1;
    const refused = await (async () => {
      for (; made <= maxConsumers + 10; made++) await make(made);
    })().catch((error: unknown) => error);
    // "maximum consumers limit reached"
    assert.equal(apiCode(refused), 10_026, `${made} made: ${String(refused)}`);
    await othersGoOn("beside many consumers");
    const found = await until(
      async () => {
        const { state } = await manager.streams.info("FLOTILLA");
        return state.consumer_count < made / 10 ? state.consumer_count : undefined;
      },
      { what: "consumers end", withinMs: 3 * maxIdleConsumerMs, everyMs: 500 },
    );
    assert.ok(found !== undefined);
  });

  it("makes consumers of a bucket up to a bound, of which one that ends has room for the next reader", async () => {
    await using bus = await busOf("xds-server");
    const values = await bus.keyValue("machines");
    const stream = "KV_flotilla-machines";
    const { maxConsumers } = boundsOf(stream);
    const manager = await attacker.jetstreamManager({ checkAPI: false, timeout: 5_000 });
    const inbox = "_INBOX.xds-server.bucket";
    const [first, others] = [attacker.subscribe(`${inbox}.0`), attacker.subscribe(`${inbox}.more.*`)];
    const make = (at: number) =>
      manager.consumers.add(stream, {
        ...{ durable_name: `of-bucket-${at}`, deliver_subject: at === 0 ? `${inbox}.0` : `${inbox}.more.${at}` },
        ...{ filter_subject: "$KV.flotilla-machines.>", inactive_threshold: nanos(5_000) },
        ...{ ack_policy: AckPolicy.None, deliver_policy: DeliverPolicy.New, mem_storage: true },
      });
    const countConsumers = async () => (await manager.streams.info(stream)).state.consumer_count;
    const before = await countConsumers();
    let made = 0;
    const refused = await (async () => {
      for (; made <= maxConsumers; made++) await make(made);
    })().catch((error: unknown) => error);
    // "maximum consumers limit reached"
    assert.equal(apiCode(refused), 10_026, String(refused));
    assert.ok(made <= maxConsumers && made + before >= maxConsumers, `${made} beside ${before}`);
    await assert.rejects(values.entries(), (error) => apiCode(error) === 10_026);
    // Values are read and written without a consumer, and other buckets have their own.
    await values.delete("key-0");
    assert.equal(await values.get("key-0"), undefined);
    await (await victims.publisher.keyValue("ledger")).entries();
    const soon = (what: string) => ({ what, withinMs: 60_000, everyMs: 50 });
    first.unsubscribe();
    assert.ok(await until(() => values.entries(), soon("room for a reader")));
    others.unsubscribe();
    await until(async () => (await countConsumers()) < maxConsumers / 2, soon("the end of consumers"));
  });

  it("sends requests without end, and others are answered meanwhile", { timeout: 120_000 }, async () => {
    let [asked, isOver] = [0, false];
    const asking = Array.from({ length: 64 }, async () => {
      for (; !isOver; asked++) await attacker.request("$JS.API.INFO", "", { timeout: 60_000 });
    });
    try {
      for (let at = 0; at < 5; at++) await othersGoOn(`beside requests ${at}`);
    } finally {
      isOver = true;
    }
    await Promise.all(asking);
    assert.ok(asked > 100, `${asked} requests`);
  });

  it("is cut off at a message above the bound", async () => {
    const tooLarge = Buffer.alloc(8 * 1024 * 1024 + 1);
    assert.throws(() => attacker.publish("$KV.flotilla-machines.large", tooLarge), /MAX_PAYLOAD/);
    const { port, hostname } = new URL(server.url);
    const socket = connectTcp(Number(port), hostname);
    const closed = new Promise<string>((resolve) => {
      let text = "";
      socket.on("data", (data) => (text += String(data))).on("error", () => undefined);
      socket.once("close", () => resolve(text));
    });
    // A client of its own making is refused before it is known.
    socket.write(`CONNECT {"verbose":false}\r\nPUB a ${tooLarge.length}\r\n`);
    assert.match(await closed, /-ERR/);
    await othersGoOn("after a large message");
  });
});
