import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeApi, KubeConfig, RemoteClusters } from "@flotilla/kube-api";
import { fakeApi } from "./fake-api.fixture.ts";
import { RemoteTokenReviewers, tokenReviewer } from "./token-reviewers.ts";

describe("token reviews by the API server", () => {
  it("name the token, and audiences where there are some", async () => {
    const status = { authenticated: true };
    const { api, requests } = fakeApi(() => ({ status }));
    const review = tokenReviewer(api, 1);
    assert.deepEqual(await review("t", ["a", "b"]), status);
    await review("t", []);
    const specs = requests.map(({ body }) => (body as { readonly spec: object }).spec);
    assert.deepEqual(specs, [{ token: "t", audiences: ["a", "b"] }, { token: "t" }]);
    assert.equal(requests[0]?.path, "/apis/authentication.k8s.io/v1/tokenreviews");
  });

  it("prove nothing without a status", async () =>
    assert.deepEqual(await tokenReviewer(fakeApi(() => ({})).api, 1)("t", []), {}));

  it("are as many at a time as may be, in order, also after one has failed", async () => {
    const open: PromiseWithResolvers<unknown>[] = [];
    const { api, requests } = fakeApi(() => {
      const answer = Promise.withResolvers<unknown>();
      open.push(answer);
      return answer.promise;
    });
    const review = tokenReviewer(api, 2);
    const reviews = ["1", "2", "3", "4"].map((token) => review(token, []).catch((error: Error) => error.message));
    const turn = () => new Promise((resolve) => setImmediate(resolve));
    const asked = () => requests.map(({ body }) => (body as { readonly spec: { token: string } }).spec.token).join();
    await turn();
    assert.equal(asked(), "1,2");
    open[0]?.reject(new Error("away"));
    await turn();
    assert.equal(asked(), "1,2,3");
    for (const answer of [open[1], open[2]]) answer?.resolve({ status: {} });
    await turn();
    assert.equal(asked(), "1,2,3,4");
    open[3]?.resolve({ status: {} });
    assert.deepEqual(await Promise.all(reviews), ["away", {}, {}, {}]);
    const more = ["5", "6", "7"].map((token) => review(token, []));
    await turn();
    assert.equal(asked(), "1,2,3,4,5,6");
    for (const answer of open) answer.resolve({});
    await turn();
    for (const answer of open) answer.resolve({});
    await Promise.all(more);
  });
});

/** Names of clusters with their credentials; `undefined` stands for a kubeconfig that cannot be used. */
function named(all: Readonly<Record<string, string | undefined>>): RemoteClusters {
  const clusters = Object.entries(all).map(([cluster, server]) => {
    const config: KubeConfig | undefined = server ? { server, credentials: async () => ({}) } : undefined;
    return [cluster, { cluster, secret: "Secret/n/s", kubeconfig: server ?? "broken", config }] as const;
  });
  return { clusters: new Map(clusters), problems: [] };
}

function setUp() {
  const closed: string[] = [];
  const changes: string[] = [];
  const open = ({ server }: KubeConfig) =>
    ({
      server,
      create: async () => ({ status: { authenticated: true, user: { username: server } } }),
      [Symbol.dispose]: () => void closed.push(server),
    }) as unknown as KubeApi;
  const reviewers = new RemoteTokenReviewers({ maxReviews: 1, open });
  reviewers.onChange((cluster, api) => void changes.push(`${cluster} ${api?.server}`));
  const ask = async (cluster: string) => (await reviewers.reviewerOf(cluster)?.("token", []))?.user?.username;
  return { reviewers, ask, changes, closed };
}

describe("token reviewers of other clusters", () => {
  it("come with their Secret and go with it", async () => {
    const { reviewers, ask, changes } = setUp();
    using _ = reviewers;
    assert.equal(await ask("east"), undefined);
    reviewers.replaceClusters(named({ east: "a", west: "b" }));
    assert.deepEqual([await ask("east"), await ask("west")], ["a", "b"]);
    reviewers.replaceClusters(named({ west: "b" }));
    assert.deepEqual([await ask("east"), await ask("west")], [undefined, "b"]);
    assert.deepEqual(changes, ["east a", "west b", "east undefined"]);
  });

  it("review rights to Secrets once it is known which clusters there are", async () => {
    const { reviewers } = setUp();
    using _ = reviewers;
    const found = ["east", "west"].map((cluster) => reviewers.secretReviewerOf(cluster));
    const early = await Promise.race([...found, Promise.resolve("not known yet")]);
    assert.equal(early, "not known yet");
    reviewers.replaceClusters(named({ east: "a" }));
    assert.deepEqual(
      (await Promise.all(found)).map((one) => typeof one),
      ["function", "undefined"],
    );
  });

  it("are announced to a listener that comes later", async () => {
    const { reviewers } = setUp();
    using _ = reviewers;
    reviewers.replaceClusters(named({ east: "a" }));
    const changes: string[] = [];
    reviewers.onChange((cluster, api) => void changes.push(`${cluster} ${api?.server}`));
    assert.deepEqual(changes, ["east a"]);
  });

  it("new credentials are used at once, the old connection ends later", async () => {
    const { reviewers, ask, closed } = setUp();
    reviewers.replaceClusters(named({ east: "a" }));
    reviewers.replaceClusters(named({ east: "a2" }));
    assert.equal(await ask("east"), "a2");
    assert.deepEqual(closed, []);
    reviewers[Symbol.dispose]();
    assert.deepEqual(closed.sort(), ["a", "a2"]);
  });

  it("a kubeconfig that cannot be used leaves the judge there was", async () => {
    const { reviewers, ask } = setUp();
    using _ = reviewers;
    reviewers.replaceClusters(named({ east: "a", west: undefined }));
    reviewers.replaceClusters(named({ east: undefined }));
    assert.deepEqual([await ask("east"), await ask("west")], ["a", undefined]);
  });
});
