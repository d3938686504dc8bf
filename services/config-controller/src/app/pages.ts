/** The debug pages of config-controller, for callers who may see them. */
import { pageAccess, serveProcessPages } from "@flotilla/auth";
import type { PageReviewer } from "@flotilla/auth/cluster";
import { delay, type Health, type HttpHandler } from "@flotilla/runtime";
import { listIgnored, listProblems } from "../debug/problems.ts";
import { recentPage } from "../debug/recent.ts";
import type { PublishedConfig } from "../follow/published-config.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { diffPage, generationPage, generationsPage, historyPage } from "../ledger/ledger-pages.ts";
import type { ConfigService } from "../settings.ts";
import { objectDetailPage, objectRowsPage } from "../status/object-rows.ts";
import type { RunningStatus } from "../status/open-status.ts";
import { rejectionsPage } from "../status/rejection-groups.ts";
import type { ConfigSource } from "../watch/config-source.ts";
import type { View } from "./view.ts";

interface PageParts {
  readonly view: View;
  readonly status: RunningStatus;
  readonly ledger: Ledger;
  readonly published: PublishedConfig;
  readonly reviewer: PageReviewer | undefined;
}

export function serveDebugPages(
  { settings, health, log, pages }: ConfigService,
  { view: { sources, store }, status, ledger, published, reviewer }: PageParts,
): void {
  const { debugAuth: isOn, workDir, namespace, pageWriters: writers } = settings;
  const review = reviewer?.review;
  const access = pageAccess({ isOn, workDir, namespace, writers, review, log });
  // Accounts that may write objects may write here.
  const { caller } = pageAccess({ isOn, workDir, namespace, writers: settings.apiWriters, review, log });
  serveProcessPages(health, { ...access, caller }, pages);
  const page = (path: string, handler: HttpHandler) => health.route("GET", `/debug/${path}`, access.read(handler));
  page("problems", () => ({ json: { problems: listProblems(sources, store), ignored: listIgnored(sources) } }));
  page("configz", () => ({ json: { objects: store.all().filter(isOpen) } }));
  page("objects", status.page);
  const { statuses, distributions } = status;
  const generation = () => published.position;
  page("object_rows", objectRowsPage(statuses, generation));
  page(
    "object",
    objectDetailPage(statuses, (key) => ledger.present(key), published),
  );
  page("rejections", rejectionsPage(distributions));
  page("recent", recentPage({ generation, ledger, statuses, distributions }));
  page("history", historyPage(ledger));
  page("generations", generationsPage(ledger));
  page("generation", generationPage(ledger));
  page("diff", diffPage(ledger));
}

/** Debug pages show no keys. */
function isOpen({ key }: { readonly key: { readonly kind: string } }): boolean {
  return key.kind !== "Secret";
}

const lookMs = 500;

/** Sets the conditions of the sources: some count only while they are near. Runs until `stop`. */
export async function watchConditions(
  sources: readonly ConfigSource[],
  health: Pick<Health, "setCondition">,
  stop: AbortSignal,
): Promise<void> {
  const watched = sources.filter(({ condition }) => condition !== undefined);
  while (watched.length > 0 && !stop.aborted) {
    for (const source of watched) {
      const condition = source.condition?.();
      health.setCondition(source.name, condition?.detail, { blocks: condition?.blocks ?? false });
    }
    await delay(lookMs, stop);
  }
}
