/** Debug pages over HTTP: the index for every caller, answers for callers that may see them. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { HttpHandler, HttpReply } from "@flotilla/runtime";
import type { DebugPage } from "./page.ts";
import { serveDebugPages } from "./pages.ts";

function served() {
  const handlers = new Map<string, HttpHandler>();
  const route = (_: string, path: string, handler: HttpHandler) => void handlers.set(path, handler);
  let answers = 0;
  const pages: readonly DebugPage[] = [
    { path: "b", help: "second", scope: "mesh", answer: () => ({ json: { answers: ++answers } }) },
    { path: "a", help: "first", scope: "mesh", answer: () => ({ text: "a" }) },
  ];
  const authenticator = { name: "none", authenticate: async () => ({ authenticated: false, reason: "no token" }) };
  const rules = { required: true, authenticator, rootNamespace: () => "istio-system", allowedNamespaces: [] };
  serveDebugPages({ route } as never, pages, rules as never);
  const ask = async (path: string, remoteAddress: string): Promise<HttpReply> => {
    const handler = handlers.get(path) ?? assert.fail(`no ${path}`);
    const asked = { method: "GET", path, query: new URLSearchParams(), headers: {}, body: new Uint8Array() } as const;
    return handler({ ...asked, remoteAddress });
  };
  return { ask, answers: () => answers };
}

describe("debug pages", () => {
  it("answer callers of this host", async () => {
    assert.deepEqual(await served().ask("/debug/b", "127.0.0.1"), { json: { answers: 1 } });
  });
  it("refuse other callers without proof, and compute nothing for them", async () => {
    const { ask, answers } = served();
    const { status } = await ask("/debug/b", "10.0.0.7");
    assert.deepEqual([status, answers()], [401, 0]);
  });
  it("are listed with their help, in order of their names", async () => {
    assert.deepEqual(await served().ask("/debug", "10.0.0.7"), {
      text: "/debug/a\n    first\n/debug/b\n    second\n",
    });
  });
});
