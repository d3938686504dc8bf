/** HTTP routes of VirtualServices: matches, actions, and fields that exclude each other. */
import type { Problem } from "../problem.ts";
import { answerProblems, faultProblems, rewriteProblems } from "./http-route-actions.ts";
import { destinationProblems, routeProblems } from "./shared/destination.ts";
import {
  entries,
  type Field,
  field,
  fieldAt,
  isSet,
  items,
  numberOf,
  refuseIf,
  textOf,
  texts,
  warnIf,
} from "./shared/field.ts";
import {
  authorityProblems,
  headerProblems,
  isClaimName,
  isHeaderName,
  matchedNameProblems,
} from "./shared/http-headers.ts";
import { gatewayNameProblems, isDnsLabel, labelsProblems, quoted } from "./shared/names.ts";
import { retryProblems } from "./shared/retries.ts";
import { expressionProblems, textMatchProblems } from "./shared/text-match.ts";
import { durationProblems, portProblems } from "./shared/values.ts";

interface HttpRouteScope {
  readonly isDelegate: boolean;
  readonly isForGateways: boolean;
  readonly converted: boolean;
}

export function httpRouteProblems(route: Field, scope: HttpRouteScope): readonly Problem[] {
  const mirror = field(route, "mirror");
  return [
    ...conflictProblems(route, scope.isDelegate),
    ...items(route, "match").flatMap((match) => matchProblems(match, scope.isForGateways)),
    ...headerProblems(field(route, "headers")),
    ...items(route, "route").flatMap((one) => headerProblems(field(one, "headers"))),
    ...authorityProblems(route),
    ...corsProblems(field(route, "corsPolicy")),
    ...faultProblems(field(route, "fault")),
    ...rewriteProblems(field(route, "rewrite")),
    ...answerProblems(route),
    ...retryProblems(field(route, "retries")),
    ...durationProblems(field(route, "timeout")),
    ...routeProblems(route, scope.converted),
    ...destinationProblems(mirror),
    ...mirrorProblems(route),
  ];
}

const exclusions: Readonly<Record<string, readonly string[]>> = {
  redirect: ["route", "fault", "rewrite", "directResponse"],
  directResponse: ["route", "fault", "rewrite"],
};

/** A route does one thing: it leads somewhere, redirects, answers or hands on. */
function conflictProblems(route: Field, isDelegate: boolean): readonly Problem[] {
  const has = (name: string) => isSet(field(route, name)) && (name !== "route" || items(route, "route").length > 0);
  const delegate = field(route, "delegate");
  if (isSet(delegate) && !isDelegate)
    return ["redirect", "route"].flatMap((name) =>
      refuseIf(has(name), field(route, name), "must not be set beside delegate"),
    );
  const conflicts = Object.entries(exclusions).flatMap(([action, others]) =>
    has(action)
      ? others.filter(has).flatMap((name) => refuseIf(true, field(route, name), `must not be set beside ${action}`))
      : [],
  );
  return [
    ...refuseIf(isSet(delegate), delegate, "must not be set in a delegate: requests are handed on once"),
    ...conflicts,
    ...refuseIf(
      !["route", "redirect", "directResponse"].some(has),
      route,
      "HTTP route, redirect or direct_response is required",
    ),
    ...refuseIf(
      has("mirror") && items(route, "mirrors").length > 0,
      field(route, "mirrors"),
      "must not be set beside mirror",
    ),
  ];
}

function matchProblems(match: Field, isForGateways: boolean): readonly Problem[] {
  const namespace = field(match, "sourceNamespace");
  const port = field(match, "port");
  return [
    ...textMatchProblems(field(match, "uri"), true),
    ...["scheme", "method", "authority"].flatMap((name) => textMatchProblems(field(match, name))),
    ...["headers", "withoutHeaders"].flatMap((name) =>
      entries(match, name).flatMap(([key, value]) => headerMatchProblems(key, value, isForGateways)),
    ),
    ...entries(match, "queryParams").flatMap(([, value]) => textMatchProblems(value)),
    ...(numberOf(port) === 0 ? [] : portProblems(port)),
    ...labelsProblems(match, "sourceLabels"),
    ...gatewayNameProblems(match),
    ...refuseIf(
      textOf(namespace) !== "" && !isDnsLabel(textOf(namespace)),
      namespace,
      `${quoted(textOf(namespace))} is no name of a namespace`,
    ),
  ];
}

function headerMatchProblems(name: string, match: Field, isForGateways: boolean): readonly Problem[] {
  const isPresence = match.path.includes(".withoutHeaders[") && textOf(field(match, "regex")) === "*";
  return [
    ...refuseIf(match.value === null, match, "must not be null"),
    ...matchedNameProblems(name, match),
    ...refuseIf(isClaimName(name) && !isForGateways, match, "claims of tokens are matched at gateways only"),
    ...(isPresence ? [] : textMatchProblems(match)),
  ];
}

const methods = ["GET", "HEAD", "POST", "PUT", "PATCH", "DELETE", "CONNECT", "OPTIONS", "TRACE", "*"];

function corsProblems(policy: Field): readonly Problem[] {
  const age = field(policy, "maxAge");
  const seconds = /^\d+(?:\.0*)?s$/;
  return [
    ...items(policy, "allowOrigins").flatMap((origin) => {
      const isEmpty = ["exact", "prefix", "regex"].every((name) => textOf(field(origin, name)) === "");
      const given = ["exact", "prefix", "regex"].map((name) => field(origin, name)).find(isSet) ?? origin;
      return isEmpty ? refuseIf(true, given, "must not be empty") : expressionProblems(field(origin, "regex"));
    }),
    ...texts(policy, "allowMethods").flatMap((method) =>
      refuseIf(!methods.includes(method.value), method, `${quoted(method.value)} is no method of HTTP`),
    ),
    ...["allowHeaders", "exposeHeaders"].flatMap((name) =>
      texts(policy, name).flatMap((header) =>
        refuseIf(!isHeaderName(header.value), header, `${quoted(header.value)} is no name of a header`),
      ),
    ),
    ...durationProblems(age),
    ...refuseIf(
      textOf(age).endsWith("s") && /\./.test(textOf(age)) && !seconds.test(textOf(age)),
      age,
      "counts whole seconds",
    ),
  ];
}

function mirrorProblems(route: Field): readonly Problem[] {
  const percent = field(route, "mirrorPercent");
  return [
    ...refuseIf(numberOf(percent) > 100, percent, `percentage ${numberOf(percent)} is not in range 0..100`),
    ...warnIf(isSet(percent), percent, "is deprecated, write mirrorPercentage"),
    ...percentageProblems(field(route, "mirrorPercentage")),
    ...items(route, "mirrors").flatMap((mirror) => [
      ...refuseIf(!isSet(field(mirror, "destination")), fieldAt(mirror, "destination"), "is required"),
      ...destinationProblems(field(mirror, "destination")),
      ...percentageProblems(field(mirror, "percentage")),
    ]),
  ];
}

function percentageProblems(percentage: Field): readonly Problem[] {
  const value = field(percentage, "value");
  const number = numberOf(value);
  return refuseIf(number < 0 || number > 100, value, `percentage ${number} is not in range 0..100`);
}
