/** The endpoints of a cluster as one proxy calls them: by locality, with priorities, weights and gateways of other networks. */
import { compareText, type Endpoint, type Labels, ownValue, parseLocality, workloadMode } from "@flotilla/model";
import type { MessageInitShape } from "@flotilla/proto";
import type { LocalityLbEndpointsSchema } from "@flotilla/proto/envoy/config/endpoint/v3/endpoint_components_pb";
import type { EndpointInputs } from "./endpoint-inputs.ts";
import { isServed, lbEndpoint } from "./lb-endpoint.ts";
import {
  distribute,
  failover,
  failoverByLabels,
  type Group,
  groupByLocality,
  withMembers,
} from "./locality-priority.ts";
import { splitHorizon } from "./split-horizon.ts";
import { withTunnel } from "./tunnels.ts";

export function assignmentEndpoints(inputs: EndpointInputs): MessageInitShape<typeof LocalityLbEndpointsSchema>[] {
  const labels = JSON.parse(inputs.subset) as Labels;
  const served = [...inputs.shards.values()]
    .flat()
    .filter((endpoint) => isServed(endpoint, inputs, labels))
    .map((endpoint) => withTlsMode(endpoint, inputs));
  const groups = groupByLocality(served).map((group) => {
    const seen = splitHorizon(group.members, inputs).map((one) =>
      one.tunnel === undefined ? withTunnel(one, inputs) : one,
    );
    return withMembers(group, inputs.needsMeshTls ? seen.filter(({ tlsMode }) => tlsMode === "istio") : seen);
  });
  return prioritized(groups, inputs)
    .sort((a, b) => compareText(a.locality, b.locality) || a.priority - b.priority)
    .map(({ locality, members, weight, priority }) => {
      const { region, zone, subzone } = parseLocality(locality);
      return {
        locality: { region, zone, subZone: subzone },
        lbEndpoints: members.map((endpoint) => lbEndpoint(endpoint, inputs)),
        ...(weight > 0 && { loadBalancingWeight: weight }),
        priority,
      };
    });
}

function prioritized<Member extends Parameters<typeof groupByLocality>[0][number]>(
  groups: Group<Member>[],
  { setting, failsOverByDistance, locality, ownLabels }: EndpointInputs,
): Group<Member>[] {
  if (setting === undefined) return groups;
  const own = parseLocality(locality);
  if (setting.distribute.length > 0) return distribute(groups, setting.distribute, own) ?? groups;
  if (setting.failoverPriority.length > 0) {
    const values = JSON.parse(ownLabels) as Labels;
    const byLabels = failoverByLabels(groups, setting.failoverPriority, (name) => ownValue(values, name));
    return failsOverByDistance ? failover(byLabels, setting.failover, own) : byLabels;
  }
  return failover(groups, setting.failover, own);
}

/** Endpoints that the caller must not call by the mesh's TLS are marked as those that cannot. */
function withTlsMode(endpoint: Endpoint, { takesMeshTls, peers }: EndpointInputs): Endpoint {
  const isTaken = takesMeshTls && (!peers || workloadMode(peers, endpoint.labels, endpoint.port) !== "DISABLE");
  return isTaken || endpoint.tlsMode !== "istio" ? endpoint : { ...endpoint, tlsMode: "disabled" };
}
