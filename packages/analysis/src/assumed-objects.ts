/** Objects that the given ones stand for: the default ingress gateway of every installation, and pods of workloads. */
import { isObject } from "@flotilla/model";
import { field, fieldAt } from "@flotilla/validation/field";
import { type MeshObject, meshObject } from "./mesh-object.ts";

const labels = { istio: "ingressgateway" };
const name = "istio-ingressgateway";

/** Ports as the Service of an installation has them. */
const ports = [
  { name: "http2", port: 80, targetPort: 80, protocol: "TCP" },
  { name: "https", port: 443, targetPort: 443, protocol: "TCP" },
  { name: "tcp", port: 31400, targetPort: 31400, protocol: "TCP" },
  { name: "tls", port: 15443, targetPort: 15443, protocol: "TCP" },
];

/** For analysis without a cluster; objects of the same names that files have take their place. */
export function assumedObjects(namespace: string): readonly MeshObject[] {
  const objects = [
    { apiVersion: "v1", kind: "Service", metadata: { name, namespace }, spec: { ports, selector: labels } },
    {
      apiVersion: "v1",
      kind: "Pod",
      metadata: { name, namespace, labels },
      spec: { containers: [{ name: "istio-proxy" }] },
    },
  ];
  return objects.flatMap((object) => meshObject(object) ?? []);
}

const workloads: ReadonlySet<string> = new Set([
  "CronJob",
  "DaemonSet",
  "Deployment",
  "Job",
  "ReplicaSet",
  "StatefulSet",
]);

/**
 * The pods that workloads among the objects would have, so that files need not list pods for selectors to lead to some; and one for each
 * WorkloadEntry, which selectors mean as well. Their findings are about no object of a user's.
 */
export function assumedPods(objects: readonly MeshObject[], hasPods: boolean): readonly MeshObject[] {
  return objects.flatMap((object) => {
    if (object.key.kind === "WorkloadEntry")
      return podOf(object, { labels: field(object.spec, "labels").value }, entrySpec);
    if (hasPods || !workloads.has(object.key.kind)) return [];
    const template = fieldAt(
      object.spec,
      ...(object.key.kind === "CronJob" ? ["jobTemplate", "spec"] : []),
      "template",
    );
    const { value } = field(template, "metadata");
    return podOf(object, isObject(value) ? value : {}, field(template, "spec").value);
  });
}

/** A machine runs its proxy itself. */
const entrySpec = { containers: [{ name: "istio-proxy", image: "proxyv2" }] };

function podOf(
  { key: { kind, namespace, name: of } }: MeshObject,
  { labels, annotations }: Readonly<Record<string, unknown>>,
  spec: unknown,
): readonly MeshObject[] {
  const metadata = { name: `${kind.toLowerCase()}-${of}`, namespace, labels, annotations };
  const pod = meshObject({ apiVersion: "v1", kind: "Pod", metadata, spec });
  return pod === undefined ? [] : [pod];
}
