/**
 * service-controller: reads registries, publishes services and endpoints.
 *
 * The composition root: resources are acquired from top to bottom and released from bottom to top. `app/` has the wiring of each area.
 */
import { openPageReviewer } from "@flotilla/auth/cluster";
import { ClusterRegistries } from "@flotilla/registry";
import { startService } from "@flotilla/runtime";
import manifest from "../package.json" with { type: "json" };
import { connect, publishedAddresses } from "./app/connect.ts";
import { openInputs } from "./app/inputs.ts";
import { openWriters } from "./app/kubernetes-writers.ts";
import { serveDebugPages } from "./app/pages.ts";
import { ProblemReports } from "./app/problem-reports.ts";
import { createPublishing } from "./app/publishing.ts";
import { declareMetrics } from "./metrics.ts";
import { type RegistryService, readSettings, settings as table } from "./settings.ts";

/** Resolves after `stop` fires and everything is released; rejects with the first failure. */
export async function main(env: Readonly<Record<string, string | undefined>>, stop: AbortSignal): Promise<void> {
  const { version } = manifest;
  await startService(
    { name: "service-controller", version, settings: readSettings(env), table, processMetrics: true },
    run,
    stop,
  );
}

async function run(service: RegistryService): Promise<void> {
  const { settings, health, stop } = service;
  const metrics = declareMetrics(service.metrics);
  await using connection = await connect(service);
  const { bus } = connection;

  const registry = new ClusterRegistries(settings);
  for (const published of await publishedAddresses(bus, stop)) registry.remember(published);
  const problems = new ProblemReports(service, { registry, refused: metrics.refused });
  await using inputs = await openInputs(service, { bus, problems, metrics });
  using writers = openWriters(service, { bus, registry, inputs, problems });
  using reviewer = await openPageReviewer(settings);
  serveDebugPages(service, { registry, inputs, problems, reviewer });

  const publishing = createPublishing(service, { bus, registry, inputs, metrics });
  const whenSettled = async (): Promise<void> => {
    await publishing.settled;
    if (stop.aborted) return;
    health.markReady();
    // Before everything is read, machines would look gone.
    await writers?.run();
  };
  await service.runParts([publishing.run(), problems.run(), whenSettled()]);
}
