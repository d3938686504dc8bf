/**
 * The meanings of names that clients ask for on demand: a workload by its uid, a service by `namespace/hostname`, either of them by
 * `network/address`, a workload before a service. Clients that ask for a service are sent its workloads too, since calls go on to them.
 */
import { compareText, isIpAddress, type TextOf, textCodec } from "@flotilla/model";
import { type ServiceText, type SliceText, serviceText, sliceKeys } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { sameJson } from "./namespaces.ts";
import { servicesByAddress } from "./service-addresses.ts";
import { standIns } from "./split-horizon.ts";
import { ambientWorkload } from "./workloads.ts";

type NamesByKey = ReadonlyMap<string, readonly string[]>;

const sameNames = (a: NamesByKey | undefined, b: NamesByKey) => a !== undefined && sameJson([...a], [...b]);

/** Uids of a slice's workloads by service: a workload that comes or goes recomputes its slice only. */
const membersIn = query<NamesByKey, SliceText>(
  "members-of-services-in-slice",
  (view, slice) => {
    const pairs = sliceKeys(slice).flatMap((uid) => {
      const { services = [] } = view.read(ambientWorkload, uid) ?? {};
      return services.map((service) => [serviceText.write(service), uid] as const);
    });
    return grouped(pairs);
  },
  sameNames,
);

const membersOf = query<readonly string[], ServiceText>(
  "members-of-service",
  (view, service) => {
    const { namespace } = serviceText.read(service);
    return view.workloadSlices(namespace).flatMap((slice) => view.read(membersIn, slice).get(service) ?? []);
  },
  sameJson,
);

const workloadsOnNodes = query<NamesByKey, SliceText>(
  "workloads-on-nodes-in-slice",
  (view, slice) => {
    const pairs = sliceKeys(slice).map((uid) => [view.read(ambientWorkload, uid)?.node ?? "", uid] as const);
    return grouped(pairs.filter(([node]) => node !== ""));
  },
  sameNames,
);

/** Sent unasked to clients of the node, which are called in the place of its workloads. */
const workloadsOnNode = query<readonly string[], string>(
  "workloads-on-node",
  (view, node) => {
    const slices = view.workloadNamespaces.flatMap((namespace) => view.workloadSlices(namespace));
    return slices.flatMap((slice) => view.read(workloadsOnNodes, slice).get(node) ?? []);
  },
  sameJson,
);

function grouped(pairs: readonly (readonly [string, string])[]): NamesByKey {
  const groups = Map.groupBy(pairs, ([key]) => key);
  return new Map([...groups].map(([key, found]) => [key, found.map(([, name]) => name)]));
}

/** As ztunnels ask for the workload or service that has the address. */
const networkAddress = textCodec("NetworkAddress", "/", ["network", "address"]);

const namesAt = query<readonly string[], TextOf<typeof networkAddress>>(
  "names-at-address",
  (view, text) => {
    const { network, address } = networkAddress.read(text);
    const isThere = (uid: string) => view.read(ambientWorkload, uid)?.network === network;
    const workloads = view.workloadsAt(address).filter(isThere);
    if (workloads.length > 0) return workloads;
    const services = view.read(servicesByAddress).get(text) ?? [];
    return services.flatMap((service) => withMembers(view, service));
  },
  sameJson,
);

function withMembers(view: View, service: ServiceText): readonly string[] {
  const elsewhere = view.read(standIns, service).map(({ uid }) => uid);
  return [service, ...view.read(membersOf, service), ...elsewhere];
}

/** The names of the resources, each once. */
export function namesOfAsked(view: View, asked: readonly string[]): readonly string[] {
  const names = asked.flatMap((name) => {
    const [first = "", second = "", ...more] = name.split("/");
    if (more.length > 0) return [name];
    if (isIpAddress(second)) return view.read(namesAt, networkAddress.write({ network: first, address: second }));
    return withMembers(view, serviceText.write({ namespace: first, hostname: second }));
  });
  const node = view.proxy.metadataText("NODE_NAME");
  const near = node === "" ? [] : view.read(workloadsOnNode, node);
  return [...new Set([...names, ...near])].sort(compareText);
}
