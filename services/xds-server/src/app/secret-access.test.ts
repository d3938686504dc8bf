/** Accounts that may read Secrets: what is asked, how long a verdict counts, and what a session is sent meanwhile. */
import assert from "node:assert/strict";
import { afterEach, describe, it, mock } from "node:test";
import type { ClusterAccount, SecretVerdict } from "@flotilla/auth/cluster";
import { typeUrl } from "@flotilla/proto";
import { createLogger, noopLogger } from "@flotilla/runtime";
import { nameSet } from "@flotilla/xds";
import type { ClientIdentity } from "../serve/resource-source.ts";
import type { XdsService } from "../settings.ts";
import { applyOptionsOf } from "../testing/apply-options.ts";
import { aConfig, aSidecar, put } from "../testing/mesh.ts";
import { Core } from "./core.ts";
import { createCoreSource } from "./core-source.ts";
import { AccountReviews, decideSecrets, reviewByList } from "./secret-access.ts";

const log = createLogger("test", "error");
const web: ClusterAccount = { namespace: "shop", serviceAccount: "web", cluster: "Kubernetes" };

/** Answers of API servers, one after the other, each when it is released. */
function answering() {
  const asked: string[] = [];
  const waiting: PromiseWithResolvers<SecretVerdict>[] = [];
  const review = ({ namespace, serviceAccount, cluster }: ClusterAccount): Promise<SecretVerdict> => {
    asked.push(`${cluster === "Kubernetes" ? "" : `${cluster}: `}${namespace}/${serviceAccount}`);
    const next = Promise.withResolvers<SecretVerdict>();
    waiting.push(next);
    return next.promise;
  };
  const settled = () => new Promise((resolve) => setImmediate(resolve));
  return {
    asked,
    review,
    answer: async (verdict: boolean | SecretVerdict) => {
      waiting.shift()?.resolve(verdict === true ? "granted" : verdict === false ? "refused" : verdict);
      await settled();
    },
    fail: async () => {
      waiting.shift()?.reject(new Error("away"));
      await settled();
    },
  };
}

describe("reviews of accounts", () => {
  it("ask once for all followers of an account, and no more without followers", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const api = answering();
    using reviews = new AccountReviews({ review: api.review, log });
    const heard: string[] = [];
    const first = reviews.follow(web, () => heard.push("first"));
    const second = reviews.follow(web, () => heard.push("second"));
    assert.equal(first.verdict, undefined);
    await api.answer(true);
    assert.deepEqual([api.asked, heard, first.verdict], [["shop/web"], ["first", "second"], "granted"]);
    first[Symbol.dispose]();
    mock.timers.tick(300_000);
    await api.answer(false);
    assert.deepEqual([heard.slice(2), second.verdict], [["second"], "refused"]);
    second[Symbol.dispose]();
    mock.timers.tick(600_000);
    assert.equal(api.asked.length, 2);
    mock.timers.reset();
  });

  it("keep a verdict while the API server does not answer, and give none without one", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const api = answering();
    using reviews = new AccountReviews({ review: api.review, log, refusedMs: 4_000, retryMs: 1_000 });
    using followed = reviews.follow(web, () => undefined);
    await api.fail();
    assert.equal(followed.verdict, undefined);
    mock.timers.tick(1_000);
    await api.answer(true);
    mock.timers.tick(300_000);
    await api.fail();
    assert.deepEqual([api.asked.length, followed.verdict], [3, "granted"]);
    mock.timers.reset();
  });

  it("warn once of an API server that does not answer, and again after it did", async () => {
    mock.timers.enable({ apis: ["setTimeout"] });
    const api = answering();
    const warnings: string[] = [];
    const noting = { ...noopLogger, warn: (message: string) => void warnings.push(message) };
    using reviews = new AccountReviews({ review: api.review, log: noting, refusedMs: 4_000, retryMs: 1_000 });
    using _ = reviews.follow(web, () => undefined);
    await api.fail();
    mock.timers.tick(1_000);
    await api.fail();
    assert.equal(warnings.length, 1);
    mock.timers.tick(2_000);
    await api.answer(true);
    mock.timers.tick(300_000);
    await api.fail();
    assert.equal(warnings.length, 2);
    mock.timers.reset();
  });

  it("are of an account in a cluster, and made anew when that comes, changes or goes", async () => {
    const api = answering();
    using reviews = new AccountReviews({ review: api.review, log: noopLogger });
    let heard = 0;
    using east = reviews.follow({ ...web, cluster: "east" }, () => heard++);
    using own = reviews.follow(web, () => undefined);
    assert.deepEqual(api.asked, ["east: shop/web", "shop/web"]);
    reviews.noteCluster("east");
    await api.answer("unknown-cluster");
    await api.answer(true);
    assert.deepEqual([east.verdict, own.verdict, heard], [undefined, "granted", 0], "an answer that was overtaken");
    await api.answer(true);
    assert.deepEqual([east.verdict, heard], ["granted", 1]);
    reviews.noteCluster("east");
    await api.answer("unknown-cluster");
    assert.deepEqual([east.verdict, heard, api.asked.length], ["unknown-cluster", 2, 4]);
    reviews.noteCluster("west");
    assert.equal(api.asked.length, 4);
  });

  it("go by a list where there is no API server", async () => {
    const asked = (list: readonly string[]) => reviewByList(list)(web);
    const answers = [["shop/web"], ["shop/*"], ["*"], ["shop/batch"], ["other/*"], []].map(asked);
    assert.deepEqual(await Promise.all(answers), [
      ...["granted", "granted", "granted", "refused", "refused", "refused"],
    ]);
  });
});

describe("the right to Secrets", () => {
  /** The reviews that a mesh is given, and those that come back to be disposed of. */
  function decided(
    secretReaders: readonly string[],
    { verdict, remoteSecrets = true }: { readonly verdict?: SecretVerdict; readonly remoteSecrets?: boolean } = {},
  ) {
    const given: unknown[] = [];
    const mesh = { source: { decideSecrets: (reviews: unknown) => void given.push(reviews) } };
    const listeners: ((cluster: string) => void)[] = [];
    const cluster = verdict && {
      ...{ review: { clusterId: "Kubernetes" }, reviewSecretAccess: async () => verdict },
      isRemote: async (name: string) => name === "east",
      onRemote: (listener: (name: string) => void) => void listeners.push(listener),
    };
    const service = { settings: { secretReaders, remoteSecrets }, log: noopLogger } as unknown as XdsService;
    return { given, listeners, owned: decideSecrets(service, { mesh, identity: { cluster } } as never) };
  }
  const verdictOf = async (reviews: unknown, cluster = "Kubernetes") => {
    using followed = (reviews as AccountReviews).follow({ ...web, cluster }, () => undefined);
    await new Promise(setImmediate);
    return followed.verdict;
  };
  it("is decided by the API server where there is one", async () => {
    const { given, listeners, owned } = decided(["shop/web"], { verdict: "refused" });
    using _ = owned;
    assert.deepEqual([given, listeners.length], [[owned], 1]);
    assert.equal(await verdictOf(given[0]), "refused");
    assert.equal(await verdictOf(given[0], "east"), "refused");
  });
  it("is no account's of another cluster where these are not asked", async () => {
    const { given, owned } = decided([], { verdict: "granted", remoteSecrets: false });
    using _ = owned;
    const verdicts = ["Kubernetes", "east", "nowhere"].map((cluster) => verdictOf(given[0], cluster));
    assert.deepEqual(await Promise.all(verdicts), ["granted", "refused", "unknown-cluster"]);
  });
  it("is decided by the list where there is none", async () => {
    const { given, owned } = decided(["shop/web"]);
    using _ = owned;
    assert.deepEqual(given, [owned]);
    assert.equal(await verdictOf(given[0]), "granted");
  });
  it("is not asked about without both", () => {
    const { given, owned } = decided([]);
    assert.deepEqual(given, []);
    owned[Symbol.dispose]();
  });
});

describe("a session whose account is reviewed", () => {
  const pair = { "tls.crt": btoa("THE CHAIN"), "tls.key": btoa("THE KEY"), "ca.crt": btoa("THE ROOT") };
  const [key, root] = ["kubernetes://pair", "kubernetes://pair-cacert"];
  const changes = put(aConfig("Secret", "shop", "pair", { data: pair }));
  const identity = (account: string) => `spiffe://td/ns/shop/sa/${account}`;

  function aSession(client: Partial<ClientIdentity> = {}) {
    const api = answering();
    const source = createCoreSource(new Core());
    source.decideSecrets(new AccountReviews({ review: api.review, log }));
    source.apply(changes, applyOptionsOf(changes, 1));
    let stale = 0;
    const whole = { proxy: aSidecar("shop"), identities: [identity("web")], ...client };
    const session = source.open(whole, () => stale++);
    const names = () => [...(session.resources(typeUrl.secret, nameSet([key, root]))?.byName.keys() ?? ["nothing"])];
    return { api, session, names, stale: () => stale };
  }

  it("is not answered before the verdict, and is sent key pair and root after it", async () => {
    const { api, session, names, stale } = aSession();
    assert.deepEqual([names(), stale()], [["nothing"], 0]);
    await api.answer(true);
    assert.deepEqual([names(), stale(), api.asked], [[key, root], 1, ["shop/web"]]);
    session.close();
  });

  it("is sent roots only where its account may not read Secrets", async () => {
    const { api, session, names } = aSession();
    names();
    await api.answer(false);
    assert.deepEqual(names(), [root]);
    session.close();
  });

  it("is not answered while its cluster is not known", async () => {
    const { api, session, names } = aSession({ proxy: aSidecar("shop", { CLUSTER_ID: "east" }) });
    names();
    await api.answer("unknown-cluster");
    assert.deepEqual([names(), api.asked], [["nothing"], ["east: shop/web"]]);
    session.close();
  });

  describe("after an answer that it may", () => {
    const granted = async () => {
      mock.timers.enable({ apis: ["setTimeout"] });
      const one = aSession();
      one.names();
      await one.api.answer(true);
      assert.deepEqual(one.names(), [key, root]);
      mock.timers.tick(300_000);
      return one;
    };
    afterEach(() => mock.timers.reset());

    it("keeps what it was sent when its cluster is left, and goes on when it comes back", async () => {
      const { api, session, names, stale } = await granted();
      await api.answer("unknown-cluster");
      assert.deepEqual([names(), stale()], [["nothing"], 2]);
      mock.timers.tick(60_000);
      await api.answer(true);
      assert.deepEqual([names(), stale()], [[key, root], 3]);
      session.close();
    });

    it("loses a key pair with the right to it", async () => {
      const { api, session, names, stale } = await granted();
      await api.answer(false);
      assert.deepEqual([names(), stale()], [[root], 2]);
      session.close();
    });
  });

  it("is reviewed for the account that it proved, of several the one that its node is", async () => {
    const proxy = aSidecar("shop", { SERVICE_ACCOUNT: "web" });
    const { api, session, names } = aSession({ proxy, identities: [identity("admin"), identity("web")] });
    names();
    assert.deepEqual(api.asked, ["shop/web"]);
    session.close();
  });

  for (const [what, client] of [
    ["without an identity", { identities: [] }],
    ["of another namespace", { identities: ["spiffe://td/ns/other/sa/web"] }],
    ["with an identity that is no account", { identities: ["spiffe://td/workload"] }],
    ["in plain text", { isPlaintext: true }],
  ] as const)
    it(`${what} is not even asked about`, () => {
      const { api, session, names } = aSession(client);
      assert.deepEqual([names(), api.asked], [["nothing"], []]);
      session.close();
    });
});
