/** PILOT_AUTO_ALLOW_WAYPOINT_POLICY: workloads behind a waypoint are called through it alone. */
import { gatewayNameLabel, waypointOfPolicy, waypointPolicy, waypointPolicyName } from "@flotilla/ambient";
import { compareText, ownValue } from "@flotilla/model";
import { type ServiceName, serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { sameJson } from "./namespaces.ts";
import { serviceBinding, type WaypointText, waypoint, waypointText, workloadBinding } from "./waypoints.ts";

type AccountsByGateway = ReadonlyMap<string, readonly string[]>;

/** Service accounts of the pods of each Gateway of a namespace. */
const gatewayAccounts = query<AccountsByGateway, string>(
  "gateway-accounts",
  (view, namespace) => {
    const pairs = view.workloadsIn(namespace).flatMap((uid) => {
      const pod = view.workload(uid);
      const gateway = ownValue(pod?.labels, gatewayNameLabel);
      return pod?.kind === "Pod" && gateway !== undefined ? [[gateway, pod.serviceAccount] as const] : [];
    });
    const groups = Map.groupBy(pairs, ([gateway]) => gateway);
    return new Map([...groups].map(([gateway, found]) => [gateway, accountsIn(found)]));
  },
  (a, b) => a !== undefined && sameJson([...a], [...b]),
);

function accountsIn(pairs: readonly (readonly [string, string])[]): readonly string[] {
  return pairs.map(([, account]) => account).sort(compareText);
}

/** By the policy's name at ztunnels; undefined for other names. */
export function allowWaypointPolicy(view: View, named: { readonly namespace: string; readonly name: string }) {
  const name = view.feature("autoAllowWaypointPolicy") ? waypointOfPolicy(named) : undefined;
  if (name === undefined || view.read(waypoint, waypointText.write(name)) === undefined) return undefined;
  const accounts = view.read(gatewayAccounts, name.namespace).get(name.name) ?? [];
  const { trustDomain } = view.mesh;
  return waypointPolicy(
    name,
    accounts.map((account) => `${trustDomain}/ns/${name.namespace}/sa/${account}`),
  );
}

/** The policies for which there may be a waypoint: one of each Gateway. */
export function allowWaypointNames(view: View): readonly { readonly namespace: string; readonly name: string }[] {
  if (!view.feature("autoAllowWaypointPolicy")) return [];
  return view.all("KubernetesGateway").map(({ key }) => ({ namespace: key.namespace, name: waypointPolicyName(key) }));
}

/** Names of the policies for the waypoints of a workload's services, then for its own. */
export function allowingWaypoints(view: View, uid: string, services: readonly ServiceName[]) {
  if (!view.feature("autoAllowWaypointPolicy")) return [];
  const own = view.read(workloadBinding, uid).waypoint;
  const ownText = own && waypointText.write(own);
  const ofServices = services.flatMap((service): readonly WaypointText[] => {
    const { waypoint: found } = view.read(serviceBinding, serviceText.write(service));
    return found === undefined ? [] : [waypointText.write(found)];
  });
  const others = [...new Set(ofServices)].filter((text) => text !== ownText).sort(compareText);
  return [...others, ...(ownText === undefined ? [] : [ownText])].flatMap((text) => {
    const name = waypointText.read(text);
    const policy = { namespace: name.namespace, name: waypointPolicyName(name) };
    return allowWaypointPolicy(view, policy) === undefined ? [] : [policy];
  });
}
