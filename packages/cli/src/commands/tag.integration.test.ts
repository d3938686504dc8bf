/** `flotilla tag` on a real kube-apiserver: what selects pods afterwards, and what is refused. */
import assert from "node:assert/strict";
import { after, before, describe, it } from "node:test";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { recordRun } from "../recorded-run.fixture.ts";
import type { TagConfiguration } from "../tag/revision-tag.ts";

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

interface Role {
  readonly rules: readonly { readonly resourceNames: readonly string[] }[];
}
interface Binding {
  readonly subjects: readonly { readonly name: string; readonly namespace: string }[];
}

function injector(revision: string): object {
  const service = { name: `webhook-${revision}`, namespace: "istio-system", path: "/inject", port: 443 };
  const away = { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["istio-system"] };
  return {
    ...{ apiVersion: "admissionregistration.k8s.io/v1", kind: "MutatingWebhookConfiguration" },
    metadata: {
      name: `injector-${revision}`,
      labels: { "istio.io/rev": revision, ...(revision === "new" && { "app.kubernetes.io/part-of": "flotilla" }) },
    },
    webhooks: [
      {
        ...{ name: "rev.namespace.sidecar-injector.istio.io", admissionReviewVersions: ["v1"], sideEffects: "None" },
        ...{ failurePolicy: "Ignore", namespaceSelector: { matchExpressions: [away] } },
        rules: [{ operations: ["CREATE"], apiGroups: [""], apiVersions: ["v1"], resources: ["pods"] }],
        clientConfig: { service },
      },
    ],
  };
}

describe("flotilla tag", { skip: server === undefined && whyNoApiserver }, () => {
  const api = () => (server as RunningApiserver).api;
  const tag = (...args: readonly string[]) =>
    recordRun(["tag", ...args, "--kubeconfig", (server as RunningApiserver).kubeconfig]);
  const configurationOf = (name: string) => api().get<TagConfiguration>(`${path}/istio-revision-tag-${name}`);

  /** The configurations that the tag lets accounts update, and the accounts. */
  async function rightOf(name: string) {
    const rbac = "/apis/rbac.authorization.k8s.io/v1";
    const role = await api().get<Role>(`${rbac}/clusterroles/flotilla-revision-tag-${name}`);
    const binding = await api().get<Binding>(`${rbac}/clusterrolebindings/flotilla-revision-tag-${name}`);
    if (role === undefined || binding === undefined) return undefined;
    return {
      names: role.rules.flatMap(({ resourceNames }) => resourceNames),
      accounts: binding.subjects.map((subject) => `${subject.namespace}/${subject.name}`),
    };
  }

  before(async () => {
    for (const revision of ["old", "new"]) await api().create(path, injector(revision));
    const namespace = (name: string, labels: object) => ({
      apiVersion: "v1",
      kind: "Namespace",
      metadata: { name, labels },
    });
    await api().create("/api/v1/namespaces", namespace("shop", { "istio.io/rev": "prod" }));
    await api().create(
      "/api/v1/namespaces",
      namespace("bank", { "istio-injection": "enabled", "istio.io/rev": "prod" }),
    );
  });
  after(() => server?.[Symbol.asyncDispose]());

  it("makes a tag that selects by its name and asks the revision's webhook", async () => {
    const { code, out } = await tag("set", "prod", "--revision", "old");
    assert.deepEqual([code, out], [0, "prod leads to old; label namespaces with istio.io/rev=prod\n"]);
    const made = await configurationOf("prod");
    assert.deepEqual(made?.metadata.labels, { app: "sidecar-injector", "istio.io/tag": "prod", "istio.io/rev": "old" });
    assert.deepEqual(
      made?.webhooks?.map(({ name }) => name),
      ["rev.namespace.sidecar-injector.istio.io", "rev.object.sidecar-injector.istio.io"],
    );
    const [first] = made?.webhooks ?? [];
    assert.deepEqual(first?.namespaceSelector?.matchExpressions, [
      { key: "istio.io/rev", operator: "In", values: ["prod"] },
      { key: "istio-injection", operator: "DoesNotExist" },
      { key: "kubernetes.io/metadata.name", operator: "NotIn", values: ["istio-system"] },
    ]);
    assert.match(JSON.stringify(first?.clientConfig), /"webhook-old"/);
    assert.equal(await rightOf("prod"), undefined, "a webhook that is not Flotilla's");
  });

  it("lists tags with the namespaces that use them", async () => {
    const { out } = await tag("list");
    assert.deepEqual(
      out.split("\n").map((line) => line.split(/ {3,}/)),
      [["TAG", "REVISION", "NAMESPACES"], ["prod", "old", "shop"], [""]],
    );
    assert.deepEqual(JSON.parse((await tag("list", "-o", "json")).out), [
      { tag: "prod", revision: "old", namespaces: ["shop"] },
    ]);
  });

  it("leads a tag to another revision only where that is meant", async () => {
    const refused = await tag("set", "prod", "--revision", "new");
    assert.equal(refused.code, 3);
    assert.match(refused.err, /prod leads to old: use --overwrite/);
    assert.equal((await tag("set", "prod", "--revision", "new", "--overwrite")).code, 0);
    assert.match(JSON.stringify((await configurationOf("prod"))?.webhooks), /"webhook-new"/);
    assert.equal((await tag("set", "prod", "--revision", "new")).code, 0);
    assert.deepEqual(await rightOf("prod"), {
      names: ["istio-revision-tag-prod"],
      accounts: ["istio-system/webhook-new"],
    });
  });

  it("makes the tag default for namespaces with istio-injection=enabled", async () => {
    assert.equal((await tag("set", "default", "--revision", "new")).code, 0);
    const made = await configurationOf("default");
    assert.equal(made?.webhooks?.length, 4);
    assert.match((await tag("list")).out, /^default +new +bank$/m);
  });

  for (const [args, code, reason] of [
    [["set", "prod"], 2, /--revision/],
    [["set", "A b", "--revision", "old"], 2, /no name of a tag/],
    [["set", "old", "--revision", "new"], 3, /old is a revision/],
    [["set", "x", "--revision", "none"], 3, /no webhook injects for the revision none/],
    [["remove", "none"], 1, /there is no tag none/],
    [["remove", "prod"], 3, /prod is used by shop: use --while-used/],
  ] as const)
    it(`refuses ${args.join(" ")}`, async () => {
      const answer = await tag(...args);
      assert.equal(answer.code, code);
      assert.match(answer.err, reason);
    });

  it("removes a tag", async () => {
    assert.equal((await tag("remove", "prod", "--while-used")).code, 0);
    assert.equal(await configurationOf("prod"), undefined);
    assert.equal(await rightOf("prod"), undefined);
    assert.notEqual(await rightOf("default"), undefined);
  });
});
