/** The stream of the fleet: made once, and how it is looked at. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { noopLogger } from "@flotilla/runtime";
import { NatsError, type StreamConfig } from "nats";
import { horizonSubject } from "./bus.ts";
import { memoryStream } from "./memory-stream.fixture.ts";
import { horizonOf, markedPlace, openStream, removeMessage, streamName } from "./nats-stream.ts";

const options = ({ manager }: ReturnType<typeof memoryStream>, replicas = 1) => ({
  manager,
  replicas,
  log: noopLogger,
});

describe("the stream of the fleet", () => {
  it("is made with one message a subject, in a file, with the wanted copies", async () => {
    const stream = memoryStream();
    stream.config = undefined;
    const look = await openStream(options(stream, 3));
    assert.deepEqual([look.epoch, look.last], ["epoch 1", 0]);
    const made: Partial<StreamConfig> = { ...(stream.config as object | undefined) };
    assert.deepEqual(
      [made.name, made.subjects, made.storage, made.max_msgs_per_subject, made.num_replicas],
      [streamName, ["flotilla.v1.>"], "file", 1, 3],
    );
    assert.deepEqual(stream.calls, ["info", "add"]);
  });

  it("is used as another service made it meanwhile", async () => {
    const stream = memoryStream();
    const made = stream.config;
    stream.config = undefined;
    stream.refusal = (call) => {
      if (call !== "add") return undefined;
      stream.config = { ...made, max_msgs_per_subject: 1 };
      return new NatsError("stream name already in use", "400");
    };
    assert.equal((await openStream(options(stream))).epoch, "epoch 1");
  });

  it("is a failure where it can neither be found nor made", async () => {
    const stream = memoryStream();
    stream.config = undefined;
    stream.refusal = (call) => (call === "add" ? new NatsError("no space", "500") : undefined);
    await assert.rejects(openStream(options(stream)), /no space/);
    stream.refusal = () => new NatsError("timeout", "TIMEOUT");
    await assert.rejects(openStream(options(stream)), { code: "TIMEOUT" });
  });

  it("is brought to our settings, and shows where it ends", async () => {
    const stream = memoryStream({ name: streamName, num_replicas: 1, max_msgs_per_subject: 9 });
    stream.put("a");
    stream.put("b", "", 7_000);
    const look = await openStream(options(stream));
    assert.deepEqual([look.last, look.lastStoredAtMs, stream.config?.max_msgs_per_subject], [2, 7_000, 1]);
  });
});

describe("the horizon", () => {
  const cases: readonly (readonly [text: string | undefined, expected: number])[] = [
    [undefined, 0],
    ["0", 0],
    ["2", 2],
    ["3", 0],
    ["9", 0],
    ["-1", 0],
    ["1.5", 0],
    ["many", 0],
  ];
  for (const [text, expected] of cases)
    it(`is ${expected} where ${text ?? "nothing"} is written in message 3`, async () => {
      const stream = memoryStream();
      for (const subject of ["a", "b"]) stream.put(subject);
      if (text !== undefined) stream.put(horizonSubject, text);
      assert.equal(await horizonOf(stream.manager), expected);
    });
});

describe("a message of the stream", () => {
  it("stands at its place until its subject has a newer one", async () => {
    const stream = memoryStream();
    const sequence = stream.put("a", "", 5_000);
    assert.equal(await markedPlace(stream.manager, { sequence, storedAtMs: 1 }), 5_000);
    stream.put("a");
    assert.equal(await markedPlace(stream.manager, { sequence, storedAtMs: 1 }), "replaced");
    stream.refusal = () => new NatsError("timeout", "TIMEOUT");
    await assert.rejects(markedPlace(stream.manager, { sequence, storedAtMs: 1 }), { code: "TIMEOUT" });
  });

  it("can be removed, also when it is gone already", async () => {
    const stream = memoryStream();
    const sequence = stream.put("a");
    await removeMessage(stream.manager, sequence);
    await removeMessage(stream.manager, sequence);
    assert.equal(await markedPlace(stream.manager, { sequence, storedAtMs: 1 }), "replaced");
    const gone = new NatsError("refused", "400");
    gone.api_error = { code: 500, err_code: 10_043, description: "no such sequence" };
    stream.refusal = () => gone;
    await removeMessage(stream.manager, sequence);
    gone.api_error = { code: 500, err_code: 10_044, description: "another failure" };
    await assert.rejects(removeMessage(stream.manager, sequence));
  });
});
