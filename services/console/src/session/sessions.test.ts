/** Sessions in memory: how they begin and how each of them ends. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { RequestRefused } from "../errors.ts";
import { type SessionCaller, Sessions } from "./sessions.ts";

const caller: SessionCaller = { account: "istio-system/reader", mayWrite: false };

function open(of: Partial<SessionCaller> = {}, maxSessions = 10) {
  const clock = { ms: 0 };
  const sessions = new Sessions({ idleMs: 1_000, maxSessions, nowMs: () => clock.ms });
  const id = sessions.begin({ ...caller, ...of }, "the token");
  const { ended } = sessions.use(id) ?? assert.fail("there is no session");
  return { clock, sessions, id, ended };
}

describe("a session", () => {
  it("has its caller's token, under a random id", () => {
    const { sessions, id } = open();
    assert.equal(sessions.use(id)?.token, "the token");
    assert.match(id, /^[\w-]{43}$/);
    assert.equal(sessions.use("other"), undefined);
  });
  it("goes on while it is used", () => {
    const { clock, sessions, id } = open();
    for (clock.ms = 900; clock.ms < 5_000; clock.ms += 900) assert.ok(sessions.use(id));
  });

  const ends = [
    { name: "when it is idle", atMs: 1_001, of: {}, reason: "idle" },
    { name: "when its token ends", atMs: 500, of: { tokenExpiresAtMs: 500 }, reason: "token-expired" },
  ] as const;
  for (const { name, atMs, of, reason } of ends)
    it(`ends ${name}, also unused`, () => {
      const { clock, sessions, id, ended } = open(of);
      clock.ms = atMs;
      sessions.sweep();
      assert.deepEqual([ended.aborted, ended.reason, sessions.size], [true, reason, 0]);
      assert.equal(sessions.use(id), undefined);
    });
  it("ends when its caller signs out", () => {
    const { sessions, id, ended } = open();
    sessions.end(id, "signed-out");
    assert.deepEqual([ended.reason, sessions.use(id)], ["signed-out", undefined]);
  });
  it("is refused when there are too many, until one has ended", () => {
    const { clock, sessions } = open({}, 1);
    const isFull = (error: unknown) => error instanceof RequestRefused && error.code === "too-many";
    assert.throws(() => sessions.begin(caller, "t"), isFull);
    clock.ms = 2_000;
    assert.ok(sessions.begin(caller, "t"));
  });
});
