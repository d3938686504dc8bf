import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeApi, KubeConfig, RemoteClusters } from "@flotilla/kube-api";
import { RemoteTokenReviewers } from "./remote-token-reviewers.ts";

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
    reviewers.apply(named({ east: "a", west: "b" }));
    assert.deepEqual([await ask("east"), await ask("west")], ["a", "b"]);
    reviewers.apply(named({ west: "b" }));
    assert.deepEqual([await ask("east"), await ask("west")], [undefined, "b"]);
    assert.deepEqual(changes, ["east a", "west b", "east undefined"]);
  });

  it("are announced to a listener that comes later", async () => {
    const { reviewers } = setUp();
    using _ = reviewers;
    reviewers.apply(named({ east: "a" }));
    const changes: string[] = [];
    reviewers.onChange((cluster, api) => void changes.push(`${cluster} ${api?.server}`));
    assert.deepEqual(changes, ["east a"]);
  });

  it("new credentials are used at once, the old connection ends later", async () => {
    const { reviewers, ask, closed } = setUp();
    reviewers.apply(named({ east: "a" }));
    reviewers.apply(named({ east: "a2" }));
    assert.equal(await ask("east"), "a2");
    assert.deepEqual(closed, []);
    reviewers[Symbol.dispose]();
    assert.deepEqual(closed.sort(), ["a", "a2"]);
  });

  it("a kubeconfig that cannot be used leaves the judge there was", async () => {
    const { reviewers, ask } = setUp();
    using _ = reviewers;
    reviewers.apply(named({ east: "a", west: undefined }));
    reviewers.apply(named({ east: undefined }));
    assert.deepEqual([await ask("east"), await ask("west")], ["a", undefined]);
  });
});
