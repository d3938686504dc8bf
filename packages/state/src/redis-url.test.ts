import assert from "node:assert/strict";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { isRedisUrl, redisOptions } from "./redis-url.ts";

describe("URLs of Redis", () => {
  const cases: readonly (readonly [url: string, expected: Readonly<Record<string, unknown>>])[] = [
    ["redis://redis", { host: "redis", port: 6379 }],
    ["redis://u%40x:p%2F@redis:7000/2", { host: "redis", port: 7000, username: "u@x", password: "p/", db: 2 }],
    ["redis://[::1]:7000", { host: "::1", port: 7000 }],
    ["rediss://redis", { host: "redis", port: 6379, tls: {} }],
    ["redis+sentinel://a/main", { name: "main", sentinels: [{ host: "a", port: 26379 }] }],
    [
      "redis+sentinel://:secret@a:1,b,c:3/main?sentinelUser=s&sentinelPassword=t",
      {
        ...{ name: "main", password: "secret", sentinelUsername: "s", sentinelPassword: "t" },
        sentinels: [
          { host: "a", port: 1 },
          { host: "b", port: 26379 },
          { host: "c", port: 3 },
        ],
      },
    ],
    [
      "rediss+sentinel://a/main",
      {
        name: "main",
        sentinels: [{ host: "a", port: 26379 }],
        tls: {},
        sentinelTLS: {},
        enableTLSForSentinelMode: true,
      },
    ],
  ];
  for (const [url, expected] of cases) {
    it(url, () => {
      assert.ok(isRedisUrl(url));
      const { failoverDetector, updateSentinels, sentinelCommandTimeout, connectTimeout, ...options } =
        redisOptions(url);
      assert.deepEqual(options, expected);
      assert.equal(failoverDetector, "sentinels" in expected ? true : undefined);
    });
  }

  for (const [url, reason] of [
    ["redis+sentinel://a,b", /names no primary/],
    ["redis+sentinel://a,,b/main", /is not redis/],
    ["redis://", /is not redis/],
    ["rediss+sentinel://u:secret@a", /"rediss\+sentinel:\/\/a" names/],
  ] as const)
    it(`refuses ${url}`, () => assert.throws(() => redisOptions(url), reason));

  it("reads certificates anew for each connection", () => {
    const directory = mkdtempSync(join(tmpdir(), "flotilla-redis-url-"));
    const write = (text: string) => {
      for (const name of ["tls.crt", "tls.key", "ca.crt"]) writeFileSync(join(directory, name), `${name} ${text}`);
    };
    write("1");
    const { tls } = redisOptions(`rediss+sentinel://a/main?certificates=${directory}`);
    assert.deepEqual({ ...tls }, { ca: "ca.crt 1", cert: "tls.crt 1", key: "tls.key 1" });
    write("2");
    assert.deepEqual({ ...tls }, { ca: "ca.crt 2", cert: "tls.crt 2", key: "tls.key 2" });
    rmSync(directory, { recursive: true });
    assert.deepEqual({ ...tls }, { ca: "ca.crt 2", cert: "tls.crt 2", key: "tls.key 2" });
  });
});
