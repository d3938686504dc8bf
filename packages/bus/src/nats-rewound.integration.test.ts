/** A real NATS server that comes back with an older disk and takes other messages before its reader is back: the reader notices. */
import assert from "node:assert/strict";
import { cpSync, mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, beforeEach, describe, it } from "node:test";
import { noopLogger, until } from "@flotilla/runtime";
import { freePort, type RunningServer, startNats } from "@flotilla/servers";
import type { Bus } from "./bus.ts";
import { connectBus } from "./connect.ts";

const root = mkdtempSync(join(tmpdir(), "flotilla-rewound-"));
const [directory, older] = [join(root, "server"), join(root, "older")];
const stop = new AbortController();
const soon = (what: string) => ({ withinMs: 30_000, what });
let server: RunningServer;

const put = (name: string, value: string) => ({ subject: `flotilla.v1.a.${name}`, payload: Buffer.from(value) });
const open = () => connectBus({ url: server.url, clientName: "t", log: noopLogger }, stop.signal);

interface Reader extends AsyncDisposable {
  readonly items: string[];
}

/** @param from where it was before, in place of the beginning */
function reader(bus: Bus, from: { readonly afterSequence: number; readonly mark?: string | undefined }): Reader {
  const items: string[] = [];
  const ended = new AbortController();
  const reading = (async () => {
    for await (const item of bus.follow({ filters: ["flotilla.v1.a.>"], epoch: bus.epoch, ...from }, ended.signal))
      if (item.kind === "message") items.push(`${item.message.subject.at(-1)}=${Buffer.from(item.message.payload)}`);
      else items.push(item.kind === "reset" ? `reset: ${item.reason}` : item.kind);
  })();
  const close = async () => {
    ended.abort();
    await reading;
  };
  return { items, [Symbol.asyncDispose]: close };
}

async function copyDisk(): Promise<void> {
  await server[Symbol.asyncDispose]();
  cpSync(directory, older, { recursive: true });
  server = await startNats({ directory, env: process.env, port: server.port });
}

/** The older disk is back and written on while no other client is connected. */
async function comeBackRewound(messages: readonly (readonly [string, string])[]): Promise<void> {
  const { port } = server;
  await server.kill();
  rmSync(directory, { recursive: true });
  cpSync(older, directory, { recursive: true });
  server = await startNats({ directory, env: process.env, port: await freePort() });
  const bus = await open();
  for (const [name, value] of messages) await bus.publish([put(name, value)]);
  await bus[Symbol.asyncDispose]();
  await server[Symbol.asyncDispose]();
  server = await startNats({ directory, env: process.env, port });
}

describe("a stream that was rewound and written on", () => {
  before(async () => {
    server = await startNats({ directory, env: process.env });
  });
  beforeEach(async () => {
    await server[Symbol.asyncDispose]();
    for (const folder of [directory, older]) rmSync(folder, { recursive: true, force: true });
    server = await startNats({ directory, env: process.env });
  });
  after(async () => {
    stop.abort();
    await server[Symbol.asyncDispose]();
    rmSync(root, { recursive: true, force: true });
  });

  for (const [name, messages, reason] of [
    [
      "past the old position: another message is in its place",
      [
        ["w", "2"],
        ["x", "2"],
        ["y", "2"],
      ],
      /reset: message 3 is another one/,
    ],
    [
      "on one subject: the message in its place was replaced",
      [
        ["w", "2"],
        ["w", "3"],
        ["w", "4"],
      ],
      /reset: message 3 was replaced/,
    ],
    ["not as far: the position is behind its end", [], /reset: position 3 lies after/],
  ] as const)
    it(`${name}; a connected reader begins again, and one that comes later`, async () => {
      await using bus = await open();
      await using connected = reader(bus, { afterSequence: 0 });
      await bus.publish([put("a", "1"), put("b", "1")]);
      await copyDisk();
      await until(() => bus.state.connected, soon("the connection"));
      await bus.publish([put("c", "1")]);
      await until(() => connected.items.includes("c=1"), soon("the message that is lost"));
      const { mark } = bus;
      const before = connected.items.length;
      await comeBackRewound(messages);
      await using next = await open();
      await using late = reader(next, { afterSequence: 3, mark });
      const isDone = (items: readonly string[]) => items.some((item) => reason.test(item)) && items.includes("a=1");
      await until(() => isDone(connected.items.slice(before)), soon("the connected reader"));
      await until(() => isDone(late.items), soon("the late reader"));
      const [last] = messages.slice(-1);
      const all = last === undefined ? "b=1" : last.join("=");
      await until(() => late.items.includes(all), soon("what is stored now"));
    });

  for (const [name, messages, resets] of [
    [
      "every message that was read and lost has a newer value behind the position: reading goes on",
      [
        ["w", "2"],
        ["d", "2"],
        ["c", "2"],
        ["d", "3"],
        ["w", "3"],
      ],
      0,
    ],
    [
      "one stands before the position that was not read: reading begins again",
      [
        ["w", "2"],
        ["d", "2"],
        ["d", "3"],
        ["c", "3"],
      ],
      1,
    ],
  ] as const)
    it(name, async () => {
      await using bus = await open();
      await using connected = reader(bus, { afterSequence: 0 });
      await bus.publish([put("a", "1"), put("b", "1")]);
      await copyDisk();
      await until(() => bus.state.connected, soon("the connection"));
      await bus.publish([put("c", "1"), put("d", "1")]);
      await until(() => connected.items.includes("d=1"), soon("the messages that are lost"));
      const before = connected.items.length;
      await comeBackRewound(messages);
      const read = () => new Map(connected.items.slice(before).map((item) => item.split("=") as [string, string]));
      const wanted = new Map<string, string>(messages);
      await until(() => [...wanted].every(([key, value]) => read().get(key) === value), soon("what is stored now"));
      assert.equal(connected.items.slice(before).filter((item) => item.startsWith("reset")).length, resets);
    });

  it("one that has all it had goes on where it was", async () => {
    await using bus = await open();
    await using connected = reader(bus, { afterSequence: 0 });
    await bus.publish([put("a", "1"), put("b", "1")]);
    await until(() => connected.items.includes("b=1"), soon("the messages"));
    await server.kill();
    server = await startNats({ directory, env: process.env, port: server.port });
    await until(() => bus.state.connected, soon("the connection"));
    await bus.publish([put("c", "1")]);
    await until(() => connected.items.includes("c=1"), soon("the next message"));
    assert.deepEqual(
      connected.items.filter((item) => item.startsWith("reset")),
      [],
    );
  });
});
