/** Messages that are sent to JetStream together, and the answers that may come to them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { BoundedQueue } from "@flotilla/runtime";
import type { Msg, MsgHdrs, NatsConnection } from "nats";
import { JetStreamSender } from "./message-sender.ts";

interface Sent {
  readonly subject: string;
  readonly reply: string;
  readonly headers: MsgHdrs;
}

/** A sender, what it has sent over its connection, and answers to that. */
function aSender() {
  const sent: Sent[] = [];
  const subscriptions: string[] = [];
  let onAnswer: (error: null, answer: Msg) => void = () => assert.fail("nothing is subscribed");
  const statuses = new BoundedQueue<object>(10);
  const connection = {
    status: () => statuses,
    options: { inboxPrefix: "_INBOX.test" },
    subscribe: (subject: string, { callback }: { readonly callback: typeof onAnswer }) => {
      subscriptions.push(subject);
      onAnswer = callback;
    },
    publish: (subject: string, _: Uint8Array, { reply, headers }: Omit<Sent, "subject">) => {
      if (subject === "bad") throw new Error("bad subject");
      sent.push({ subject, reply, headers });
    },
  };
  const answer = (to: Sent | undefined, text: string) =>
    onAnswer(null, { subject: to?.reply, data: new TextEncoder().encode(text), string: () => text } as Msg);
  return {
    sender: new JetStreamSender(connection as unknown as NatsConnection),
    sent,
    statuses,
    subscriptions,
    answer,
  };
}

const message = (subject: string) => ({
  subject,
  payload: new Uint8Array(1),
  headers: { A: "b" },
  id: `id of ${subject}`,
});
const stored = (seq: number) => JSON.stringify({ stream: "FLOTILLA", seq });
const never = new AbortController().signal;

/** Sends a, b and c. Resolves to the sequences by index, and the failure. */
async function sending({ sender }: ReturnType<typeof aSender>, lost = never, withinMs = 60_000) {
  const sequences: number[] = [];
  const messages = ["a", "b", "c"].map(message);
  const onStored = (index: number, sequence: number) => {
    sequences[index] = sequence;
  };
  const failure = await sender.send(messages, onStored, { withinMs, lost }).then(
    () => undefined,
    (error: Error) => error.message,
  );
  return [sequences, failure] as const;
}

describe("messages that are sent together", () => {
  it("carry ids and headers, and are answered in any order, on one subscription", async () => {
    const one = aSender();
    for (const from of [0, 3]) {
      const result = sending(one);
      for (const at of [2, 0, 1]) one.answer(one.sent[from + at], stored(10 + at));
      assert.deepEqual(await result, [[10, 11, 12], undefined]);
    }
    assert.equal(one.subscriptions.length, 1);
    assert.match(one.subscriptions[0] ?? "", /^_INBOX\.test\..*\.\*$/);
    assert.equal(new Set(one.sent.map(({ reply }) => reply)).size, 6);
    const { headers } = one.sent[1] ?? assert.fail();
    assert.deepEqual([headers.get("A"), headers.get("Nats-Msg-Id")], ["b", "id of b"]);
  });

  const refusals = [
    ["no stream takes messages", ""],
    ["a message was not stored: no space left", JSON.stringify({ error: { code: 503, description: "no space left" } })],
    ["a message was not stored: the answer names no stream", "{}"],
    ["a message was not stored: the answer cannot be read", "{"],
  ] as const;
  for (const [reason, text] of refusals)
    it(`fail when all are answered: ${reason}`, async () => {
      const one = aSender();
      const result = sending(one);
      one.answer(one.sent[0], text);
      for (const at of [1, 2]) one.answer(one.sent[at], stored(at));
      const [sequences, failure] = await result;
      assert.deepEqual([sequences[1], sequences[2], failure], [1, 2, `[BUS_CONNECT] ${reason}`]);
    });

  it("are not waited for longer than wanted, and later answers count for nothing", async () => {
    const one = aSender();
    const result = sending(one, never, 1);
    one.answer(one.sent[1], stored(7));
    const [sequences, failure] = await result;
    assert.notEqual(failure, undefined);
    one.answer(one.sent[0], stored(6));
    assert.deepEqual(
      [...sequences.entries()].filter(([, sequence]) => sequence !== undefined),
      [[1, 7]],
    );
  });

  it("fail when the server does not allow one of them, at once", async () => {
    const one = aSender();
    const result = sending(one);
    for (const at of [0, 2]) one.answer(one.sent[at], stored(at));
    await one.statuses.put({ type: "error", permissionContext: { operation: "publish", subject: "other" } });
    await one.statuses.put({ type: "error", permissionContext: { operation: "publish", subject: "b" } });
    assert.equal((await result)[1], "[BUS_CONNECT] the server does not allow messages to b");
  });

  it("are given up when the connection is lost", async () => {
    const one = aSender();
    const lost = new AbortController();
    const result = sending(one, lost.signal);
    lost.abort(new Error("lost"));
    assert.deepEqual(await result, [[], "lost"]);
  });

  it("fail when the connection takes one of them not", async () => {
    const one = aSender();
    const sent = one.sender.send([message("bad")], () => assert.fail(), { withinMs: 60_000, lost: never });
    await assert.rejects(sent, /bad subject/);
  });
});
