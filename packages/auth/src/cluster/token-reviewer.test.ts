import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { fakeApi } from "./fake-api.fixture.ts";
import { tokenReviewer } from "./token-reviewer.ts";

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
