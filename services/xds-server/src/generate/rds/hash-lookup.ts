/** Whether and by what requests to a destination are hashed: the word of its DestinationRule. */
import type { LoadBalancerSettings_ConsistentHashLB } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { Destination } from "@flotilla/proto/networking/v1alpha3/virtual_service_pb";
import type { View } from "../../snapshot/view.ts";

export function consistentHashFor(
  _view: View,
  _destination: Destination,
): LoadBalancerSettings_ConsistentHashLB | undefined {
  return undefined;
}
