/** Connections without a request beyond the bounds, against a real server on several addresses of this host. */
import assert from "node:assert/strict";
import { EventEmitter, once } from "node:events";
import { connect, type ServerHttp2Session } from "node:http2";
import { type Socket, connect as tcp } from "node:net";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { frameHeadBytes, frameOf } from "./frame.ts";
import { defaultIdleBounds, type IdleBounds, IdleConnections } from "./idle-connections.ts";
import { listen } from "./server.fixture.ts";
import type { Handler } from "./server.ts";

const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });

/** Answers at once and after each message. */
const answerEach: Handler = (call) => {
  call.listen({
    onMessage: (message) => call.write(frameOf(message), () => undefined),
    onEnd: () => undefined,
    onCancelled: () => undefined,
    onUnreadable: () => undefined,
  });
  call.write(frameOf(), () => undefined);
};

async function serve(idle: IdleBounds) {
  let closed = 0;
  const server = await listen({
    ...{ maxMessageBytes: 1_000, maxStreamsPerConnection: 100, keepaliveMs: 60_000, keepaliveTimeoutMs: 1_000 },
    ...{ maxAgeMs: undefined, maxAgeGraceMs: 50, idle, onIdleClosed: () => closed++ },
    methods: new Map<string, Handler>([
      ["/test.Test/Hold", (call) => call.write(frameOf(), () => undefined)],
      ["/test.Test/Listen", answerEach],
    ]),
  });
  const { port, listener } = server;
  /** One after the other, so that the server sees them in this order. */
  const come = async (count: number, localAddress = "127.0.0.1"): Promise<readonly Socket[]> => {
    const sockets: Socket[] = [];
    for (let at = 0; at < count; at++) {
      const socket = tcp({ host: "127.0.0.1", port, localAddress });
      socket.on("error", () => undefined).resume();
      await Promise.all([once(socket, "connect"), once(listener, "connection")]);
      sockets.push(socket);
    }
    return sockets;
  };
  return {
    come,
    closedIdle: () => closed,
    /** A call that has been answered; `end` cancels it. */
    hold: async (method = "Hold", request?: Buffer) => {
      const session = connect(`http://127.0.0.1:${port}`);
      session.on("error", () => undefined);
      const headers = { ":path": `/test.Test/${method}`, ":method": "POST", "content-type": "application/grpc" };
      const call = session.request(headers);
      call.on("error", () => undefined).resume();
      await once(call, "response");
      if (request !== undefined) {
        let bytes = 0;
        call.on("data", (chunk: Buffer) => {
          bytes += chunk.length;
        });
        call.write(request);
        await until(() => bytes > 2 * frameHeadBytes, soon("an answer"));
      }
      return { session, end: () => call.close() };
    },
    [Symbol.asyncDispose]: () => server[Symbol.asyncDispose](),
  };
}

const gone = (sockets: readonly Socket[]) => sockets.map(({ closed }) => closed);

describe("connections without a request", () => {
  it("beyond those of one address close its oldest, and none of another address", async () => {
    await using it = await serve({ perAddress: 2, inAll: 100 });
    const others = await it.come(1, "127.0.0.2");
    const sockets = await it.come(4);
    await until(() => sockets[1]?.closed === true, soon("the end of the second"));
    assert.deepEqual([gone(sockets), gone(others), it.closedIdle()], [[true, true, false, false], [false], 2]);
  });

  it("beyond those in all close the oldest of the address with the most", async () => {
    await using it = await serve({ perAddress: 100, inAll: 4 });
    const honest = await it.come(1, "127.0.0.2");
    const many = await it.come(3, "127.0.0.3");
    const next = await it.come(1, "127.0.0.4");
    await until(() => many[0]?.closed === true, soon("the end of the oldest"));
    assert.deepEqual([gone(honest), gone(many), gone(next)], [[false], [true, false, false], [false]]);
  });

  it("count from the end of their last call, and not before", async () => {
    await using it = await serve({ perAddress: 2, inAll: 100 });
    const { session, end } = await it.hold();
    const [first, second] = [await it.come(2), await it.come(1)];
    await until(() => first[0]?.closed === true, soon("the end of the oldest silent one"));
    assert.equal(session.destroyed, false, "one with a call makes no room");
    end();
    await until(() => first[1]?.closed === true, soon("the end of the next silent one"));
    assert.deepEqual([session.destroyed, gone(second), it.closedIdle()], [false, [false], 2]);
    await it.come(2);
    await until(() => session.destroyed, soon("the end of the one that had a call"));
  });

  it("count while their call has sent no whole request, and not once it has", async () => {
    await using it = await serve({ perAddress: 2, inAll: 100 });
    const silent = await it.hold("Listen");
    const part = await it.hold("Listen", undefined);
    const asking = await it.hold("Listen", frameOf(Buffer.from("request")));
    const sockets = await it.come(1);
    await until(() => silent.session.destroyed, soon("the end of the one without a request"));
    assert.deepEqual([part.session.destroyed, asking.session.destroyed, it.closedIdle()], [false, false, 1]);
    await it.come(2);
    await until(() => sockets[0]?.closed === true, soon("the end of the silent one"));
    assert.deepEqual([part.session.destroyed, asking.session.destroyed, it.closedIdle()], [true, false, 3]);
  });

  it("are 8,192 in all without bounds of its own", () => {
    let closed = 0;
    const idle = new IdleConnections(defaultIdleBounds, () => closed++);
    const session = () => Object.assign(new EventEmitter(), { destroyed: false, destroy: () => undefined });
    for (let at = 0; at < 8_192; at++) idle.watch(session() as unknown as ServerHttp2Session, `10.0.0.${at % 5}`);
    assert.equal(closed, 0);
    idle.watch(session() as unknown as ServerHttp2Session, "10.0.0.9");
    assert.equal(closed, 1);
  });
});
