/** All debug pages, served over HTTP at istiod's paths. */
import type { Health, HttpHandler, HttpReply } from "@flotilla/runtime";
import { ambientPage } from "./ambient-page.ts";
import { instancesPage } from "./instances-page.ts";
import { type MeshPageSources, meshPages } from "./mesh-pages.ts";
import { type DebugPage, plain } from "./page.ts";
import { type ProxyPageSources, proxyPages } from "./proxy-pages.ts";
import { type SnapshotPageSources, snapshotPages } from "./snapshot-pages.ts";
import { type AccessRules, type Refusal, type Viewer, viewerOfRequest } from "./viewer.ts";

export interface PageOptions {
  /** Pages that take effect are served only then. */
  readonly allowUnsafe: boolean;
}

export function debugPages(
  sources: ProxyPageSources & MeshPageSources & SnapshotPageSources,
  further: readonly DebugPage[],
  { allowUnsafe }: PageOptions,
): readonly DebugPage[] {
  const pages = [
    ...proxyPages(sources),
    ...snapshotPages(sources),
    ...meshPages(sources),
    ambientPage(sources.core),
    instancesPage(sources),
    ...further,
  ];
  const served = pages.filter(({ isUnsafe }) => isUnsafe !== true || allowUnsafe);
  const list: DebugPage = {
    path: "list",
    help: "the names of these pages",
    scope: "namespace",
    answer: () => ({ json: [...served.map(({ path }) => path), "list"].sort() }),
  };
  return [...served, list];
}

export function serveDebugPages(health: Pick<Health, "route">, pages: readonly DebugPage[], rules: AccessRules): void {
  for (const page of pages) {
    const handler: HttpHandler = async (request) => {
      const viewer = await viewerOfRequest(request, rules);
      const outcome = "refused" in viewer ? viewer : await answerPage(page, request.query, viewer);
      return "refused" in outcome ? httpRefusal(outcome) : outcome;
    };
    health.route("GET", `/debug/${page.path}`, handler);
  }
  const index = pages.map(({ path, help }) => `/debug/${path}\n    ${help}\n`).sort();
  health.route("GET", "/debug", () => ({ text: index.join("") }));
}

/** The same for every way to ask. */
export async function answerPage(
  page: DebugPage,
  query: URLSearchParams,
  viewer: Viewer,
): Promise<HttpReply | Refusal> {
  if (page.scope === "mesh" && viewer.namespace !== undefined) {
    const message = `/debug/${page.path} shows the whole mesh: callers of namespace ${viewer.namespace} may not see it`;
    return { refused: "denied", message };
  }
  return page.answer({ path: page.path, query, viewer });
}

function httpRefusal({ refused, message }: Refusal): HttpReply {
  return plain(refused === "unauthenticated" ? 401 : refused === "denied" ? 403 : 400, message);
}
