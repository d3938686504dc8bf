/** Connects service-controller with the fleet: its certificate and the bus. */
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { type Bus, connectWithHealth, filters, readSeal, subscribe } from "@flotilla/bus";
import { type Service, serviceKeyText } from "@flotilla/model";
import type { RegistryService } from "../settings.ts";

interface Connection extends AsyncDisposable {
  readonly bus: Bus;
}

/** Waits for a bus that is away. @throws the reason of the service's signal */
export async function connect({ name, settings, health, metrics, log, stop }: RegistryService): Promise<Connection> {
  const { busUrl: url, busReplicas: replicas, systemNamespace: namespace, healthPort: port } = settings;
  await using opened = new AsyncDisposableStack();
  opened.use(keepOwnCertificate({ settings, namespace, serviceAccount: `flotilla-${name}`, port, log }));
  const seal = await readSeal(settings.sealKeyFile);
  const bus = opened.use(
    await connectWithHealth({ url, replicas, clientName: name, seal, log, health, metrics }, stop),
  );
  const owned = opened.move();
  return { bus, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}

/**
 * Services that have an address of the mesh's own on the fleet's stream: an assigned address is not assigned anew. Waits for a bus that is
 * away.
 */
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
