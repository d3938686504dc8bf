/** `defaultConfig` of MeshConfig: the bootstrap settings of proxies. */
import { isIpAddress } from "@flotilla/model";
import type { Problem } from "../problem.ts";
import type { JsonObject } from "../schema/schema.ts";
import { entries, type Field, field, fieldAt, isSet, numberOf, refuseIf, textOf, warnIf } from "./shared/field.ts";
import { hostReason, quoted } from "./shared/names.ts";
import { clientTlsProblems } from "./shared/traffic-policy.ts";
import { durationMs, durationProblems, nonNegativeProblems, portProblems } from "./shared/values.ts";

const paths = ["configPath", "binaryPath"];
const ports = ["proxyAdminPort", "statusPort"];
const allocation = "ISTIO_META_DNS_AUTO_ALLOCATE";

/** For the settings of one proxy: those of its own over those of the mesh. */
export function validateProxyConfig(config: JsonObject): readonly Problem[] {
  return defaultConfigProblems({ value: config, path: "" });
}

export function defaultConfigProblems(config: Field): readonly Problem[] {
  const cluster = field(config, "serviceCluster");
  const isNamed = textOf(cluster) !== "" || isSet(field(config, "tracingServiceName"));
  const policy = field(config, "controlPlaneAuthPolicy");
  const metadata = field(config, "proxyMetadata");
  const allocates = entries(config, "proxyMetadata").some(([name]) => name === allocation);
  return [
    ...paths
      .map((name) => field(config, name))
      .flatMap((path) => refuseIf(textOf(path) === "", path, "must not be empty")),
    ...refuseIf(!isNamed, cluster, "must not be empty"),
    ...drainProblems(field(config, "drainDuration")),
    ...proxyAddressProblems(field(config, "discoveryAddress")),
    ...collectorProblems(config),
    ...tracingProblems(field(config, "tracing")),
    ...warnIf(allocates, metadata, `${allocation} is deprecated: ServiceEntries get addresses without it`),
    ...ports.flatMap((name) => portProblems(field(config, name))),
    ...refuseIf(!["NONE", "MUTUAL_TLS", ""].includes(textOf(policy)), policy, "must be NONE or MUTUAL_TLS"),
    ...keyProviderProblems(field(config, "privateKeyProvider")),
    ...connectionSettingsProblems(field(config, "connectionSettings")),
    ...concurrencyProblems(field(config, "concurrency")),
  ];
}

function concurrencyProblems(concurrency: Field): readonly Problem[] {
  const isNumber = /^-?\d+$/.test(String(concurrency.value));
  return isSet(concurrency) && !isNumber
    ? refuseIf(true, concurrency, "is no whole number")
    : nonNegativeProblems(concurrency);
}

function drainProblems(duration: Field): readonly Problem[] {
  const ms = durationMs(textOf(duration)) ?? 0;
  return [
    ...refuseIf(!isSet(duration), duration, "is required"),
    ...durationProblems(duration),
    ...refuseIf(Number.isInteger(ms) && ms % 1_000 !== 0, duration, "counts whole seconds"),
  ];
}

/** `HOST:PORT`, the host a name or an address. `$(HOST_IP)` is put in where a proxy starts. */
function proxyAddressProblems(address: Field): readonly Problem[] {
  const text = textOf(address).replace("$(HOST_IP)", "127.0.0.1");
  const colon = text.lastIndexOf(":");
  const [host, port] = [text.slice(0, Math.max(colon, 0)), text.slice(colon + 1)];
  const bare = /^\[(.*)\]$/.exec(host)?.[1];
  const isHost =
    bare === undefined ? (isIpAddress(host) ? !host.includes(":") : hostReason(host) === undefined) : isIpAddress(bare);
  const isPort = /^\d{1,5}$/.test(port) && Number(port) >= 1 && Number(port) <= 65_535;
  return refuseIf(colon === -1 || !isHost || !isPort, address, `${quoted(text)} is not of the form HOST:PORT`);
}

/** Addresses that are looked at only where they are set. */
function collectorProblems(config: Field): readonly Problem[] {
  const addresses = [
    field(config, "statsdUdpAddress"),
    field(config, "envoyMetricsServiceAddress"),
    fieldAt(config, "envoyMetricsService", "address"),
    fieldAt(config, "envoyAccessLogService", "address"),
  ];
  return addresses.flatMap((address) => (textOf(address) === "" ? [] : proxyAddressProblems(address)));
}

function tracingProblems(tracing: Field): readonly Problem[] {
  const token = fieldAt(tracing, "lightstep", "accessToken");
  return [
    ...["zipkin", "lightstep", "datadog"]
      .filter((name) => isSet(field(tracing, name)))
      .flatMap((name) => proxyAddressProblems(fieldAt(tracing, name, "address"))),
    ...refuseIf(isSet(field(tracing, "lightstep")) && textOf(token) === "", token, "is required"),
    ...clientTlsProblems(field(tracing, "tlsSettings"), ""),
    ...entries(tracing, "customTags").flatMap(([, tag]) => refuseIf(!isSet(tag), tag, "must not be null")),
  ];
}

/** Accelerators of cryptography. */
function keyProviderProblems(provider: Field): readonly Problem[] {
  if (!isSet(provider)) return [];
  const given = ["cryptomb", "qat"].map((name) => field(provider, name)).filter(isSet);
  return [
    ...refuseIf(given.length === 0, provider, "needs cryptomb or qat"),
    ...given
      .map((one) => field(one, "pollDelay"))
      .flatMap((delay) => refuseIf((durationMs(textOf(delay)) ?? 0) === 0, delay, "must be set and not 0")),
  ];
}

const buffers = ["listenerPerConnectionBufferLimitBytes", "clusterPerConnectionBufferLimitBytes"];
const durations = [
  ...["httpIdleTimeout", "httpMaxConnectionDuration", "httpDrainTimeout", "httpRequestTimeout"],
  ...["httpRequestHeadersTimeout", "httpStreamIdleTimeout", "httpMaxStreamDuration"],
];
const limits = ["httpMaxConcurrentStreams", "listenerConnectionLimit", "globalDownstreamConnectionLimit"];
const windows = ["http2InitialStreamWindowSize", "http2InitialConnectionWindowSize"];
/** Of HTTP/2. */
const leastWindow = 65_535;

function connectionSettingsProblems(settings: Field): readonly Problem[] {
  const given = (names: readonly string[]) => names.map((name) => field(settings, name)).filter(isSet);
  return [
    ...given(buffers).flatMap(nonNegativeProblems),
    ...given(durations).flatMap((one) => durationProblems(one, 0)),
    ...given(limits).flatMap((one) => refuseIf(numberOf(one) <= 0, one, "must be more than 0")),
    ...given(windows).flatMap((one) => refuseIf(numberOf(one) < leastWindow, one, `must be at least ${leastWindow}`)),
  ];
}
