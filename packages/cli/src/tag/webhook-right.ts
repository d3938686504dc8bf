/**
 * The right of Flotilla's webhook to write the configuration of a tag: its root goes into caBundle when it changes. The names that its own
 * account may update are those of its revision; a tag brings a role with its own name.
 */
import { type KubeApi, KubeError, type KubeObject } from "@flotilla/kube-api";
import { labels, type TagConfiguration } from "./revision-tag.ts";

const group = "/apis/rbac.authorization.k8s.io/v1";
const roles = `${group}/clusterroles`;
const bindings = `${group}/clusterrolebindings`;
const partOf = "app.kubernetes.io/part-of";
const fieldManager = "flotilla-tag";

/** Why the right could not be given; undefined where it was, or where the webhook is not Flotilla's. */
export async function giveRight(api: KubeApi, tag: string, base: TagConfiguration): Promise<string | undefined> {
  const service = base.webhooks?.[0]?.clientConfig.service;
  if (base.metadata.labels?.[partOf] !== "flotilla" || service === undefined) return undefined;
  const name = roleName(tag);
  const metadata = { name, labels: { [labels.tag]: tag, [partOf]: "flotilla" } };
  const rule = {
    ...{ apiGroups: ["admissionregistration.k8s.io"], resources: ["mutatingwebhookconfigurations"] },
    ...{ resourceNames: [`istio-revision-tag-${tag}`], verbs: ["update"] },
  };
  // The webhook's account has the name of its Service.
  const account = { kind: "ServiceAccount", name: service.name, namespace: service.namespace };
  const roleRef = { apiGroup: "rbac.authorization.k8s.io", kind: "ClusterRole", name };
  const typed = (kind: string, rest: object) => ({
    apiVersion: "rbac.authorization.k8s.io/v1",
    kind,
    metadata,
    ...rest,
  });
  try {
    await api.apply(`${roles}/${name}`, typed("ClusterRole", { rules: [rule] }), { fieldManager, force: true });
    const binding = typed("ClusterRoleBinding", { roleRef, subjects: [account] });
    await api.apply(`${bindings}/${name}`, binding, { fieldManager, force: true });
    return undefined;
  } catch (error) {
    if (error instanceof KubeError && error.status === 403) return error.message;
    throw error;
  }
}

/** Takes away what `giveRight` gave, and nothing of another's. */
export async function takeRight(api: KubeApi, tag: string): Promise<void> {
  for (const collection of [bindings, roles]) {
    const path = `${collection}/${roleName(tag)}`;
    const present = await api.get<KubeObject>(path);
    if (present?.metadata.labels?.[labels.tag] === tag) await api.delete(path);
  }
}

function roleName(tag: string): string {
  return `flotilla-revision-tag-${tag}`;
}
