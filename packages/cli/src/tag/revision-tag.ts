/** A revision tag as Kubernetes has it: a copy of a revision's injection webhooks that selects by the tag's name. */
import type { KubeObject } from "@flotilla/kube-api";

export interface TagConfiguration extends KubeObject {
  readonly webhooks?: readonly Webhook[];
}
interface Webhook {
  readonly name: string;
  readonly clientConfig: { readonly service?: { readonly name: string; readonly namespace: string } };
  readonly namespaceSelector?: Selector;
  readonly objectSelector?: Selector;
}
interface Selector {
  readonly matchExpressions?: readonly Requirement[];
}
interface Requirement {
  readonly key: string;
  readonly operator: string;
  readonly values?: readonly string[];
}

export const labels = { revision: "istio.io/rev", tag: "istio.io/tag" } as const;
const injection = "istio-injection";
const choice = "sidecar.istio.io/inject";
const namespaceName = "kubernetes.io/metadata.name";

/** An injection webhook of the revision itself. */
export function isOfRevision({ metadata, webhooks = [] }: TagConfiguration, revision: string): boolean {
  const own = metadata.labels ?? {};
  return own[labels.tag] === undefined && own[labels.revision] === revision && webhooks.length > 0;
}

/** Its webhooks ask whom those of `base` ask, about the pods that name the tag. */
export function tagConfiguration(
  base: TagConfiguration,
  { tag, revision }: { readonly tag: string; readonly revision: string },
): TagConfiguration {
  const [first] = base.webhooks ?? [];
  if (first === undefined) throw new TypeError("a configuration without webhooks is none of a revision");
  const left = (first.namespaceSelector?.matchExpressions ?? []).filter(({ key }) => key === namespaceName);
  const webhooks = selectorsOf(tag).map(({ name, namespaceSelector, objectSelector }) => ({
    ...first,
    name: `${name}.sidecar-injector.istio.io`,
    namespaceSelector: { matchExpressions: [...namespaceSelector, ...left] },
    objectSelector: { matchExpressions: objectSelector },
  }));
  return {
    apiVersion: "admissionregistration.k8s.io/v1",
    kind: "MutatingWebhookConfiguration",
    metadata: {
      name: `istio-revision-tag-${tag}`,
      labels: { app: "sidecar-injector", [labels.tag]: tag, [labels.revision]: revision },
    },
    webhooks,
  };
}

interface Selectors {
  readonly name: string;
  readonly namespaceSelector: readonly Requirement[];
  readonly objectSelector: readonly Requirement[];
}

const exists = (key: string, ...values: readonly string[]): Requirement => ({ key, operator: "In", values });
const absent = (key: string): Requirement => ({ key, operator: "DoesNotExist" });
const unlessRefused: Requirement = { key: choice, operator: "NotIn", values: ["false"] };

/** A namespace decides before a pod; `istio-injection` before the revision. The tag `default` stands for both. */
function selectorsOf(tag: string): readonly Selectors[] {
  const byRevision: readonly Selectors[] = [
    {
      name: "rev.namespace",
      namespaceSelector: [exists(labels.revision, tag), absent(injection)],
      objectSelector: [unlessRefused],
    },
    {
      name: "rev.object",
      namespaceSelector: [absent(labels.revision), absent(injection)],
      objectSelector: [unlessRefused, exists(labels.revision, tag)],
    },
  ];
  if (tag !== "default") return byRevision;
  return [
    ...byRevision,
    { name: "namespace", namespaceSelector: [exists(injection, "enabled")], objectSelector: [unlessRefused] },
    {
      name: "object",
      namespaceSelector: [absent(injection), absent(labels.revision)],
      objectSelector: [exists(choice, "true"), absent(labels.revision)],
    },
  ];
}

/** Names of the namespaces whose label leads to the tag. */
export function namespacesOf(tag: string, namespaces: readonly KubeObject[]): readonly string[] {
  const uses = (own: Readonly<Record<string, string>> = {}): boolean =>
    own[injection] === undefined ? own[labels.revision] === tag : tag === "default" && own[injection] === "enabled";
  return namespaces
    .filter(({ metadata }) => uses(metadata.labels))
    .map(({ metadata }) => metadata.name ?? "")
    .sort();
}
