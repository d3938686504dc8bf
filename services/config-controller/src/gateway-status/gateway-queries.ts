/** The status of Gateway API objects as queries over `GatewayInputs`: a change recomputes what read it, and nothing else is written. */
import {
  type BackendTarget,
  type BackendTlsSpec,
  type BackendTrafficSpec,
  backendTlsStatus,
  backendTrafficStatus,
  type ExternalBackendSpec,
  externalBackendOf,
  externalBackendStatus,
  type GatewayClassSpec,
  type GatewayService,
  gatewayClassStatus,
  gatewayStatus,
  type HttpRouteSpec,
  type InferencePoolSpec,
  inferenceGroup,
  inferencePoolStatus,
  isIgnoredPolicy,
  type ListenerPlan,
  type ListenerSetSpec,
  listenerSetStatus,
  type PolicyLookups,
  type PoolGateway,
  poolServiceName,
  poolServiceOf,
  type ReferenceGrantSpec,
  type RouteContext,
  routeHead,
  routeParentStatuses,
  rulesOfController,
} from "@flotilla/gateway-api";
import type { Query } from "@flotilla/incremental";
import { type Config, type ConfigKey, configKeyText, ownValue, parseConfigKey } from "@flotilla/model";
import {
  attachmentQuery,
  classesOf,
  domainOf,
  nameOf,
  parentOf,
  planQuery,
  rootsFinding,
  rowOf,
  type ServiceEntrySpec,
  sameText,
  type View,
} from "./attachment-queries.ts";
import { inputs, type NoSubject, rows } from "./gateway-inputs.ts";
import { sha256 } from "./pool-service.ts";
import type { ServiceFacts } from "./service-facts.ts";

/** The fields of `status` that are ours; conditions come without time and generation. */
export type StatusFields = Readonly<Record<string, unknown>>;

/** By `Kind/namespace/name`. Undefined: the object has no status of ours. */
export const statusQuery: Query<NoSubject, string, StatusFields | undefined> = {
  name: "status",
  compute: (view, text) => {
    const key = parseConfigKey(text);
    const object = view.input(inputs.object(key));
    return object && computeStatus(view, object);
  },
  equal: sameText,
};

function computeStatus(view: View, object: Config): StatusFields | undefined {
  const { key, spec } = object;
  switch (key.kind) {
    case "GatewayClass": {
      const { controllerName = "" } = spec as GatewayClassSpec;
      return rulesOfController(classesOf(view), controllerName) && { ...gatewayClassStatus() };
    }
    case "KubernetesGateway": {
      const plan = view.read(planQuery, nameOf(key));
      return plan && { ...gatewayStatus(plan, statusLookups(view)) };
    }
    case "ListenerSet": {
      const plan = view.read(planQuery, parentOf(object as Config<ListenerSetSpec>));
      const set = plan?.sets.find((one) => nameOf(one.key) === nameOf(key));
      return plan && set && { ...listenerSetStatus(set, plan, statusLookups(view)) };
    }
    case "BackendTLSPolicy":
      return { ancestors: policyStatus(view, object as Config<BackendTlsSpec>) };
    case "XBackendTrafficPolicy":
      return { ancestors: backendTrafficStatus(object as Config<BackendTrafficSpec>, targetsIn(view)) };
    case "XBackend": {
      const gateways = gatewaysTo(
        view,
        rows.usersOf("gateway.networking.x-k8s.io", "XBackend", key.namespace, key.name),
      );
      return { parents: externalBackendStatus(object as Config<ExternalBackendSpec>, gateways) };
    }
    case "InferencePool":
      return { parents: poolStatus(view, object as Config<InferencePoolSpec>) };
    default:
      return { parents: routeStatus(view, object as Config<HttpRouteSpec>) };
  }
}

/** How many routes each listener of a Gateway or ListenerSet has, by its name. By `Kind/namespace/name` as parents name it. */
const countQuery: Query<NoSubject, string, ReadonlyMap<string, number>> = {
  name: "attached-routes",
  compute: (view, text) => {
    const { kind, namespace, name } = parseConfigKey(text);
    const counts = new Map<string, number>();
    for (const { key } of rowOf(view, rows.routesOf(kind, namespace, name))) {
      const parents = view
        .read(attachmentQuery, configKeyText(key))
        .filter(({ parent }) => parent.kind === kind && parent.namespace === namespace && parent.name === name);
      const listeners = parents.flatMap(({ attachments }) => attachments.map(({ listener }) => listener?.name ?? ""));
      for (const listener of new Set(listeners)) counts.set(listener, (counts.get(listener) ?? 0) + 1);
    }
    return counts;
  },
};

function statusLookups(view: View) {
  return {
    serviceOf: (hostname: string) => {
      const facts = view.input(inputs.service(hostname));
      return facts && gatewayService(facts);
    },
    attachedRoutes: ({ owner, name }: ListenerPlan) => {
      const kind = owner.kind === "KubernetesGateway" ? "Gateway" : owner.kind;
      return view.read(countQuery, configKeyText({ ...owner, kind })).get(name) ?? 0;
    },
  };
}

function gatewayService({ ports, targets, externalAddresses, isLoadBalancer }: ServiceFacts): GatewayService {
  const served = ports.filter(({ name }) => (ownValue(targets, name) ?? []).length > 0);
  const pairs = served.flatMap(({ name, number }) =>
    (ownValue(targets, name) ?? []).map((target) => ({ target, number })),
  );
  const grouped = Map.groupBy(pairs, ({ target }) => target);
  return {
    servedPorts: served.map(({ number }) => number),
    portsByTarget: new Map([...grouped].map(([target, of]) => [target, of.map(({ number }) => number)])),
    ...{ externalAddresses, isLoadBalancer },
  };
}

function routeStatus(view: View, route: Config<HttpRouteSpec>) {
  const head = routeHead(route.key, route.spec);
  const attached = view.read(attachmentQuery, configKeyText(route.key));
  return routeParentStatuses(route, head.problem, attached, (place) => contextOf(view, route.key, place));
}

function contextOf(view: View, { kind, namespace }: ConfigKey, place: "mesh" | "gateway"): RouteContext {
  const grantsIn = (home: string) => rowOf<ReferenceGrantSpec>(view, rows.grantsIn(home));
  return {
    namespace,
    domain: domainOf(view),
    hasService: (hostname) => view.input(inputs.service(hostname)) !== undefined,
    poolService: (home, name) => {
      const place = { home: `${home}.svc.${domainOf(view)}`, service: poolServiceName(name, sha256) };
      return poolServiceOf(place, (host) => {
        const facts = view.input(inputs.service(host));
        return facts && { labels: facts.poolLabels, port: facts.ports[0]?.number };
      });
    },
    externalBackend: (home, name) => {
      const backend = view.input(inputs.object({ kind: "XBackend", namespace: home, name }));
      return backend && externalBackendOf(backend.spec as ExternalBackendSpec);
    },
    ...(place === "gateway" && { grants: { kind, grantsIn } }),
  };
}

/** The Gateways with a route to a back end, each once. */
function gatewaysTo(view: View, users: string): readonly { readonly namespace: string; readonly name: string }[] {
  const found = rowOf(view, users).flatMap(({ key }) =>
    view.read(attachmentQuery, configKeyText(key)).flatMap(({ parent: { kind, namespace, name } }) => {
      return kind === "Gateway" ? [{ namespace, name }] : [];
    }),
  );
  return [...new Map(found.map((gateway) => [`${gateway.namespace}/${gateway.name}`, gateway])).values()];
}

function poolStatus(view: View, pool: Config<InferencePoolSpec>) {
  const { namespace, name } = pool.key;
  const home = `${namespace}.svc.${domainOf(view)}`;
  // Followers of the status are notified of the deletion of the pool's Service, too.
  view.input(inputs.service(`${poolServiceName(name, sha256)}.${home}`));
  return inferencePoolStatus(
    pool,
    gatewaysOfPool(view, rows.usersOf(inferenceGroup, "InferencePool", namespace, name)),
    (service) => view.input(inputs.service(`${service}.${home}`)) !== undefined,
  );
}

/** A Gateway that takes one of the routes has accepted the pool, whatever its verdict on the others. */
function gatewaysOfPool(view: View, users: string): readonly PoolGateway[] {
  const found = new Map<string, PoolGateway>();
  for (const { key } of rowOf(view, users).filter((route) => route.key.kind === "HTTPRoute")) {
    for (const { parent, problem } of view.read(attachmentQuery, configKeyText(key))) {
      const { kind, namespace, name } = parent;
      const text = `${namespace}/${name}`;
      const known = found.get(text);
      if (kind !== "Gateway" || (known !== undefined && known.refused === undefined)) continue;
      const refused =
        problem && `Referenced HTTPRoute ${nameOf(key)} not accepted by Gateway ${text}: ${problem.message}`;
      found.set(text, { namespace, name, ...(refused !== undefined && { refused }) });
    }
  }
  return [...found.values()];
}

function policyStatus(view: View, policy: Config<BackendTlsSpec>) {
  const all = rowOf<BackendTlsSpec>(view, rows.policiesIn(policy.key.namespace));
  return backendTlsStatus(
    policy,
    all.filter((one) => !isIgnoredPolicy(one)),
    {
      ...targetsIn(view),
      rootsProblem: (ref) => rootsFinding(view, ref),
      hasObject: (kind, namespace, name) => view.input(inputs.credential(kind, namespace, name)) !== undefined,
      gatewaysOf: (kind, namespace, name) => {
        const group = kind === "Service" ? "" : "networking.istio.io";
        return gatewaysTo(view, rows.usersOf(group, kind, namespace, name)).map((gateway) => gateway.name);
      },
    },
  );
}

function targetsIn(view: View): Pick<PolicyLookups, "targetOf"> {
  return { targetOf: (kind, namespace, name) => targetOf(view, { kind, namespace, name }) };
}

function targetOf(view: View, { kind, namespace, name }: ConfigKey): BackendTarget | undefined {
  if (kind === "ServiceEntry") {
    const entry = view.input(inputs.object({ kind, namespace, name }))?.spec as ServiceEntrySpec | undefined;
    const ports = (entry?.ports ?? []).map((port) => ({ name: port.name ?? "", number: port.number ?? 0 }));
    return entry && { hosts: entry.hosts ?? [], ports };
  }
  const host = `${name}.${namespace}.svc.${domainOf(view)}`;
  const facts = view.input(inputs.service(host));
  return facts && { hosts: [host], ports: facts.ports };
}
