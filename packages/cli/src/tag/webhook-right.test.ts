/** The right of a webhook to update the configuration of a tag: given to Flotilla's own, taken away with the tag. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { KubeError } from "@flotilla/kube-api";
import { createMemoryApi } from "@flotilla/kube-api/memory";
import { giveRight, takeRight } from "./webhook-right.ts";

const rbac = "/apis/rbac.authorization.k8s.io/v1";
const role = `${rbac}/clusterroles/flotilla-revision-tag-prod`;
const binding = `${rbac}/clusterrolebindings/flotilla-revision-tag-prod`;

function aConfiguration(partOf: string) {
  const service = { name: "flotilla-webhook", namespace: "mesh" };
  const metadata = { name: "c", labels: { "app.kubernetes.io/part-of": partOf } };
  return { metadata, webhooks: [{ clientConfig: { service } }] } as never;
}

describe("the right to update a tag's configuration", () => {
  it("is a role for it alone, bound to the account of the webhook's Service", async () => {
    const memory = createMemoryApi();
    assert.equal(await giveRight(memory.api, "prod", aConfiguration("flotilla")), undefined);
    assert.deepEqual((memory.read(role) as { rules?: unknown } | undefined)?.rules, [
      {
        apiGroups: ["admissionregistration.k8s.io"],
        resources: ["mutatingwebhookconfigurations"],
        resourceNames: ["istio-revision-tag-prod"],
        verbs: ["update"],
      },
    ]);
    const { roleRef, subjects } = (memory.read(binding) ?? {}) as { roleRef?: unknown; subjects?: unknown };
    assert.deepEqual(roleRef, {
      apiGroup: "rbac.authorization.k8s.io",
      kind: "ClusterRole",
      name: "flotilla-revision-tag-prod",
    });
    assert.deepEqual(subjects, [{ kind: "ServiceAccount", name: "flotilla-webhook", namespace: "mesh" }]);
  });

  it("is not given to another's webhook, nor to one that is no Service", async () => {
    const memory = createMemoryApi();
    await giveRight(memory.api, "prod", aConfiguration("istio"));
    await giveRight(memory.api, "prod", { ...(aConfiguration("flotilla") as object), webhooks: [] } as never);
    assert.deepEqual(memory.writes, []);
  });

  it("may be refused, and then the reason is the answer; other failures are errors", async () => {
    const refusedWith = async (status: number) => {
      const memory = createMemoryApi();
      memory.refusal = () => new KubeError("KUBE_REFUSED", "may not", { status });
      return await giveRight(memory.api, "prod", aConfiguration("flotilla"));
    };
    assert.equal(await refusedWith(403), "[KUBE_REFUSED] may not");
    await assert.rejects(refusedWith(500), /may not/);
  });

  it("is taken away with the tag, and nothing of another's", async () => {
    const memory = createMemoryApi();
    await giveRight(memory.api, "prod", aConfiguration("flotilla"));
    memory.put(role, { metadata: { labels: {} } });
    await takeRight(memory.api, "prod");
    assert.deepEqual([memory.read(binding), memory.read(role) !== undefined], [undefined, true]);
  });
});
