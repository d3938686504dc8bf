/** Sessions that a route asks for: in a header or in a cookie, for the connection's life or for a time. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { decode } from "@flotilla/proto";
import { CookieBasedSessionStateSchema } from "@flotilla/proto/envoy/extensions/http/stateful_session/cookie/v3/cookie_pb";
import { HeaderBasedSessionStateSchema } from "@flotilla/proto/envoy/extensions/http/stateful_session/header/v3/header_pb";
import { routeSession } from "./route-filters.ts";

const lifetime = { seconds: 60n, nanos: 0 };
const stateOf = (session: Parameters<typeof routeSession>[0]) => {
  const { sessionState } = routeSession(session);
  assert.ok(sessionState?.typedConfig !== undefined);
  return { name: sessionState.name, value: sessionState.typedConfig.value };
};

describe("the session of a route", () => {
  it("is in a header of its name", () => {
    const { name, value } = stateOf({ carrier: "header", name: "x-session" } as never);
    assert.equal(name, "envoy.http.stateful_session.header");
    assert.equal((decode(HeaderBasedSessionStateSchema, value) as { name?: string }).name, "x-session");
  });
  for (const { text, ttl } of [
    { text: "until the client ends", ttl: undefined },
    { text: "for a time", ttl: lifetime },
  ])
    it(`is in a cookie ${text}`, () => {
      const { name, value } = stateOf({ carrier: "cookie", name: "c", ...(ttl && { lifetime: ttl }) } as never);
      assert.equal(name, "envoy.http.stateful_session.cookie");
      const { cookie } = decode(CookieBasedSessionStateSchema, value) as {
        readonly cookie?: { readonly name: string; readonly path: string; readonly ttl?: { readonly seconds: bigint } };
      };
      assert.deepEqual([cookie?.name, cookie?.path, cookie?.ttl?.seconds], ["c", "/", ttl?.seconds]);
    });
});
