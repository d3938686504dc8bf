/** The cookie of a session: its name by port and security, and its id among other cookies. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { cookieName, sessionIdIn, setCookie } from "./cookie.ts";

const [plain, secure] = [cookieName(8080, false), cookieName(8443, true)];

describe("the cookie of a session", () => {
  it("has the port in its name, and the prefix that browsers take over HTTPS only", () => {
    assert.deepEqual([plain.name, secure.name], ["flotilla-console-8080", "__Host-flotilla-console-8443"]);
  });
  it("is hidden from scripts and other sites, and ends with an empty id", () => {
    assert.equal(setCookie(plain, "id"), "flotilla-console-8080=id; Path=/; HttpOnly; SameSite=Strict");
    assert.match(setCookie(secure, "id"), /; Secure$/);
    assert.match(setCookie(secure, ""), /=; .*; Secure; Max-Age=0$/);
  });
  for (const { name, cookie, is } of [
    { name: "alone", cookie: "flotilla-console-8080=id", is: "id" },
    { name: "among others", cookie: "a=b; flotilla-console-8080=id; c=d", is: "id" },
    { name: "not of another port", cookie: "flotilla-console-8081=id", is: undefined },
    { name: "not where it is empty", cookie: "flotilla-console-8080=", is: undefined },
    { name: "not without cookies", cookie: undefined, is: undefined },
  ])
    it(`is found ${name}`, () => assert.equal(sessionIdIn(cookie === undefined ? {} : { cookie }, plain), is));
});
