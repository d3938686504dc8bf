/** The mesh over the bus, which may be away at the start and later; the rotation runs while the bus is there. */
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { Bus, Seal } from "@flotilla/bus";
import { keepRunning, orAborted } from "@flotilla/runtime";
import { type FollowedMesh, followMesh } from "../mesh/follow-mesh.ts";
import type { MeshTrust } from "../mesh/mesh-trust.ts";
import type { Rotation } from "../rotation/rotation.ts";
import type { CaService } from "../settings.ts";

/** The bus and the rotation, of which either may be there first: the rotation's root may be kept on the bus. */
export class BusLink {
  readonly #bus = Promise.withResolvers<Bus>();
  readonly #rotation = Promise.withResolvers<Rotation>();

  get bus(): Promise<Bus> {
    return this.#bus.promise;
  }

  get rotation(): Promise<Rotation> {
    return this.#rotation.promise;
  }

  setBus(bus: Bus): void {
    this.#bus.resolve(bus);
  }

  /** Its state is restored. */
  setRotation(rotation: Rotation): void {
    this.#rotation.resolve(rotation);
  }
}

export interface FleetParts {
  readonly trust: MeshTrust;
  /** The trust of an earlier life is known. */
  readonly isRestored: boolean;
  readonly sealing: Promise<Seal | undefined>;
  readonly link: BusLink;
}

export function followFleet(service: CaService, { trust, isRestored, sealing, link }: FleetParts): FollowedMesh {
  const { settings, health, metrics, failures, log, stop } = service;
  const { busUrl, busReplicas: replicas, clientCertificateDir: directory } = settings;
  const hasBusCertificate = directory === undefined || existsSync(join(directory, "tls.crt"));
  const rotating = { what: "rotation", log: log.child({ part: "rotation" }), failures, random: Math.random };
  const onBus = async (bus: Bus, ended: AbortSignal): Promise<void> => {
    link.setBus(bus);
    const rotation = await orAborted(link.rotation, ended);
    await keepRunning(() => rotation.run(bus, ended), rotating, ended);
  };
  const options = {
    ...{ trust, isRestored, hasBusCertificate, replicas, health, metrics, onBus },
    seal: sealing,
    log: log.child({ part: "bus" }),
  };
  return followMesh(busUrl, options, stop);
}
