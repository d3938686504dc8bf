/** Selects the locality settings that hold for a cluster: of its traffic policy, of its service, or of the mesh. */

import type { Service } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import { create } from "@flotilla/proto";
import type { MeshConfig } from "@flotilla/proto/mesh/v1alpha1/config_pb";
import {
  type LocalityLoadBalancerSetting,
  LocalityLoadBalancerSettingSchema,
  type TrafficPolicy,
  type ZoneAwareLoadBalancerSetting,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";

export interface LocalityChoice {
  readonly setting: LocalityLoadBalancerSetting | undefined;
  /** Fail over even without outlier detection. */
  readonly isForced: boolean;
  /** Envoy itself divides requests among the zones of the proxy's region, unless it is disabled; `setting` is about regions then. */
  readonly zones: ZoneAwareLoadBalancerSetting | undefined;
}

const none: LocalityChoice = { setting: undefined, isForced: false, zones: undefined };

/** `trafficDistribution` of a service, as priorities. */
const closest: Readonly<Record<string, LocalityChoice>> = {
  PreferSameZone: distribution(["network", "region", "zone"]),
  PreferSameNode: distribution(["network", "region", "zone", "subzone", "node"]),
};

function distribution(levels: readonly string[]): LocalityChoice {
  const labels: Readonly<Record<string, string>> = {
    network: "topology.istio.io/network",
    region: "topology.kubernetes.io/region",
    zone: "topology.kubernetes.io/zone",
    subzone: "topology.istio.io/subzone",
    node: "kubernetes.io/hostname",
  };
  const failoverPriority = levels.map((level) => ownValue(labels, level) ?? level);
  return {
    setting: create(LocalityLoadBalancerSettingSchema, { enabled: true, failoverPriority }),
    isForced: true,
    zones: undefined,
  };
}

export function localityChoice(
  policy: TrafficPolicy | undefined,
  service: Pick<Service, "trafficDistribution">,
  mesh: Pick<MeshConfig, "localityLbSetting" | "zoneAwareLbSetting">,
): LocalityChoice {
  const { zoneAwareLbSetting: zones, localityLbSetting: stated } = policy?.loadBalancer ?? {};
  if (zones !== undefined || stated !== undefined) return choiceOf(zones, stated);
  return closest[service.trafficDistribution ?? ""] ?? choiceOf(mesh.zoneAwareLbSetting, mesh.localityLbSetting);
}

function choiceOf(
  zones: ZoneAwareLoadBalancerSetting | undefined,
  stated: LocalityLoadBalancerSetting | undefined,
): LocalityChoice {
  if (zones === undefined)
    return stated === undefined || stated.enabled === false ? none : { ...none, setting: stated };
  if (zones.enabled === false) return { ...none, zones };
  const failover = zones.failover.map(({ from, to }) => ({ from, to }));
  const { failoverPriority } = zones;
  return { setting: create(LocalityLoadBalancerSettingSchema, { failover, failoverPriority }), isForced: true, zones };
}
