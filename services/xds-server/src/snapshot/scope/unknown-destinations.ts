/**
 * What is reported of a VirtualService whose routes are sent all the same, as istiod does: destinations that lead nowhere, for which
 * requests are answered with 503, and hosts of other namespaces. Judged from its own namespace, so that all proxies share the answer.
 */
import { meshGateway, routesBehind } from "@flotilla/gateway-api";
import type { Config } from "@flotilla/model";
import type { Destination, VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { query, type View } from "../view.ts";
import { destinationRulesFor, ruleRequest } from "./destination-rules.ts";
import { isServiceVisible, serviceIn } from "./services.ts";
import { type VirtualServiceName, virtualService } from "./virtual-service.ts";

/** What is missing, in words; reported under the name of the VirtualService, or of the routes that it stands for. */
export const unknownDestinations = query<readonly string[], VirtualServiceName>(
  "unknown-destinations",
  (view, name) => {
    const config = view.read(virtualService, name);
    if (config === undefined) return [];
    reportForeignHosts(view, config);
    const { namespace } = config.key;
    const missing = destinationsOf(config.spec).flatMap(
      (destination) => whatIsMissing(view, namespace, destination) ?? [],
    );
    const texts = [...new Set(missing)];
    if (texts.length > 0) {
      const message = `routes lead nowhere: there is no ${texts.join(", no ")}`;
      const routes = routesBehind(config);
      for (const object of routes.length > 0 ? routes : [`VirtualService/${name}`]) {
        view.report({ metric: "flotilla_unknown_destination", object, message });
      }
    }
    return texts;
  },
);

/**
 * Whoever may write a VirtualService in any namespace decides where the mesh's calls of a host go (ISTIO-SECURITY-2026-002). What the root
 * namespace routes is the administrator's.
 */
function reportForeignHosts(view: View, config: Config<VirtualService>): void {
  const { namespace, name } = config.key;
  const { rootNamespace, defaultVirtualServiceExportTo } = view.mesh;
  const { hosts, exportTo, gateways } = config.spec;
  const reach = exportTo.length === 0 ? defaultVirtualServiceExportTo : exportTo;
  const isForOthers = reach.some((one) => one !== "." && one !== namespace);
  const isForMesh = gateways.length === 0 || gateways.includes(meshGateway);
  if (namespace === rootNamespace || !isForOthers || !isForMesh || routesBehind(config).length > 0) return;
  const found = hosts.filter((host) => belongsToOthers(view, host, namespace));
  if (found.length === 0) return;
  const message = `routes calls of other namespaces to hosts that are not of its own: ${found.join(", ")}`;
  view.report({ metric: "flotilla_foreign_host", object: `VirtualService/${namespace}/${name}`, message });
}

function belongsToOthers(view: View, host: string, namespace: string): boolean {
  const homes = view.servicesByHost(host).map((service) => service.namespace);
  return homes.length > 0 && !homes.includes(namespace);
}

function destinationsOf({ http, tcp, tls }: VirtualService): readonly Destination[] {
  const ofHttp = http.flatMap(({ route, mirror, mirrors }) => [
    ...[...route, ...mirrors].map(({ destination }) => destination),
    mirror,
  ]);
  const ofLayer4 = [...tcp, ...tls].flatMap(({ route }) => route.map(({ destination }) => destination));
  return [...ofHttp, ...ofLayer4].filter((destination) => destination !== undefined);
}

function whatIsMissing(view: View, namespace: string, { host, subset }: Destination): string | undefined {
  const services = view
    .servicesByHost(host)
    .flatMap(({ namespace: home }) => serviceIn(view, home, host) ?? [])
    .filter((service) => isServiceVisible(view, service, namespace));
  if (services.length === 0) return `host ${host}`;
  if (subset === "") return undefined;
  const hasSubset = services.some((service) =>
    view
      .read(destinationRulesFor, ruleRequest.write({ namespace, home: service.namespace, hostname: host }))
      .some(({ config }) => config.spec.subsets.some(({ name }) => name === subset)),
  );
  return hasSubset ? undefined : `subset ${subset} of ${host}`;
}
