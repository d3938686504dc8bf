/**
 * Gateways of the Gateway API with their ListenerSets (`@flotilla/gateway-api`), as queries: which listeners there are, and the
 * Gateways of Istio's API that they stand for.
 */
import {
  builtInClasses,
  type CredentialData,
  certificateProblem,
  defaultClassSettings,
  type GatewayClassSpec,
  type GatewayPlan,
  gatewayConfigs,
  type KubernetesGatewaySpec,
  type ListenerPlan,
  type ListenerSetSpec,
  type NamespaceHead,
  planGateway,
  type ReferenceGrantSpec,
  type RouteParent,
  rootsProblem,
} from "@flotilla/gateway-api";
import { type Config, isBase64, type TextOf, textCodec } from "@flotilla/model";
import type { Gateway } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import { byNamespace, type RowIndex } from "../row-index.ts";
import { query, type View } from "../view.ts";

const objectName = textCodec("KubernetesGatewayName", "/", ["namespace", "name"]);
type ObjectName = TextOf<typeof objectName>;

/** The existing ones; the rest of each is read apart. */
export const kubernetesGatewayIndex: RowIndex<KubernetesGatewaySpec> = {
  name: "kubernetes-gateways",
  kind: "KubernetesGateway",
  keysOf: () => ["all"],
  project: ({ key, creationTimeMs }) => ({ key, creationTimeMs, labels: {}, annotations: {}, spec: {} }),
};

/** By `namespace/name` of the Gateway. */
export const listenerSetsByParent: RowIndex<ListenerSetSpec> = {
  name: "listener-sets-by-parent",
  kind: "ListenerSet",
  keysOf: ({ key, spec: { parentRef } }) => [`${parentRef?.namespace ?? key.namespace}/${parentRef?.name ?? ""}`],
};

export const referenceGrants: RowIndex<ReferenceGrantSpec> = byNamespace("ReferenceGrant");

export const namespaceLabels: RowIndex<unknown> = {
  name: "namespace-labels",
  kind: "Namespace",
  keysOf: () => ["all"],
  project: ({ key, labels }) => ({ key, creationTimeMs: 0, labels, annotations: {}, spec: {} }),
};

const gatewayClasses = query("gateway-classes", (view) =>
  builtInClasses({
    ...defaultClassSettings,
    defaultClass: view.feature("gatewayClass"),
    defaultController: view.feature("gatewayController"),
    allowsManual: view.feature("allowsManualGateways"),
    udpRoutes: view.feature("udpRoutes"),
  }),
);

/** Undefined: there is none, or another controller has it. */
const gatewayPlan = query<GatewayPlan | undefined, ObjectName>(
  "kubernetes-gateway-plan",
  (view, text) => {
    const { namespace, name } = objectName.read(text);
    const gateway = view.config<KubernetesGatewaySpec>("KubernetesGateway", namespace, name);
    if (gateway === undefined) return undefined;
    return planGateway(gateway, view.row(listenerSetsByParent, `${namespace}/${name}`), {
      domain: view.feature("domainSuffix"),
      classes: view.read(gatewayClasses, undefined),
      controllerOf: (className) => view.read(controllerOfClass, className),
      hasConfigMap: (home, one) => view.config("ConfigMap", home, one) !== undefined,
      namespaces: () => namespacesOf(view),
      certificateProblem: (home, one) =>
        view.read(certificateProblemOf, objectName.write({ namespace: home, name: one })),
      rootsProblem: (ref) => view.read(rootsProblemOf, credentialName.write(ref)),
      grantsIn: (home) => view.row(referenceGrants, home),
    });
  },
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

const controllerOfClass = query<string | undefined, string>(
  "controller-of-gateway-class",
  (view, name) => view.config<GatewayClassSpec>("GatewayClass", "", name)?.spec.controllerName,
);

function namespacesOf(view: View): readonly NamespaceHead[] {
  return view.row(namespaceLabels, "all").map(({ key, labels }) => ({ name: key.name, labels }));
}

/** Apart from the plan, which a new certificate in place of an old one does not touch. */
const certificateProblemOf = query<string | undefined, ObjectName>("certificate-problem", (view, text) => {
  const { namespace, name } = objectName.read(text);
  return certificateProblem(namespace, name, credential(view, "Secret", namespace, name));
});

const credentialName = textCodec("RootsName", "/", ["kind", "namespace", "name"]);

const rootsProblemOf = query<string | undefined, TextOf<typeof credentialName>>("roots-problem", (view, text) => {
  const ref = credentialName.read(text);
  return rootsProblem(ref, credential(view, ref.kind, ref.namespace, ref.name));
});

function credential(view: View, kind: string, namespace: string, name: string): CredentialData {
  const object = view.config<{ readonly data?: CredentialData }>(
    kind === "Secret" ? "Secret" : "ConfigMap",
    namespace,
    name,
  );
  if (object === undefined || kind !== "Secret") return object && (object.spec?.data ?? {});
  const entries = Object.entries(object.spec?.data ?? {});
  return Object.fromEntries(entries.flatMap(([key, text]) => (isBase64(text) ? [[key, atob(text)]] : [])));
}

/** The listeners of a Gateway or ListenerSet that routes may attach to; undefined where it is not served from here. */
export function listenersOf(view: View, { kind, namespace, name }: RouteParent): readonly ListenerPlan[] | undefined {
  const own = objectName.write({ namespace, name });
  if (kind === "Gateway") return view.read(gatewayPlan, own)?.listeners;
  const set = view.config<ListenerSetSpec>("ListenerSet", namespace, name);
  if (set === undefined) return undefined;
  const { parentRef } = set.spec;
  const gateway = objectName.write({ namespace: parentRef?.namespace ?? namespace, name: parentRef?.name ?? "" });
  const sets = view.read(gatewayPlan, gateway)?.sets ?? [];
  return sets.find(({ key }) => key.namespace === namespace && key.name === name)?.listeners;
}

const configsOfGateway = query<readonly Config<Gateway>[], ObjectName>(
  "configs-of-kubernetes-gateway",
  (view, name) => {
    const plan = view.read(gatewayPlan, name);
    return plan === undefined ? [] : gatewayConfigs(plan);
  },
);

/** The Gateways that listeners stand for, by `namespace/name`. */
export const listenerGateways = query<ReadonlyMap<string, Config<Gateway>>>(
  "listener-gateways",
  (view) => {
    const configs = view
      .row(kubernetesGatewayIndex, "all")
      .flatMap(({ key }) => view.read(configsOfGateway, objectName.write(key)));
    return new Map(configs.map((config) => [`${config.key.namespace}/${config.key.name}`, config]));
  },
  (a, b) => a.size === b.size && [...a].every(([name, config]) => b.get(name) === config),
);

/** Key pairs that Gateways show to back ends, by `namespace/name` of the Gateways that their listeners stand for. */
export const clientCredentials = query<ReadonlyMap<string, string>>(
  "client-credentials-of-gateways",
  (view) => {
    const entries = view.row(kubernetesGatewayIndex, "all").flatMap(({ key }) => {
      const name = objectName.write(key);
      const credential = view.read(gatewayPlan, name)?.clientCredential;
      if (credential === undefined) return [];
      return view
        .read(configsOfGateway, name)
        .map((config) => [`${config.key.namespace}/${config.key.name}`, credential] as const);
    });
    return new Map(entries);
  },
  (a, b) => JSON.stringify([...a]) === JSON.stringify([...b]),
);
