/**
 * Rights of each account of k8s/base, asked of a real kube-apiserver for every verb of every resource that it serves, Istio's kinds
 * included: those that it needs, and nothing beyond.
 */
import assert from "node:assert/strict";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { type RunningApiserver, startKubeApiserver, whyNoApiserver } from "@flotilla/kube-api/testing";
import { until } from "@flotilla/runtime";
import { parseAllDocuments } from "yaml";
import { type Right, rightsOf } from "./transport/account-rights.ts";
import { repository } from "./transport/manifests.ts";
import { isRight, objectsIn, pathOf } from "./transport/objects.ts";

interface Resource {
  readonly group: string;
  readonly name: string;
}
interface Question extends Resource {
  readonly verb: string;
  readonly namespace: string;
  readonly objectName?: string;
}
interface Discovery {
  readonly groups?: readonly { readonly preferredVersion: { readonly groupVersion: string } }[];
  readonly resources?: readonly { readonly name: string }[];
}

const server: RunningApiserver | undefined = await startKubeApiserver(process.env);
const verbs = ["get", "list", "watch", "create", "update", "patch", "delete", "deletecollection"];
/** Verbs that only these resources have; discovery does not list them. */
const special = [
  { group: "certificates.k8s.io", name: "signers", verbs: ["approve", "sign", "attest"] },
  { group: "", name: "users", verbs: ["impersonate"] },
  { group: "", name: "groups", verbs: ["impersonate"] },
  { group: "", name: "serviceaccounts", verbs: ["impersonate"] },
  { group: "rbac.authorization.k8s.io", name: "clusterroles", verbs: ["bind", "escalate"] },
  { group: "rbac.authorization.k8s.io", name: "roles", verbs: ["bind", "escalate"] },
] as const;
const namespaces = ["istio-system", "shop"];

describe("the accounts of k8s/base", { skip: server === undefined && whyNoApiserver }, () => {
  let resources: readonly Resource[] = [];

  before(async () => {
    for (const name of namespaces) await api().create("/api/v1/namespaces", { metadata: { name } });
    const objects = [...objectsIn("k8s/base"), ...objectsIn("k8s/components/console")];
    for (const object of objects.filter(isRight)) await api().create(pathOf(object), object);
    for (const definition of parseAllDocuments(
      readFileSync(join(repository, "packages/kinds/crds/istio.yaml"), "utf8"),
    ))
      if (definition.contents !== null)
        await api().create("/apis/apiextensions.k8s.io/v1/customresourcedefinitions", definition.toJS());
    await until(async () => (await discover()).some(({ name }) => name === "virtualservices"), {
      withinMs: 60_000,
      what: "Istio's kinds",
      everyMs: 200,
    });
    resources = await discover();
  });
  after(() => server?.[Symbol.asyncDispose]());

  function api(): KubeApi {
    assert.ok(server !== undefined);
    return server.api;
  }

  /** Every resource and subresource that is served. */
  async function discover(): Promise<readonly Resource[]> {
    const groups = (await api().get<Discovery>("/apis"))?.groups ?? [];
    const versions = ["v1", ...groups.map(({ preferredVersion }) => preferredVersion.groupVersion)];
    const lists = await Promise.all(
      versions.map(async (version) => {
        const group = version.includes("/") ? (version.split("/")[0] ?? "") : "";
        const found = await api().get<Discovery>(group === "" ? `/api/${version}` : `/apis/${version}`);
        return (found?.resources ?? []).map(({ name }) => ({ group, name }));
      }),
    );
    return lists.flat();
  }

  async function isAllowed(account: string, question: Question): Promise<boolean> {
    const { group, name, verb, namespace, objectName } = question;
    const [resource, subresource] = name.split("/");
    const answer = await api().create<{ readonly status: { readonly allowed: boolean } }>(
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        apiVersion: "authorization.k8s.io/v1",
        kind: "SubjectAccessReview",
        spec: {
          user: `system:serviceaccount:istio-system:${account}`,
          groups: ["system:serviceaccounts", "system:serviceaccounts:istio-system", "system:authenticated"],
          resourceAttributes: { group, resource, subresource, verb, namespace, name: objectName },
        },
      },
    );
    return answer.status.allowed;
  }

  const questions = (): readonly Question[] => {
    const usual = resources.flatMap((resource) => verbs.map((verb) => ({ ...resource, verb })));
    const rare = special.flatMap(({ group, name, verbs }) => verbs.map((verb) => ({ group, name, verb })));
    return [...usual, ...rare].flatMap((question) => namespaces.map((namespace) => ({ ...question, namespace })));
  };

  for (const [account, rights] of Object.entries(rightsOf)) {
    it(`${account} may do what it needs, and nothing else`, { timeout: 180_000 }, async () => {
      assert.ok(resources.length > 100, `${resources.length} resources`);
      const wrong: string[] = [];
      const ask = async (question: Question): Promise<void> => {
        if ((await isAllowed(account, question)) !== isNeeded(rights, question)) wrong.push(JSON.stringify(question));
      };
      // Anybody may ask what he may do himself.
      const asked = questions().filter(({ name }) => !name.startsWith("self"));
      await inBatches(asked, ask);
      const named = rights.flatMap((right) => namedQuestions(right));
      await inBatches(named, ask);
      assert.deepEqual(wrong, []);
    });
  }
});

function isNeeded(rights: readonly Right[], { group, name, verb, namespace, objectName }: Question): boolean {
  return rights.some(
    (right) =>
      right.group === group &&
      right.verbs.includes(verb) &&
      right.resources.some((resource) => covers(resource, name)) &&
      (right.namespace === undefined || right.namespace === namespace) &&
      (right.names === undefined || (objectName !== undefined && right.names.includes(objectName))),
  );
}

/** As RBAC reads it: a star stands for all resources with their subresources, and `*`/status for that subresource of all. */
function covers(resource: string, name: string): boolean {
  if (resource === "*") return true;
  return resource.startsWith("*/") ? name.endsWith(resource.slice(1)) : resource === name;
}

/** Of rights to named objects: every verb for those objects, and for another one. */
function namedQuestions({ group, resources, names = [] }: Right): readonly Question[] {
  const objects = names.length === 0 ? [] : [...names, "another"];
  return resources.flatMap((name) =>
    verbs.flatMap((verb) =>
      objects.flatMap((objectName) => namespaces.map((namespace) => ({ group, name, verb, namespace, objectName }))),
    ),
  );
}

async function inBatches<T>(items: readonly T[], work: (item: T) => Promise<void>): Promise<void> {
  const batch = 64;
  for (let from = 0; from < items.length; from += batch) await Promise.all(items.slice(from, from + batch).map(work));
}
