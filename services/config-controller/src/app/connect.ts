/** Connects config-controller with the fleet: the seal of Secrets, its certificate, and the bus. */
import { keepOwnCertificate, type OwnCertificate } from "@flotilla/auth/serving";
import { type Bus, connectWithHealth, readSeal, type Seal } from "@flotilla/bus";
import { serviceAccount } from "../api/certificate.ts";
import type { ConfigService } from "../settings.ts";

export interface Connection extends AsyncDisposable {
  /** Without one, Secrets are held back. */
  readonly seal: Seal | undefined;
  readonly certificate: OwnCertificate;
  readonly bus: Bus;
}

/** Waits for a bus that is away. @throws the reason of the service's signal */
export async function connect({ name, settings, health, metrics, log, stop }: ConfigService): Promise<Connection> {
  const { busUrl: url, busReplicas: replicas, namespace, healthPort: port } = settings;
  await using opened = new AsyncDisposableStack();
  const seal = await readSeal(settings.sealKeyFile);
  if (seal === undefined) health.setCondition("seal", "SEAL_KEY_FILE is not set: Secrets are held back");
  const names = settings.apiPort === undefined ? [] : ["localhost"];
  const certificate = opened.use(keepOwnCertificate({ settings, namespace, serviceAccount, port, log, names }));
  const bus = opened.use(
    await connectWithHealth({ url, replicas, clientName: name, seal, log, health, metrics }, stop),
  );
  const owned = opened.move();
  return { seal, certificate, bus, [Symbol.asyncDispose]: () => owned.disposeAsync() };
}
