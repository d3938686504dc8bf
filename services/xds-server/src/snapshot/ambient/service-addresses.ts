/** Finds services by the addresses that clients and waypoints name. */
import { addressNames, type Waypoint } from "@flotilla/ambient";
import { type ServiceName, type ServiceText, serviceText } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { sameJson } from "./namespaces.ts";
import { ambientService } from "./services.ts";

type ServicesByAddress = ReadonlyMap<string, readonly ServiceText[]>;

/** By `network/address`. */
export const servicesByAddress = query<ServicesByAddress>(
  "services-by-address",
  (view) => {
    const found = new Map<string, ServiceText[]>();
    for (const name of view.serviceNames) {
      const text = serviceText.write(name);
      const facts = view.read(ambientService, text);
      for (const address of facts === undefined ? [] : addressNames(facts)) {
        const others = found.get(address);
        if (others === undefined) found.set(address, [text]);
        else others.push(text);
      }
    }
    return found;
  },
  (a, b) => a !== undefined && sameJson([...a], [...b]),
);

/** The service under which a waypoint is called; undefined where its address is that of none. */
export function serviceOfWaypoint(view: View, { destination }: Pick<Waypoint, "destination">): ServiceName | undefined {
  if ("hostname" in destination) return destination;
  const [first] = view.read(servicesByAddress).get(`${destination.network}/${destination.address}`) ?? [];
  return first === undefined ? undefined : serviceText.read(first);
}
