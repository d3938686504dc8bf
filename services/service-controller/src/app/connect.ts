/** What connects service-controller with the fleet: its certificate and the bus. */
import { keepOwnCertificate } from "@flotilla/auth/serving";
import { type Bus, connectWithHealth, readSeal } from "@flotilla/bus";
import type { RegistryService } from "../settings.ts";

export interface Connection extends AsyncDisposable {
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
