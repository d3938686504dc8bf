/** Pages for operators: who the caller is and may do, and who may change log levels. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Caller, Verdict } from "@flotilla/auth";
import type { HttpHandler, HttpReply, HttpRequest } from "@flotilla/runtime";
import { serveOperatorPages } from "./operator-pages.ts";

/** Tokens are `NAMESPACE/ACCOUNT` here. */
async function authenticate({ metadata }: Caller): Promise<Verdict> {
  const [, account] = /^Bearer (.+)$/.exec(metadata.get("authorization")?.[0] ?? "") ?? [];
  if (account === undefined) return { authenticated: false, reason: "no token" };
  const [namespace, name] = account.split("/");
  const identity = `spiffe://cluster.local/ns/${namespace}/sa/${name}`;
  return { authenticated: true, authenticator: "test", identities: [identity], principal: identity };
}

function served() {
  const handlers = new Map<string, HttpHandler>();
  const levels: string[] = [];
  const route = (method: string, path: string, handler: HttpHandler) => void handlers.set(`${method} ${path}`, handler);
  const rules = {
    ...{ required: true, authenticator: { name: "test", authenticate } },
    ...{ rootNamespace: () => "istio-system", allowedNamespaces: ["ops"] },
  };
  const pages = {
    settings: () => ({ json: { settings: [] } }),
    setLevel: ({ path }: HttpRequest) => {
      levels.push(path);
      return { json: {} };
    },
  };
  serveOperatorPages({ route } as never, { rules, pages: pages as never, writers: ["ops/admin"] });
  const ask = async (asked: string, account?: string): Promise<HttpReply> => {
    const [method = "", path = ""] = asked.split(" ");
    const headers = account === undefined ? {} : { authorization: `Bearer ${account}` };
    const request = {
      method,
      path,
      query: new URLSearchParams(),
      headers,
      body: new Uint8Array(),
      remoteAddress: "10.0.0.7",
    };
    return (handlers.get(asked) ?? assert.fail(`no ${asked}`))(request as unknown as HttpRequest);
  };
  return { ask, levels };
}

const unproven = { status: 401, json: { error: "the token proves no identity" } };
const callers: readonly (readonly [name: string, account: string | undefined, reply: HttpReply])[] = [
  [
    "a caller of the root namespace sees all",
    "istio-system/a",
    { json: { account: "istio-system/a", mayWrite: false } },
  ],
  ["a caller of a namespace that is allowed sees all", "ops/a", { json: { account: "ops/a", mayWrite: false } }],
  ["a writer may change levels", "ops/admin", { json: { account: "ops/admin", mayWrite: true } }],
  [
    "another caller sees its namespace",
    "shop/a",
    { json: { account: "shop/a", mayWrite: false, onlyNamespace: "shop" } },
  ],
  ["a caller without a token is unknown", undefined, unproven],
];

describe("the page of the caller", () => {
  for (const [name, account, reply] of callers)
    it(name, async () => assert.deepEqual(await served().ask("GET /debug/caller", account), reply));
});

describe("the settings", () => {
  const statuses: readonly (readonly [name: string, account: string | undefined, status: number | undefined])[] = [
    ["are shown to callers that see the whole mesh", "istio-system/a", undefined],
    ["are not shown to callers of one namespace", "shop/a", 403],
    ["are not shown to callers without a token", undefined, 401],
  ];
  for (const [name, account, status] of statuses)
    it(name, async () => assert.equal((await served().ask("GET /debug/settings", account)).status, status));
});

describe("log levels", () => {
  const changes: readonly (readonly [name: string, account: string | undefined, status: number | undefined])[] = [
    ["are changed by a writer", "ops/admin", undefined],
    ["are not changed by others of its namespace", "ops/a", 403],
    ["are not changed by callers without a token", undefined, 401],
  ];
  for (const [name, account, status] of changes)
    it(name, async () => {
      const { ask, levels } = served();
      const reply = await ask("PUT /debug/levels", account);
      assert.deepEqual([reply.status, levels.length], [status, status === undefined ? 1 : 0]);
    });
});
