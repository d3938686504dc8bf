/** Selects the listeners, filter chains and filters that the patch of an EnvoyFilter is for. */
import type { FilterChain } from "@flotilla/proto/envoy/config/listener/v3/listener_components_pb";
import type { Listener } from "@flotilla/proto/envoy/config/listener/v3/listener_pb";
import type { EnvoyFilter_ListenerMatch as ListenerMatch } from "@flotilla/proto/networking/v1alpha3/envoy_filter_pb";
import { namesFilter } from "./filter-names.ts";
import { ApplyTo, type Patch } from "./patch.ts";

const virtualListeners: ReadonlySet<string> = new Set(["virtualInbound", "virtualOutbound"]);

/** Empty where the patch is for every listener. */
function listenerMatchOf({ match }: Patch): ListenerMatch | undefined {
  return match?.objectTypes.case === "listener" ? match.objectTypes.value : undefined;
}

/** The port in a listener's name, where it has one. */
export function portOfListener(name: string): number | undefined {
  const port = /_(\d+)$/.exec(name)?.[1];
  return port === undefined ? undefined : Number(port);
}

/** Decides by the name alone: a listener that this excludes is not changed by the patch. */
export function mayMatchListener(patch: Patch, name: string): boolean {
  const wanted = listenerMatchOf(patch);
  if (wanted === undefined) return true;
  if (wanted.name !== "" && wanted.name !== name) return false;
  const port = portOfListener(name);
  return wanted.portNumber === 0 || port === undefined || port === wanted.portNumber;
}

export function matchesListener(patch: Patch, { name, address }: Listener): boolean {
  const wanted = listenerMatchOf(patch);
  if (wanted === undefined) return true;
  if (wanted.name !== "" && wanted.name !== name) return false;
  // Ports of the virtual listeners are those of their filter chains.
  if (wanted.portNumber === 0 || (patch.applyTo !== ApplyTo.LISTENER && virtualListeners.has(name))) return true;
  const socket = address?.address.case === "socketAddress" ? address.address.value : undefined;
  return socket?.portSpecifier.case === "portValue" && socket.portSpecifier.value === wanted.portNumber;
}

export function matchesChain(patch: Patch, { name }: Listener, chain: FilterChain): boolean {
  const wanted = listenerMatchOf(patch);
  if (wanted === undefined) return true;
  const { filterChainMatch: match } = chain;
  const { portNumber } = wanted;
  if (virtualListeners.has(name) && portNumber > 0 && (match?.destinationPort ?? 0) !== portNumber) return false;
  const { filterChain } = wanted;
  if (filterChain === undefined) return true;
  const { sni, transportProtocol, applicationProtocols, destinationPort, transportSocket } = filterChain;
  return (
    (filterChain.name === "" || filterChain.name === chain.name) &&
    (sni === "" || match?.serverNames.includes(sni) === true) &&
    (transportProtocol === "" || match?.transportProtocol === transportProtocol) &&
    (applicationProtocols === "" ||
      applicationProtocols.split(",").every((one) => match?.applicationProtocols.includes(one) === true)) &&
    (destinationPort === 0 || match?.destinationPort === destinationPort) &&
    (transportSocket === "" || chain.transportSocket?.name === transportSocket)
  );
}

type IsNamed = (filter: { readonly name: string }) => boolean;

function byName(wanted: string | undefined): IsNamed | undefined {
  return wanted === undefined || wanted === "" ? undefined : ({ name }) => namesFilter(wanted, name);
}

/** By the present name alone. Undefined where the patch names no filter. */
export function listenerFilterMatcher(patch: Patch): IsNamed | undefined {
  const wanted = listenerMatchOf(patch)?.listenerFilter ?? "";
  return wanted === "" ? undefined : ({ name }) => name === wanted;
}

export function networkFilterMatcher(patch: Patch): IsNamed | undefined {
  if (patch.match?.objectTypes.case === "waypoint") return byName(patch.match.objectTypes.value.filter?.name);
  return byName(listenerMatchOf(patch)?.filterChain?.filter?.name);
}

export function httpFilterMatcher(patch: Patch): IsNamed | undefined {
  if (patch.match?.objectTypes.case === "waypoint")
    return byName(patch.match.objectTypes.value.filter?.subFilter?.name);
  return byName(listenerMatchOf(patch)?.filterChain?.filter?.subFilter?.name);
}
