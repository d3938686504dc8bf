import assert from "node:assert/strict";
import { mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { parseCsrPem } from "@flotilla/pki";
import { delay, type Logger, noopLogger, until } from "@flotilla/runtime";
import { type Answer, type Call, createAuthority, type Life, serverName, startCa } from "./authority.fixture.ts";
import type { TlsMaterial } from "./material.ts";
import { obtainServingCertificate, type ServingCertificateOptions } from "./serving-certificate.ts";

const [authority, stranger] = [await createAuthority(), await createAuthority("other")];
const within = { withinMs: 10_000, everyMs: 5 };

function signed({ request }: Call, life?: Life, by = authority): Answer {
  return [by.sign(request.csr, life), by.rootPem];
}

/** A CA, a service that requests a certificate from it, and the lines of the service's log. */
async function setUp(answer: (call: Call, count: number) => Answer, more: Partial<ServingCertificateOptions> = {}) {
  let count = 0;
  const ca = await startCa(authority, (call) => answer(call, ++count));
  const directory = await mkdtemp(join(tmpdir(), "serving-"));
  const rootFile = join(directory, "root.pem");
  await writeFile(rootFile, authority.rootPem);
  const lines: string[] = [];
  const note = (event: string, fields?: Readonly<Record<string, unknown>>): void =>
    void lines.push(`${event}: ${fields?.["reason"] ?? ""}`);
  const log: Logger = { ...noopLogger, debug: note, info: note, warn: note };
  const renewed: TlsMaterial[] = [];
  const stop = new AbortController();
  const options: ServingCertificateOptions = {
    ...{ caAddress: ca.address, caServerName: serverName, rootFile, names: ["a.test"], log },
    ...{ token: () => Promise.resolve(" t\n"), onRenewed: (material) => void renewed.push(material), random: () => 0 },
    ...more,
  };
  return {
    ...{ ca, rootFile, lines, renewed, stop },
    obtain: () => obtainServingCertificate(options, stop.signal),
    [Symbol.asyncDispose]: async () => {
      stop.abort();
      await ca[Symbol.asyncDispose]();
      await rm(directory, { recursive: true });
    },
  };
}

const proofs = (calls: readonly Call[]) =>
  calls.map(({ caller }) => (caller.peerCertificate === undefined ? caller.metadata.get("authorization")?.[0] : "own"));

describe("a serving certificate from ca", () => {
  it("is asked for by the token, for a day, with a key of P-256", async () => {
    await using it = await setUp((call) => signed(call));
    await using certificate = await it.obtain();
    const [{ request } = assert.fail()] = it.ca.calls;
    assert.deepEqual([proofs(it.ca.calls), request.validityDuration], [["Bearer t"], 86_400n]);
    assert.equal(parseCsrPem(request.csr).key.name, "ecdsa-p256");
    assert.equal(certificate.material.rootsPem, authority.rootPem);
    assert.ok(certificate.notAfterMs > Date.now());
    assert.deepEqual(it.lines, ["serving certificate obtained: "]);
  });

  it("names the instance, the kind of key and the life that were set", async () => {
    await using it = await setUp((call) => signed(call), { instance: "i-1", keyType: "rsa-2048", ttlMs: 60_000 });
    await using _ = await it.obtain();
    const [{ request } = assert.fail()] = it.ca.calls;
    assert.deepEqual([request.metadata, request.validityDuration], [{ Instance: "i-1" }, 60n]);
    assert.equal(parseCsrPem(request.csr).key.name, "rsa-2048");
  });

  it("is waited for, and the same trouble is logged once", async () => {
    await using it = await setUp((call, count) => (count < 4 ? (count === 3 ? 13 : 14) : signed(call)));
    await using _ = await it.obtain();
    const waits = it.lines.filter((line) => /^waiting for a serving certificate/.test(line));
    assert.deepEqual(
      waits.map((line) => /code \d+/.exec(line)?.[0]),
      ["code 14", "code 13"],
    );
  });

  const missing: readonly (readonly [string, Partial<ServingCertificateOptions>, RegExp])[] = [
    ["the token", { token: () => Promise.reject(new Error("no token file")) }, /no token to ask with: no token file/],
    ["the root", { rootFile: "/nowhere/root.pem" }, /root certificate \/nowhere\/root\.pem cannot be read: ENOENT/],
  ];
  for (const [name, more, reason] of missing)
    it(`is waited for while ${name} is missing, until the service ends`, async () => {
      await using it = await setUp((call) => signed(call), more);
      const obtaining = it.obtain();
      await until(() => it.lines.length === 1, { ...within, what: "the reason" });
      assert.match(it.lines[0] ?? "", reason);
      it.stop.abort(new Error("the end"));
      await assert.rejects(obtaining, /the end/);
      assert.deepEqual(it.ca.calls, []);
    });

  it("is asked for once when the root appears late", async () => {
    await using it = await setUp((call) => signed(call));
    await rm(it.rootFile);
    const obtaining = it.obtain();
    await until(() => it.lines.length === 1, { ...within, what: "the wait for the root" });
    await writeFile(it.rootFile, authority.rootPem);
    await using _ = await obtaining;
    // The file is looked at every second.
    await delay(1_500, it.stop.signal);
    assert.equal(it.ca.calls.length, 1);
  });

  it("is not used when it leads to a root that the answer does not bring", async () => {
    await using it = await setUp(({ request }, count) =>
      count === 1 ? [stranger.sign(request.csr), authority.rootPem] : [authority.sign(request.csr), authority.rootPem],
    );
    await using _ = await it.obtain();
    assert.match(it.lines[0] ?? "", /AUTH_BAD_MATERIAL/);
    assert.equal(it.ca.calls.length, 2);
  });

  for (const [code, isFinal] of [
    [3, true],
    [7, true],
    [16, false],
  ] as const)
    it(`${isFinal ? "is given up" : "is asked for again"} after code ${code}, where refusals end it`, async () => {
      await using it = await setUp((call, count) => (count === 1 ? code : signed(call)), { endWhenRefused: true });
      if (isFinal) await assert.rejects(it.obtain(), { code: "AUTH_CA_REFUSED" });
      else await (await it.obtain())[Symbol.asyncDispose]();
      assert.equal(it.ca.calls.length, isFinal ? 1 : 2);
    });

  it("is asked for again after a refusal, where rules may change", async () => {
    await using it = await setUp((call, count) => (count === 1 ? 7 : signed(call)));
    await using _ = await it.obtain();
    assert.equal(it.ca.calls.length, 2);
  });
});

// Each waits for the next look at the clock, a second away.
describe("a serving certificate is renewed", { concurrency: true }, () => {
  /** With a clock that is set on: the certificate has a day. */
  async function setUpClock(answer: Parameters<typeof setUp>[0]) {
    const clock = { aheadMs: 0 };
    const it = await setUp(answer, { nowMs: () => Date.now() + clock.aheadMs });
    const setOn = (hours: number): void => {
      clock.aheadMs = hours * 3_600_000;
    };
    return Object.assign(it, { setOn });
  }

  it("in the middle of its life, by the one in use", async () => {
    await using it = await setUpClock((call) => signed(call));
    await using certificate = await it.obtain();
    const first = certificate.material;
    it.setOn(10);
    assert.deepEqual(it.renewed, []);
    it.setOn(12);
    await until(() => it.renewed.length === 1, { ...within, what: "the renewal" });
    assert.deepEqual(proofs(it.ca.calls), ["Bearer t", "own"]);
    assert.deepEqual([certificate.material, certificate.material === first], [it.renewed[0], false]);
    assert.ok(certificate.notAfterMs > Date.now() + 60_000);
    assert.equal(it.lines.at(-1), "serving certificate renewed: ");
  });

  it("by the token where the one in use is refused", async () => {
    await using it = await setUpClock((call) => (call.caller.peerCertificate === undefined ? signed(call) : 16));
    await using _ = await it.obtain();
    it.setOn(12);
    await until(() => it.renewed.length === 1, { ...within, what: "the renewal" });
    assert.deepEqual(proofs(it.ca.calls), ["Bearer t", "own", "Bearer t"]);
    assert.match(it.lines.join("\n"), /renewal by certificate failed, trying the token: .*code 16/);
  });

  it("by the token where the one in use is over", async () => {
    let clockMs = 0;
    await using it = await setUp((call) => signed(call), { nowMs: () => Date.now() + clockMs });
    await using _ = await it.obtain();
    clockMs = 2 * 86_400_000;
    await until(() => it.ca.calls.length >= 2, { ...within, what: "the next request" });
    assert.deepEqual(proofs(it.ca.calls).slice(0, 2), ["Bearer t", "Bearer t"]);
  });

  it("at once when the clock is set back before its life", async () => {
    let clockMs = 0;
    await using it = await setUp((call) => signed(call, { notBeforeMs: Date.now() + clockMs - 60_000 }), {
      nowMs: () => Date.now() + clockMs,
    });
    await using _ = await it.obtain();
    clockMs = -3_000_000;
    await until(() => it.renewed.length > 0, { ...within, what: "the renewal" });
  });

  it("at once when the file of roots changes", async () => {
    await using it = await setUp((call) => signed(call));
    await using _ = await it.obtain();
    await writeFile(it.rootFile, authority.rootPem + stranger.rootPem);
    await until(() => it.renewed.length === 1, { ...within, what: "the renewal" });
    assert.equal(it.ca.calls.length, 2);
  });

  it("no more once it is disposed of", async () => {
    await using it = await setUpClock((call) => signed(call));
    const certificate = await it.obtain();
    await certificate[Symbol.asyncDispose]();
    it.setOn(12);
    await certificate[Symbol.asyncDispose]();
    assert.equal(it.ca.calls.length, 1);
  });

  it("no more once the service ends while ca is away", async () => {
    let isAway = false;
    await using it = await setUpClock((call) => (isAway ? 14 : signed(call)));
    await using _ = await it.obtain();
    isAway = true;
    it.setOn(12);
    await until(() => it.ca.calls.length > 2, { ...within, what: "a try" });
    it.stop.abort();
    assert.deepEqual(it.renewed, []);
  });
});
