/** Conflicts and errors found while generating, with their objects. */
import type { Finding } from "@flotilla/incremental";

/** In the shape of istiod's push status: metric → object → message. Several about one object are joined. */
export function byMetric(
  findings: readonly Finding[],
): Readonly<Record<string, Readonly<Record<string, { readonly message: string }>>>> {
  const status: Record<string, Record<string, { message: string }>> = {};
  for (const { metric, object, message } of findings) {
    status[metric] ??= {};
    const objects = status[metric] ?? {};
    const known = objects[object]?.message;
    if (known === undefined) objects[object] = { message };
    else if (!known.split("; ").includes(message)) objects[object] = { message: `${known}; ${message}` };
  }
  return status;
}
