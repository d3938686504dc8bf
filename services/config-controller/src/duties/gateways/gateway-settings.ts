/** Settings of Gateways of the Gateway API, by istiod's names. */
import { defaultClassSettings, type GatewayClassSettings, gatewayClassSettings } from "@flotilla/gateway-api";
import { flag, type SettingsOf, text } from "@flotilla/runtime";

export const gatewaySettings = {
  deploysGateways: flag({
    env: "PILOT_ENABLE_GATEWAY_API_DEPLOYMENT_CONTROLLER",
    default: true,
    sentence:
      "Gateways of the Gateway API get a Deployment and a Service, by the one config-controller that has the duty.",
  }),
  makesGatewayClasses: flag({
    env: "PILOT_ENABLE_GATEWAY_API_GATEWAYCLASS_CONTROLLER",
    default: true,
    sentence: "The GatewayClasses of the mesh are made where they are missing.",
  }),
  ...gatewayClassSettings,
  copiesGatewayMetadata: flag({
    env: "PILOT_ENABLE_GATEWAY_API_COPY_LABELS_ANNOTATIONS",
    default: true,
    sentence: "Objects deployed for a Gateway carry its labels and annotations, unless spec.infrastructure has some.",
  }),
  quicListeners: flag({
    env: "PILOT_ENABLE_QUIC_LISTENERS",
    default: false,
    sentence: "HTTPS of Gateways is served over HTTP/3 too: their Services get a UDP port.",
  }),
  multiNetworkGateways: flag({
    env: "PILOT_MULTI_NETWORK_DISCOVER_GATEWAY_API",
    default: true,
    sentence: "Gateways of the class istio-remote are ways into other networks.",
  }),
  ambient: flag({
    env: "PILOT_ENABLE_AMBIENT",
    default: false,
    sentence: "The mesh has ztunnels and waypoints: bindings to waypoints have a status, and waypoints are deployed.",
  }),
  deploysWaypoints: flag({
    env: "PILOT_ENABLE_AMBIENT_WAYPOINTS",
    default: true,
    sentence: "With PILOT_ENABLE_AMBIENT, Gateways of the class istio-waypoint get a Deployment and a Service.",
  }),
  writesAmbientStatus: flag({
    env: "AMBIENT_ENABLE_STATUS",
    default: true,
    sentence:
      "With PILOT_ENABLE_AMBIENT, conditions of objects report the waypoint that they are bound to and the proxies that enforce them.",
  }),
  ambientDryRunPolicies: flag({
    env: "AMBIENT_ENABLE_DRY_RUN_AUTHORIZATION_POLICY",
    default: false,
    sentence:
      "The conditions of AuthorizationPolicies with istio.io/dry-run report that ztunnels receive them; set it on xds-server too.",
  }),
  ambientMultiNetwork: flag({
    env: "AMBIENT_ENABLE_MULTI_NETWORK",
    default: false,
    sentence: "With PILOT_ENABLE_AMBIENT, Gateways of the class istio-east-west get a Deployment and a Service.",
  }),
  clusterId: text({
    env: "CLUSTER_ID",
    default: "Kubernetes",
    sentence: "Name of the own cluster; deployed gateways report it if the injection values name none.",
  }),
} as const;

type GatewaySettings = SettingsOf<typeof gatewaySettings>;

/** Classes whose Gateways have a status. */
export function knownClasses({
  gatewayClass: defaultClass,
  gatewayController: defaultController,
  multiNetworkGateways: multiNetwork,
  allowsManualGateways: allowsManual,
  udpRoutes,
}: GatewaySettings): GatewayClassSettings {
  return { ...defaultClassSettings, defaultClass, defaultController, allowsManual, udpRoutes, multiNetwork };
}

/** Classes that are made and deployed for. */
export function deployedClasses(settings: GatewaySettings): GatewayClassSettings {
  const { ambient, deploysWaypoints, ambientMultiNetwork } = settings;
  return {
    ...knownClasses(settings),
    ...{ waypoints: ambient && deploysWaypoints, ambientMultiNetwork: ambient && ambientMultiNetwork },
  };
}
