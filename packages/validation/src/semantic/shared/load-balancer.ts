/** How endpoints are chosen: consistent hashing, localities, warm-up. Of DestinationRules and the mesh's defaults. */
import type { Problem } from "../../problem.ts";
import {
  entries,
  type Field,
  field,
  isSet,
  items,
  numberOf,
  refuseIf,
  repeated,
  textOf,
  texts,
  warnIf,
} from "./field.ts";
import { headerNameProblems } from "./http-headers.ts";
import { quoted } from "./names.ts";
import { durationMs, durationProblems } from "./values.ts";

/** Nothing for absent settings. `ejects` is whether the policy has outlier detection, without which no failover happens. */
export function loadBalancerProblems(balancer: Field, ejects: boolean): readonly Problem[] {
  const locality = field(balancer, "localityLbSetting");
  const zone = field(balancer, "zoneAwareLbSetting");
  return [
    ...hashProblems(field(balancer, "consistentHash")),
    ...refuseIf(isSet(locality) && isSet(zone), zone, "must not be set beside localityLbSetting"),
    ...localityProblems(locality, ejects),
    ...zoneAwareProblems(zone, ejects),
    ...warmupProblems(field(balancer, "warmup")),
  ];
}

/** Of Envoy's ring, and the table of Maglev. */
const maxRingSize = 8_388_608;
const maxTableSize = 5_000_010;

function hashProblems(hash: Field): readonly Problem[] {
  const oldSize = field(hash, "minimumRingSize");
  const ring = field(hash, "ringHash");
  const maglev = field(hash, "maglev");
  const hasBoth = numberOf(oldSize) !== 0 && (isSet(ring) || isSet(maglev));
  return [
    ...["httpHeaderName", "httpQueryParameterName"].map((name) => field(hash, name)).flatMap(nameProblems),
    ...cookieProblems(field(hash, "httpCookie")),
    ...warnIf(numberOf(oldSize) !== 0, oldSize, "is deprecated, write ringHash.minimumRingSize"),
    ...refuseIf(hasBoth, oldSize, "must not be set beside ringHash or maglev"),
    ...[oldSize, field(ring, "minimumRingSize")].flatMap((size) =>
      refuseIf(
        numberOf(size) > maxRingSize,
        size,
        `${numberOf(size)} is more than ${maxRingSize}, Envoy's largest ring`,
      ),
    ),
    ...(isSet(maglev) ? tableSizeProblems(field(maglev, "tableSize")) : []),
  ];
}

function nameProblems(name: Field): readonly Problem[] {
  return isSet(name) ? headerNameProblems(textOf(name), name) : [];
}

function cookieProblems(cookie: Field): readonly Problem[] {
  if (!isSet(cookie)) return [];
  const ttl = field(cookie, "ttl");
  const attributes = items(cookie, "attributes").map((attribute) => field(attribute, "name"));
  return [
    ...headerNameProblems(textOf(field(cookie, "name")), field(cookie, "name")),
    ...refuseIf(isSet(ttl) && (durationMs(textOf(ttl)) ?? -1) < 0, ttl, "must be a duration that is not negative"),
    ...attributes.flatMap((name) => refuseIf(textOf(name) === "", name, "must not be empty")),
    ...repeated(attributes, textOf).flatMap((name) => refuseIf(textOf(name) !== "", name, "is set twice")),
  ];
}

function tableSizeProblems(size: Field): readonly Problem[] {
  const number = numberOf(size);
  return [
    ...refuseIf(number > maxTableSize, size, `${number} is more than ${maxTableSize}, Envoy's largest table`),
    ...refuseIf(
      number <= maxTableSize && !isPrime(number),
      size,
      `${number} is no prime number, which the size of a table is`,
    ),
  ];
}

function isPrime(number: number): boolean {
  if (number < 4) return number > 0;
  if (number % 2 === 0) return false;
  for (let factor = 3; factor * factor <= number; factor += 2) if (number % factor === 0) return false;
  return true;
}

const topologyLabels: readonly string[] = [
  ...["topology.kubernetes.io/region", "topology.kubernetes.io/zone", "topology.istio.io/subzone"],
];

/** Shares of localities, or where traffic goes when a region fails. */
export function localityProblems(setting: Field, ejects: boolean): readonly Problem[] {
  const shares = items(setting, "distribute");
  const failover = items(setting, "failover");
  const priority = texts(setting, "failoverPriority");
  const clashing = failover.length > 0 ? priority.filter(({ value }) => topologyLabels.includes(value)) : [];
  return [
    ...refuseIf(
      shares.length > 0 && failover.length > 0,
      field(setting, "failover"),
      "must not be set beside distribute",
    ),
    ...clashing.flatMap((one) => refuseIf(true, one, `${one.value} must not be set beside failover`)),
    ...shares.flatMap(shareProblems),
    ...localityListProblems(shares.map((share) => field(share, "from"))),
    ...failoverProblems(setting, ejects),
  ];
}

/** Zone-aware balancing prefers the own region and zone already: only the order of other regions can be set. */
export function zoneAwareProblems(setting: Field, ejects: boolean): readonly Problem[] {
  return [
    ...texts(setting, "failoverPriority").flatMap((one) =>
      refuseIf(
        topologyLabels.includes(one.value),
        one,
        `${one.value} is followed already: zones and regions need no priority`,
      ),
    ),
    ...failoverProblems(setting, ejects),
  ];
}

function failoverProblems(setting: Field, ejects: boolean): readonly Problem[] {
  const failover = items(setting, "failover");
  const isUsed = failover.length > 0 || items(setting, "failoverPriority").length > 0;
  return [
    ...warnIf(
      isUsed && !ejects,
      setting,
      "has no effect without outlierDetection, which finds the endpoints that fail",
    ),
    ...failover.flatMap((one) => {
      const [from, to] = ["from", "to"].map((name) => textOf(field(one, name)));
      const both = `${from}${to}`;
      return [
        ...refuseIf(from === to, one, "from and to are the same region"),
        ...refuseIf(both.includes("/"), one, "names regions only, no zones"),
        ...refuseIf(both.includes("*"), one, "names regions, * is no wildcard"),
      ];
    }),
  ];
}

function shareProblems(share: Field): readonly Problem[] {
  const to = entries(share, "to");
  const weights = to.map(([, weight]) => numberOf(weight));
  const total = weights.reduce((sum, weight) => sum + weight, 0);
  return [
    ...to.flatMap(([, weight]) =>
      refuseIf(numberOf(weight) < 1 || numberOf(weight) > 100, weight, "a weight is in range 1..100"),
    ),
    ...refuseIf(total !== 100, field(share, "to"), `the weights make ${total}, not 100`),
    ...localityListProblems(to.map(([locality, { path }]) => ({ value: locality, path }))),
  ];
}

/** Localities of one list: `region/zone/subzone` with `*` at the end, none of which is part of another. */
function localityListProblems(localities: readonly Field[]): readonly Problem[] {
  const taken = new Set<string>();
  // Ancestors of a locality that is taken: a region of which a zone is.
  const above = new Set<string>();
  return localities.flatMap((locality) => {
    const text = textOf(locality);
    if (/\*./.test(text)) return refuseIf(true, locality, `${text}: * stands at the end only`);
    const [region = "", zone, ...rest] = text.split("/");
    const parts = [region, ...(zone === undefined ? [] : [zone]), ...(rest.length === 0 ? [] : [rest.join("/")])];
    if (parts.includes("")) return refuseIf(true, locality, `${quoted(text)} is not of the form REGION/ZONE/SUBZONE`);
    const own = parts.at(-1) === "*" ? parts.slice(0, -1) : parts;
    const levels = [...own.keys(), own.length].map((count) => own.slice(0, count).join("/"));
    const other = levels.find((level) => taken.has(level));
    const isAbove = own.length === parts.length && above.has(own.join("/"));
    taken.add(own.join("/"));
    for (const level of levels.slice(0, -1)) above.add(level);
    return refuseIf(other !== undefined || isAbove, locality, `${text} overlaps with one that stands before it`);
  });
}

function warmupProblems(warmup: Field): readonly Problem[] {
  if (!isSet(warmup)) return [];
  const duration = field(warmup, "duration");
  const percent = field(warmup, "minimumPercent");
  const aggression = field(warmup, "aggression");
  return [
    ...refuseIf(!isSet(duration), duration, "is required"),
    ...durationProblems(duration),
    ...refuseIf(numberOf(percent) > 100, percent, `percentage ${numberOf(percent)} is more than 100`),
    ...refuseIf(isSet(aggression) && numberOf(aggression) <= 0, aggression, "must be more than 0"),
  ];
}
