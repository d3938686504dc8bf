/** Credentials of the services for a NATS server that is started beside them: an NKey each, whose seed only its service has. */
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { nkeys } from "nats";
import { type BusService, type BusUser, busServices } from "./access.ts";

export interface BusCredentials {
  /** For the server's configuration: public keys. */
  readonly users: readonly BusUser[];
  /** The server's address for a service, which names the file of its seed. */
  urlFor(service: BusService, url: string): string;
}

/** New ones, in place of those that the directory had. */
export function createBusCredentials(directory: string): BusCredentials {
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  const fileOf = (service: BusService): string => join(directory, `${service}.nkey`);
  const users = busServices.map((service) => {
    const pair = nkeys.createUser();
    writeFileSync(fileOf(service), pair.getSeed(), { mode: 0o600 });
    return { service, identity: { nkey: pair.getPublicKey() } };
  });
  return { users, urlFor: (service, url) => `${url}?nkey=${encodeURIComponent(fileOf(service))}` };
}
