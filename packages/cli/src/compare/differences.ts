/** Differences between the resources that two control planes send to a proxy, with the object that each comes from. Pure. */
import type { JsonObject, JsonValue } from "@flotilla/proto";
import { compareResources, parseRules } from "@flotilla/xds/compare";
import { behindFields, behindResource, type MadeFrom, nothingKnown } from "./objects.ts";
import type { Capture } from "./own-side.ts";

export interface FieldDifference {
  /** As Envoy's protojson has it: `virtualHosts[0].routes[1].route.timeout`. */
  readonly path: string;
  readonly istiod?: JsonValue;
  readonly flotilla?: JsonValue;
}

export interface ResourceDifference {
  /** `cds`, `rds` … */
  readonly type: string;
  readonly name: string;
  readonly outcome: "different" | "only istiod" | "only flotilla";
  /** `VirtualService/reviews.shop`, or the host of a service; undefined where the resource names nothing. */
  readonly object: string | undefined;
  readonly fields: readonly FieldDifference[];
}

export interface ProxyDifferences {
  readonly proxy: string;
  readonly resources: number;
  readonly identical: number;
  readonly differences: readonly ResourceDifference[];
}

/** Lists without an order in istiod itself, and a counter of the Kubernetes API. */
const rules = parseRules(`
**.ISTIO_META_WASM_PLUGIN_RESOURCE_VERSION
unordered eds/endpoints[*].lbEndpoints
unordered **.match.queryParameters
unordered **.match.dynamicMetadata
unordered wds/service.subjectAltNames
`);

/** Types that istiod does not answer are left out. */
export function differencesOf(
  proxy: string,
  istiod: Capture,
  flotilla: Capture,
  madeFrom: MadeFrom = nothingKnown,
): ProxyDifferences {
  const differences: ResourceDifference[] = [];
  let resources = 0;
  for (const [type, wanted] of istiod) {
    const got = flotilla.get(type) ?? new Map<string, JsonObject>();
    for (const name of [...new Set([...wanted.keys(), ...got.keys()])].sort()) {
      resources++;
      const found = differenceOf({ type, name }, wanted.get(name), got.get(name), madeFrom);
      if (found !== undefined) differences.push(found);
    }
  }
  return { proxy, resources, identical: resources - differences.length, differences };
}

function differenceOf(
  place: { readonly type: string; readonly name: string },
  want: JsonObject | undefined,
  got: JsonObject | undefined,
  madeFrom: MadeFrom,
): ResourceDifference | undefined {
  const { type, name } = place;
  const present = want ?? got;
  if (present === undefined) return undefined;
  if (want === undefined || got === undefined) {
    const outcome = got === undefined ? "only istiod" : "only flotilla";
    return { ...place, outcome, object: behindResource(place, present, madeFrom(type, name)), fields: [] };
  }
  const found = compareResources(type, want, got, rules);
  if (found.length === 0) return undefined;
  const fields = found.map(({ path, want: istiod, got: flotilla }) => ({
    path,
    ...(istiod !== undefined && { istiod }),
    ...(flotilla !== undefined && { flotilla }),
  }));
  const objects = madeFrom(type, name);
  const object = behindFields(fields, [want, got], objects) ?? behindResource(place, want, objects);
  return { ...place, outcome: "different", object, fields };
}
