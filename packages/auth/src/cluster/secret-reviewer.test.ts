import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeApi, refusedByApi } from "./fake-api.fixture.ts";
import { reviewInClusters, secretReviewer } from "./secret-reviewer.ts";

const web = { namespace: "shop", serviceAccount: "web" };

describe("reviews of accounts by the API server", () => {
  it("ask whether the account may list the Secrets of its own namespace", async () => {
    const { api, requests } = fakeApi(() => ({ status: { allowed: true } }));
    assert.equal(await secretReviewer(api, 1)(web), true);
    const [{ path, body } = { path: "", body: {} }] = requests;
    assert.equal(path, "/apis/authorization.k8s.io/v1/subjectaccessreviews");
    assert.deepEqual((body as { readonly spec: object }).spec, {
      user: "system:serviceaccount:shop:web",
      resourceAttributes: { namespace: "shop", verb: "list", resource: "secrets" },
    });
  });

  for (const status of [undefined, {}, { allowed: false }, { allowed: false, denied: true }])
    it(`allow nothing with the status ${JSON.stringify(status)}`, async () =>
      assert.equal(await secretReviewer(fakeApi(() => ({ status })).api, 1)(web), false));

  it("reject when the API server refuses to say", async () => {
    const review = secretReviewer(fakeApi(() => Promise.reject(refusedByApi("no"))).api, 1);
    await assert.rejects(review(web), { code: "KUBE_REFUSED" });
  });
});

describe("reviews of accounts in their clusters", () => {
  it("are the API server's of each, and without one the cluster is unknown", async () => {
    const review = reviewInClusters({
      ownCluster: "own",
      own: async ({ namespace }) => namespace === "shop",
      reviewerOf: async (cluster) => (cluster === "east" ? async ({ namespace }) => namespace === "bank" : undefined),
    });
    const asked = (cluster: string, namespace: string) => review({ cluster, namespace, serviceAccount: "web" });
    const places = [
      ["own", "shop"],
      ["own", "bank"],
      ["east", "shop"],
      ["east", "bank"],
      ["", "shop"],
    ] as const;
    assert.deepEqual(await Promise.all(places.map(([cluster, namespace]) => asked(cluster, namespace))), [
      ...["granted", "refused", "refused", "granted", "unknown-cluster"],
    ]);
  });
});
