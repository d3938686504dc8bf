/** Ingresses that the mesh serves (`@flotilla/gateway-api`), as queries: the Gateways and VirtualServices that they stand for. */
import {
  type IngressLookups,
  type IngressSettings,
  type IngressSpec,
  ingressGateway,
  ingressVirtualServices,
  isServedIngress,
} from "@flotilla/gateway-api";
import type { Config } from "@flotilla/model";
import { type MeshConfig, MeshConfig_IngressControllerMode as Mode } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import type { Gateway } from "@flotilla/proto/networking/v1alpha3/gateway_pb";
import type { VirtualService } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import { query, type View } from "../view.ts";

interface IngressClassSpec {
  readonly controller?: string;
}

const servedIngresses = query<readonly Config<IngressSpec>[]>("served-ingresses", (view) =>
  view.all<IngressSpec>("Ingress").filter(({ annotations, spec }) => {
    const ingress = { annotations, ingressClassName: spec.ingressClassName };
    return isServedIngress(ingress, (name) => controllerOf(view, name), settingsOf(view.mesh));
  }),
);

function controllerOf(view: View, name: string): string | undefined {
  const found = view.config<IngressClassSpec>("IngressClass", "", name);
  return found && (found.spec?.controller ?? "");
}

function settingsOf({
  ingressControllerMode,
  ingressClass,
  ingressService,
  ingressSelector,
}: MeshConfig): IngressSettings {
  const mode = { [Mode.UNSPECIFIED]: "STRICT", [Mode.OFF]: "OFF", [Mode.DEFAULT]: "DEFAULT", [Mode.STRICT]: "STRICT" };
  return { ingressControllerMode: mode[ingressControllerMode], ingressClass, ingressService, ingressSelector };
}

/** By `namespace/name`. */
export const ingressGateways = query<ReadonlyMap<string, Config<Gateway>>>(
  "ingress-gateways",
  (view) => {
    const namespace = view.feature("ingressNamespace");
    const settings = settingsOf(view.mesh);
    return byName(view.read(servedIngresses).map((ingress) => ingressGateway(ingress, settings, namespace)));
  },
  sameContent,
);

/** By `namespace/name`. */
export const ingressRoutes = query<ReadonlyMap<string, Config<VirtualService>>>(
  "ingress-virtual-services",
  (view) => byName(ingressVirtualServices(view.read(servedIngresses), lookupsOf(view))),
  sameContent,
);

/** By `namespace/name`. */
export const ingressVirtualService = query<Config<VirtualService> | undefined, string>(
  "ingress-virtual-service",
  (view, name) => view.read(ingressRoutes).get(name),
  (a, b) => JSON.stringify(a) === JSON.stringify(b),
);

function lookupsOf(view: View): IngressLookups {
  const domain = view.feature("domainSuffix");
  return {
    domain,
    gatewayNamespace: view.feature("ingressNamespace"),
    portOf: (namespace, service, portName) => {
      const shards = view.serviceShards({ namespace, hostname: `${service}.${namespace}.svc.${domain}` });
      const ports = [...shards.values()].flatMap((one) => one.ports);
      return ports.find(({ name }) => name === portName)?.number;
    },
  };
}

function byName<Spec>(configs: readonly Config<Spec>[]): ReadonlyMap<string, Config<Spec>> {
  return new Map(configs.map((config) => [`${config.key.namespace}/${config.key.name}`, config]));
}

function sameContent(a: ReadonlyMap<string, Config>, b: ReadonlyMap<string, Config>): boolean {
  return JSON.stringify([...a]) === JSON.stringify([...b]);
}
