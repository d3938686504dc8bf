import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Authenticator } from "@flotilla/auth";
import { type AccessRules, viewerOf, viewerOfRequest } from "./viewer.ts";

const authenticator: Authenticator = {
  name: "test",
  authenticate: async ({ metadata }) => {
    const identity = metadata.get("authorization")?.[0]?.replace("Bearer ", "");
    if (identity === undefined) return { authenticated: false, reason: "no token" };
    return { authenticated: true, authenticator: "test", identities: [identity] };
  },
};
const rules: AccessRules = {
  required: true,
  authenticator,
  rootNamespace: () => "istio-system",
  allowedNamespaces: ["ops"],
};
const of = (namespace: string) => `spiffe://td/ns/${namespace}/sa/x`;

/** "all", a namespace, or why not. */
const cases: readonly (readonly [string, string, string | undefined, string])[] = [
  ["this host needs no proof", "127.0.0.1", undefined, "all"],
  ["this host, by IPv6", "::1", undefined, "all"],
  ["this host, by IPv4 in IPv6", "::ffff:127.0.0.1", undefined, "all"],
  ["another host without proof", "10.0.0.7", undefined, "unauthenticated"],
  ["another host that says it is this one", "127.0.0.1.evil", undefined, "unauthenticated"],
  ["the root namespace", "10.0.0.7", of("istio-system"), "all"],
  ["a namespace that a setting names", "10.0.0.7", of("ops"), "all"],
  ["any other namespace", "10.0.0.7", of("shop"), "shop"],
  ["an identity that is no workload's", "10.0.0.7", "spiffe://td/robot", "unauthenticated"],
];

describe("rights of viewers", () => {
  for (const [name, remoteAddress, identity, expected] of cases) {
    it(name, async () => {
      const headers = identity === undefined ? {} : { authorization: `Bearer ${identity}` };
      const query = new URLSearchParams();
      const body = new Uint8Array();
      const request = { method: "GET", path: "/debug/syncz", query, headers, body, remoteAddress };
      const viewer = await viewerOfRequest(request, rules);
      assert.equal("refused" in viewer ? viewer.refused : (viewer.namespace ?? "all"), expected);
    });
  }

  for (const [remoteAddress, is] of [
    ["10.0.0.7", "10.0.0.7:0"],
    ["fd00::7", "[fd00::7]:0"],
  ] as const)
    it(`are asked for by the address ${is}`, async () => {
      const asked: string[] = [];
      const recording: Authenticator = {
        ...authenticator,
        authenticate: (call) => {
          asked.push(call.remoteAddress);
          return authenticator.authenticate(call);
        },
      };
      const request = { method: "GET", path: "/", query: new URLSearchParams(), body: new Uint8Array(), headers: {} };
      await viewerOfRequest({ ...request, remoteAddress }, { ...rules, authenticator: recording });
      assert.deepEqual(asked, [is]);
    });

  it("with the rule off everybody sees everything", () => {
    assert.deepEqual(viewerOf([], { ...rules, required: false }), { namespace: undefined });
  });
});
