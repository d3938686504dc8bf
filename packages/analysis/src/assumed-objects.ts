/** What files of a mesh need not repeat, since every installation of Istio has it: the default ingress gateway. */
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
