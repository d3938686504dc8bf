/** How connections to a service are made: pools, ejection of endpoints, TLS. Of DestinationRules, Sidecars and the mesh's defaults. */
import { parseCredentialName } from "@flotilla/model";
import type { Problem } from "../../problem.ts";
import { type Field, field, fieldAt, isSet, items, numberOf, refuseIf, textOf, texts, warnIf } from "./field.ts";
import { hostReason } from "./names.ts";
import { addressProblems, durationProblems, nonNegativeProblems, percentProblems, portProblems } from "./values.ts";

const counts = ["http1MaxPendingRequests", "http2MaxRequests", "maxRequestsPerConnection", "maxRetries"];

/** Bounds of connection pools; nothing for an absent one. */
export function connectionPoolProblems(pool: Field): readonly Problem[] {
  if (!isSet(pool)) return [];
  const http = field(pool, "http");
  const tcp = field(pool, "tcp");
  const keepalive = field(http, "http2KeepAlive");
  const upgradesTwice =
    textOf(field(http, "h2UpgradePolicy")) === "UPGRADE" && field(http, "useClientProtocol").value === true;
  return [
    ...refuseIf(!isSet(http) && !isSet(tcp), pool, "needs http or tcp"),
    ...[...counts, "maxConcurrentStreams"].flatMap((name) => nonNegativeProblems(field(http, name))),
    ...durationProblems(field(http, "idleTimeout")),
    ...refuseIf(upgradesTwice, field(http, "useClientProtocol"), "must not be true where h2UpgradePolicy is UPGRADE"),
    ...(isSet(keepalive) ? ["interval", "timeout"].flatMap((name) => neededDuration(field(keepalive, name))) : []),
    ...nonNegativeProblems(field(tcp, "maxConnections")),
    ...["connectTimeout", "maxConnectionDuration"].flatMap((name) => durationProblems(field(tcp, name))),
    ...durationProblems(field(tcp, "idleTimeout"), 0),
    ...["time", "interval"].flatMap((name) => durationProblems(fieldAt(tcp, "tcpKeepalive", name))),
  ];
}

function neededDuration(duration: Field): readonly Problem[] {
  return [...refuseIf(!isSet(duration), duration, "is required"), ...durationProblems(duration)];
}

/** Ejection of endpoints that fail; nothing for an absent one. */
export function outlierDetectionProblems(detection: Field): readonly Problem[] {
  const local = field(detection, "consecutiveLocalOriginFailures");
  const isSplit = field(detection, "splitExternalLocalOriginErrors").value === true;
  const errors = field(detection, "consecutiveErrors");
  return [
    ...["baseEjectionTime", "interval"].flatMap((name) => durationProblems(field(detection, name))),
    ...["maxEjectionPercent", "minHealthPercent"].flatMap((name) => percentProblems(field(detection, name))),
    ...refuseIf(numberOf(local) > 0 && !isSplit, local, "counts only where splitExternalLocalOriginErrors is true"),
    ...warnIf(numberOf(errors) !== 0, errors, "is deprecated, write consecutiveGatewayErrors or consecutive5xxErrors"),
  ];
}

const files = ["clientCertificate", "privateKey", "caCertificates", "caCrl"];
const maxServerNameBytes = 255;

/** TLS towards a service; nothing for an absent one. */
export function clientTlsProblems(tls: Field, namespace: string): readonly Problem[] {
  const mode = textOf(field(tls, "mode"));
  const has = (name: string) => textOf(field(tls, name)) !== "";
  const sni = field(tls, "sni");
  const fromSecret = (mode === "SIMPLE" || mode === "MUTUAL") && has("credentialName");
  const missing =
    mode === "MUTUAL" && !fromSecret ? ["clientCertificate", "privateKey"].filter((name) => !has(name)) : [];
  return [
    ...configMapProblems(field(tls, "credentialName"), namespace),
    ...skipVerifyProblems(tls, mode),
    ...files
      .filter((name) => fromSecret && has(name))
      .flatMap((name) => refuseIf(true, field(tls, name), "must not be set beside credentialName")),
    ...missing.flatMap((name) => refuseIf(true, field(tls, name), "is required for mode MUTUAL")),
    ...refuseIf(
      new TextEncoder().encode(textOf(sni)).length > maxServerNameBytes,
      sni,
      `a server name has at most ${maxServerNameBytes} bytes`,
    ),
    ...subjectNameProblems(tls),
  ];
}

/** Names that a peer's certificate must have one of: an empty one matches nothing, and Envoy refuses it. */
export function subjectNameProblems(parent: Field): readonly Problem[] {
  return texts(parent, "subjectAltNames").flatMap((name) => refuseIf(name.value === "", name, "must not be empty"));
}

function configMapProblems(credential: Field, namespace: string): readonly Problem[] {
  const name = textOf(credential);
  if (!name.startsWith("configmap://")) return [];
  const parsed = parseCredentialName(name);
  const isOwn = parsed !== undefined && parsed.namespace === namespace && namespace !== "";
  return refuseIf(
    !isOwn,
    credential,
    "a ConfigMap is named configmap://NAMESPACE/NAME and is of the rule's own namespace",
  );
}

function skipVerifyProblems(tls: Field, mode: string): readonly Problem[] {
  const skip = field(tls, "insecureSkipVerify");
  if (skip.value !== true || (mode !== "SIMPLE" && mode !== "MUTUAL")) return [];
  const roots = mode === "SIMPLE" ? ["caCertificates", "credentialName"] : ["caCertificates"];
  // An empty list of names is none, as protobuf has it.
  const verifies = roots.some((name) => textOf(field(tls, name)) !== "") || items(tls, "subjectAltNames").length > 0;
  return refuseIf(verifies, skip, `must not be true beside ${roots.join(", ")} or subjectAltNames, which verify`);
}

/** Tunnels through a proxy by CONNECT or POST; nothing for an absent one. */
export function tunnelProblems(tunnel: Field): readonly Problem[] {
  if (!isSet(tunnel)) return [];
  const protocol = field(tunnel, "protocol");
  const host = field(tunnel, "targetHost");
  const isHost = hostReason(textOf(host)) === undefined || addressProblems(host).length === 0;
  return [
    ...refuseIf(!["", "CONNECT", "POST"].includes(textOf(protocol)), protocol, "must be CONNECT or POST"),
    ...refuseIf(!isHost, host, `${JSON.stringify(textOf(host))} is neither a host name nor an IP address`),
    ...portProblems(field(tunnel, "targetPort")),
  ];
}
