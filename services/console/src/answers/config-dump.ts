/** The resources of a config dump by type and name: Envoy's form has a shape of its own for each type. */

import { ownValue } from "@flotilla/model";

export interface DumpedResource {
  readonly type: string;
  readonly name: string;
  readonly content: unknown;
}

/** Types that are compared, as `?types=` of `/debug/config_dump` takes them. */
export const dumpedTypes = "cds,lds,srds,rds,sds,ecds,eds";

type Fields = Readonly<Record<string, unknown>>;

interface Form {
  readonly type: string;
  /** The list, and the resource within each of its elements. */
  readonly list: string;
  readonly resource: readonly string[];
  /** Field of the resource that names it. */
  readonly name: string;
}

const forms: readonly Form[] = [
  { type: "cds", list: "dynamicActiveClusters", resource: ["cluster"], name: "name" },
  { type: "lds", list: "dynamicListeners", resource: ["activeState", "listener"], name: "name" },
  { type: "rds", list: "dynamicRouteConfigs", resource: ["routeConfig"], name: "name" },
  { type: "eds", list: "dynamicEndpointConfigs", resource: ["endpointConfig"], name: "clusterName" },
  { type: "sds", list: "dynamicActiveSecrets", resource: ["secret"], name: "name" },
  { type: "ecds", list: "ecdsFilters", resource: ["ecdsFilter"], name: "name" },
];

/** By type and name. Entries of another form are left out. */
export function dumpedResources(dump: unknown): ReadonlyMap<string, DumpedResource> {
  const parts = listIn(dump, "configs");
  const found = parts.flatMap((part) => [...forms.flatMap((form) => resourcesIn(part, form)), ...scopesIn(part)]);
  return new Map(found.map((one) => [`${one.type} ${one.name}`, one]));
}

function resourcesIn(part: unknown, { type, list, resource, name }: Form): readonly DumpedResource[] {
  return listIn(part, list).map((entry) => {
    const content = resource.reduce<unknown>((at, field) => (isFields(at) ? ownValue(at, field) : undefined), entry);
    return { type, name: isFields(content) ? String(ownValue(content, name) ?? "") : "", content };
  });
}

function scopesIn(part: unknown): readonly DumpedResource[] {
  return listIn(part, "dynamicScopedRouteConfigs")
    .flatMap((entry) => listIn(entry, "scopedRouteConfigs"))
    .map((content) => ({ type: "srds", name: isFields(content) ? String(content["name"] ?? "") : "", content }));
}

function listIn(value: unknown, field: string): readonly unknown[] {
  const list = isFields(value) ? ownValue(value, field) : undefined;
  return Array.isArray(list) ? list : [];
}

function isFields(value: unknown): value is Fields {
  return typeof value === "object" && value !== null;
}
