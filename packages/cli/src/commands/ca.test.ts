import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { answerPages } from "../answering-service.fixture.ts";
import { recordRun } from "../recorded-run.fixture.ts";

const idle = {
  ...{ phase: "idle", meaning: "no rotation is running", id: "", phaseSinceMs: 0, without: [], holdups: [] },
  ...{ certificates: 3, proxies: 2, replicas: [{}] },
};
const trusting = {
  ...idle,
  ...{ phase: "trusting", id: "r1", phaseSinceMs: Date.UTC(2026, 0, 1), without: ["web.shop", "till.bank"] },
  meaning: "proxies are brought to trust the new root; certificates are still of the old one",
  roots: { old: "aa", next: "bb" },
  last: { id: "r0", outcome: "done", atMs: Date.UTC(2026, 0, 2) },
  holdups: [
    { name: "cart.shop", reason: "has the old roots", isConnected: false },
    { name: "api.shop", reason: "has the old roots", isConnected: true },
    { name: "ca-2", reason: "has not answered" },
  ],
};

describe("flotilla ca", () => {
  it("shows the phase and the counts", async () => {
    await using ca = await answerPages(() => ({ body: idle }));
    const { code, out } = await recordRun(["ca", "status", "--url", `ca=${ca.url}`]);
    assert.equal(code, 0);
    assert.deepEqual(
      ca.seen.map(({ method, url }) => `${method} ${url}`),
      ["GET /debug/rotation"],
    );
    assert.equal(
      out,
      "idle: no rotation is running\n3 certificates on record, 2 proxies connected, 1 replicas of ca\n",
    );
  });

  it("shows a rotation, the one before, and what it waits for", async () => {
    await using ca = await answerPages(() => ({ body: trusting }));
    const { out } = await recordRun(["ca", "status", "--url", `ca=${ca.url}`]);
    assert.deepEqual(out.trimEnd().split("\n"), [
      "trusting: proxies are brought to trust the new root; certificates are still of the old one, since 2026-01-01T00:00:00.000Z",
      "rotation r1: root aa → bb",
      "goes on without: web.shop; till.bank",
      "last rotation r0: done 2026-01-02T00:00:00.000Z",
      "3 certificates on record, 2 proxies connected, 1 replicas of ca",
      "waits for 3, 1 of which are not connected:",
      "  cart.shop  has the old roots",
      "  api.shop  has the old roots",
      "  ca-2  has not answered",
      "to go on without one that is gone: flotilla ca rotate --without NAME; without all that are not connected: --without disconnected",
    ]);
  });

  it("writes the answer as JSON", async () => {
    await using ca = await answerPages(() => ({ body: trusting }));
    const { out } = await recordRun(["ca", "status", "-o", "json", "--url", `ca=${ca.url}`]);
    assert.deepEqual(JSON.parse(out), trusting);
  });

  it("rotates without those that are named, and aborts", async () => {
    await using ca = await answerPages(() => ({ body: idle }));
    await recordRun(["ca", "rotate", "--without", "a b", "--without", "c", "--url", `ca=${ca.url}`]);
    await recordRun(["ca", "abort", "--url", `ca=${ca.url}`]);
    assert.deepEqual(
      ca.seen.map(({ method, url }) => `${method} ${url}`),
      ["POST /debug/rotation?action=rotate&without=a%20b&without=c", "POST /debug/rotation?action=abort"],
    );
  });

  it("ends with the reason of ca when that refuses, or with its status", async () => {
    for (const [body, reason] of [
      [{ error: "a rotation is running" }, "a rotation is running"],
      [{}, "ca answers 409"],
    ] as const) {
      await using ca = await answerPages(() => ({ status: 409, body }));
      const { code, err } = await recordRun(["ca", "rotate", "--url", `ca=${ca.url}`]);
      assert.deepEqual([code, err], [3, `flotilla: [CLI_REFUSED] ${reason}\n`]);
    }
  });

  it("ends with 4 without an answer", async () => {
    const gone = await answerPages(() => ({ body: idle }));
    await gone[Symbol.asyncDispose]();
    const { code, err } = await recordRun(["ca", "status", "--url", `ca=${gone.url}`]);
    assert.deepEqual([code, err], [4, `flotilla: [CLI_NOT_RUNNING] ca does not answer at ${gone.url}\n`]);
  });
});
