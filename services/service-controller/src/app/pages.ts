/** The debug pages of service-controller, for callers who may see them. */
import { pageAccess, serveProcessPages } from "@flotilla/auth";
import type { PageReviewer } from "@flotilla/auth/cluster";
import type { ClusterRegistries } from "@flotilla/registry";
import type { HttpHandler } from "@flotilla/runtime";
import { clustersPage, digestsPage, endpointsPage, instancesPage, servicesPage } from "../debug/registry-pages.ts";
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
  const page = (path: string, answer: HttpHandler) => health.route("GET", `/debug/${path}`, access.read(answer));
  page("registryz", (request) => servicesPage(registry, request));
  page("endpointz", (request) => endpointsPage(registry, inputs.clusters(), Date.now(), request));
  page("instancesz", (request) => instancesPage(registry, request));
  page("clusterz", () => clustersPage(inputs.clusters(), Date.now()));
  page("digestz", () => digestsPage(inputs.audited));
  page("problems", () => ({ json: { problems: problems.list() } }));
}
