/** Follows configuration and services on the bus, which may be unreachable at the start and later: the last known state is kept meanwhile. */
import { type Bus, connectWithHealth, filters, readSeal, subscribe } from "@flotilla/bus";
import type { ConfigChange } from "@flotilla/model";
import type { WebhookService } from "../settings.ts";
import type { MeshReviews } from "../watch/mesh-reviews.ts";
import type { MeshState } from "../watch/mesh-state.ts";
import type { ServedObjects } from "../watch/served-objects.ts";

/** Runs until the service stops. */
export async function followMesh(
  service: WebhookService,
  {
    mesh,
    reviews,
    served,
  }: { readonly mesh: MeshState; readonly reviews: MeshReviews; readonly served: ServedObjects },
): Promise<void> {
  const { name, settings, health, metrics, stop } = service;
  const { busUrl: url, busReplicas: replicas, sealKeyFile } = settings;
  const log = service.log.child({ part: "bus" });
  const seal = await readSeal(sealKeyFile);
  await using bus = await connectWithHealth({ url, replicas, clientName: name, seal, log, health, metrics }, stop);
  const onHeard = (): void => {
    health.setCondition("mesh", undefined);
    reviews.begin();
  };
  const onChange = (change: ConfigChange): void => {
    served.note(change);
    reviews.note(change);
  };
  const listener = { onHeard, onChange };
  await Promise.all([
    service.keepRunning("following the mesh", (until) => mesh.follow(bus, listener, until), log),
    service.keepRunning("following services", (until) => followServices(bus, reviews, until), log),
  ]);
}

async function followServices(bus: Bus, reviews: MeshReviews, stop: AbortSignal): Promise<void> {
  const options = { bus, filter: filters.services, afterSequence: 0, seal: undefined };
  for await (const item of subscribe(options, stop)) {
    if (item.kind === "caught-up") reviews.beginServices();
    if (item.kind !== "group") continue;
    for (const change of item.group.changes) if (change.type === "service") reviews.noteService(change);
  }
}
