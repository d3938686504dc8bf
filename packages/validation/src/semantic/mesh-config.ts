/** MeshConfig: settings of the whole mesh. */
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { defaultConfigProblems } from "./mesh-default-config.ts";
import { extensionProviderProblems } from "./mesh-extension-providers.ts";
import { type Field, field, fieldAt, isSet, items, refuseIf, repeated, textOf, texts, warnIf } from "./shared/field.ts";
import { localityProblems, zoneAwareProblems } from "./shared/load-balancer.ts";
import { isDnsLabel, quoted, wildcardHostProblems } from "./shared/names.ts";
import { retryProblems } from "./shared/retries.ts";
import { connectionPoolProblems, outlierDetectionProblems } from "./shared/traffic-policy.ts";
import { durationMs, durationProblems, portProblems } from "./shared/values.ts";

/** For the settings in force: a document over the defaults (`applyMeshConfig`). Paths are those of the document. */
export function validateMeshConfig(mesh: JsonObject): readonly Problem[] {
  const whole: Field = { value: mesh, path: "" };
  const policy = field(whole, "defaultTrafficPolicy");
  const defaults = field(whole, "defaultConfig");
  return [
    ...portProblems(field(whole, "proxyListenPort")),
    ...connectTimeoutProblems(field(whole, "connectTimeout")),
    ...durationProblems(field(whole, "protocolDetectionTimeout"), Number.NEGATIVE_INFINITY),
    ...refuseIf(!isSet(defaults), defaults, "is required"),
    ...(isSet(defaults) ? defaultConfigProblems(defaults) : []),
    ...localityProblems(field(whole, "localityLbSetting"), true),
    ...zoneAwareProblems(field(whole, "zoneAwareLbSetting"), true),
    ...items(whole, "serviceSettings").flatMap((settings) => texts(settings, "hosts").flatMap(wildcardHostProblems)),
    ...[field(whole, "trustDomain"), ...texts(whole, "trustDomainAliases")].flatMap(trustDomainProblems),
    ...extensionProviderProblems(whole),
    ...curveProblems(whole),
    ...connectionPoolProblems(field(policy, "connectionPool")),
    ...outlierDetectionProblems(field(policy, "outlierDetection")),
    ...retryProblems(field(whole, "defaultHttpRetryPolicy")),
    ...inboundRetryProblems(field(whole, "defaultInboundHttpRetryPolicy")),
  ];
}

const hourMs = 3_600_000;

function connectTimeoutProblems(timeout: Field): readonly Problem[] {
  const ms = durationMs(textOf(timeout)) ?? 0;
  return [
    ...refuseIf(!isSet(timeout), timeout, "is required"),
    ...durationProblems(timeout),
    ...refuseIf(ms > hourMs, timeout, `${textOf(timeout)} is more than an hour`),
  ];
}

function trustDomainProblems(domain: Field): readonly Problem[] {
  const labels = textOf(domain).split(".");
  const own = labels.length > 1 && labels.at(-1) === "" ? labels.slice(0, -1) : labels;
  return refuseIf(!own.every(isDnsLabel), domain, `${quoted(textOf(domain))} is no trust domain such as cluster.local`);
}

/** Groups of keys that Envoy's TLS library supports. */
const curves = ["P-224", "P-256", "P-384", "P-521", "X25519", "X25519Kyber768Draft00", "X25519MLKEM768", ""];

function curveProblems(mesh: Field): readonly Problem[] {
  const forMesh = fieldAt(mesh, "meshMTLS", "ecdhCurves");
  const defaults = texts(field(mesh, "tlsDefaults"), "ecdhCurves");
  return [
    ...refuseIf(texts(field(mesh, "meshMTLS"), "ecdhCurves").length > 0, forMesh, "is not supported between workloads"),
    ...defaults.flatMap((curve) =>
      warnIf(!curves.includes(curve.value), curve, `${quoted(curve.value)} is no curve that Envoy supports`),
    ),
    ...repeated(defaults, textOf).flatMap((curve) => warnIf(true, curve, `${textOf(curve)} stands twice`)),
  ];
}

const withoutEffect = ["perTryTimeout", "retryRemoteLocalities", "retryIgnorePreviousHosts"];

/** Towards the own workload there is one endpoint only. */
function inboundRetryProblems(retries: Field): readonly Problem[] {
  const backoff = field(retries, "backoff");
  const isOff = !isSet(field(retries, "attempts")) || field(retries, "attempts").value === 0;
  return [
    ...retryProblems(retries),
    ...refuseIf(isOff && isSet(backoff), backoff, "must not be set where attempts is 0, which turns retries off"),
    ...withoutEffect
      .map((name) => field(retries, name))
      .flatMap((one) => warnIf(isSet(one), one, "has no effect on requests that come in")),
  ];
}
