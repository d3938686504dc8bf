/** Content of a refusal for a missing right, and the rule of RBAC that would grant it. */

const sentence =
  /User "([^"]{1,253})" cannot (\w{1,32}) resource "([^"]{1,253})" in API group "([^"]{0,253})"(?: in the namespace "([^"]{1,63})")?/;

/**
 * A line for a role's `rules`, from the API server's own sentence: `{apiGroups: [""], resources: ["nodes"], verbs: ["list"]}` and where
 * it belongs. Undefined where the refusal has another reason.
 */
export function missingRight(message: string): string | undefined {
  const [, user = "", verb = "", resource = "", group = "", namespace] = sentence.exec(message) ?? [];
  if (user === "") return undefined;
  const rule = `{apiGroups: ["${group}"], resources: ["${resource}"], verbs: ["${verb}"]}`;
  const [, accountNamespace, account] = /^system:serviceaccount:([^:]+):(.+)$/.exec(user) ?? [];
  const whom = account === undefined ? user : `ServiceAccount ${account} of ${accountNamespace}`;
  const where = namespace === undefined ? "a ClusterRole" : `a Role of namespace ${namespace}`;
  const manifest = account?.startsWith("flotilla-") ? `; ${manifestOf(account)} has all its rules` : "";
  return `add the rule ${rule} to ${where} that is bound to ${whom}${manifest}`;
}

/** Each service's account and rules are in the file of its name. */
function manifestOf(account: string): string {
  return `k8s/base/${account.slice("flotilla-".length)}.yaml`;
}
