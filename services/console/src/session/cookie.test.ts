/** The cookie of a session, and which requests come from the console's own page. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cookieName, expectOwnSite, expectSameOrigin, sessionIdIn, setCookie } from "./cookie.ts";

const host = "localhost:15029";
const own = "http://localhost:15029";

describe("a request that changes something", () => {
  const cases = [
    { name: "of the page itself", headers: { origin: own, "sec-fetch-site": "same-origin" }, isRight: true },
    { name: "of a browser that names the origin only", headers: { origin: own }, isRight: true },
    {
      name: "of another site",
      headers: { origin: "https://evil.test", "sec-fetch-site": "cross-site" },
      isRight: false,
    },
    {
      name: "of another port",
      headers: { origin: "http://localhost:8080", "sec-fetch-site": "same-site" },
      isRight: false,
    },
    { name: "of an address line", headers: { "sec-fetch-site": "none" }, isRight: false },
    { name: "of a sandbox without an origin", headers: { origin: "null" }, isRight: false },
    { name: "that names neither", headers: {}, isRight: false },
  ] as const;
  for (const { name, headers, isRight } of cases)
    it(`${isRight ? "is taken" : "is refused"}: ${name}`, () => {
      const check = () => expectSameOrigin({ host, ...headers });
      if (isRight) assert.doesNotThrow(check);
      else assert.throws(check, { code: "cross-site" });
    });
  it("may only read when it comes from an address line", () => {
    assert.doesNotThrow(() => expectOwnSite({ "sec-fetch-site": "none" }));
    assert.throws(() => expectOwnSite({ "sec-fetch-site": "same-site" }), { code: "cross-site" });
  });
});

describe("the cookie of a session", () => {
  it("is for this host and port, and for no script and no other site", () => {
    const name = cookieName(15029, true);
    assert.equal(
      setCookie(name, "abc"),
      "__Host-flotilla-console-15029=abc; Path=/; HttpOnly; SameSite=Strict; Secure",
    );
    assert.match(setCookie(name, ""), /Max-Age=0$/);
  });
  it("has no prefix and no mark where the console is served over HTTP", () => {
    assert.equal(setCookie(cookieName(80, false), "a"), "flotilla-console-80=a; Path=/; HttpOnly; SameSite=Strict");
  });
  it("is none of another port, and none where it is empty", () => {
    const name = cookieName(1, false);
    assert.equal(sessionIdIn({ cookie: "flotilla-console-2=a" }, name), undefined);
    assert.equal(sessionIdIn({ cookie: "flotilla-console-1=" }, name), undefined);
  });
  it("is found among others, by its whole name", () => {
    const cookie = "a=1; xflotilla-console-1=no; flotilla-console-1=yes";
    assert.equal(sessionIdIn({ cookie }, cookieName(1, false)), "yes");
    assert.equal(sessionIdIn({}, cookieName(1, false)), undefined);
  });
});
