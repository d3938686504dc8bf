/** Questions of `flotilla check` to an API server about rights, and the findings that follow from the answers. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeApi } from "@flotilla/kube-api";
import { checkRights, type RightsQuestion } from "./rights.ts";

interface Review {
  readonly kind: string;
  readonly spec: {
    readonly user?: string;
    readonly groups?: readonly string[];
    readonly resourceAttributes: Readonly<Record<string, string>>;
  };
}

/** Grants what `isGranted` says, and keeps what was asked. */
function aServer(isGranted: (review: Review) => boolean | undefined) {
  const asked: (readonly [path: string, review: Review])[] = [];
  const api = {
    create: async (path: string, review: Review) => {
      asked.push([path, review]);
      const allowed = isGranted(review);
      return allowed === undefined ? {} : { status: { allowed } };
    },
  } as unknown as KubeApi;
  return { api, asked };
}

const ofAccounts: RightsQuestion = { namespace: "mesh", of: "accounts" };

describe("rights", () => {
  it("are asked for each account by its user and groups", async () => {
    const { api, asked } = aServer(() => true);
    const results = await checkRights(api, ofAccounts);
    assert.ok(results.every(({ state }) => state === "ok"));
    const ca = asked.filter(([, { spec }]) => spec.user === "system:serviceaccount:mesh:flotilla-ca");
    assert.deepEqual(
      results.find(({ name }) => name === "rights of ca"),
      { name: "rights of ca", state: "ok", detail: `all ${ca.length}` },
    );
    assert.deepEqual(ca[0], [
      "/apis/authorization.k8s.io/v1/subjectaccessreviews",
      {
        ...{ apiVersion: "authorization.k8s.io/v1", kind: "SubjectAccessReview" },
        spec: {
          user: "system:serviceaccount:mesh:flotilla-ca",
          groups: ["system:serviceaccounts", "system:serviceaccounts:mesh", "system:authenticated"],
          resourceAttributes: {
            ...{ group: "", resource: "secrets", verb: "get" },
            ...{ name: "istio-ca-secret", namespace: "mesh" },
          },
        },
      },
    ]);
    assert.equal(new Set(results.map(({ name }) => name)).size, results.length);
  });

  it("are those of the caller where the control plane runs with the caller's", async () => {
    const { api, asked } = aServer(() => false);
    const results = await checkRights(api, { namespace: "mesh", of: "caller" });
    assert.equal(results.length, asked.length);
    assert.deepEqual(
      new Set(asked.map(([path, { kind, spec }]) => `${path} ${kind} ${Object.keys(spec).join(" ")}`)),
      new Set(["/apis/authorization.k8s.io/v1/selfsubjectaccessreviews SelfSubjectAccessReview resourceAttributes"]),
    );
    assert.match(results[0]?.detail ?? "", /^this user may not /);
    assert.match(results[0]?.advice ?? "", /^k8s\/base\/.* grants it: .* of this user$/);
  });

  it("of the whole cluster name no namespace, and subresources stand apart", async () => {
    const { api, asked } = aServer(() => true);
    await checkRights(api, ofAccounts);
    const attributes = asked.map(([, { spec }]) => spec.resourceAttributes);
    assert.ok(attributes.some(({ namespace, resource }) => namespace === undefined && resource === "namespaces"));
    assert.ok(attributes.every(({ resource = "" }) => !resource.includes("/")));
    assert.ok(attributes.some(({ resource, subresource }) => resource === "tokenreviews" || subresource === "status"));
  });

  for (const [name, answer] of [
    ["refused", false],
    ["not answered", undefined],
  ] as const)
    it(`that are ${name} are listed one by one, with what grants them, beside what is there`, async () => {
      const { api } = aServer(
        ({
          spec: {
            user,
            resourceAttributes: { resource, name: of, verb },
          },
        }) =>
          user?.endsWith(":flotilla-ca") === true &&
          ((resource === "secrets" && (of === "istio-ca-secret" || verb === "create")) || resource === "leases")
            ? answer
            : true,
      );
      const results = await checkRights(api, ofAccounts);
      const missing = results.filter(({ state }) => state === "failed");
      assert.deepEqual(new Set(missing.map((one) => one.name)), new Set(["rights of ca"]));
      assert.equal(results.filter((one) => one.name === "rights of ca" && one.state === "ok").length, 0);
      const details = missing.map(({ detail }) => detail);
      for (const what of [
        'get secrets "istio-ca-secret" in mesh',
        "create secrets in mesh",
        'get leases.coordination.k8s.io "istio-namespace-controller-election" in mesh',
      ])
        assert.ok(details.includes(`ServiceAccount flotilla-ca of mesh may not ${what}`), what);
      assert.match(
        missing[0]?.advice ?? "",
        /^k8s\/base\/ca\.yaml:\d+ grants it: apply that manifest, or add its rule to a role of ServiceAccount flotilla-ca of mesh$/,
      );
    });
});
