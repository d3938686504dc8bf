/** What validation asks of fields beyond their schema, for those who write them: shown by editors. */

const duration = "A duration of whole milliseconds, at least 1ms: 1.5s, 10m, 24h";
const wildcard = "A host name; the first label may be *";
const exportTo = "., * or names of namespaces; * stands alone";
const re2 = "Expressions are RE2, at most 1024 characters";
const headers =
  "In values %% is a percent sign and %COMMAND% something that Envoy puts in; pseudo headers cannot be changed";
const labels = "Labels are compared as they are, * is no wildcard";

/** By kind and field, without indexes. */
export const fieldNotes: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries({
    "AuthorizationPolicy.spec.provider": ["For action CUSTOM only, which needs it"],
    "AuthorizationPolicy.spec.rules": ["Required for DENY and CUSTOM: - {} stands for every request"],
    "AuthorizationPolicy.spec.rules.to.operation.paths": [
      "{*} stands for a segment, {**} for any number of them, at the end",
    ],
    "AuthorizationPolicy.spec.rules.to.operation.ports": [
      "1 to 65535. A DENY rule without ports denies all TCP traffic if it names attributes of HTTP",
    ],
    "AuthorizationPolicy.spec.rules.when": [
      "Values of source.ip, remote.ip and destination.ip are addresses or ranges",
    ],
    "AuthorizationPolicy.spec.selector": [labels, "Only one of selector, targetRef and targetRefs can be set"],
    "DestinationRule.spec.exportTo": [exportTo, "With a workloadSelector the own namespace only"],
    "DestinationRule.spec.host": [wildcard],
    "DestinationRule.spec.subsets": ["Names are labels of DNS names, each once"],
    "DestinationRule.spec.trafficPolicy": ["Needs at least one field; tunnel excludes proxyProtocol"],
    "DestinationRule.spec.trafficPolicy.connectionPool.tcp.connectTimeout": [duration],
    "DestinationRule.spec.trafficPolicy.loadBalancer.consistentHash.maglev": [
      "tableSize is a prime number, at most 5000010",
    ],
    "DestinationRule.spec.trafficPolicy.loadBalancer.consistentHash.ringHash": ["minimumRingSize is at most 8388608"],
    "DestinationRule.spec.trafficPolicy.loadBalancer.localityLbSetting": [
      "Failover needs outlierDetection. Weights of a locality make 100",
    ],
    "DestinationRule.spec.trafficPolicy.outlierDetection.interval": [duration],
    "DestinationRule.spec.trafficPolicy.tls": [
      "MUTUAL needs clientCertificate and privateKey, or credentialName. sni has at most 255 bytes",
    ],
    "EnvoyFilter.spec.configPatches": [
      "Needs applyTo and patch.operation, and a value unless it is REMOVE. Types are those of Envoy's v3 API",
    ],
    "Gateway.spec.servers": ["Names of ports are unique"],
    "Gateway.spec.servers.hosts": ["HOST or NAMESPACE/HOST; a wildcard is a whole label: *.example.com"],
    "Gateway.spec.servers.tls": [
      "Required for HTTPS and TLS. One of serverCertificate with privateKey, credentialName, credentialNames, tlsCertificates",
    ],
    "PeerAuthentication.spec.portLevelMtls": ["Needs a selector: ports are those of workloads"],
    "ProxyConfig.spec.selector": [labels],
    "RequestAuthentication.spec.jwtRules": ["Each needs issuer or jwksUri; jwks is a JSON set of public keys"],
    "ServiceEntry.spec.addresses": ["Ranges are for resolution NONE and STATIC"],
    "ServiceEntry.spec.endpoints": [
      "Not beside workloadSelector, nor with resolution NONE or DYNAMIC_DNS; STATIC needs addresses. A socket path has at most 107 bytes",
    ],
    "ServiceEntry.spec.exportTo": [exportTo, "~ stands for no namespace"],
    "ServiceEntry.spec.hosts": [wildcard, "Not * alone; several hosts can share ports of HTTP and TLS only"],
    "ServiceEntry.spec.ports": ["Names and numbers are unique"],
    "Sidecar.spec.egress": ["A listener without a port is for all other ports and stands last"],
    "Sidecar.spec.egress.hosts": ["NAMESPACE/HOST; the namespace may be ., *, ~ or ~NAMESPACE"],
    "Sidecar.spec.ingress.defaultEndpoint": ["127.0.0.1:PORT, 0.0.0.0:PORT, [::1]:PORT, [::]:PORT or unix:///PATH"],
    "Telemetry.spec.tracing": ["Only the first member and its first provider have an effect"],
    "TrafficExtension.spec": ["Needs either wasm or lua"],
    "VirtualService.spec.exportTo": [exportTo],
    "VirtualService.spec.gateways": ["NAME, NAMESPACE/NAME or mesh"],
    "VirtualService.spec.hosts": [wildcard, "* is for gateways only; none makes a delegate"],
    "VirtualService.spec.http": [
      "Each needs one of route, redirect, directResponse and delegate; one without match takes everything and stands last",
    ],
    "VirtualService.spec.http.headers": [headers],
    "VirtualService.spec.http.match": [re2],
    "VirtualService.spec.http.retries.retryOn": ["Causes that Envoy knows, such as 5xx,reset,503"],
    "VirtualService.spec.http.route": ["Weights are shares of their sum; one of several must be above 0"],
    "VirtualService.spec.http.timeout": [duration],
    "VirtualService.spec.tls": ["sniHosts are among the hosts, or covered by one"],
    "WasmPlugin.spec.sha256": ["64 digits 0-9a-f"],
    "WasmPlugin.spec.url": ["Schemes file, http, https and oci, which is meant where there is none"],
    "WorkloadEntry.spec.address": ["An IP address, a host name or unix:///PATH; with network it may be empty"],
    "WorkloadGroup.spec.probe": ["One of httpGet, tcpSocket and exec"],
  } satisfies Readonly<Record<string, readonly string[]>>),
);
