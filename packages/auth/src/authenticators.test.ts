import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, it } from "node:test";
import { generatePrivateKey, issueLeaf, issueRoot, issuerOf, type San, spkiOf } from "@flotilla/pki";
import { noopLogger } from "@flotilla/runtime";
import { type Caller, firstOf, refused } from "./authenticator.ts";
import { clientCertificateAuthenticator } from "./client-certificate.ts";
import { jwtAuthenticator } from "./jwt/jwt-authenticator.ts";
import { openLocalIssuer } from "./local-issuer.ts";
import { type TokenReviewOptions, type TokenReviewStatus, tokenReviewAuthenticator } from "./token-review.ts";
import { VerdictCache } from "./verdict-cache.ts";

const nowMs = 1_000_000_000;
const key = await generatePrivateKey("ecdsa-p256");
const uri = "spiffe://td/ns/a/sa/b";

function callerOf(more: Partial<Caller>): Caller {
  return { metadata: new Map(), remoteAddress: "10.0.0.1:1", ...more };
}

const root = issueRoot(
  { serial: Buffer.of(1), subject: { organization: "x" }, notBeforeMs: 0, notAfterMs: nowMs * 2 },
  key,
);

describe("client certificate", () => {
  const leaf = (sans: readonly San[], notAfterMs = nowMs + 1000) =>
    issueLeaf(
      { serial: Buffer.of(1), spki: spkiOf(key), sans, subject: { commonName: "x" }, notBeforeMs: 0, notAfterMs },
      issuerOf(root, key),
    );
  const cases: readonly (readonly [string, Buffer | undefined, readonly string[] | RegExp])[] = [
    ["its SPIFFE identity", leaf([{ type: "uri", value: uri }]), [uri]],
    [
      "DNS names and other URIs do not count",
      leaf([
        { type: "dns", value: "a" },
        { type: "uri", value: "http://a" },
        { type: "uri", value: uri },
      ]),
      [uri],
    ],
    [
      "several identities",
      leaf([
        { type: "uri", value: uri },
        { type: "uri", value: "spiffe://x/y" },
      ]),
      [uri, "spiffe://x/y"],
    ],
    ["the last moment of its life", leaf([{ type: "uri", value: uri }], nowMs), [uri]],
    ["none", undefined, /no certificate/],
    ["no identity in it", leaf([{ type: "dns", value: "a" }]), /no SPIFFE/],
    ["expired while connected", leaf([{ type: "uri", value: uri }], nowMs - 1000), /expired/],
    ["not a certificate", Buffer.of(1, 2, 3), /PKI_BAD_CERTIFICATE/],
  ];
  for (const [name, peerCertificate, expected] of cases) {
    it(name, async () => {
      const authenticator = clientCertificateAuthenticator({ nowMs: () => nowMs });
      const verdict = await authenticator.authenticate(
        callerOf(peerCertificate === undefined ? {} : { peerCertificate }),
      );
      if (verdict.authenticated) assert.deepEqual([verdict.identities, verdict.principal], [expected, uri]);
      else assert.ok(expected instanceof RegExp && expected.test(verdict.reason), verdict.reason);
    });
  }
});

describe("token review", () => {
  const status: TokenReviewStatus = {
    authenticated: true,
    user: {
      username: "system:serviceaccount:shop:reviews",
      groups: ["system:serviceaccounts"],
      extra: { "authentication.kubernetes.io/pod-name": ["p"], "authentication.kubernetes.io/pod-uid": ["u"] },
    },
  };
  const claims = (value: object) => `x.${Buffer.from(JSON.stringify(value)).toString("base64url")}.y`;
  const bound = claims({ aud: ["istio-ca"], exp: nowMs / 1000 + 100 });

  function setUp(answer: TokenReviewStatus | Error, more: Partial<TokenReviewOptions> = {}) {
    const asked: string[] = [];
    const authenticator = tokenReviewAuthenticator({
      clusterId: "Kubernetes",
      aliases: new Map([["alias", "remote"]]),
      reviewerOf: (cluster) =>
        ["Kubernetes", "remote"].includes(cluster)
          ? async (_, audiences) => {
              asked.push(`${cluster} ${audiences.join()}`);
              if (answer instanceof Error) throw answer;
              return answer;
            }
          : undefined,
      audiences: ["istio-ca"],
      policy: "third-party",
      trustDomain: () => "td",
      nowMs: () => nowMs,
      ...more,
    });
    const ask = (token = bound, clusterId?: string) =>
      authenticator.authenticate(
        callerOf({
          metadata: new Map([
            ["authorization", [`Bearer ${token}`]],
            ...(clusterId ? [["clusterid", [clusterId]] as const] : []),
          ]),
        }),
      );
    return { ask, asked };
  }

  const refusals: readonly (readonly [string, TokenReviewStatus | Error, RegExp])[] = [
    ["not known", {}, /did not authenticate/],
    ["not authenticated", { authenticated: false }, /did not authenticate/],
    ["an error of the review", { ...status, error: "bad audience" }, /bad audience/],
    ["an API server that is away", new Error("connection refused"), /failed: connection refused/],
    [
      "a user",
      { authenticated: true, user: { username: "alice", groups: ["system:masters"] } },
      /not of a service account/,
    ],
    [
      "an odd name",
      { authenticated: true, user: { username: "system:serviceaccount:a", groups: ["system:serviceaccounts"] } },
      /is not a service account/,
    ],
  ];
  for (const [name, answer, reason] of refusals) {
    it(`refuses ${name}, and asks again the next time`, async () => {
      const { ask, asked } = setUp(answer);
      const verdict = await ask();
      assert.ok(!verdict.authenticated && reason.test(verdict.reason), JSON.stringify(verdict));
      await ask();
      assert.equal(asked.length, 2);
    });
  }

  it("takes what the API server confirms, with the pod, and asks once", async () => {
    const { ask, asked } = setUp(status);
    const [first, second] = await Promise.all([ask(), ask()]);
    assert.deepEqual(first, {
      authenticated: true,
      authenticator: "token-review",
      identities: ["spiffe://td/ns/shop/sa/reviews"],
      principal: "spiffe://td/ns/shop/sa/reviews",
      kubernetes: { cluster: "Kubernetes", namespace: "shop", serviceAccount: "reviews", podName: "p", podUid: "u" },
    });
    assert.deepEqual(second, first);
    await ask();
    assert.deepEqual(asked, ["Kubernetes istio-ca"]);
  });

  it("the header names the cluster, by its name or an alias; an unknown one is refused", async () => {
    const { ask, asked } = setUp(status);
    assert.equal((await ask(bound, "alias")).authenticated, true);
    assert.equal((await ask(bound, "Kubernetes")).authenticated, true);
    assert.equal((await ask(bound, "nowhere")).authenticated, false);
    assert.deepEqual(asked, ["remote istio-ca", "Kubernetes istio-ca"]);
  });

  it("answers of a cluster are dropped when it is disconnected", async () => {
    let isKnown = true;
    const { ask } = setUp(status, { reviewerOf: () => (isKnown ? () => Promise.resolve(status) : undefined) });
    assert.equal((await ask(bound, "remote")).authenticated, true);
    isKnown = false;
    const verdict = await ask(bound, "remote");
    assert.ok(!verdict.authenticated && /"remote" is not known/.test(verdict.reason));
  });

  it("legacy tokens are reviewed without an audience where the policy takes them", async () => {
    const legacy = claims({ sub: "x" });
    const first = setUp(status, { policy: "first-party" });
    await first.ask(legacy);
    await first.ask(bound);
    const third = setUp(status);
    await third.ask(legacy);
    assert.deepEqual([first.asked, third.asked], [["Kubernetes ", "Kubernetes istio-ca"], ["Kubernetes istio-ca"]]);
  });
});

describe("verdict cache", () => {
  const verdict = { authenticated: true, authenticator: "x", identities: [uri] } as const;
  it("forgets at expiry, at its own age, and the one used longest ago", () => {
    let at = nowMs;
    const cache = new VerdictCache({ maxEntries: 2, maxAgeMs: 1000, nowMs: () => at });
    cache.put("c", "a", verdict, at + 10);
    cache.put("c", "b", verdict, Number.POSITIVE_INFINITY);
    assert.ok(cache.get("c", "a"));
    assert.equal(cache.get("other", "a"), undefined);
    cache.put("c", "d", verdict, at + 500);
    assert.deepEqual([cache.get("c", "b"), cache.size], [undefined, 2]);
    at += 10;
    assert.deepEqual([cache.get("c", "a"), cache.get("c", "d")], [undefined, verdict]);
    cache.put("c", "e", verdict, at);
    assert.equal(cache.size, 1);
    at += 1000;
    assert.equal(cache.get("c", "d"), undefined);
  });

  it("forgets what was judged by a clock that has been set back since", () => {
    let at = nowMs;
    const cache = new VerdictCache({ maxEntries: 2, maxAgeMs: 1000, nowMs: () => at });
    cache.put("c", "a", verdict, Number.POSITIVE_INFINITY);
    at -= 172_800_000;
    assert.equal(cache.get("c", "a"), undefined);
  });
});

describe("order of authenticators", () => {
  const yes = { authenticated: true, authenticator: "y", identities: [uri] } as const;
  it("the first success counts, failures are reported together", async () => {
    const no = (name: string) => ({ name, authenticate: async () => refused(`no ${name}`) });
    const caller = callerOf({});
    assert.equal(
      await firstOf([no("a"), { name: "y", authenticate: async () => yes }, no("b")]).authenticate(caller),
      yes,
    );
    assert.deepEqual(await firstOf([no("a"), no("b")]).authenticate(caller), refused("a: no a; b: no b"));
    assert.equal((await firstOf([]).authenticate(caller)).authenticated, false);
  });
});

describe("local issuer", () => {
  it("its tokens are accepted by services that trust its work directory, and its key is private", async () => {
    const workDir = await mkdtemp(join(tmpdir(), "issuer-"));
    try {
      const issuers = await Promise.all([1, 2, 3].map(() => openLocalIssuer(workDir)));
      const authenticator = jwtAuthenticator({
        rule: issuers[0]?.rule ?? assert.fail(),
        trustDomain: () => "td",
        nowMs: Date.now,
        log: noopLogger,
      });
      for (const issuer of issuers) {
        const token = await issuer.mintToken({ namespace: "shop", serviceAccount: "reviews" });
        const verdict = await authenticator.authenticate(
          callerOf({ metadata: new Map([["authorization", [`Bearer ${token}`]]]) }),
        );
        assert.equal(
          verdict.authenticated && verdict.principal,
          "spiffe://td/ns/shop/sa/reviews",
          JSON.stringify(verdict),
        );
      }
      assert.equal((await stat(join(workDir, "issuer", "key.pem"))).mode & 0o777, 0o600);
      const jwks = JSON.parse(await readFile(join(workDir, "issuer", "jwks.json"), "utf8"));
      assert.deepEqual([jwks.keys.length, "d" in jwks.keys[0]], [1, false]);
      await assert.rejects(async () => issuers[0]?.mintToken({ namespace: "", serviceAccount: "x" }), {
        code: "AUTH_BAD_IDENTITY",
      });
    } finally {
      await rm(workDir, { recursive: true });
    }
  });
});
