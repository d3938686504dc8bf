/** Content of a service's health page, and a check that it is that service's page. */

export type Health =
  | { readonly state: "starting"; readonly detail: string }
  | { readonly state: "ready"; readonly detail: string }
  | { readonly state: "away"; readonly detail: string };

export interface Probed {
  readonly healthUrl: string;
  /** The process that must answer; any when undefined. */
  readonly pid?: number | undefined;
}

interface ReadyPage {
  readonly ready: boolean;
  readonly service?: string;
  readonly pid?: number;
  readonly conditions?:
    | Readonly<Record<string, string>>
    | readonly { readonly name: string; readonly detail: string }[];
}

export async function healthOf({ healthUrl, pid }: Probed): Promise<Health> {
  try {
    const response = await fetch(`${healthUrl}/ready`, { signal: AbortSignal.timeout(2_000) });
    const page = (await response.json()) as ReadyPage;
    if (pid !== undefined && page.pid !== pid)
      return { state: "away", detail: `${healthUrl} is answered by ${nameOf(page)}` };
    const detail = conditionsOf(page).join(", ");
    return page.ready ? { state: "ready", detail } : { state: "starting", detail };
  } catch {
    // No process listens yet, or any more: the caller reports which.
    return { state: "away", detail: "" };
  }
}

function nameOf({ service = "another program", pid }: ReadyPage): string {
  return pid === undefined ? service : `process ${pid} (${service} of another control plane)`;
}

function conditionsOf({ conditions = [] }: ReadyPage): readonly string[] {
  if (Array.isArray(conditions)) return conditions.map(({ name, detail }) => `${name}: ${detail}`);
  return Object.entries(conditions).map(([name, detail]) => `${name}: ${detail}`);
}
