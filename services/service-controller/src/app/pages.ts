/** The debug pages of service-controller, for callers who may see them. */
import { pageAccess, serveProcessPages } from "@flotilla/auth";
import type { PageReviewer } from "@flotilla/auth/cluster";
import type { ClusterRegistries } from "@flotilla/registry";
import type { HttpHandler } from "@flotilla/runtime";
import {
  clusterSetPage,
  clustersPage,
  digestsPage,
  endpointsPage,
  instancesPage,
  servicesPage,
} from "../debug/registry-pages.ts";
import type { RegistryService } from "../settings.ts";
import type { Inputs } from "./inputs.ts";
import type { ProblemReports } from "./problem-reports.ts";

export interface PageParts {
  readonly registry: ClusterRegistries;
  readonly inputs: Inputs;
  readonly problems: ProblemReports;
  readonly reviewer: PageReviewer | undefined;
}

export function serveDebugPages(
  { settings, health, log, pages }: RegistryService,
  { registry, inputs, problems, reviewer }: PageParts,
): void {
  const { debugAuth: isOn, workDir, systemNamespace: namespace, pageWriters: writers } = settings;
  const access = pageAccess({ isOn, workDir, namespace, writers, review: reviewer?.review, log });
  serveProcessPages(health, access, pages);
  for (const [path, answer] of Object.entries(registryPages({ registry, inputs, problems })))
    health.route("GET", `/debug/${path}`, access.read(answer));
}

/** By path below `/debug/`. */
export function registryPages({
  registry,
  inputs,
  problems,
}: Omit<PageParts, "reviewer">): Readonly<Record<string, HttpHandler>> {
  return {
    registryz: (request) => servicesPage(registry, request),
    endpointz: (request) => endpointsPage(registry, inputs.clusters(), Date.now(), request),
    instancesz: (request) => instancesPage(registry, request),
    clusterz: () => clustersPage(inputs.clusters(), Date.now()),
    mcsz: () => clusterSetPage(registry),
    digestz: () => digestsPage(inputs.audited),
    problems: () => ({ json: { problems: problems.list() } }),
  };
}
