/** Against the client of grpc-js, and node:http2 where that one cannot misbehave. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { connect } from "node:http2";
import { type Socket, connect as tcp } from "node:net";
import { after, before, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { Client, type ClientDuplexStream, credentials, Metadata, type ServiceError } from "@grpc/grpc-js";
import type { RawCall } from "./call.ts";
import { frameHeadBytes, frameOf } from "./frame.ts";
import { listen } from "./server.fixture.ts";
import type { Handler, RawServerOptions } from "./server.ts";
import { GrpcError } from "./status.ts";
import { unary } from "./unary.ts";

const raw = (bytes: Buffer): Buffer => bytes;
const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });
const calls: RawCall[] = [];
const ends: string[] = [];
const failures: unknown[] = [];

/** Answers each message with itself; "end CODE TEXT" ends the call. */
const echo: Handler = (call) => {
  calls.push(call);
  call.listen({
    onMessage: (bytes) => {
      const [word, code, ...text] = String(bytes).split(" ");
      if (word === "end") call.end({ code: Number(code), details: text.join(" ") });
      else call.write(frameOf(bytes), (error) => void (error && ends.push("not written")));
    },
    onEnd: () => {
      ends.push("ended");
      call.end({ code: 0, details: "" });
    },
    onCancelled: () => ends.push("cancelled"),
    onUnreadable: (error) => call.end(error),
  });
};
const answer = unary(
  async (request, call) => {
    if (String(request) === "refuse") throw new GrpcError(7, "not you");
    if (String(request) === "fail") throw new Error("inside");
    return Buffer.from(`${request} from ${call.metadata.get("who")}`);
  },
  (error) => failures.push(error),
);

const limits: RawServerOptions = {
  methods: new Map([
    ["/test.Test/Echo", echo],
    ["/test.Test/Answer", answer],
  ]),
  maxMessageBytes: 1_000,
  maxStreamsPerConnection: 100,
  keepaliveMs: 60_000,
  keepaliveTimeoutMs: 1_000,
  maxAgeMs: undefined,
  maxAgeGraceMs: 50,
};

async function serve(more: Partial<RawServerOptions> = {}) {
  const server = await listen({ ...limits, ...more });
  const sockets = new Set<Socket>();
  server.listener.on("connection", (socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
  });
  return { ...server, sockets, address: `127.0.0.1:${server.port}` };
}

type Echoing = ClientDuplexStream<Buffer, Buffer> & { readonly got: string[]; readonly end_: Promise<ServiceError> };

function open(client: Client, path = "/test.Test/Echo"): Echoing {
  const stream = client.makeBidiStreamRequest(path, raw, raw);
  const got: string[] = [];
  stream.on("data", (bytes: Buffer) => got.push(String(bytes)));
  const ended = new Promise<ServiceError>((resolve) => {
    stream.on("error", (error: ServiceError) => resolve(error));
    stream.on("status", (status: ServiceError) => resolve(status));
  });
  return Object.assign(stream, { got, end_: ended });
}

describe("raw gRPC server", () => {
  let server: Awaited<ReturnType<typeof serve>>;
  let client: Client;
  before(async () => {
    server = await serve();
    client = new Client(server.address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
  });
  after(async () => {
    client.close();
    await server[Symbol.asyncDispose]();
  });

  const ask = (text: string, metadata = new Metadata()) =>
    new Promise<string>((resolve, reject) => {
      client.makeUnaryRequest("/test.Test/Answer", raw, raw, Buffer.from(text), metadata, (error, response) =>
        error ? reject(error) : resolve(String(response)),
      );
    });

  it("answers one request, with the caller's metadata", async () => {
    const metadata = new Metadata();
    metadata.set("who", "me");
    assert.equal(await ask("hello", metadata), "hello from me");
  });

  it("passes a refusal on, and nothing of a failure", async () => {
    await assert.rejects(ask("refuse"), { code: 7, details: "not you" });
    await assert.rejects(ask("fail"), { code: 13, details: "internal error" });
    assert.match(String(failures), /inside/);
  });

  it("streams in both directions until the client ends", async () => {
    const stream = open(client);
    for (const text of ["a", "", "c".repeat(900)]) stream.write(Buffer.from(text));
    await until(() => stream.got.length === 3, soon("the echoes"));
    assert.deepEqual(stream.got, ["a", "", "c".repeat(900)]);
    stream.end();
    assert.equal((await stream.end_).code, 0);
    assert.equal(ends.pop(), "ended");
  });

  it("ends with a status after what was written; its text may be any", async () => {
    const stream = open(client);
    stream.write(Buffer.from("first"));
    stream.write(Buffer.from("end 9 100% nicht möglich\n…"));
    const { code, details } = await stream.end_;
    assert.deepEqual([code, details, stream.got], [9, "100% nicht möglich\n…", ["first"]]);
  });

  it("ends without a message, too", async () => {
    const stream = open(client);
    stream.write(Buffer.from("end 16 who are you"));
    assert.deepEqual([(await stream.end_).code, (await stream.end_).details], [16, "who are you"]);
  });

  it("takes nothing more for a call that the client gave up", async () => {
    const stream = open(client);
    stream.write(Buffer.from("x"));
    await until(() => stream.got.length === 1, soon("the echo"));
    const call = calls.at(-1);
    stream.cancel();
    await until(() => call?.isClosed === true, soon("the end"));
    const error = await new Promise((left) => call?.write(frameOf(Buffer.from("late")), left));
    assert.match(String(error), /the call is over/);
  });

  it("refuses a message by its announced size, before it is there", async () => {
    const session = connect(`http://${server.address}`);
    const stream = session.request({
      ...{ ":path": "/test.Test/Echo", ":method": "POST", "content-type": "application/grpc" },
    });
    const ended: string[] = [];
    const note = (headers: Readonly<Record<string, unknown>>): void => {
      if ("grpc-status" in headers) ended.push(`${headers["grpc-status"]} ${headers["grpc-message"]}`);
    };
    stream
      .on("error", () => undefined)
      .on("response", note)
      .on("trailers", note)
      .resume();
    // The head alone: no byte of the message follows it.
    stream.write(frameOf(Buffer.alloc(1_001)).subarray(0, frameHeadBytes));
    try {
      await until(() => ended.length > 0, { ...soon("the refusal"), withinMs: 10_000 });
      assert.deepEqual(ended, ["8 a request of 1001 bytes is over the limit of 1000"]);
    } finally {
      session.destroy();
    }
  });

  it("refuses a message beyond the limit that is there, and no smaller one", async () => {
    const [large, small] = [open(client), open(client)];
    large.write(Buffer.alloc(1_001));
    small.write(Buffer.alloc(1_000));
    await until(() => small.got.length === 1, soon("the echo of the smaller one"));
    const taken = until(() => large.got.length > 0, soon("the echo of the larger one")).then(() => ({ code: 0 }));
    taken.catch(() => undefined);
    assert.equal((await Promise.race([large.end_, taken])).code, 8);
    small.cancel();
  });

  it("knows no other method", async () => {
    const { code, details } = await open(client, "/test.Test/Nothing").end_;
    assert.equal(code, 12);
    assert.match(details, /\/test\.Test\/Nothing/);
  });

  it("is nothing for browsers", async () => {
    const session = connect(`http://${server.address}`);
    const stream = session.request({ ":path": "/test.Test/Echo", ":method": "POST", "content-type": "text/plain" });
    const [headers] = (await once(stream, "response")) as [Record<string, unknown>];
    assert.equal(headers[":status"], 415);
    session.destroy();
  });

  it("a broken connection cancels its calls and no others", async () => {
    const other = new Client(server.address, credentials.createInsecure(), { "grpc.use_local_subchannel_pool": 1 });
    const [lost, kept] = [open(other), open(client)];
    for (const stream of [lost, kept]) stream.write(Buffer.from("x"));
    await until(() => lost.got.length + kept.got.length === 2, soon("the echoes"));
    ends.length = 0;
    [...server.sockets].at(-1)?.resetAndDestroy();
    assert.equal((await lost.end_).code, 14);
    await until(() => ends.length > 0, soon("the end of the call"));
    assert.deepEqual(ends, ["cancelled"]);
    kept.write(Buffer.from("y"));
    await until(() => kept.got.length === 2, soon("the other one's echo"));
    kept.cancel();
    other.close();
  });
});

describe("connections", () => {
  it("that do not answer are cut", async () => {
    await using server = await serve({ keepaliveMs: 40, keepaliveTimeoutMs: 40 });
    const socket = tcp(Number(server.address.split(":")[1]), "127.0.0.1");
    socket.on("error", () => undefined);
    // Preface and settings, and never a word again.
    socket.write(Buffer.from("PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n\0\0\0\x04\0\0\0\0\0", "latin1"));
    await until(() => server.sockets.size === 1, soon("the connection"));
    await until(() => server.sockets.size === 0, soon("its end"));
    socket.destroy();
  });

  it("that answer stay", async () => {
    await using server = await serve({ keepaliveMs: 20, keepaliveTimeoutMs: 500 });
    const client = new Client(server.address, credentials.createInsecure());
    const stream = open(client);
    stream.write(Buffer.from("x"));
    await until(() => stream.got.length === 1, soon("the echo"));
    await new Promise((resolve) => setTimeout(resolve, 150));
    stream.write(Buffer.from("y"));
    await until(() => stream.got.length === 2, soon("the second echo"));
    client.close();
    stream.cancel();
  });

  it("that are too old are asked to go, and cut after the grace", async () => {
    await using server = await serve({ maxAgeMs: 60, maxAgeGraceMs: 60 });
    const session = connect(`http://${server.address}`);
    session.on("error", () => undefined);
    const goaway = once(session, "goaway");
    const stream = session.request({
      ":path": "/test.Test/Echo",
      ":method": "POST",
      "content-type": "application/grpc",
    });
    stream.on("error", () => undefined);
    stream.write(frameOf(Buffer.from("x")));
    const [code, , data] = (await goaway) as [number, number, Buffer];
    assert.deepEqual([code, String(data)], [0, "max_age"]);
    await until(() => server.sockets.size === 0, soon("the end"));
    session.destroy();
  });

  it("go when the server drains", async () => {
    await using server = await serve();
    const session = connect(`http://${server.address}`);
    await once(session, "connect");
    await until(() => server.sockets.size === 1, soon("the connection"));
    server.injector.drain(5_000);
    await until(() => server.sockets.size === 0, soon("the end of a connection without calls"));
    session.destroy();
  });
});
