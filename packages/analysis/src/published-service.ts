/** Services as service-controller publishes them, for checks that ask which hosts and ports there are. */
import type { ConfigKey, Service } from "@flotilla/model";
import { type MeshObject, meshObject } from "./mesh-object.ts";

/** Undefined for services of ServiceEntries, which analysis has as configuration. */
function keyOf({ name, namespace, hostname, registry }: Service): ConfigKey | undefined {
  if (registry === "External") return undefined;
  if (hostname === `${name}.${namespace}.svc.cluster.local`) return { kind: "Service", namespace, name };
  // Other domains and registries: what counts is the host.
  return { kind: "ServiceEntry", namespace, name: `${registry}:${hostname}` };
}

/** As the object that it was made of, as far as analysis looks at it; undefined for a ServiceEntry's. */
export function publishedService(service: Service): MeshObject | undefined {
  const key = keyOf(service);
  if (key === undefined) return undefined;
  const { exportTo, ports, labels, labelSelectors: selector = {}, hostname, namespace } = service;
  if (key.kind === "Service") {
    const scopes = exportTo.join(",");
    const annotations = scopes === "" ? {} : { "networking.istio.io/exportTo": scopes };
    const spec = { selector, ports: ports.map(({ name, number: port }) => ({ name, port })) };
    return meshObject({
      ...{ apiVersion: "v1", kind: "Service", spec },
      metadata: { name: key.name, namespace, labels, annotations },
    });
  }
  const spec = { hosts: [hostname], exportTo, ports: ports.map(({ name, number }) => ({ name, number })) };
  return meshObject({
    ...{ apiVersion: "networking.istio.io/v1", kind: "ServiceEntry", spec },
    metadata: { name: key.name, namespace },
  });
}
