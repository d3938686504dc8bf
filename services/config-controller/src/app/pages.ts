/** The debug pages of config-controller, for callers who may see them. */
import { pageAccess } from "@flotilla/auth";
import { delay, type Health, type HttpHandler } from "@flotilla/runtime";
import { listIgnored, listProblems } from "../debug/problems.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { diffPage, generationPage, historyPage } from "../ledger/ledger-pages.ts";
import type { ConfigService } from "../settings.ts";
import type { RunningStatus } from "../status/open-status.ts";
import type { ConfigSource } from "../watch/config-source.ts";
import type { View } from "./view.ts";

interface PageParts {
  readonly view: View;
  readonly status: RunningStatus;
  readonly ledger: Ledger;
}

export function serveDebugPages(
  { settings, health, log }: ConfigService,
  { view: { sources, store }, status, ledger }: PageParts,
): void {
  const { debugAuth: isOn, workDir, namespace } = settings;
  const guarded = pageAccess({ isOn, workDir, namespace, log });
  const page = (path: string, handler: HttpHandler) => health.route("GET", `/debug/${path}`, guarded(handler));
  page("problems", () => ({ json: { problems: listProblems(sources, store), ignored: listIgnored(sources) } }));
  page("configz", () => ({ json: { objects: store.all().filter(isOpen) } }));
  page("objects", status.page);
  page("history", historyPage(ledger));
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
