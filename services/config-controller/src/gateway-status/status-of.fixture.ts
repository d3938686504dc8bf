/** For tests: the status of an object of the Gateway API, computed from given objects and services. */
import { builtInClasses, defaultClassSettings } from "@flotilla/gateway-api";
import { Graph } from "@flotilla/incremental";
import { type Config, configKeyText } from "@flotilla/model";
import { GatewayInputs, inputs, type NoSubject } from "./gateway-inputs.ts";
import { type StatusFields, statusQuery } from "./gateway-queries.ts";
import type { ServiceFacts } from "./service-facts.ts";

/** @param path `Kind/namespace/name` */
export function anInput(path: string, spec: object, labels: Readonly<Record<string, string>> = {}): Config {
  const [kind = "", namespace = "", name = ""] = path.split("/");
  return { key: { kind, namespace, name }, labels, annotations: {}, creationTimeMs: 0, spec };
}

/** Of a service with the port `http` 80, and an endpoint at 8080. */
export function facts(more: Partial<ServiceFacts> = {}): ServiceFacts {
  return {
    ports: [{ name: "http", number: 80 }],
    externalAddresses: [],
    isLoadBalancer: false,
    poolLabels: {},
    targets: { http: [8080] },
    ...more,
  };
}

/** web in namespaces shop and other. */
export const webServices = { "web.shop.svc.cluster.local": facts(), "web.other.svc.cluster.local": facts() };

export const httpListener = {
  ...{ name: "http", port: 80, protocol: "HTTP" },
  allowedRoutes: { namespaces: { from: "All" } },
};
/** A parent of routes: the Gateway that `aGateway` makes. */
export const edge = { name: "edge", namespace: "infra" };

export function aGateway(listeners: readonly object[] = [httpListener], more: object = {}): Config {
  return anInput("KubernetesGateway/infra/edge", { gatewayClassName: "istio", listeners, ...more });
}

/** Back ends of a route: the Service web of its own namespace. */
export const web = [{ name: "web", port: 80 }];

export interface GivenRoute {
  readonly kind?: string;
  readonly parents?: readonly object[];
  readonly backends?: readonly object[];
  readonly rule?: object;
  readonly spec?: object;
}

/** `r` in namespace shop, to web unless something else is given. */
export function aRoute({
  kind = "HTTPRoute",
  parents = [edge],
  backends = web,
  rule = {},
  spec = {},
}: GivenRoute): Config {
  return anInput(`${kind}/shop/r`, { parentRefs: parents, rules: [{ backendRefs: backends, ...rule }], ...spec });
}

/** @param services by host name */
export function statusOf(
  object: Config,
  others: readonly Config[],
  services: Readonly<Record<string, ServiceFacts>> = {},
): StatusFields | undefined {
  const graph = new Graph<NoSubject>();
  graph.set(inputs.domain, "cluster.local");
  graph.set(inputs.classes, builtInClasses({ ...defaultClassSettings, udpRoutes: true }));
  const known = new GatewayInputs(graph);
  for (const one of [object, ...others]) known.set(one.key, one);
  for (const [hostname, of] of Object.entries(services)) known.setService(hostname, of);
  known.flush();
  return graph.evaluate(statusQuery, configKeyText(object.key), undefined);
}

interface Condition {
  readonly type: string;
  readonly status: string;
  readonly reason: string;
  readonly message: string;
}

interface Conditions {
  readonly conditions?: readonly Condition[];
}

interface Listener extends Conditions {
  readonly name: string;
  readonly attachedRoutes: number;
  readonly supportedKinds: readonly { readonly kind: string }[];
}

interface Parent extends Conditions {
  readonly parentRef?: { readonly kind?: string; readonly name: string; readonly sectionName?: string };
  readonly ancestorRef?: { readonly kind?: string; readonly name: string };
  readonly controllerName: string;
}

/** `+TYPE` for a condition that is as it should be, `-TYPE REASON: MESSAGE` for another. */
function conditionText({ type, status, reason, message }: Condition): string {
  const isGood = (status === "True") !== /^(Conflicted|Insecure)/.test(type);
  return isGood ? `+${type}` : `-${type} ${reason}: ${message}`;
}

export function conditionsText({ conditions = [] }: Conditions): string {
  return conditions.map(conditionText).join(", ");
}

/** `NAME ROUTES KINDS: conditions` of each listener. */
export function listenersText(status: StatusFields | undefined): string {
  const { listeners = [] } = (status ?? {}) as { readonly listeners?: readonly Listener[] };
  return listeners
    .map((one) => {
      const kinds = one.supportedKinds.map(({ kind }) => kind).join(" ");
      return `${one.name} ${one.attachedRoutes} ${kinds}: ${conditionsText(one)}`;
    })
    .join("; ");
}

/** `KIND NAME: conditions` of each parent of a route, or ancestor of a policy. */
export function parentsText(status: StatusFields | undefined): string {
  const { parents, ancestors } = (status ?? {}) as { readonly parents?: Parent[]; readonly ancestors?: Parent[] };
  return (parents ?? ancestors ?? [])
    .map((one) => {
      const {
        kind = "Gateway",
        name,
        sectionName,
      } = { sectionName: undefined, ...(one.parentRef ?? one.ancestorRef ?? { name: "" }) };
      return `${kind} ${name}${sectionName === undefined ? "" : `/${sectionName}`}: ${conditionsText(one)}`;
    })
    .join("; ");
}
