import assert from "node:assert/strict";
import { connect } from "node:net";
import { describe, it } from "node:test";
import type { Authenticator } from "@flotilla/auth";
import { typeUrl as types } from "@flotilla/proto";
import { until } from "@flotilla/runtime";
import type { Form } from "@flotilla/xds";
import { resource, startClient, type TestClientOptions } from "./testing/test-client.ts";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

const forms: readonly Form[] = ["sotw", "delta"];

const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });

async function endOf(server: TestServer, options: TestClientOptions): Promise<{ code: number; details: string }> {
  await using client = startClient(server, options);
  client.client.subscribe(types.cluster);
  const error = await until(() => client.ends[0], soon("the stream to end"));
  return error as { code: number; details: string };
}

describe("ads server", () => {
  for (const form of forms) {
    it(`${form}: sends what there is, then what changes, and notes what was acknowledged`, async () => {
      await using server = await startTestServer();
      server.source.put(types.cluster, [resource(types.cluster, "a", "1"), resource(types.cluster, "b", "1")]);
      await using client = startClient(server, { form });
      client.client.subscribe(types.cluster);
      await until(() => client.updates.length === 1, soon("the first answer"));

      server.source.put(types.cluster, [resource(types.cluster, "b", "2")]);
      await until(() => client.updates.length === 2, soon("the change"));

      assert.deepEqual([...client.client.state.held(types.cluster).keys()], ["b"]);
      assert.deepEqual(client.updates[1]?.removed, ["a"]);
      const record = await until(() => server.connected.list()[0], soon("the record"));
      const type = () => record.types().get(types.cluster);
      await until(() => type()?.acknowledged?.position === 2, soon("the acknowledgement"));
      assert.equal(type()?.sent?.nonce, type()?.acknowledged?.nonce);
      assert.equal(record.answeredPosition(), 2);
      server.source.put(types.listener, []);
      assert.equal(record.answeredPosition(), 3, "a change that does not concern the stream is settled at once");
      assert.equal(record.proxy.id, "a.shop");
    });

    it(`${form}: sends nothing again after a reconnect`, async () => {
      await using server = await startTestServer();
      server.source.put(types.cluster, [resource(types.cluster, "a", "1")]);
      server.source.put(types.route, [resource(types.route, "r", "1")]);
      await using client = startClient(server, { form });
      client.client.subscribe(types.cluster);
      client.client.subscribe(types.route, ["r"]);
      await until(() => client.updates.length === 2, soon("the first answers"));

      client.client.disconnect();
      await until(
        () => server.connected.list()[0]?.types().size === 2 && client.ends.length === 1,
        soon("the second stream"),
      );
      server.source.put(types.listener, [resource(types.listener, "l", "1")]);
      client.client.subscribe(types.listener);
      await until(() => client.updates.length === 3, soon("what it did not have"));

      assert.deepEqual(
        client.updates.map(({ typeUrl }) => typeUrl),
        [types.cluster, types.route, types.listener],
      );
      assert.equal(server.source.sessions, 1);
    });

    it(`${form}: keeps the client's words about what it refuses`, async () => {
      await using server = await startTestServer();
      server.source.put(types.listener, [resource(types.listener, "l", "1")]);
      await using client = startClient(server, { form, check: () => "no such filter" });
      client.client.subscribe(types.listener);
      const rejection = await until(
        () => server.connected.list()[0]?.types().get(types.listener)?.rejection,
        soon("the refusal"),
      );
      assert.equal(rejection.message, "no such filter");
      assert.equal(server.connected.list()[0]?.answeredPosition(), 1, "refusing is an answer");
      assert.match(await server.metrics.text(), /pilot_xds_lds_reject 1/);
    });
  }

  it("streams that need the same bytes share one message", async () => {
    await using server = await startTestServer();
    server.source.put(types.cluster, [resource(types.cluster, "a", "1")]);
    await using one = startClient(server, { form: "delta" });
    await using two = startClient(server, { form: "delta" });
    one.client.subscribe(types.cluster);
    two.client.subscribe(types.cluster);
    await until(() => one.updates.length + two.updates.length === 2, soon("both answers"));
    const nonces = server.connected.list().map((record) => record.types().get(types.cluster)?.sent?.nonce);
    assert.equal(nonces.length, 2);
    assert.equal(nonces[0], nonces[1]);
  });

  const refusals: readonly { name: string; client: Partial<TestClientOptions>; code: number; text: RegExp }[] = [
    { name: "too few parts in the node id", client: { id: "sidecar~10.0.0.1" }, code: 3, text: /has 2 parts/ },
    { name: "an unknown node type", client: { id: "car~10.0.0.1~a.b~c" }, code: 3, text: /unknown type "car"/ },
    { name: "no address", client: { id: "sidecar~~a.b~c" }, code: 3, text: /no valid IP address/ },
  ];
  for (const { name, client, code, text } of refusals) {
    it(`refuses ${name} and says so`, async () => {
      await using server = await startTestServer();
      const error = await endOf(server, { form: "sotw", ...client });
      assert.equal(error.code, code);
      assert.match(error.details, text);
    });
  }

  const tokens: Authenticator = {
    name: "test",
    authenticate: async ({ metadata }) => {
      const token = metadata.get("authorization")?.[0];
      if (token !== "Bearer good") return { authenticated: false, reason: "bad token" };
      return { authenticated: true, authenticator: "test", identities: ["spiffe://td/ns/shop/sa/web"] };
    },
  };

  it("takes a caller that proves to be its node", async () => {
    await using server = await startTestServer({ authentication: { authenticator: tokens, mode: "required" } });
    server.source.put(types.cluster, []);
    await using client = startClient(server, {
      form: "delta",
      token: "good",
      metadata: { NAMESPACE: "shop", SERVICE_ACCOUNT: "web" },
    });
    client.client.subscribe(types.cluster);
    await until(() => client.updates.length === 1, soon("an empty answer"));
    assert.deepEqual(server.connected.list()[0]?.identities, ["spiffe://td/ns/shop/sa/web"]);
  });

  const callers: readonly {
    name: string;
    mode: "required" | "offered";
    client: Partial<TestClientOptions>;
    code: number;
    text: RegExp;
  }[] = [
    {
      name: "no proof where one is required",
      mode: "required",
      client: {},
      code: 16,
      text: /^authentication failure$/,
    },
    {
      name: "a bad proof where none is required",
      mode: "offered",
      client: { token: "bad" },
      code: 16,
      text: /^authentication failure$/,
    },
    {
      name: "a node of another namespace",
      mode: "required",
      client: { token: "good", metadata: { NAMESPACE: "bank" } },
      code: 7,
      text: /no identities \(\[spiffe:\/\/td\/ns\/shop\/sa\/web\]\) matched bank\//,
    },
    {
      name: "a node of another service account",
      mode: "offered",
      client: { token: "good", metadata: { NAMESPACE: "shop", SERVICE_ACCOUNT: "db" } },
      code: 7,
      text: /matched shop\/db/,
    },
  ];
  for (const { name, mode, client, code, text } of callers) {
    it(`refuses ${name}`, async () => {
      await using server = await startTestServer({ authentication: { authenticator: tokens, mode } });
      const error = await endOf(server, { form: "delta", ...client });
      assert.equal(error.code, code);
      assert.match(error.details, text);
    });
  }

  it("turns streams away before it is ready, and those that come too fast", async () => {
    let isReady = false;
    await using server = await startTestServer({
      limits: { newStreamsPerSecond: 0.001, newStreamsBurst: 1, newStreamMaxWaitMs: 10 },
      options: { isReady: () => isReady },
    });
    assert.equal((await endOf(server, { form: "sotw" })).code, 14);
    isReady = true;
    server.source.put(types.cluster, []);
    await using first = startClient(server, { form: "sotw" });
    first.client.subscribe(types.cluster);
    await until(() => first.updates.length === 1, soon("the first stream's answer"));
    const error = await endOf(server, { form: "sotw" });
    assert.equal(error.code, 8);
    assert.match(error.details, /too many new streams/);
  });

  it("callers without a proof use up nothing of what those with one have", async () => {
    await using server = await startTestServer({
      limits: { newStreamsPerSecond: 0.001, newStreamsBurst: 1, newStreamMaxWaitMs: 10 },
      authentication: { authenticator: tokens, mode: "required" },
    });
    server.source.put(types.cluster, []);
    for (let i = 0; i < 5; i++) assert.equal((await endOf(server, { form: "delta" })).code, 16);
    await using honest = startClient(server, { form: "delta", token: "good", metadata: { NAMESPACE: "shop" } });
    honest.client.subscribe(types.cluster);
    await until(() => honest.updates.length === 1, soon("the honest one's answer"));
  });

  it("anonymous callers have a budget of their own", async () => {
    await using server = await startTestServer({
      limits: { newStreamsPerSecond: 0.001, newStreamsBurst: 1, newStreamMaxWaitMs: 10 },
      authentication: { authenticator: tokens, mode: "offered" },
    });
    server.source.put(types.cluster, []);
    await using first = startClient(server, { form: "delta" });
    first.client.subscribe(types.cluster);
    await until(() => first.updates.length === 1, soon("the first answer"));
    assert.equal((await endOf(server, { form: "delta" })).code, 8);
    await using honest = startClient(server, { form: "delta", token: "good", metadata: { NAMESPACE: "shop" } });
    honest.client.subscribe(types.cluster);
    await until(() => honest.updates.length === 1, soon("the honest one's answer"));
  });

  it("ends all streams when it goes, with a status that says so", async () => {
    const server = await startTestServer();
    server.source.put(types.cluster, []);
    await using client = startClient(server, { form: "delta" });
    client.client.subscribe(types.cluster);
    await until(() => client.updates.length === 1, soon("the answer"));
    await server[Symbol.asyncDispose]();
    const error = (await until(() => client.ends[0], soon("the end"))) as { code: number; details: string };
    assert.equal(error.code, 14);
    assert.match(error.details, /shuts down/);
    assert.equal(server.source.sessions, 0);
  });

  it("sends GOAWAY to a connection of age; its client comes back and is sent nothing again", async () => {
    await using server = await startTestServer({ limits: { maxConnectionAgeMs: 100, maxConnectionAgeGraceMs: 20 } });
    server.source.put(types.cluster, [resource(types.cluster, "a", "1")]);
    await using client = startClient(server, { form: "delta" });
    client.client.subscribe(types.cluster);
    await until(() => client.ends.length >= 2, soon("two reconnects"));
    assert.equal(client.updates.length, 1);
  });

  it("survives garbage on the port", async () => {
    await using server = await startTestServer();
    server.source.put(types.cluster, []);
    const socket = connect(server.port, "127.0.0.1");
    socket.on("error", () => undefined);
    socket.write("GET / HTTP/1.1\r\n\r\n".repeat(100));
    await using client = startClient(server, { form: "sotw" });
    client.client.subscribe(types.cluster);
    await until(() => client.updates.length === 1, soon("an answer beside it"));
    socket.destroy();
  });
});
