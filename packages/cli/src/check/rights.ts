/** Asks an API server for each right that k8s/base gives to the accounts of the services. */
import type { KubeApi } from "@flotilla/kube-api";
import type { CheckResult } from "./checks.ts";
import neededRights from "./needed-rights.json" with { type: "json" };

export interface RightsQuestion {
  /** Of the control plane. */
  readonly namespace: string;
  /** Whose rights: those of the services' accounts there, or those of the caller, as whom a local control plane calls the cluster. */
  readonly of: "accounts" | "caller";
}

interface Right {
  readonly account: string;
  /** The file and line that grants it. */
  readonly at: string;
  readonly attributes: Attributes;
}
interface Attributes {
  readonly group: string;
  readonly resource: string;
  readonly subresource?: string;
  readonly verb: string;
  readonly name?: string;
  readonly namespace?: string;
}

/** One result an account, and one for each right that is missing. @throws KubeError where the API server cannot be asked */
export async function checkRights(api: KubeApi, question: RightsQuestion): Promise<readonly CheckResult[]> {
  const rights = neededRights.flatMap((rule) => rightsOf(rule, question.namespace));
  const granted = await Promise.all(rights.map((right) => isGranted(api, right, question)));
  const accounts = [...new Set(rights.map(({ account }) => account))];
  return accounts.flatMap((account): readonly CheckResult[] => {
    const own = rights.map((right, i) => ({ ...right, has: granted[i] })).filter((right) => right.account === account);
    const missing = own.filter(({ has }) => has !== true);
    const name = `rights of ${account.replace(/^flotilla-/, "")}`;
    if (missing.length === 0) return [{ name, state: "ok", detail: `all ${own.length}` }];
    const whom = question.of === "accounts" ? `ServiceAccount ${account} of ${question.namespace}` : "this user";
    return missing.map(({ at, attributes }) => ({
      ...{ name, state: "failed" },
      detail: `${whom} may not ${textOf(attributes)}`,
      advice: `${at} grants it: apply that manifest, or add its rule to a role of ${whom}`,
    }));
  });
}

type Rule = (typeof neededRights)[number];

function rightsOf(rule: Rule, namespace: string): readonly Right[] {
  const { account, at, apiGroups, resources, verbs, isOwnNamespace } = rule;
  const names: readonly (string | undefined)[] = ("resourceNames" in rule ? rule.resourceNames : undefined) ?? [
    undefined,
  ];
  return apiGroups.flatMap((group) =>
    resources.flatMap((full) => {
      const [resource = "", subresource] = full.split("/");
      return verbs.flatMap((verb) =>
        names.map((name) => ({
          ...{ account, at },
          attributes: {
            ...{ group, resource, verb },
            ...(subresource !== undefined && { subresource }),
            ...(name !== undefined && { name }),
            ...(isOwnNamespace && { namespace }),
          },
        })),
      );
    }),
  );
}

async function isGranted(api: KubeApi, { account, attributes }: Right, { namespace, of }: RightsQuestion) {
  const kind = of === "accounts" ? "SubjectAccessReview" : "SelfSubjectAccessReview";
  const user =
    of === "accounts" ? { user: `system:serviceaccount:${namespace}:${account}`, groups: groupsIn(namespace) } : {};
  const review = await api.create<{ readonly status?: { readonly allowed?: boolean } }>(
    `/apis/authorization.k8s.io/v1/${kind.toLowerCase()}s`,
    { apiVersion: "authorization.k8s.io/v1", kind, spec: { resourceAttributes: attributes, ...user } },
  );
  return review.status?.allowed === true;
}

/** Of every account of the namespace. */
function groupsIn(namespace: string): readonly string[] {
  return ["system:serviceaccounts", `system:serviceaccounts:${namespace}`, "system:authenticated"];
}

/** `get leases.coordination.k8s.io "istio-leader" in istio-system`. */
function textOf({ group, resource, subresource, verb, name, namespace }: Attributes): string {
  const kind = `${resource}${group === "" ? "" : `.${group}`}${subresource === undefined ? "" : `/${subresource}`}`;
  return `${verb} ${kind}${name === undefined ? "" : ` "${name}"`}${namespace === undefined ? "" : ` in ${namespace}`}`;
}
