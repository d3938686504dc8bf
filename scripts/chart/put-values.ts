/** Puts the chart's values in the place of what k8s/base has fixed: images, replicas, resources, storage, names. */
import type { ManifestObject } from "./kustomize.ts";
import type { TemplateText } from "./template-text.ts";

type Fields = Record<string, unknown>;
interface Container extends Fields {
  readonly name: string;
  image: string;
  resources?: unknown;
  env?: unknown[];
  volumeMounts?: unknown[];
}
interface PodSpec extends Fields {
  readonly containers: Container[];
  readonly initContainers?: Container[];
  volumes: unknown[];
}
interface Admission extends ManifestObject {
  readonly metadata: ManifestObject["metadata"] & { readonly labels: Record<string, string> };
  webhooks: unknown[];
}
interface Workload extends ManifestObject {
  readonly spec: Fields & {
    readonly template: { readonly metadata: { annotations?: Fields; readonly labels: Fields }; readonly spec: PodSpec };
    readonly volumeClaimTemplates?: readonly { readonly spec: Fields & { resources: unknown } }[];
  };
}

/** Values of each workload; the file that has the configuration that it is started with. */
const workloads: Readonly<Record<string, { readonly values: string; readonly config: string }>> = {
  "flotilla-ca": { values: "ca", config: "config" },
  "flotilla-config-controller": { values: "configController", config: "config" },
  "flotilla-service-controller": { values: "serviceController", config: "config" },
  "flotilla-webhook": { values: "webhook", config: "config" },
  "flotilla-xds-server": { values: "xdsServer", config: "config" },
  "flotilla-console": { values: "console", config: "config" },
  "flotilla-nats": { values: "nats", config: "nats-config" },
  "flotilla-redis": { values: "redis", config: "redis-config" },
};
/** Containers beside the main one. */
const besides: Readonly<Record<string, string>> = { certificate: "certificate", sentinel: "redis.sentinel" };
const clusterWide = /^(ClusterRole|ClusterRoleBinding|MutatingWebhookConfiguration|ValidatingWebhookConfiguration)$/;
const names: Readonly<Record<string, string>> = {
  "istio-ca-root-cert": ".Values.rootConfigMap",
  "istio-ca-crl": ".Values.crlConfigMap",
  cacerts: ".Values.cacerts.secret",
  "cacerts-next": ".Values.cacerts.nextSecret",
  "istio-gateway-deployment-default": 'printf "istio-gateway-deployment-%s" .Values.revision',
};

/** A copy of the object with marks of `text`. */
export function putValues(object: ManifestObject, text: TemplateText): unknown {
  const copy = renamed(structuredClone(object), text) as ManifestObject & Fields;
  if (clusterWide.test(copy.kind)) suffixNames(copy, text);
  if (/WebhookConfiguration$/.test(copy.kind)) putRevision(copy as unknown as Admission, text);
  if (copy.kind === "Deployment" || copy.kind === "StatefulSet") putWorkload(copy as unknown as Workload, text);
  if (copy.kind === "HorizontalPodAutoscaler") {
    const { spec } = copy as unknown as { readonly spec: Fields };
    spec["minReplicas"] = text.value(".Values.autoscaling.minReplicas");
    spec["maxReplicas"] = text.value(".Values.autoscaling.maxReplicas");
  }
  return copy;
}

/** Names of Secrets and ConfigMaps where they are referred to; volumes of the same names stay. */
function renamed(value: unknown, text: TemplateText, place = ""): unknown {
  if (typeof value === "string") {
    const isReference = /(secretName|configMap\.name|resourceNames)$/.test(place);
    return isReference && names[value] !== undefined ? text.value(names[value]) : value;
  }
  if (Array.isArray(value)) return value.map((one) => renamed(one, text, place));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([key, one]) => [key, renamed(one, text, `${place}.${key}`)]));
}

/** Two installations in one cluster, of different revisions, do not share what has no namespace. */
function suffixNames(object: ManifestObject & Fields, text: TemplateText): void {
  const suffix = text.value('include "flotilla.suffix" .');
  const {
    metadata,
    roleRef,
    rules = [],
  } = object as unknown as {
    readonly metadata: { name: string };
    readonly roleRef?: { name: string };
    readonly rules?: readonly { readonly resourceNames?: string[] }[];
  };
  metadata.name += suffix;
  if (roleRef !== undefined) roleRef.name += suffix;
  for (const { resourceNames = [] } of rules)
    for (const [i, name] of resourceNames.entries())
      if (/^flotilla-(sidecar-injector|validator)$/.test(name)) resourceNames[i] = name + suffix;
}

/** Those of the default revision alone are left out in others, which take objects with their label only. */
function putRevision(object: Admission, text: TemplateText): void {
  object.metadata.labels["istio.io/rev"] = text.value(".Values.revision");
  const listed: unknown[] = [];
  for (const webhook of object.webhooks as Fields[]) {
    const isOfDefault = /^(namespace|object)\./.test(String(webhook["name"]));
    if (isOfDefault) listed.push(text.lines('{{- if eq .Values.revision "default" }}'));
    for (const selector of ["namespaceSelector", "objectSelector"])
      for (const expression of (webhook[selector] as { matchExpressions?: Fields[] })?.matchExpressions ?? [])
        if (JSON.stringify(expression["values"]) === '["default"]')
          expression["values"] = [text.value(".Values.revision")];
    if (object.kind === "ValidatingWebhookConfiguration") webhook[text.lines(ofRevision)] = null;
    listed.push(webhook);
    if (isOfDefault) listed.push(text.lines("{{- end }}"));
  }
  object.webhooks = listed;
}

const ofRevision = `{{- if ne .Values.revision "default" }}
objectSelector:
  matchExpressions:
    - {key: istio.io/rev, operator: In, values: [{{ .Values.revision }}]}
{{- end }}`;

function putWorkload(object: Workload, text: TemplateText): void {
  const { values, config } = workloads[object.metadata.name] ?? { values: "", config: "" };
  if (values === "") throw new Error(`${keyText(object)}: the chart has no values for it`);
  const { template, volumeClaimTemplates = [] } = object.spec;
  const { metadata, spec: pod } = template;
  if (object.kind === "Deployment") putReplicas(object, values, text);
  metadata.annotations = { ...metadata.annotations, "checksum/config": text.value(checksumOf(config)) };
  if ("istio.io/rev" in metadata.labels) metadata.labels["istio.io/rev"] = text.value(".Values.revision");
  metadata.labels[text.lines(`{{- include "flotilla.labels" .Values.${values} | nindent INDENT }}`)] = null;
  (metadata.annotations as Fields)[
    text.lines(`{{- include "flotilla.annotations" .Values.${values} | nindent INDENT }}`)
  ] = null;
  pod[text.lines(`{{- include "flotilla.pod" (dict "root" . "values" .Values.${values}) | nindent INDENT }}`)] = null;
  for (const container of [...(pod.initContainers ?? []), ...pod.containers]) putContainer(container, values, text);
  if (object.kind === "Deployment") putServers(pod, values, text);
  for (const { spec } of volumeClaimTemplates) {
    spec.resources = { requests: { storage: text.value(`.Values.${values}.storage.size`) } };
    spec[text.lines(`{{- with .Values.${values}.storage.className }}\nstorageClassName: {{ . }}\n{{- end }}`)] = null;
  }
}

function checksumOf(config: string): string {
  return `include (print $.Template.BasePath "/${config}.yaml") . | sha256sum`;
}

function putReplicas(object: Workload, values: string, text: TemplateText): void {
  if (object.spec["replicas"] !== undefined) object.spec["replicas"] = text.value(`.Values.${values}.replicas`);
  else
    object.spec[
      text.lines(
        `{{- if and .Values.${values}.replicas (not .Values.autoscaling.enabled) }}\nreplicas: {{ .Values.${values}.replicas }}\n{{- end }}`,
      )
    ] = null;
}

function putContainer(container: Container, workload: string, text: TemplateText): void {
  const values = besides[container.name] ?? workload;
  const isOurs = /^flotilla(:|$)/.test(container.image);
  container.image = text.value(isOurs ? 'include "flotilla.image" .' : `.Values.${workload}.image`);
  container[text.lines("{{- with .Values.image.pullPolicy }}\nimagePullPolicy: {{ . }}\n{{- end }}")] = null;
  container.resources = text.block(`toYaml .Values.${values}.resources`);
}

/** Settings of one service, and NATS and Redis of one's own: components/own-servers. */
function putServers({ containers, volumes }: PodSpec, values: string, text: TemplateText): void {
  const [container] = containers;
  container?.env?.push(
    text.lines(`{{- include "flotilla.env" (dict "root" . "values" .Values.${values}) | nindent INDENT }}`),
  );
  // Of one service, in a Secret with the name of its Deployment, which need not exist.
  const own = `flotilla-${values.replaceAll(/[A-Z]/g, (letter) => `-${letter.toLowerCase()}`)}`;
  container?.volumeMounts?.push(
    text.lines(
      `{{- if .Values.servers.secret }}
- {name: servers, mountPath: /var/run/secrets/servers, readOnly: true}
- {name: credentials, mountPath: /var/run/secrets/credentials, readOnly: true}
{{- end }}`,
    ),
  );
  volumes.push(
    text.lines(
      `{{- if .Values.servers.secret }}
- {name: servers, secret: {secretName: {{ .Values.servers.secret }}}}
- {name: credentials, secret: {secretName: ${own}, optional: true}}
{{- end }}`,
    ),
  );
}

function keyText({ kind, metadata }: ManifestObject): string {
  return `${kind} ${metadata.name}`;
}
