/** The right to read Secrets, as a real API server decides it by Roles. */
import assert from "node:assert/strict";
import { after, describe, it } from "node:test";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { secretReviewer } from "./secret-reviewer.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
after(() => server?.[Symbol.asyncDispose]());

const rights = "/apis/rbac.authorization.k8s.io/v1/namespaces/default";
const apiGroup = "rbac.authorization.k8s.io";

describe("reviews of accounts by a real API server", { skip: server === undefined && whyNoApiserver }, () => {
  it("allow the account that a Role lets list Secrets of its namespace, and end with the right", async () => {
    assert.ok(server !== undefined);
    const { api } = server;
    const review = secretReviewer(api, 4);
    const asked = () =>
      Promise.all(
        [
          ["default", "edge"],
          ["default", "reader"],
          ["default", "other"],
          ["kube-system", "edge"],
        ].map(([namespace = "", serviceAccount = ""]) => review({ namespace, serviceAccount })),
      );
    assert.deepEqual(await asked(), [false, false, false, false]);
    for (const [name, verbs] of [
      ["edge", ["get", "list", "watch"]],
      ["reader", ["get"]],
    ] as const) {
      const rules = [{ apiGroups: [""], resources: ["secrets"], verbs }];
      await api.create(`${rights}/roles`, { metadata: { name }, rules });
      await api.create(`${rights}/rolebindings`, {
        metadata: { name },
        roleRef: { apiGroup, kind: "Role", name },
        subjects: [{ kind: "ServiceAccount", name, namespace: "default" }],
      });
    }
    // The authorizer follows Roles a moment later.
    const soon = (what: string) => ({ withinMs: 60_000, what });
    await until(async () => (await asked())[0], soon("the right"));
    assert.deepEqual(await asked(), [true, false, false, false]);
    await api.delete(`${rights}/rolebindings/edge`);
    await until(async () => !(await asked())[0], soon("the end of the right"));
    assert.deepEqual(await asked(), [false, false, false, false]);
  });
});
