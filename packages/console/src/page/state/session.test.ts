/** The signed-in account, and the stream of events that is open meanwhile. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { SessionInfo } from "../../contract/index.ts";
import type { Answer, CallOptions, FetchJson, Problem } from "./fetch-json.ts";
import { createSession } from "./session.ts";

const problem = (kind: Problem["kind"]): Answer<never> => ({
  ok: false,
  problem: { kind, message: kind, status: 0, causes: [] },
});
const account = (name: string, mayWrite = false): Answer<SessionInfo> => ({
  ok: true,
  value: { account: name, mayWrite } as SessionInfo,
});

/** A page whose server gives these answers, one after the other. */
function aPage(...given: readonly Answer<SessionInfo>[]) {
  const asked: string[] = [];
  const streams: { readonly listeners: Map<string, () => void>; isClosed: boolean }[] = [];
  const shown: unknown[] = [];
  const left = [...given];
  const page = createSession({
    fetchJson: (async (path: string, { method = "GET", body }: CallOptions = {}) => {
      asked.push([method, path, ...(body === undefined ? [] : [JSON.stringify(body)])].join(" "));
      return left.shift() ?? assert.fail("one request too many");
    }) as FetchJson,
    answers: { invalidate: (topic) => shown.push(topic), clear: () => shown.push("cleared") },
    openEvents: () => {
      const stream = { listeners: new Map<string, () => void>(), isClosed: false };
      streams.push(stream);
      return {
        addEventListener: (type, listener) => stream.listeners.set(type, listener),
        close: () => {
          stream.isClosed = true;
        },
      };
    },
    later: () => () => undefined,
    random: () => 0.5,
  });
  const isOpen = () => streams.map(({ isClosed }) => !isClosed);
  const emit = (type: string) => streams.at(-1)?.listeners.get(type)?.();
  return { ...page, asked, shown, isOpen, emit };
}

describe("the session", () => {
  const cases: readonly {
    readonly name: string;
    readonly answer: Answer<SessionInfo>;
    readonly is: readonly unknown[];
  }[] = [
    { name: "a reader", answer: account("ann"), is: ["ann", false, [true], undefined] },
    { name: "a writer", answer: account("ann", true), is: ["ann", true, [true], undefined] },
    { name: "nobody", answer: problem("signed-out"), is: ["signed-out", false, [], undefined] },
    { name: "not known while the server is away", answer: problem("away"), is: [undefined, false, [], "away"] },
  ];
  for (const { name, answer, is } of cases)
    it(`is of ${name}`, async () => {
      const { readSession, session, mayWrite, updates, isOpen, asked, shown } = aPage(answer);
      const failure = await readSession();
      const known = session.value;
      const who = typeof known === "object" ? known.account : known;
      assert.deepEqual([who, mayWrite.value, isOpen(), failure?.kind], is);
      assert.equal(updates.value !== undefined, isOpen().length > 0);
      assert.deepEqual(asked, ["GET /api/v1/session"]);
      assert.deepEqual(shown, who === "signed-out" ? ["cleared"] : []);
    });

  it("begins with a token that the server takes", async () => {
    const page = aPage(problem("refused"), account("ann"));
    assert.equal((await page.signIn("wrong"))?.kind, "refused");
    assert.deepEqual([page.session.value, page.isOpen()], [undefined, []]);
    assert.equal(await page.signIn("right"), undefined);
    assert.deepEqual([page.session.value, page.isOpen()], [{ account: "ann", mayWrite: false }, [true]]);
    assert.deepEqual(page.asked, ['POST /api/v1/session {"token":"wrong"}', 'POST /api/v1/session {"token":"right"}']);
  });

  it("has one stream, whose events have screens fetched again", async () => {
    const { readSession, isOpen, emit, shown } = aPage(account("ann"), account("ann"));
    await readSession();
    await readSession();
    assert.deepEqual(isOpen(), [true]);
    for (const type of ["fleet", "hello"]) emit(type);
    assert.deepEqual(shown, ["fleet", undefined]);
  });

  it("ends with its stream and everything that was shown, and says why until the next begins", async () => {
    const { readSession, signIn, signOut, session, signedOutBecause, updates, isOpen, emit, shown } = aPage(
      account("ann"),
      account("bob"),
    );
    await readSession();
    signOut("Signed out.");
    assert.deepEqual([session.value, signedOutBecause.value, isOpen()], ["signed-out", "Signed out.", [false]]);
    assert.equal(updates.value, undefined);
    await signIn("token");
    assert.deepEqual([signedOutBecause.value, isOpen()], ["", [false, true]]);
    emit("session-ended");
    assert.match(signedOutBecause.value, /^The session has ended/);
    assert.deepEqual([session.value, isOpen()], ["signed-out", [false, false]]);
    assert.deepEqual(shown, ["cleared", "cleared"]);
  });
});
