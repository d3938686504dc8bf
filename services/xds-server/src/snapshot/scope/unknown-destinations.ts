/**
 * Destinations of a VirtualService that lead nowhere: the route is sent all the same, as istiod does, and requests for
 * it are answered with 503. Judged from the VirtualService's own namespace, so that all proxies share the answer.
 */
import { routesBehind } from "@flotilla/gateway-api";
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
