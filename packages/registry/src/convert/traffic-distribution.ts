/** The field of the Service wins over its annotation, and that over the annotation of its namespace. */
import type { Service } from "@flotilla/model";

const annotation = "networking.istio.io/traffic-distribution";
type Distribution = NonNullable<Service["trafficDistribution"]>;
type Annotations = Readonly<Record<string, string>>;

const byName: ReadonlyMap<string, Distribution> = new Map([
  ["preferclose", "PreferSameZone"],
  ["prefersamezone", "PreferSameZone"],
  ["prefersamenode", "PreferSameNode"],
]);

export function trafficDistribution(
  field: string | undefined,
  own: Annotations = {},
  ofNamespace: Annotations = {},
): Distribution | undefined {
  return (
    byName.get(field?.toLowerCase() ?? "") ??
    byName.get((own[annotation] || ofNamespace[annotation] || "").toLowerCase())
  );
}
