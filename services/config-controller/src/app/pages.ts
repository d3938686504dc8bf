/** The debug pages of config-controller, for callers who may see them. */
import { pageAccess } from "@flotilla/auth";
import type { HttpHandler } from "@flotilla/runtime";
import { listIgnored, listProblems } from "../debug/problems.ts";
import type { Ledger } from "../ledger/ledger.ts";
import { diffPage, generationPage, historyPage } from "../ledger/ledger-pages.ts";
import type { ConfigService } from "../settings.ts";
import type { RunningStatus } from "../status/open-status.ts";
import type { View } from "./view.ts";

export interface PageParts {
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
