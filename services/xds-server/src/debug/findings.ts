/** Conflicts and errors found while generating, with their objects. */
import type { Finding } from "@flotilla/incremental";

/** In the shape of istiod's push status: metric → object → message. Several about one object are joined. */
export function byMetric(
  findings: readonly Finding[],
): Readonly<Record<string, Readonly<Record<string, { readonly message: string }>>>> {
  const status = new Map<string, Map<string, { readonly message: string }>>();
  for (const { metric, object, message } of findings) {
    const objects = status.get(metric) ?? new Map<string, { readonly message: string }>();
    status.set(metric, objects);
    const known = objects.get(object)?.message;
    if (known === undefined) objects.set(object, { message });
    else if (!known.split("; ").includes(message)) objects.set(object, { message: `${known}; ${message}` });
  }
  return Object.fromEntries([...status].map(([metric, objects]) => [metric, Object.fromEntries(objects)]));
}
