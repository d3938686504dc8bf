/**
 * The service ports a proxy stands for: those of the endpoints at its addresses, the oldest service's first and each in
 * the order of its ports: of several on one workload port the first counts. Observed per proxy
 * outside of any view, because the answer is part of what a view asks its proxy (facets.ts).
 */
import { compareText } from "@flotilla/model";
import type { ServiceTarget } from "./subject.ts";
import { query } from "./view.ts";

export const proxyTargets = query<readonly ServiceTarget[]>(
  "proxy-targets",
  (view) => {
    const targets = new Map<string, ServiceTarget & { readonly age: number; readonly position: number }>();
    const { namespace } = view.proxy;
    for (const address of view.proxy.addresses) {
      for (const use of view.address(address)) {
        if (use.namespace !== namespace) continue;
        // A ServiceEntry may have the host of a Service: endpoints belong to what their own registry says of it.
        const shards = [...view.serviceShards(use)];
        const [, service] = shards.find(([text]) => text.startsWith(`${use.shard}|`)) ?? shards[0] ?? [];
        for (const endpoint of view.endpoints(use).get(use.shard) ?? []) {
          const port = service?.ports.find(({ name }) => name === endpoint.servicePortName);
          if (port === undefined || !endpoint.addresses.includes(address)) continue;
          const place = { age: service?.creationTimeMs ?? 0, position: service?.ports.indexOf(port) ?? 0 };
          const target = { namespace, hostname: use.hostname, port: port.number, targetPort: endpoint.port, ...place };
          targets.set(`${use.hostname}|${port.number}|${endpoint.port}`, target);
        }
      }
    }
    return [...targets.values()]
      .sort(
        (a, b) =>
          a.age - b.age ||
          compareText(a.hostname, b.hostname) ||
          a.position - b.position ||
          a.targetPort - b.targetPort,
      )
      .map(({ hostname, port, targetPort }) => ({ namespace, hostname, port, targetPort }));
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);
