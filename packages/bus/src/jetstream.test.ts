/** Last messages of a stream, and its settings and copies. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { createLogger } from "@flotilla/runtime";
import { NatsError, type StreamInfo } from "nats";
import { isNotFound, lastMessage, lastSequence, updateStream } from "./jetstream.ts";
import { memoryStream } from "./memory-stream.fixture.ts";

const apiError = (code: number) => {
  const error = new NatsError("refused", "400");
  error.api_error = { code, err_code: 1, description: "" };
  return error;
};

describe("last messages", () => {
  it("are those under the filter, and none where there is none", async () => {
    const stream = memoryStream();
    for (const subject of ["a.1", "b.1", "a.2"]) stream.put(subject);
    assert.equal((await lastMessage(stream.manager, "S", "b.>"))?.seq, 2);
    assert.equal(await lastMessage(stream.manager, "S", "c.>"), undefined);
    assert.equal(await lastSequence(stream.manager, "S", ["b.>", "a.>", "c.>"]), 3);
    assert.equal(await lastSequence(stream.manager, "S", ["b.>"]), 2);
    assert.equal(await lastSequence(stream.manager, "S", ["c.>"]), 0);
    assert.equal(await lastSequence(stream.manager, "S", []), 0);
  });

  it("are a failure where the server fails", async () => {
    const stream = memoryStream();
    stream.refusal = () => new NatsError("timeout", "TIMEOUT");
    await assert.rejects(lastMessage(stream.manager, "S", "a.>"), { code: "TIMEOUT" });
  });

  const errors: readonly (readonly [name: string, error: unknown, expected: boolean])[] = [
    ["the code of the answer", new NatsError("x", "404"), true],
    ["the code of the API", apiError(404), true],
    ["another code", new NatsError("x", "503"), false],
    ["another code of the API", apiError(500), false],
    ["no error of NATS", Object.assign(new Error("x"), { code: "404" }), false],
  ];
  for (const [name, error, expected] of errors)
    it(`are missing by ${name}: ${expected}`, () => assert.equal(isNotFound(error), expected));
});

describe("settings of a stream", () => {
  const update = async (existing: object, wanted: object, replicas: number, refusal?: () => Error) => {
    const stream = memoryStream({ name: "S", num_replicas: 1, max_msgs: 5, ...existing });
    if (refusal !== undefined) stream.refusal = refusal;
    const lines: string[] = [];
    const log = createLogger("bus", "info", { write: (line) => void lines.push(JSON.parse(line).msg) });
    const info = { config: stream.config } as unknown as Pick<StreamInfo, "config">;
    await updateStream(info, wanted, { manager: stream.manager, replicas, log });
    return { calls: stream.calls.length, config: stream.config, lines };
  };

  it("are left alone where they are as wanted", async () => {
    const { calls, lines } = await update({}, { max_msgs: 5 }, 1);
    assert.deepEqual([calls, lines], [0, []]);
  });

  it("are brought to what is wanted, the others kept", async () => {
    const { calls, config } = await update({}, { max_msgs: 7 }, 1);
    assert.deepEqual([calls, config], [1, { name: "S", num_replicas: 1, max_msgs: 7 }]);
  });

  it("have copies that are raised and never lowered", async () => {
    const raised = await update({}, {}, 3);
    assert.deepEqual([raised.config?.num_replicas, raised.lines], [3, ["stream replicas raised"]]);
    const kept = await update({ num_replicas: 5 }, {}, 3);
    assert.deepEqual([kept.calls, kept.config?.num_replicas], [0, 5]);
  });

  it("stay as they are with a warning where the cluster cannot hold that many copies", async () => {
    const { config, lines } = await update({}, {}, 3, () => new Error("insufficient resources"));
    assert.deepEqual([config?.num_replicas, lines], [1, ["stream replicas not raised"]]);
  });
});
