/** Injection by two webhooks at once, or by a Service that is not there. */
import { compareText, type Labels } from "@flotilla/model";
import { type Field, field, fieldAt, isSet, items, textOf, texts } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import { fullName, type MeshObject } from "../mesh-object.ts";
import { labelsOf } from "../shared/workloads.ts";
import { selects } from "./proxy-images.ts";

const revisionLabel = "istio.io/rev";

/** The counterpart of istioctl's webhook.Analyzer. */
export const injectionWebhooks: Analyzer = {
  name: "injection-webhooks",
  summary: "injection by two webhooks at once, or by a Service that is not there",
  messages: ["InvalidWebhook"],
  checks: ["MutatingWebhookConfiguration"],
  reads: ["Service"],
  check: (configuration, mesh) => {
    if (!isOfInjection(configuration)) return [];
    const all = mesh.all("MutatingWebhookConfiguration").filter(isOfInjection);
    const rivals = all.flatMap((one) => items(one.whole, "webhooks").map((webhook) => named(one, webhook)));
    const cases = labelCases(all.flatMap(revisionsOf));
    return items(configuration.whole, "webhooks").flatMap((webhook) => [
      ...overlapFindings(configuration, webhook, { rivals, cases }),
      ...serviceFindings(configuration, webhook, mesh),
    ]);
  },
};

interface NamedWebhook {
  readonly name: string;
  readonly webhook: Field;
}

function named({ key }: MeshObject, webhook: Field): NamedWebhook {
  return { name: `${key.name}/${textOf(field(webhook, "name"))}`, webhook };
}

function isOfInjection(configuration: MeshObject): boolean {
  const webhooks = items(configuration.whole, "webhooks");
  return (
    revisionsOf(configuration).length > 0 || webhooks.some((one) => textOf(field(one, "name")).endsWith("istio.io"))
  );
}

/** The revisions that labels and selectors name. */
function revisionsOf({ labels, whole }: MeshObject): readonly string[] {
  const own = labels[revisionLabel];
  const selectors = items(whole, "webhooks").flatMap((webhook) =>
    ["namespaceSelector", "objectSelector"].map((name) => field(webhook, name)),
  );
  const selected = selectors.flatMap((selector) => [
    labelsOf(field(selector, "matchLabels"))?.[revisionLabel] ?? [],
    items(selector, "matchExpressions")
      .filter((one) => textOf(field(one, "key")) === revisionLabel)
      .flatMap((one) => texts(one, "values").map(({ value }) => value)),
  ]);
  return [...new Set([...(own === undefined ? [] : [own]), ...selected.flat(2)])];
}

/** Labels of a namespace and of a pod. */
type LabelCase = readonly [namespace: Labels, pod: Labels];

/** The labels that injection asks for, in all combinations. */
function labelCases(revisions: readonly string[]): readonly LabelCase[] {
  const ofRevisions = ["", ...new Set(revisions)].map((one): Labels => (one === "" ? {} : { [revisionLabel]: one }));
  const cross = (name: string, values: readonly string[]) =>
    ofRevisions.flatMap((revision) => [revision, ...values.map((value): Labels => ({ ...revision, [name]: value }))]);
  const namespaces = cross("istio-injection", ["enabled", "disabled"]);
  const pods = cross("sidecar.istio.io/inject", ["true", "false"]);
  return namespaces.flatMap((namespace) => pods.map((pod): LabelCase => [namespace, pod]));
}

interface Rivalry {
  readonly rivals: readonly NamedWebhook[];
  readonly cases: readonly LabelCase[];
}

function overlapFindings(configuration: MeshObject, webhook: Field, { rivals, cases }: Rivalry): readonly Finding[] {
  const { name } = named(configuration, webhook);
  const mine = cases.filter((one) => isCalled(webhook, one));
  const others = rivals.filter((rival) => rival.name !== name && mine.some((one) => isCalled(rival.webhook, one)));
  if (others.length === 0) return [];
  const names = [...new Set(others.map((other) => other.name))].sort(compareText);
  const reason = `webhook ${name} and ${names.join(", ")} select the same pods, which would be injected twice`;
  return [finding("InvalidWebhook", configuration, webhook, { reason })];
}

function isCalled(webhook: Field, [namespace, pod]: LabelCase): boolean {
  return selects(field(webhook, "namespaceSelector"), namespace) && selects(field(webhook, "objectSelector"), pod);
}

function serviceFindings(configuration: MeshObject, webhook: Field, mesh: Mesh): readonly Finding[] {
  const service = fieldAt(webhook, "clientConfig", "service");
  if (!isSet(service)) return [];
  const key = { namespace: textOf(field(service, "namespace")), name: textOf(field(service, "name")) };
  if (mesh.find("Service", key.namespace, key.name) !== undefined) return [];
  const reason = `webhook ${textOf(field(webhook, "name"))} leads to Service ${fullName(key)}, which does not exist`;
  return [finding("InvalidWebhook", configuration, service, { reason })];
}
