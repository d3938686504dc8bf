/** Feature switches of the ambient mesh, part of the table in features.ts. */
import { flag, integer, text } from "@flotilla/runtime/settings";

export const ambientFeatures = {
  clusterId: text({ env: "CLUSTER_ID", default: "Kubernetes", sentence: "Name of the own cluster." }),
  ambient: flag({
    env: "PILOT_ENABLE_AMBIENT",
    default: false,
    sentence: "ztunnels and waypoints are served; service-controller needs it too.",
  }),
  ambientMultiNetwork: flag({
    env: "AMBIENT_ENABLE_MULTI_NETWORK",
    default: false,
    sentence: "With ambient: workloads of other networks are reached through the gateways of their network, by HBONE.",
  }),
  ambientBaggage: flag({
    env: "AMBIENT_ENABLE_BAGGAGE",
    default: false,
    sentence: "With ambient: tunnels carry the caller's identity in their baggage header, for telemetry.",
  }),
  wildcardTls: flag({
    env: "ENABLE_WILDCARD_HOST_SERVICE_ENTRIES_FOR_TLS",
    default: false,
    sentence:
      "Waypoints pass TLS on to hosts below a wildcard that are resolved as connections come, by the SNI that callers choose freely.",
  }),
  ambientDryRunPolicies: flag({
    env: "AMBIENT_ENABLE_DRY_RUN_AUTHORIZATION_POLICY",
    default: false,
    sentence:
      "With ambient: ztunnels are sent AuthorizationPolicies with istio.io/dry-run, which they log. Those before 1.29 enforce them.",
  }),
  autoAllowWaypointPolicy: flag({
    env: "PILOT_AUTO_ALLOW_WAYPOINT_POLICY",
    default: false,
    sentence:
      "With ambient: ztunnels are sent a policy for each workload behind a waypoint that allows the waypoint's identity, so that without other ALLOW policies it is called through its waypoint alone.",
  }),
  layeredWaypointPolicies: flag({
    env: "ENABLE_LAYERED_WAYPOINT_AUTHORIZATION_POLICIES",
    default: false,
    sentence:
      "Waypoints decide on tunnels by AuthorizationPolicies that select their pods, as far as these ask for connections.",
  }),
  servicesSelectWorkloadEntries: flag({
    env: "PILOT_ENABLE_K8S_SELECT_WORKLOAD_ENTRIES",
    default: true,
    sentence:
      "With ambient: ztunnels find WorkloadEntries behind Services that select them; service-controller needs it too.",
  }),
  serviceEntriesSelectPods: flag({
    env: "PILOT_ENABLE_SERVICEENTRY_SELECT_PODS",
    default: true,
    sentence:
      "With ambient: ztunnels find pods behind ServiceEntries that select them; service-controller needs it too.",
  }),
  sendHbone: flag({
    env: "PILOT_ENABLE_SENDING_HBONE",
    default: true,
    sentence: "With ambient: sidecars and gateways call workloads that take HBONE by it.",
  }),
  preferHbone: flag({
    env: "PILOT_PREFER_SENDING_HBONE",
    default: false,
    sentence: "Workloads that take both HBONE and the mesh's TLS are called by HBONE.",
  }),
  listenHbone: flag({
    env: "PILOT_ENABLE_SIDECAR_LISTENING_HBONE",
    default: true,
    sentence: "With ambient: sidecars that ask for it listen for HBONE.",
  }),
  ingressWaypoints: flag({
    env: "ENABLE_INGRESS_WAYPOINT_ROUTING",
    default: true,
    sentence: "With ambient: gateways call services labelled istio.io/ingress-use-waypoint through their waypoint.",
  }),
  multiNetworkWaypoints: flag({
    env: "AMBIENT_ENABLE_MULTI_NETWORK_WAYPOINT",
    default: true,
    sentence: "Waypoints call workloads of other networks, where these are reached at all.",
  }),
  multiNetworkIngress: flag({
    env: "AMBIENT_ENABLE_MULTI_NETWORK_INGRESS",
    default: false,
    sentence: "Gateways call workloads of other networks by HBONE, where these are reached at all.",
  }),
  hboneStreamWindow: integer({
    env: "PILOT_HBONE_INITIAL_STREAM_WINDOW_SIZE",
    default: 0,
    min: 0,
    max: 0x7fff_ffff,
    sentence: "HTTP/2 window of a stream in an HBONE tunnel, in bytes; 0 for Envoy's own.",
  }),
  hboneConnectionWindow: integer({
    env: "PILOT_HBONE_INITIAL_CONNECTION_WINDOW_SIZE",
    default: 0,
    min: 0,
    max: 0x7fff_ffff,
    sentence: "HTTP/2 window of a connection of HBONE tunnels, in bytes; 0 for Envoy's own.",
  }),
} as const;
