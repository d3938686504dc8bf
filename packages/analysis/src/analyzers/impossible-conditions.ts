/** Conditions of routes and policies that no request can meet. */
import { entries, type Field, field, isSet, items, numberOf, textOf, texts } from "@flotilla/validation/field";
import type { Analyzer, Mesh } from "../analyzer.ts";
import { type Finding, finding } from "../finding.ts";
import type { MeshObject } from "../mesh-object.ts";
import { portsOf, serviceIndexes, serviceOf } from "../shared/hosts.ts";

/** istioctl has no such analyzer. */
export const impossibleMatches: Analyzer = {
  name: "impossible-matches",
  summary: "matches of routes that no request meets",
  messages: ["ImpossibleCondition"],
  checks: ["VirtualService"],
  reads: ["Service", "ServiceEntry"],
  indexes: serviceIndexes,
  check: (route, mesh) => {
    const matches = ["http", "tcp", "tls"]
      .flatMap((protocol) => items(route.spec, protocol))
      .flatMap((rule) => items(rule, "match"));
    return matches
      .flatMap((match) => [
        ...textReasons(match),
        ...contradictions(match),
        ...gatewayReasons(route, match),
        ...portReasons(route, match, mesh),
      ])
      .map(({ at, reason }) => finding("ImpossibleCondition", route, at, { reason }));
  },
};

interface Reason {
  readonly at: Field;
  readonly reason: string;
}

const when = (condition: boolean, at: Field, reason: string): readonly Reason[] => (condition ? [{ at, reason }] : []);

function textReasons(match: Field): readonly Reason[] {
  const uri = field(match, "uri");
  const path = ["exact", "prefix"].map((kind) => field(uri, kind)).find(isSet);
  const method = field(field(match, "method"), "exact");
  const scheme = field(field(match, "scheme"), "exact");
  const isPath = path === undefined || /^$|^\/|^\*$/.test(textOf(path));
  return [
    ...when(!isPath, path ?? uri, "paths begin with a slash"),
    ...when(textOf(method) !== textOf(method).toUpperCase(), method, "methods are in upper case"),
    ...when(isSet(scheme) && !["http", "https"].includes(textOf(scheme)), scheme, "schemes are http and https"),
  ];
}

/** A header that has to be there and has to be absent. */
function contradictions(match: Field): readonly Reason[] {
  const wanted = new Map(entries(match, "headers"));
  return entries(match, "withoutHeaders")
    .filter(
      ([name, without]) =>
        wanted.has(name) && ["exact", "prefix", "regex"].every((kind) => !isSet(field(without, kind))),
    )
    .map(([name, at]) => ({ at, reason: `header ${name} is asked for and excluded` }));
}

function gatewayReasons({ spec }: MeshObject, match: Field): readonly Reason[] {
  const given = texts(spec, "gateways").map(({ value }) => value);
  const all = given.length === 0 ? ["mesh"] : given;
  const wanted = texts(match, "gateways").map(({ value }) => value);
  const isNone = wanted.length > 0 && wanted.every((one) => !all.includes(one));
  return when(isNone, field(match, "gateways"), `the VirtualService is for ${all.join(", ")}`);
}

/** Within the mesh a request comes to a port of the service that it is for. */
function portReasons({ key, spec }: MeshObject, match: Field, mesh: Mesh): readonly Reason[] {
  const at = field(match, "port");
  const gateways = texts(spec, "gateways").map(({ value }) => value);
  if (!isSet(at) || gateways.some((one) => one !== "mesh")) return [];
  const exportTo = texts(spec, "exportTo").map(({ value }) => value);
  const services = texts(spec, "hosts").map(({ value: host }) =>
    serviceOf(mesh, { host, namespace: key.namespace, exportTo }),
  );
  const known = services.filter((one) => one !== undefined);
  if (known.length === 0 || known.length < services.length) return [];
  const ports = [...new Set(known.flatMap(portsOf))];
  return when(!ports.includes(numberOf(at)), at, `the ports of the hosts are ${ports.join(", ") || "none"}`);
}

/** istioctl has no such analyzer. */
export const impossibleRules: Analyzer = {
  name: "impossible-rules",
  summary: "rules of policies that no request meets",
  messages: ["ImpossibleCondition"],
  checks: ["AuthorizationPolicy"],
  reads: [],
  check: (policy) => items(policy.spec, "rules").flatMap((rule) => ruleFindings(policy, rule)),
};

function ruleFindings(policy: MeshObject, rule: Field): readonly Finding[] {
  const operations = items(rule, "to").map((to) => field(to, "operation"));
  const sources = items(rule, "from").map((from) => field(from, "source"));
  const paths = operations.flatMap((one) => texts(one, "paths")).filter(({ value }) => !/^[/*{]/.test(value));
  const methods = operations
    .flatMap((one) => texts(one, "methods"))
    .filter(({ value }) => value !== value.toUpperCase());
  const excluded = [
    ...operations.flatMap((one) => ["hosts", "methods", "paths", "ports"].flatMap((name) => excludedValues(one, name))),
    ...sources.flatMap((one) =>
      ["ipBlocks", "namespaces", "principals", "requestPrincipals"].flatMap((name) => excludedValues(one, name)),
    ),
  ];
  return [
    ...paths.map((at) => finding("ImpossibleCondition", policy, at, { reason: "paths begin with a slash" })),
    ...methods.map((at) =>
      finding("ImpossibleCondition", policy, at, { reason: "methods are in upper case, and HTTP/2's of gRPC is POST" }),
    ),
    ...excluded.map((at) =>
      finding("ImpossibleCondition", policy, at, { reason: "all of its values are excluded beside it" }),
    ),
  ];
}

/** A list whose every value is in the list of what must not be. */
function excludedValues(part: Field, name: string): readonly Field[] {
  const wanted = texts(part, name);
  const without = texts(part, `not${name[0]?.toUpperCase()}${name.slice(1)}`).map(({ value }) => value);
  return wanted.length > 0 && wanted.every(({ value }) => without.includes(value)) ? [field(part, name)] : [];
}
