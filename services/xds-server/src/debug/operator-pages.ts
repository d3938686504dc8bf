/** Pages for operators: who the caller is, and the settings and log levels of this process. */
import { callerOfRequest } from "@flotilla/auth";
import type { Health, HttpHandler, HttpReply, HttpRequest, ProcessPages } from "@flotilla/runtime";
import { answerPage } from "./pages.ts";
import { type AccessRules, viewerOf, viewerOfRequest } from "./viewer.ts";

export interface OperatorPageOptions {
  readonly rules: AccessRules;
  readonly pages: ProcessPages;
  /** Service accounts that may change log levels, as `namespace/name`. */
  readonly writers: readonly string[];
}

export function serveOperatorPages(
  health: Pick<Health, "route">,
  { rules, pages, writers }: OperatorPageOptions,
): void {
  const settings = { path: "settings", help: "the settings and log levels in effect", scope: "mesh" } as const;
  const settingsPage: HttpHandler = async (request) => {
    const viewer = await viewerOfRequest(request, rules);
    if ("refused" in viewer) return refusal(viewer.refused === "unauthenticated" ? 401 : 403, viewer.message);
    const reply = await answerPage({ ...settings, answer: () => pages.settings(request) }, request.query, viewer);
    return "refused" in reply ? refusal(403, reply.message) : reply;
  };
  health.route("GET", "/debug/caller", (request) => callerPage(request, rules, writers));
  health.route("GET", "/debug/settings", settingsPage);
  health.route("PUT", "/debug/levels", async (request) => {
    const caller = await callerOfRequest(request, rules.authenticator);
    if (caller === undefined) return refusal(401, "log levels are changed by callers who prove who they are");
    if (!writers.includes(caller.account)) return refusal(403, `${caller.account} may not change log levels here`);
    return pages.setLevel(request);
  });
}

/** `onlyNamespace` where the caller sees what is of its namespace; callers without a proof are refused even where pages ask for none. */
async function callerPage(request: HttpRequest, rules: AccessRules, writers: readonly string[]): Promise<HttpReply> {
  const caller = await callerOfRequest(request, rules.authenticator);
  if (caller === undefined) return refusal(401, "the token proves no identity");
  const { account, identities } = caller;
  const viewer = viewerOf(identities, rules);
  if ("refused" in viewer) return refusal(401, viewer.message);
  const { namespace: onlyNamespace } = viewer;
  return {
    json: { account, mayWrite: writers.includes(account), ...(onlyNamespace !== undefined && { onlyNamespace }) },
  };
}

function refusal(status: number, error: string): HttpReply {
  return { status, json: { error } };
}
