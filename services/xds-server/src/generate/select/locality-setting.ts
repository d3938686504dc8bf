/** Selects the locality settings that hold for a cluster: of its traffic policy, of its service, or of the mesh. */

import type { Service } from "@flotilla/model";
import { ownValue } from "@flotilla/model";
import { create } from "@flotilla/proto";
import {
  type LocalityLoadBalancerSetting,
  LocalityLoadBalancerSettingSchema,
  type TrafficPolicy,
} from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";

export interface LocalityChoice {
  readonly setting: LocalityLoadBalancerSetting | undefined;
  /** Fail over even without outlier detection. */
  readonly isForced: boolean;
}

const none: LocalityChoice = { setting: undefined, isForced: false };

/** `trafficDistribution` of a service, as priorities. */
const closest: Readonly<Record<string, LocalityChoice>> = {
  PreferSameZone: distribution(["network", "region", "zone", "subzone"]),
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
  };
}

export function localityChoice(
  policy: TrafficPolicy | undefined,
  service: Pick<Service, "trafficDistribution">,
  mesh: LocalityLoadBalancerSetting | undefined,
): LocalityChoice {
  const stated = policy?.loadBalancer?.localityLbSetting;
  if (stated !== undefined) return stated.enabled === false ? none : { setting: stated, isForced: false };
  const preferred = closest[service.trafficDistribution ?? ""];
  if (preferred !== undefined) return preferred;
  return mesh === undefined || mesh.enabled === false ? none : { setting: mesh, isForced: false };
}
