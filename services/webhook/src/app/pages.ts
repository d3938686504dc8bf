/** The debug pages of webhook, for callers who may see them. */
import type { PageAccess } from "@flotilla/auth";
import type { InjectionConfigSource } from "@flotilla/injection";
import type { Health, HttpReply } from "@flotilla/runtime";

/** By path below `/debug/`. */
export function injectionPages({
  current,
}: Pick<InjectionConfigSource, "current">): Readonly<Record<string, () => HttpReply>> {
  return {
    /** The text of each template in use, by its name. */
    inject: () => ({ json: current().templateTexts }),
  };
}

export function serveInjectionPages(
  health: Pick<Health, "route">,
  access: PageAccess,
  injection: Pick<InjectionConfigSource, "current">,
): void {
  for (const [path, answer] of Object.entries(injectionPages(injection)))
    health.route("GET", `/debug/${path}`, access.read(answer));
}
