/** What the schema of a DestinationRule cannot express. A hash without a name makes Envoy refuse all routes of a port. */
import { isObject, ownValue } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { each, hostLengthProblems, refuse } from "./checks.ts";
import { headerNameProblems } from "./http-headers.ts";

export function validateDestinationRule({ spec }: JsonObject): readonly Problem[] {
  if (!isObject(spec)) return [];
  return [
    ...hostLengthProblems(spec["host"], "spec.host"),
    ...policyProblems(spec["trafficPolicy"], "spec.trafficPolicy"),
    ...each(spec, "subsets", "spec").flatMap(([subset, path]) =>
      policyProblems(subset["trafficPolicy"], `${path}.trafficPolicy`),
    ),
  ];
}

function policyProblems(policy: unknown, path: string): readonly Problem[] {
  if (!isObject(policy)) return [];
  const settings: readonly (readonly [JsonObject, string])[] = [
    [policy, path],
    ...each(policy, "portLevelSettings", path),
  ];
  return settings.flatMap(([one, at]) => [
    ...hashProblems(one["loadBalancer"], `${at}.loadBalancer`),
    ...percentProblems(one["outlierDetection"], `${at}.outlierDetection`),
  ]);
}

function hashProblems(balancer: unknown, path: string): readonly Problem[] {
  const hash = isObject(balancer) ? balancer["consistentHash"] : undefined;
  if (!isObject(hash)) return [];
  const at = `${path}.consistentHash`;
  const cookie = hash["httpCookie"];
  return [
    ...["httpHeaderName", "httpQueryParameterName"].flatMap((name) =>
      nameProblems(ownValue(hash, name), `${at}.${name}`),
    ),
    ...(isObject(cookie) ? cookieProblems(cookie, `${at}.httpCookie`) : []),
  ];
}

function cookieProblems({ name = "", ttl }: JsonObject, path: string): readonly Problem[] {
  const isNegative = typeof ttl === "string" && ttl.startsWith("-");
  return [
    ...nameProblems(name, `${path}.name`),
    ...(isNegative ? [refuse(`${path}.ttl`, "a cookie does not live less than no time")] : []),
  ];
}

function nameProblems(name: unknown, field: string): readonly Problem[] {
  return typeof name === "string" ? headerNameProblems(name, field) : [];
}

function percentProblems(detection: unknown, path: string): readonly Problem[] {
  if (!isObject(detection)) return [];
  return ["maxEjectionPercent", "minHealthPercent"].flatMap((name) => {
    const value = ownValue(detection, name);
    if (typeof value !== "number" || (value >= 0 && value <= 100)) return [];
    return [refuse(`${path}.${name}`, `percentage ${value} is not in range 0..100`)];
  });
}
