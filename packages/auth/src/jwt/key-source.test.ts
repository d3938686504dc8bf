/** Where an issuer's keys come from: files and servers, which may be away, slow, or answer with something else. */
import assert from "node:assert/strict";
import { createPublicKey } from "node:crypto";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { generatePrivateKey } from "@flotilla/pki";
import { type Logger, noopLogger } from "@flotilla/runtime";
import type { JSONWebKeySet } from "jose";
import { createKeySource, keysByDiscovery, keysFromFile, keysFromUri } from "./key-source.ts";

const jwk = { ...createPublicKey(await generatePrivateKey("ecdsa-p256")).export({ format: "jwk" }), alg: "ES256" };
const setOf = (...kids: readonly string[]) => ({ keys: kids.map((kid) => ({ ...jwk, kid })) }) as JSONWebKeySet;
const header = (kid: string) => ({ alg: "ES256", kid });
const token = { payload: "", signature: "" };

async function serve(listener: RequestListener) {
  const server = createServer(listener);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`;
  return {
    url,
    [Symbol.asyncDispose]: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

describe("keys of an issuer", () => {
  it("are read from a file, under either name", async () => {
    const directory = await mkdtemp(join(tmpdir(), "keys-"));
    try {
      const file = join(directory, "jwks.json");
      for (const [text, expected] of [
        [JSON.stringify(setOf("a")), setOf("a")],
        [JSON.stringify({ Keys: setOf("b").keys }), setOf("b")],
      ] as const) {
        await writeFile(file, text);
        assert.deepEqual(await keysFromFile(file)(), expected);
      }
      for (const [text, message] of [
        ["{", /is not JSON/],
        ["{}", /holds no list of keys/],
        ['{"keys":{}}', /holds no list of keys/],
      ] as const) {
        await writeFile(file, text);
        await assert.rejects(keysFromFile(file)(), { code: "AUTH_BAD_JWKS", message });
      }
    } finally {
      await rm(directory, { recursive: true });
    }
  });

  it("are read from a URI", async () => {
    const large = JSON.stringify({ keys: [], more: "x".repeat(1_048_576 - 21) });
    await using server = await serve(({ url }, response) => {
      if (url === "/moved") response.writeHead(302, { location: "/keys" }).end();
      else if (url === "/large") response.end(`${large}x`);
      else if (url === "/largest") response.end(large);
      else if (url === "/keys") response.end(JSON.stringify(setOf("a")));
      else if (url !== "/silent") response.writeHead(500).end(JSON.stringify(setOf("a")));
    });
    const from = (path: string) => keysFromUri(`${server.url}${path}`, 5_000)();
    assert.deepEqual(await from("/keys"), setOf("a"));
    assert.equal(large.length, 1_048_576);
    assert.deepEqual(await from("/largest"), { keys: [] });
    await assert.rejects(from("/broken"), { code: "AUTH_BAD_JWKS", message: /answers 500/ });
    await assert.rejects(from("/large"), { code: "AUTH_BAD_JWKS", message: /more than 1048576 bytes/ });
    await assert.rejects(from("/moved"), TypeError);
    await assert.rejects(keysFromUri(`${server.url}/silent`, 50)(), { name: "TimeoutError" });
  });

  it("are found by the issuer's OpenID configuration, which must be its own", async () => {
    let configuration: object = {};
    await using server = await serve(({ url }, response) =>
      response.end(JSON.stringify(url === "/keys" ? setOf("a") : url?.startsWith("/.well-known/") ? configuration : 1)),
    );
    const { url } = server;
    for (const issuer of [url, `${url}/`]) {
      configuration = { issuer, jwks_uri: `${url}/keys` };
      assert.deepEqual(await keysByDiscovery(issuer)(), setOf("a"));
    }
    for (const other of [{ issuer: "https://other.test", jwks_uri: `${url}/keys` }, { issuer: url }]) {
      configuration = other;
      await assert.rejects(keysByDiscovery(url)(), { code: "AUTH_BAD_JWKS", message: /is not the configuration of/ });
    }
  });
});

describe("a source of keys", () => {
  function setUp(load: () => JSONWebKeySet) {
    let atMs = 0;
    let loads = 0;
    const lines: string[] = [];
    const log: Logger = {
      ...noopLogger,
      info: (event) => void lines.push(event),
      warn: (event) => void lines.push(event),
    };
    const keys = createKeySource({
      load: async () => {
        loads++;
        return load();
      },
      ...{ from: "test", nowMs: () => atMs, log, maxAgeMs: 100, cooldownMs: 10 },
    });
    const ask = async (kid = "a"): Promise<string> => {
      try {
        await keys(header(kid), token);
        return "found";
      } catch (error) {
        return (error as Error & { code: string }).code;
      }
    };
    return {
      ...{ ask, lines, loads: () => loads },
      at: (ms: number) => {
        atMs = ms;
      },
    };
  }

  it("loads once for all that wait, and again when the set is old", async () => {
    const { ask, loads, at, lines } = setUp(() => setOf("a"));
    assert.deepEqual(await Promise.all([ask(), ask(), ask()]), ["found", "found", "found"]);
    at(99);
    assert.deepEqual([await ask(), loads()], ["found", 1]);
    at(100);
    assert.deepEqual([await ask(), loads()], ["found", 2]);
    assert.deepEqual(lines, ["issuer keys loaded"]);
  });

  it("loads for a key that it does not have, at most once in a cooldown", async () => {
    let kids = ["a"];
    const { ask, loads, at } = setUp(() => setOf(...kids));
    await ask();
    kids = ["a", "b"];
    at(9);
    assert.deepEqual([await ask("b"), loads()], ["ERR_JWKS_NO_MATCHING_KEY", 1]);
    at(10);
    assert.deepEqual([await ask("b"), loads()], ["found", 2]);
    assert.deepEqual([await ask("c"), loads()], ["ERR_JWKS_NO_MATCHING_KEY", 2]);
  });

  it("does not load for a token that it has several keys for", async () => {
    const { ask, loads, at } = setUp(() => setOf("a", "a"));
    await ask("b");
    at(50);
    assert.deepEqual([await ask("a"), loads()], ["ERR_JWKS_MULTIPLE_MATCHING_KEYS", 1]);
  });

  it("keeps the last good set, tries again after the cooldown, and logs each trouble once", async () => {
    let trouble: string | undefined = "away";
    const { ask, loads, at, lines } = setUp(() => {
      if (trouble !== undefined) throw new Error(trouble);
      return setOf("a");
    });
    assert.equal(await ask(), "AUTH_BAD_JWKS");
    at(9);
    assert.deepEqual([await ask(), loads()], ["AUTH_BAD_JWKS", 1]);
    at(10);
    assert.deepEqual([await ask(), loads()], ["AUTH_BAD_JWKS", 2]);
    trouble = undefined;
    at(20);
    assert.equal(await ask(), "found");
    for (const [ms, reason] of [
      [200, "away"],
      [210, "away"],
      [220, "slow"],
    ] as const) {
      trouble = reason;
      at(ms);
      assert.equal(await ask(), "found");
    }
    assert.equal(loads(), 6);
    assert.deepEqual(lines, [
      "issuer keys missing",
      "issuer keys loaded",
      "issuer keys not renewed",
      "issuer keys not renewed",
    ]);
  });
});
