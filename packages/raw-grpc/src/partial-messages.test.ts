/** Messages that begin and never become whole: by themselves, and against a real server. */
import assert from "node:assert/strict";
import { connect } from "node:http2";
import { describe, it } from "node:test";
import { until } from "@flotilla/runtime";
import { frameHeadBytes } from "./frame.ts";
import { defaultPartialBounds, type PartialBounds, PartialMessages } from "./partial-messages.ts";
import { listen } from "./server.fixture.ts";
import { grpcStatus } from "./status.ts";

const soon = (what: string) => ({ withinMs: 30_000, what, everyMs: 2 });

describe("messages that are not whole", () => {
  const reader = () => {
    const codes: number[] = [];
    return { codes, refuse: ({ code }: { readonly code: number }) => void codes.push(code) };
  };

  it("beyond the bytes of an address end the call that goes over them", () => {
    const messages = new PartialMessages({ perAddress: 10, inAll: 1_000 });
    const [first, second, other] = [reader(), reader(), reader()];
    messages.hold(first, "a", 6);
    messages.hold(other, "b", 10);
    messages.hold(second, "a", 4);
    assert.deepEqual([first.codes, second.codes, other.codes], [[], [], []]);
    messages.hold(second, "a", 5);
    assert.deepEqual([first.codes, second.codes, other.codes], [[], [grpcStatus.resourceExhausted], []]);
    messages.hold(first, "a", 10);
    messages.hold(first, "a", 0);
    messages.hold(second, "a", 10);
    assert.deepEqual([first.codes, second.codes.length], [[], 1]);
  });

  it("beyond the bytes in all end the newest call of the address that holds the most", () => {
    const messages = new PartialMessages({ perAddress: 100, inAll: 20 });
    const [honest, oldest, newest] = [reader(), reader(), reader()];
    messages.hold(oldest, "b", 8);
    messages.hold(newest, "b", 8);
    messages.hold(honest, "a", 5);
    assert.deepEqual([honest.codes, oldest.codes, newest.codes], [[], [], [grpcStatus.resourceExhausted]]);
    messages.hold(honest, "a", 12);
    assert.deepEqual([honest.codes, oldest.codes], [[], []]);
  });
});

async function serve(partial: PartialBounds | undefined) {
  const errors: string[] = [];
  const server = await listen({
    ...{ maxMessageBytes: 4 * 1024 * 1024, maxStreamsPerConnection: 100, keepaliveMs: 60_000 },
    ...{ keepaliveTimeoutMs: 1_000, maxAgeMs: undefined, maxAgeGraceMs: 50, ...(partial && { partial }) },
    methods: new Map([
      [
        "/test.Test/Take",
        (call) =>
          call.listen({
            onMessage: () => call.end({ code: 0, details: "" }),
            onEnd: () => call.end({ code: 0, details: "" }),
            onCancelled: () => undefined,
            onUnreadable: (error) => {
              errors.push(error.message);
              call.end(error);
            },
          }),
      ],
    ]),
  });
  const session = connect(`http://127.0.0.1:${server.port}`);
  session.on("error", () => undefined);
  /** Announces a message of `announced` bytes and sends `sent` of them. */
  const begin = (announced: number, sent: number) => {
    const headers = { ":path": "/test.Test/Take", ":method": "POST", "content-type": "application/grpc" };
    const call = session.request(headers);
    const status: { code?: string } = {};
    const note = (from: Readonly<Record<string, unknown>>): void => {
      if (from["grpc-status"] !== undefined) status.code = String(from["grpc-status"]);
    };
    call
      .on("error", () => undefined)
      .on("response", note)
      .on("trailers", note)
      .resume();
    const head = Buffer.alloc(frameHeadBytes);
    head.writeUInt32BE(announced, 1);
    call.write(head);
    call.write(Buffer.alloc(sent));
    return status;
  };
  return {
    ...{ begin, errors },
    [Symbol.asyncDispose]: async () => {
      session.destroy();
      await server[Symbol.asyncDispose]();
    },
  };
}

describe("messages that are not whole, without bounds of its own", () => {
  it("hold 256 MiB in all", () => {
    const messages = new PartialMessages(defaultPartialBounds);
    let refused = 0;
    const hold = (at: number, bytes: number): void =>
      messages.hold({ refuse: () => void refused++ }, `10.0.0.${at}`, bytes);
    for (let at = 0; at < 8; at++) hold(at, 32 * 1024 * 1024);
    assert.equal(refused, 0);
    hold(9, 1);
    assert.equal(refused, 1);
  });
});

describe("a client that ends no message", () => {
  it("is refused calls beyond the bound, and whole messages are taken beside them", async () => {
    await using it = await serve({ perAddress: 100_000, inAll: 1_000_000 });
    const calls = Array.from({ length: 5 }, () => it.begin(1_000_000, 30_000));
    await until(() => it.errors.length === 2, soon("two refusals"));
    await until(() => calls.filter(({ code }) => code === "8").length === 2, soon("their statuses"));
    const whole = it.begin(5_000, 5_000);
    await until(() => whole.code !== undefined, soon("an answer"));
    assert.deepEqual([whole.code, it.errors.length], ["0", 2]);
  });

  it("holds 64 MiB of one address at most, without bounds of its own", { timeout: 60_000 }, async () => {
    await using it = await serve(undefined);
    const mib = 1024 * 1024;
    for (let at = 0; at < 24; at++) it.begin(4 * mib, 4 * mib - 1);
    // 16 of them come to 16 bytes less than 64 MiB.
    await until(() => it.errors.length === 8, soon("eight refusals"));
    assert.ok(it.errors.every((text) => text === "too many bytes of unfinished messages"));
  });
});
