/** Rules of the Gateway API for back ends and references: BackendTLSPolicies, XBackendTrafficPolicies, ReferenceGrants, InferencePools. */
import type { Problem } from "../problem.ts";
import { type Field, field, fieldAt, isSet, items, refuseIf, repeated, textOf, warnIf } from "./shared/field.ts";
import { quoted } from "./shared/names.ts";
import { durationMs } from "./shared/values.ts";

export function validateBackendTlsPolicy(spec: Field): readonly Problem[] {
  const validation = field(spec, "validation");
  const roots = field(validation, "caCertificateRefs");
  const rootRefs = items(validation, "caCertificateRefs");
  const wellKnown = field(validation, "wellKnownCACertificates");
  return [
    ...targetProblems(spec),
    ...refuseIf(rootRefs.length > 0 && isSet(wellKnown), wellKnown, "must not be set beside caCertificateRefs"),
    ...refuseIf(
      rootRefs.length === 0 && !isSet(wellKnown),
      roots,
      "is required, unless wellKnownCACertificates is set",
    ),
    ...warnIf(
      isSet(wellKnown) && textOf(wellKnown) !== "System",
      wellKnown,
      `${quoted(textOf(wellKnown))} is taken as System: there are no others`,
    ),
    ...warnIf(rootRefs.length > 1, roots, "has several members, of which the first counts alone"),
    ...rootRefs.slice(0, 1).flatMap(rootProblems),
    ...items(validation, "subjectAltNames").flatMap(alternativeNameProblems),
    ...warnIf(isSet(field(spec, "options")), field(spec, "options"), "has no effect"),
  ];
}

function rootProblems(ref: Field): readonly Problem[] {
  const [group, kind] = [textOf(field(ref, "group")), textOf(field(ref, "kind"))];
  return warnIf(
    group !== "" || kind !== "ConfigMap",
    ref,
    `${group}/${kind} is not followed, only a ConfigMap: calls of the target fail`,
  );
}

function alternativeNameProblems(name: Field): readonly Problem[] {
  const type = textOf(field(name, "type"));
  const [wanted, other] = type === "Hostname" ? ["hostname", "uri"] : ["uri", "hostname"];
  return [
    ...refuseIf(textOf(field(name, wanted)) === "", field(name, wanted), `is required with type ${type}`),
    ...refuseIf(textOf(field(name, other)) !== "", field(name, other), `must not be set with type ${type}`),
  ];
}

/** Services and ServiceEntries can be targets; each port, or the whole, once. */
function targetProblems(spec: Field): readonly Problem[] {
  const targets = items(spec, "targetRefs");
  const text = (target: Field) =>
    ["group", "kind", "name", "sectionName"].map((name) => textOf(field(target, name))).join("/");
  const isFollowed = (target: Field) =>
    ["/Service", "networking.istio.io/ServiceEntry"].includes(
      `${textOf(field(target, "group"))}/${textOf(field(target, "kind"))}`,
    );
  return [
    ...targets.flatMap((target) =>
      warnIf(!isFollowed(target), target, "is not followed: only Services and ServiceEntries are"),
    ),
    ...repeated(targets, text).flatMap((target) => refuseIf(true, target, "is a target twice")),
  ];
}

const hourMs = 3_600_000;

export function validateBackendTrafficPolicy(spec: Field): readonly Problem[] {
  const interval = fieldAt(spec, "retryConstraint", "budget", "interval");
  const rate = fieldAt(spec, "retryConstraint", "minRetryRate", "interval");
  const session = field(spec, "sessionPersistence");
  return [
    ...targetProblems(spec),
    ...intervalProblems(interval, 1_000),
    ...intervalProblems(rate, 1),
    ...warnIf(isSet(rate), rate, "has no effect: count is how many retries may run at a time"),
    ...warnIf(isSet(session), session, "is not followed: routes have sessions of their own"),
  ];
}

function intervalProblems(interval: Field, minMs: number): readonly Problem[] {
  if (!isSet(interval)) return [];
  const ms = durationMs(textOf(interval));
  if (ms === undefined)
    return refuseIf(true, interval, `${quoted(textOf(interval))} is no duration such as 10s or 1m30s`);
  return refuseIf(ms < minMs || ms > hourMs, interval, `${textOf(interval)} is not in range ${minMs}ms..1h`);
}

const grantingKinds = ["Gateway", "GRPCRoute", "HTTPRoute", "ListenerSet", "TCPRoute", "TLSRoute"];

export function validateReferenceGrant(spec: Field): readonly Problem[] {
  return items(spec, "from").flatMap((from) => {
    const [group, kind] = [textOf(field(from, "group")), textOf(field(from, "kind"))];
    const known = grantingKinds.find((one) => one.toLowerCase() === kind.toLowerCase());
    return [
      ...warnIf(
        group === "" && known !== undefined,
        field(from, "group"),
        "is gateway.networking.k8s.io for these kinds",
      ),
      ...warnIf(
        known !== undefined && known !== kind,
        field(from, "kind"),
        `${quoted(kind)} is no kind: is ${known} meant?`,
      ),
    ];
  });
}

export function validateInferencePool(spec: Field): readonly Problem[] {
  const picker = field(spec, "endpointPickerRef");
  const kind = field(picker, "kind");
  const numbers = items(spec, "targetPorts").map((port) => field(port, "number"));
  return [
    ...warnIf(!isSet(picker), picker, "is not set: nothing is routed to the pool"),
    ...warnIf(
      isSet(picker) && !isSet(field(picker, "port")),
      field(picker, "port"),
      "is not set: nothing is routed to the pool",
    ),
    ...warnIf(
      !["", "Service"].includes(textOf(kind)),
      kind,
      `${quoted(textOf(kind))} is not followed, only a Service is`,
    ),
    ...repeated(numbers, ({ value }) => String(value)).flatMap((number) => refuseIf(true, number, "is there twice")),
  ];
}
