/**
 * Classes of Gateways that Istio's controllers serve: which controller has a Gateway, and its consequences.
 * Names and meaning are those of istiod (gateway.networking.k8s.io support, `istio.io/gateway-controller` and its siblings).
 */

import { flag, text } from "@flotilla/runtime/settings";

/** Class of the mesh's gateways, and the controller that serves it: config-controller and xds-server agree on it. */
export const gatewayClassSettings = {
  gatewayClass: text({
    env: "PILOT_GATEWAY_API_DEFAULT_GATEWAYCLASS_NAME",
    default: "istio",
    sentence: "Name of the GatewayClass of the mesh's gateways.",
  }),
  gatewayController: text({
    env: "PILOT_GATEWAY_API_CONTROLLER_NAME",
    default: "istio.io/gateway-controller",
    sentence: "Controller that the GatewayClasses of the mesh's gateways name.",
  }),
  allowsManualGateways: flag({
    env: "ENABLE_GATEWAY_API_MANUAL_DEPLOYMENT",
    default: true,
    sentence:
      "A Gateway whose addresses name a Service is served by the proxies behind it, and nothing is deployed for it.",
  }),
  udpRoutes: flag({
    env: "GATEWAY_UDP_ROUTES",
    default: false,
    sentence:
      "Gateways of the Gateway API serve listeners of protocol UDP, and UDPRoutes; istiod does not. k8s/base switches it on.",
  }),
} as const;

export interface GatewayClassRules {
  /** `spec.controllerName` of its GatewayClasses. */
  readonly controller: string;
  /** Value of the label `gateway.istio.io/managed` on what is deployed for a Gateway. */
  readonly managedLabel: string;
  /** Of the GatewayClass that is made when there is none. */
  readonly description: string;
  /** Injection template of the workload; undefined: nothing is deployed. */
  readonly template: string | undefined;
  readonly serviceType: "LoadBalancer" | "ClusterIP";
  /** Names of deployed objects are the Gateway's, without `-CLASS` behind it. */
  readonly keepsName: boolean;
  /** False: its Gateways are described elsewhere, no routes are made from them. */
  readonly routes: boolean;
  readonly listenerSets: boolean;
  /** A Gateway may name the Services in front of workloads that users deploy. */
  readonly allowsManual: boolean;
  /** Its Gateways take UDPRoutes. */
  readonly udpRoutes: boolean;
  /** Type of the addresses in the status; undefined: all that are known. */
  readonly addressType: "Hostname" | undefined;
}

export interface GatewayClassSettings {
  readonly defaultClass: string;
  readonly defaultController: string;
  /** ENABLE_GATEWAY_API_MANUAL_DEPLOYMENT */
  readonly allowsManual: boolean;
  /** GATEWAY_UDP_ROUTES */
  readonly udpRoutes: boolean;
  /** PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API */
  readonly multiNetwork: boolean;
  /** PILOT_ENABLE_AMBIENT_WAYPOINTS */
  readonly waypoints: boolean;
  /** AMBIENT_ENABLE_MULTI_NETWORK */
  readonly ambientMultiNetwork: boolean;
}

export const defaultClassSettings: GatewayClassSettings = {
  defaultClass: gatewayClassSettings.gatewayClass.default,
  defaultController: gatewayClassSettings.gatewayController.default,
  allowsManual: gatewayClassSettings.allowsManualGateways.default,
  udpRoutes: gatewayClassSettings.udpRoutes.default,
  multiNetwork: true,
  waypoints: true,
  ambientMultiNetwork: true,
};

/** Class name → rules of its controller. A GatewayClass object of the same name decides first (rulesOfController). */
export function builtInClasses(settings: GatewayClassSettings): ReadonlyMap<string, GatewayClassRules> {
  const { defaultClass, defaultController, allowsManual, udpRoutes } = settings;
  const { multiNetwork, waypoints, ambientMultiNetwork } = settings;
  const gateway: GatewayClassRules = {
    ...{ controller: defaultController, managedLabel: defaultController.replaceAll("/", "-") },
    ...{ description: "The default Istio GatewayClass", template: "kube-gateway", serviceType: "LoadBalancer" },
    ...{ keepsName: false, routes: true, listenerSets: true, addressType: "Hostname" },
    ...{ allowsManual, udpRoutes },
  };
  const remote: GatewayClassRules = {
    ...{ controller: "istio.io/unmanaged-gateway", managedLabel: "istio.io-unmanaged-gateway", template: undefined },
    ...{ description: "Remote to this cluster. Does not deploy or affect configuration.", serviceType: "LoadBalancer" },
    ...{ keepsName: false, routes: false, listenerSets: false, addressType: "Hostname" },
    ...{ allowsManual, udpRoutes: false },
  };
  const waypoint: GatewayClassRules = {
    ...{ controller: "istio.io/mesh-controller", managedLabel: "istio.io-mesh-controller", template: "waypoint" },
    ...{ description: "The default Istio waypoint GatewayClass", serviceType: "ClusterIP" },
    ...{ keepsName: true, routes: true, listenerSets: false, addressType: undefined },
    ...{ allowsManual, udpRoutes: false },
  };
  const eastWest: GatewayClassRules = {
    ...waypoint,
    ...{ controller: "istio.io/eastwest-controller", managedLabel: "istio.io-eastwest-controller" },
    ...{ description: "The default GatewayClass for Istio East West Gateways", serviceType: "LoadBalancer" },
  };
  return new Map([
    [defaultClass, gateway],
    ...(multiNetwork ? [["istio-remote", remote] as const] : []),
    ...(waypoints ? [["istio-waypoint", waypoint] as const] : []),
    ...(ambientMultiNetwork ? [["istio-east-west", eastWest] as const] : []),
  ]);
}

/** Rules of a GatewayClass with that `spec.controllerName`; undefined: it belongs to another controller. */
export function rulesOfController(
  classes: ReadonlyMap<string, GatewayClassRules>,
  controller: string,
): GatewayClassRules | undefined {
  return [...classes.values()].find((rules) => rules.controller === controller);
}

/** The class of a Gateway. */
export interface ServedClass extends GatewayClassRules {
  readonly name: string;
  readonly role: "ingress" | "remote" | "waypoint" | "east-west";
}

export interface ClassLookups {
  readonly classes: ReadonlyMap<string, GatewayClassRules>;
  /** The `controllerName` of a GatewayClass; undefined where there is none of that name. */
  readonly controllerOf: (className: string) => string | undefined;
}

/** Undefined: Gateways of the class are another controller's. */
export function servedClass(name: string, { classes, controllerOf }: ClassLookups): ServedClass | undefined {
  const controller = controllerOf(name);
  const rules = controller === undefined ? classes.get(name) : rulesOfController(classes, controller);
  return rules && { ...rules, name, role: roleOf(rules.controller) };
}

function roleOf(controller: string): ServedClass["role"] {
  if (controller === "istio.io/unmanaged-gateway") return "remote";
  if (controller === "istio.io/mesh-controller") return "waypoint";
  return controller === "istio.io/eastwest-controller" ? "east-west" : "ingress";
}
