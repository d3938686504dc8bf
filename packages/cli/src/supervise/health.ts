/** What a service's health page says. */
import type { RunningService } from "./child-service.ts";

export type Health =
  | { readonly state: "starting"; readonly detail: string }
  | { readonly state: "ready"; readonly detail: string }
  | { readonly state: "away"; readonly detail: string };

interface ReadyPage {
  readonly ready: boolean;
  readonly conditions?:
    | Readonly<Record<string, string>>
    | readonly { readonly name: string; readonly detail: string }[];
}

export async function healthOf({ healthUrl }: Pick<RunningService, "healthUrl">): Promise<Health> {
  try {
    const response = await fetch(`${healthUrl}/ready`, { signal: AbortSignal.timeout(2_000) });
    const page = (await response.json()) as ReadyPage;
    const detail = conditionsOf(page).join(", ");
    return page.ready ? { state: "ready", detail } : { state: "starting", detail };
  } catch {
    // Nobody listens yet, or any more: the caller tells which.
    return { state: "away", detail: "" };
  }
}

function conditionsOf({ conditions = [] }: ReadyPage): readonly string[] {
  if (Array.isArray(conditions)) return conditions.map(({ name, detail }) => `${name}: ${detail}`);
  return Object.entries(conditions).map(([name, detail]) => `${name}: ${detail}`);
}
