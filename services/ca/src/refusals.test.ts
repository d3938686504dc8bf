/**
 * Every kind of bad input, as a caller sends it: the gRPC code, the answer to the caller (no more than the caller knows), the counter that
 * moves, and no certificate. A flood of one identity is cut off and leaves room for others.
 */
import assert from "node:assert/strict";
import { createHmac, generateKeyPairSync } from "node:crypto";
import { after, describe, it } from "node:test";
import { buildCsr, csrPem, encodePem, generatePrivateKey } from "@flotilla/pki";
import { until } from "@flotilla/runtime";
import { type ServiceError, status } from "@grpc/grpc-js";
import { type RunningCa, startCa } from "./main.fixture.ts";
import { type Asked, askAs, openClient, sendOver } from "./raw-request.fixture.ts";

const ca = await startCa({ CA_TRUSTED_NODE_ACCOUNTS: "istio-system/ztunnel" });
after(() => ca[Symbol.asyncDispose]());

const unauthenticated = { code: status.UNAUTHENTICATED, details: "request authenticate failure" };
const badCsr = { code: status.INVALID_ARGUMENT, details: "CSR parsing error" };
const notImpersonated = { code: status.UNAUTHENTICATED, details: "request impersonation authentication failure" };
const counters = {
  authentication: "citadel_server_authentication_failure_count",
  csr: "citadel_server_csr_parsing_err_count",
  ttl: 'citadel_server_csr_sign_err_count{error="ttl"}',
  signer: 'citadel_server_csr_sign_err_count{error="signer"}',
  name: 'citadel_server_csr_sign_err_count{error="name"}',
} as const;

const key = await generatePrivateKey("ecdsa-p256");
const good = buildCsr({ key });
const rsa = (bits: number) => generateKeyPairSync("rsa", { modulusLength: bits }).privateKey;
const token = () => ca.mint("shop", "web");

/** The token with another header: its signature is of no use any more. */
async function withHeader(change: Readonly<Record<string, unknown>>, sign: (input: string) => string): Promise<string> {
  const [header = "", claims = ""] = (await token()).split(".");
  const changed = { ...JSON.parse(Buffer.from(header, "base64url").toString()), ...change };
  const input = `${Buffer.from(JSON.stringify(changed)).toString("base64url")}.${claims}`;
  return `${input}.${sign(input)}`;
}

/** The last byte of the signature is another one. */
function withWrongSignature(): string {
  const der = Buffer.from(good);
  der.writeUInt8(der.readUInt8(der.length - 1) ^ 1, der.length - 1);
  return encodePem("CERTIFICATE REQUEST", der);
}

interface Case {
  readonly name: string;
  readonly make: () => Promise<Asked>;
  readonly reported: { readonly code: status; readonly details: string | RegExp };
  readonly counter: keyof typeof counters;
}

const tokenCase = (name: string, make: () => Promise<string>): Case => ({
  name,
  make: async () => ({ token: await make() }),
  reported: unauthenticated,
  counter: "authentication",
});
const csrCase = (name: string, make: () => string): Case => ({
  name,
  make: async () => ({ token: await token(), csr: make() }),
  reported: badCsr,
  counter: "csr",
});

const cases: readonly Case[] = [
  tokenCase("no token at all", async () => ""),
  tokenCase("a token that is none", async () => "abc"),
  tokenCase("a forged signature", async () => `${(await token()).slice(0, -10)}AAAAAAAAAA`),
  tokenCase("an expired token", () => ca.mint("shop", "web", { ttlMs: -60_000 })),
  tokenCase("a token for another audience", () => ca.mint("shop", "web", { audience: "other" })),
  tokenCase("alg=none", () => withHeader({ alg: "none" }, () => "")),
  tokenCase("a public key used as an HMAC key", () =>
    withHeader({ alg: "HS256" }, (input) => createHmac("sha256", "public").update(input).digest("base64url")),
  ),
  tokenCase("a kid that points nowhere", () => withHeader({ kid: "nowhere" }, () => "AAAA")),
  tokenCase("a token of 20 kB", async () => `${"a".repeat(10_000)}.${"b".repeat(10_000)}.c`),
  csrCase("no request", () => ""),
  csrCase("malformed PEM", () => "-----BEGIN CERTIFICATE REQUEST-----\n%%%\n-----END CERTIFICATE REQUEST-----\n"),
  csrCase("another PEM block", () => encodePem("CERTIFICATE", good)),
  csrCase("a cut request", () => encodePem("CERTIFICATE REQUEST", good.subarray(0, -20))),
  csrCase("a wrong signature", withWrongSignature),
  csrCase("RSA 1024", () => csrPem(buildCsr({ key: rsa(1024) }))),
  csrCase("an unsupported curve", () =>
    csrPem(buildCsr({ key: generateKeyPairSync("ec", { namedCurve: "secp256k1" }).privateKey })),
  ),
  csrCase("a request of 40 kB", () => encodePem("CERTIFICATE REQUEST", Buffer.concat([good, Buffer.alloc(30_000)]))),
  {
    name: "a life that is too long",
    make: async () => ({ token: await token(), ttl: 7_776_001n }),
    reported: {
      code: status.INVALID_ARGUMENT,
      details: /^CSR signing error \(requested TTL .* is greater than the max/,
    },
    counter: "ttl",
  },
  {
    name: "an unknown signer",
    make: async () => ({ token: await token(), metadata: { CertSigner: "x" } }),
    reported: { code: status.INVALID_ARGUMENT, details: "CSR signing error (unknown signer)" },
    counter: "signer",
  },
  {
    name: "a signer that is no text, and whose text is none",
    make: async () => ({ token: await token(), metadata: { CertSigner: { toString: 1 } } }),
    reported: { code: status.INVALID_ARGUMENT, details: "CSR signing error (unknown signer)" },
    counter: "signer",
  },
  {
    name: "an identity that is no text, and whose text is none",
    make: async () => ({ token: await token(), metadata: { ImpersonatedIdentity: { toString: 1 } } }),
    reported: notImpersonated,
    counter: "authentication",
  },
  {
    name: "a name of the control plane that does not exist",
    make: async () => ({
      token: await ca.mint("istio-system", "flotilla-webhook"),
      csr: csrPem(buildCsr({ key, sans: [{ type: "dns", value: "x.test" }] })),
    }),
    reported: { code: status.PERMISSION_DENIED, details: /"x\.test" is not one of the control plane/ },
    counter: "name",
  },
  {
    name: "somebody else's identity, by a workload",
    make: async () => ({
      token: await token(),
      metadata: { ImpersonatedIdentity: "spiffe://cluster.local/ns/c/sa/d" },
    }),
    reported: notImpersonated,
    counter: "authentication",
  },
  {
    name: "somebody else's identity, by a node account without a pod (a replay from elsewhere)",
    make: async () => ({
      token: await ca.mint("istio-system", "ztunnel"),
      metadata: { ImpersonatedIdentity: "spiffe://cluster.local/ns/c/sa/d" },
    }),
    reported: notImpersonated,
    counter: "authentication",
  },
];

async function counted(from: RunningCa, name: string): Promise<number> {
  const text = await (await fetch(`http://127.0.0.1:${from.health}/metrics`)).text();
  const line = text.split("\n").find((one) => one.startsWith(`${name} `));
  return Number(line?.slice(name.length + 1) ?? 0);
}
const issuedBy = ({ lines }: RunningCa) => lines.filter(({ msg }) => msg === "certificate issued").length;

describe("bad input", () => {
  for (const { name, make, reported, counter } of cases) {
    it(name, async () => {
      const before = { count: await counted(ca, counters[counter]), issued: issuedBy(ca) };
      const { code, details } = await askAs(ca, await make());
      assert.equal(code, reported.code, details);
      if (reported.details instanceof RegExp) assert.match(details, reported.details);
      else assert.equal(details, reported.details);
      assert.equal(await counted(ca, counters[counter]), before.count + 1);
      assert.equal(issuedBy(ca), before.issued);
    });
  }

  it("a message of more than 64 kB is not read", async () => {
    const { code } = await askAs(ca, { token: await token(), csr: "x".repeat(70_000) });
    assert.equal(code, status.RESOURCE_EXHAUSTED);
  });

  it("an issued certificate is logged in one line with caller and subject, and no secret", async () => {
    const proof = await token();
    assert.equal((await askAs(ca, { token: proof })).code, status.OK);
    const { identity, serial, key: kind, notAfter, authenticator, caller } = ca.lines.at(-1) ?? {};
    assert.deepEqual([identity, kind, authenticator], ["spiffe://cluster.local/ns/shop/sa/web", "ecdsa-p256", "jwt"]);
    assert.match(`${serial} ${notAfter} ${caller}`, /^[0-9a-f]{32} \d{4}-\d\d-\d\dT\S+Z 127\.0\.0\.1:\d+$/);
    const all = JSON.stringify(ca.lines);
    assert.ok(!all.includes(proof) && !/eyJ|PRIVATE KEY|Bearer/.test(all));
  });
});

describe("a flood", () => {
  it("of one identity is cut off, and others get theirs", async () => {
    await using slow = await startCa({ CA_SELF_SIGNED_KEY: "rsa-4096", CA_MAX_PENDING_PER_IDENTITY: "1" });
    const [flooding, other] = [await slow.mint("shop", "flood"), await slow.mint("shop", "other")];
    const clients = Array.from({ length: 5 }, () => openClient(slow));
    const codes = new Set<status | undefined>();
    const othersWere: status[] = [];
    const isCutOff = async () => {
      const flood = clients.flatMap((client) => Array.from({ length: 8 }, () => sendOver(client, { token: flooding })));
      const beside = askAs(slow, { token: other });
      for (const sent of await Promise.allSettled(flood))
        codes.add(sent.status === "fulfilled" ? status.OK : (sent.reason as ServiceError).code);
      othersWere.push((await beside).code);
      return codes.has(status.RESOURCE_EXHAUSTED);
    };
    await until(isCutOff, { withinMs: 30_000, what: "a refusal" });
    for (const client of clients) client.close();
    assert.deepEqual([...codes].sort(), [status.OK, status.RESOURCE_EXHAUSTED]);
    assert.ok(othersWere.every((code) => code === status.OK));
    assert.ok((await counted(slow, 'citadel_server_csr_sign_err_count{error="busy"}')) > 0);
  });
});

it("callers that are refused get fifty lines at once and one more each second, by the host they come from", async () => {
  const startedAt = performance.now();
  await using loud = await startCa();
  const client = openClient(loud);
  try {
    for (let at = 0; at < 20; at++)
      await Promise.allSettled(Array.from({ length: 10 }, () => sendOver(client, { token: "abc" })));
  } finally {
    client.close();
  }
  const logged = loud.lines.filter(({ msg }) => msg === "caller not authenticated").length;
  const further = (performance.now() - startedAt) / 1_000;
  assert.ok(logged >= 50 && logged <= 50 + further, `${logged} lines`);
  assert.equal(await counted(loud, counters.authentication), 200);
  assert.equal(await counted(loud, "ca_refusals_unlogged_total"), 200 - logged);
});
