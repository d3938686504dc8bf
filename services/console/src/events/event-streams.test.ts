/** Streams of events over a real port: what a reader gets, and how a stream ends. */
import assert from "node:assert/strict";
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { after, before, beforeEach, describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import type { Session } from "../session/sessions.ts";
import type { Listener } from "./event-feed.ts";
import { EventStreams } from "./event-streams.ts";

const soon = (what: string) => ({ withinMs: 60_000, what });

describe("streams of events", () => {
  const listeners = new Map<Listener, number | undefined>();
  const feed = {
    listen: (listener: Listener, lastId: number | undefined) => {
      listeners.set(listener, lastId);
      return () => void listeners.delete(listener);
    },
  };
  let [stop, ended] = [new AbortController(), new AbortController()];
  let streams: EventStreams;
  let refused: unknown;
  const server = createServer((_, response: ServerResponse) => {
    const session: Session = { caller: { account: "ann", mayWrite: false }, token: "T", ended: ended.signal };
    try {
      streams.open(response, session, 7);
    } catch (error) {
      refused = error;
      response.destroy();
    }
  });
  before(async () => {
    await once(server.listen(0, "127.0.0.1"), "listening");
  });
  after(() => {
    server.closeAllConnections();
    server.close();
  });
  beforeEach(() => {
    [stop, ended] = [new AbortController(), new AbortController()];
    streams = new EventStreams({ feed, maxStreams: 2, stop: stop.signal });
    listeners.clear();
  });

  const read = async () => {
    const away = new AbortController();
    const count = listeners.size;
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`, { signal: away.signal });
    const seen = { text: "", isEnded: false, headers: response.headers };
    const reading = (async () => {
      for await (const part of response.body ?? []) seen.text += Buffer.from(part).toString();
      seen.isEnded = true;
    })().catch(() => undefined);
    await until(() => listeners.size > count, soon("the stream"));
    return { seen, leave: () => away.abort(), reading, listener: [...listeners.keys()].at(-1) as Listener };
  };

  it("have each event with its number, and forbid caching", async () => {
    const { seen, listener, leave } = await read();
    assert.deepEqual([streams.count, listeners.get(listener), listener.session.token], [1, 7, "T"]);
    listener.take({ id: 8, event: { type: "resync", data: {} } });
    await until(() => seen.text.endsWith("\n\n"), soon("the event"));
    assert.equal(seen.text, "id: 8\nevent: resync\ndata: {}\n\n");
    assert.deepEqual(
      ["content-type", "cache-control", "x-accel-buffering"].map((name) => seen.headers.get(name)),
      ["text/event-stream", "no-store", "no"],
    );
    leave();
    await until(() => streams.count === 0 && listeners.size === 0, soon("the end"));
  });

  for (const [name, end, last] of [
    ["the session", () => ended.abort("idle"), 'event: session-ended\ndata: {"reason":"idle"}\n\n'],
    ["the console", () => stop.abort(), ""],
  ] as const)
    it(`end with ${name}`, async () => {
      const { seen, reading } = await read();
      end();
      await reading;
      assert.deepEqual([seen.text, seen.isEnded], [last, true]);
      await until(() => streams.count === 0 && listeners.size === 0, soon("the end"));
    });

  it("end at once in a session that has ended", async () => {
    ended.abort("signed-out");
    const response = await fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
    assert.equal(await response.text(), 'event: session-ended\ndata: {"reason":"signed-out"}\n\n');
  });

  it("are as many as the setting allows", async () => {
    const open = [await read(), await read()];
    refused = undefined;
    await assert.rejects(fetch(`http://127.0.0.1:${(server.address() as AddressInfo).port}`));
    assert.match(String(refused), /2 streams of events are open already/);
    assert.equal(streams.count, 2);
    for (const { leave } of open) leave();
    await until(() => streams.count === 0, soon("the end"));
    const next = await read();
    next.leave();
  });
});

it("a reader that does not read misses events, and is asked to read everything when it goes on", () => {
  const written: string[] = [];
  const handlers = new Map<string, () => void>();
  let [waiting, ended] = [0, false];
  const response = {
    ...{ writeHead: () => undefined, flushHeaders: () => undefined },
    get writableLength() {
      return waiting;
    },
    write: (text: string) => written.push(text),
    end: () => {
      ended = true;
    },
    on: (name: string, handler: () => void) => handlers.set(name, handler),
    once: (name: string, handler: () => void) => handlers.set(name, handler),
  } as unknown as ServerResponse;
  let take: Listener["take"] = () => undefined;
  const feed = {
    listen: (listener: Listener) => {
      ({ take } = listener);
      return () => undefined;
    },
  };
  const [sessionEnd, stop] = [new AbortController(), new AbortController()];
  const session = { ended: sessionEnd.signal } as Session;
  const streams = new EventStreams({ feed, maxStreams: 1, stop: stop.signal });
  streams.open(response, session, undefined);
  const event = (id: number) => take({ id, event: { type: "resync", data: {} } });
  const ids = () => written.map((text) => /^id: (\d+)/.exec(text)?.[1] ?? text);
  event(1);
  waiting = 256 * 1024;
  event(2);
  handlers.get("drain")?.();
  waiting = 256 * 1024 + 1;
  event(3);
  waiting = 0;
  handlers.get("drain")?.();
  handlers.get("drain")?.();
  event(4);
  assert.deepEqual(ids(), ["1", "2", "event: resync\ndata: {}\n\n", "4"]);
  handlers.get("close")?.();
  sessionEnd.abort("idle");
  stop.abort();
  assert.deepEqual([streams.count, ended, ids().length], [0, false, 4], "a stream that is closed is written no more");
});
