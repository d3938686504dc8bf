/** Services that have got an address of the mesh's own, as the fleet knows them: what was given once is not given anew. */
import { type Bus, filters, subscribe } from "@flotilla/bus";
import { type Service, serviceKeyText } from "@flotilla/model";

/** Waits for a bus that is away. */
export async function publishedAddresses(bus: Bus, stop: AbortSignal): Promise<readonly Service[]> {
  const services = new Map<string, Service>();
  const options = { bus, filter: filters.services, afterSequence: 0, seal: undefined };
  for await (const item of subscribe(options, stop)) {
    if (item.kind === "caught-up") break;
    if (item.kind === "reset") services.clear();
    if (item.kind !== "group") continue;
    for (const change of item.group.changes) {
      if (change.type !== "service") continue;
      const text = serviceKeyText(change.key);
      if (change.op === "put" && change.value.autoAllocatedIpv4 !== undefined) services.set(text, change.value);
      else services.delete(text);
    }
  }
  return [...services.values()];
}
