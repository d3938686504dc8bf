/** Options of a connection that follow from the URL of NATS. */
import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, describe, it } from "node:test";
import { nkeys } from "nats";
import { connectionOptions } from "./nats-options.ts";

const directory = mkdtempSync(join(tmpdir(), "bus-options-"));
after(() => rmSync(directory, { recursive: true }));
const options = (url: string) => connectionOptions({ url, clientName: "xds-server" });
const given = (url: string) => {
  const { servers, user, pass, token, tls, authenticator } = options(url);
  return {
    servers,
    ...(user !== undefined && { user }),
    ...(pass !== undefined && { pass }),
    ...(token !== undefined && { token }),
    ...(tls !== undefined && { tls: Object.keys(tls ?? {}) }),
    ...(authenticator !== undefined && { authenticator: typeof authenticator }),
  };
};

describe("the URL of NATS", () => {
  const cases: readonly (readonly [url: string, expected: object])[] = [
    ["nats://a:4222", { servers: ["a:4222"] }],
    ["nats://a:4222, nats://b:4223", { servers: ["a:4222", "b:4223"] }],
    ["nats://us%40er:pa%3Ass@a:1", { servers: ["a:1"], user: "us@er", pass: "pa:ss" }],
    ["nats://to%2Fken@a:1", { servers: ["a:1"], token: "to/ken" }],
    ["tls://a:1", { servers: ["a:1"], tls: [] }],
    ["tls://a:1?ca=/r.pem", { servers: ["a:1"], tls: ["ca"] }],
    ["tls://a:1,tls://b:1?certificates=/c", { servers: ["a:1", "b:1"], tls: ["ca", "cert", "key"] }],
    ["nats://a:1?certificates=/c", { servers: ["a:1"] }],
    ["nats://a:1?nkey=/seed", { servers: ["a:1"], authenticator: "function" }],
    ["nats://a:1?credentials=/creds", { servers: ["a:1"], authenticator: "function" }],
  ];
  for (const [url, expected] of cases) it(`${url} is read`, () => assert.deepEqual(given(url), expected));

  it("has a name, and a prefix of its own for answers; connections are kept for ever", () => {
    const { name, inboxPrefix, maxReconnectAttempts, noAsyncTraces } = options("nats://a:1");
    assert.deepEqual([name, maxReconnectAttempts, noAsyncTraces], ["xds-server", -1, true]);
    assert.match(inboxPrefix ?? "", /xds-server/);
  });

  for (const [url, shown] of [
    ["a:4222,nats://", "a:4222"],
    ["nowhere", "nowhere"],
    ["nats://me:secret@", "nats://"],
    ["//me:sec@ret@ho st", "//ho st"],
    ["me@host", "me@host"],
  ] as const)
    it(`${url} is refused, without what may be a password`, () => {
      assert.throws(() => options(url), {
        code: "BUS_CONNECT",
        message: new RegExp(`"${shown}" is not nats://host:port`),
      });
    });
});

describe("files of a connection", () => {
  it("are read each time that they are needed", () => {
    for (const name of ["ca.crt", "tls.crt", "tls.key", "root.pem"]) writeFileSync(join(directory, name), `${name} 1`);
    const tls = options(`tls://a:1?certificates=${directory}`).tls as unknown as Readonly<Record<string, string>>;
    assert.deepEqual([tls["ca"], tls["cert"], tls["key"]], ["ca.crt 1", "tls.crt 1", "tls.key 1"]);
    for (const name of ["ca.crt", "tls.crt"]) writeFileSync(join(directory, name), `${name} 2`);
    assert.deepEqual([tls["ca"], tls["cert"]], ["ca.crt 2", "tls.crt 2"]);
    const other = options(`tls://a:1?certificates=${directory}&ca=${join(directory, "root.pem")}`);
    assert.equal(other.tls?.ca, "root.pem 1");
  });

  it("hold the seed of an NKey, which signs what the server asks", () => {
    const pair = nkeys.createUser();
    const file = join(directory, "seed");
    writeFileSync(file, `${new TextDecoder().decode(pair.getSeed())}\n`);
    const { authenticator } = options(`nats://a:1?nkey=${encodeURIComponent(file)}`);
    const answer = (authenticator as (nonce: string) => { nkey: string; sig: string })("nonce");
    assert.equal(answer.nkey, pair.getPublicKey());
    assert.ok(pair.verify(new TextEncoder().encode("nonce"), Buffer.from(answer.sig, "base64")));
  });
});
