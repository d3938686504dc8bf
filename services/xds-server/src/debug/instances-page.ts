/** `/debug/instancesz`: the services that stand before each proxy's workload, with the port that it receives on. */
import { type Change, compareText, type Service } from "@flotilla/model";
import type { JsonObject, JsonValue } from "@flotilla/proto";
import type { Core } from "../app/core.ts";
import type { StreamRecord } from "../serve/stream-record.ts";
import { servicesOf } from "./mesh-pages.ts";
import type { DebugPage } from "./page.ts";
import { portJson, serviceJson } from "./registry-json.ts";
import { maySee } from "./viewer.ts";

export interface InstancesPageSources {
  readonly core: Pick<Core, "subjectOf">;
  readonly streams: () => readonly StreamRecord[];
  readonly inputs: () => Iterable<Change>;
}

export function instancesPage({ core, streams, inputs }: InstancesPageSources): DebugPage {
  return {
    path: "instancesz",
    help: "the services of each proxy that is connected here; ?proxyID= for one",
    scope: "namespace",
    answer: ({ query, viewer }) => {
      const services = new Map<string, Service>();
      for (const { origin: _, ...service } of servicesOf(inputs(), viewer)) {
        const text = `${service.namespace}/${service.hostname}`;
        if (!services.has(text)) services.set(text, service);
      }
      const only = query.get("proxyID");
      const seen = streams().filter(
        ({ proxy }) => maySee(viewer, proxy.namespace) && (only === null || proxy.id === only),
      );
      const byProxy = seen.map(({ proxy }): [string, JsonValue] => [
        proxy.id,
        core.subjectOf(proxy).targets.flatMap(({ namespace, hostname, port, targetPort }) => {
          const service = services.get(`${namespace}/${hostname}`);
          return service === undefined ? [] : [targetJson(service, port, targetPort)];
        }),
      ]);
      return { json: Object.fromEntries(byProxy.sort(([a], [b]) => compareText(a, b))) };
    },
  };
}

function targetJson(service: Service, number: number, targetPort: number): JsonObject {
  const port = service.ports.find((one) => one.number === number);
  return {
    Service: serviceJson(service),
    ...(port !== undefined && { Port: { ...portJson(port), TargetPort: targetPort } }),
  };
}
