/** Requirements of validation beyond the fields' schema, for their authors: shown by editors. */

const duration = "A duration of whole milliseconds, at least 1ms: 1.5s, 10m, 24h";
const wildcard = "A host name; the first label may be *";
const exportTo = "., * or names of namespaces; * stands alone";
const re2 = "Expressions are RE2, at most 1024 characters";
const headers =
  "In values %% is a percent sign and %COMMAND% something that Envoy puts in; pseudo headers cannot be changed";
const labels = "Labels are compared as they are, * is no wildcard";
const notEmpty = "Not empty";
const port = "1 to 65535";
const range = "Addresses, or ranges in CIDR form";
const share = "0, or 0.0001 to 100 percent";

/** Of routes of the Gateway API. */
const routeNotes: Readonly<Record<string, readonly string[]>> = {
  "spec.parentRefs": ["A Gateway or ListenerSet, or, within the mesh, a Service or ServiceEntry"],
  "spec.rules.backendRefs": [
    "weight is a share of the sum of all; one of another namespace needs a ReferenceGrant there",
  ],
  "spec.rules.filters": ["type names the one field that is set beside it"],
  "spec.rules.filters.requestHeaderModifier": [headers],
  "spec.rules.filters.responseHeaderModifier": [headers],
  "spec.rules.matches.headers": [re2],
};

/** By kind, then by field without indexes. Each rule of validation is described at its field or the one above it: rules.fixture.ts holds that. */
const notes: Readonly<Record<string, Readonly<Record<string, readonly string[]>>>> = {
  AuthorizationPolicy: {
    spec: [
      "Only one of selector, targetRef and targetRefs can be set. With action AUDIT it cannot be tried without effect (istio.io/dry-run)",
    ],
    "spec.provider": ["For action CUSTOM only, which needs it"],
    "spec.rules": ["Required for DENY and CUSTOM: - {} stands for every request"],
    "spec.rules.from.source": ["Needs at least one field; serviceAccounts excludes principals and namespaces"],
    "spec.rules.from.source.ipBlocks": [range],
    "spec.rules.from.source.namespaces": [notEmpty],
    "spec.rules.from.source.principals": [notEmpty, "Not with action CUSTOM"],
    "spec.rules.from.source.remoteIpBlocks": [range],
    "spec.rules.from.source.serviceAccounts": ["NAME or NAMESPACE/NAME"],
    "spec.rules.from.source.trustDomains": ["* at the beginning or the end only"],
    "spec.rules.to.operation": ["Needs at least one field"],
    "spec.rules.to.operation.paths": ["{*} stands for a segment, {**} for any number of them, at the end"],
    "spec.rules.to.operation.ports": [
      "1 to 65535. A DENY rule without ports denies all TCP traffic if it names attributes of HTTP",
    ],
    "spec.rules.when": ["Values of source.ip, remote.ip and destination.ip are addresses or ranges"],
    "spec.selector": [labels, "Only one of selector, targetRef and targetRefs can be set"],
    "spec.targetRef": [notEmpty, "A policy is for targets of its own namespace"],
    "spec.targetRefs": ["Service, ServiceEntry, Gateway and GatewayClass, of the own namespace"],
  },
  BackendTLSPolicy: {
    "spec.targetRefs": ["Services and ServiceEntries, each port or the whole once"],
    "spec.validation": [
      "One of caCertificateRefs, of which the first ConfigMap counts, and wellKnownCACertificates: System",
    ],
    "spec.validation.subjectAltNames": ["hostname with type Hostname, uri with type URI"],
  },
  DestinationRule: {
    "spec.exportTo": [exportTo, "With a workloadSelector the own namespace only"],
    "spec.host": [wildcard],
    "spec.subsets": ["Names are labels of DNS names, each once"],
    "spec.trafficPolicy": ["Needs at least one field; tunnel excludes proxyProtocol"],
    "spec.trafficPolicy.connectionPool.http": [
      "Numbers are not negative, idleTimeout is at least 1ms; useClientProtocol excludes h2UpgradePolicy UPGRADE",
    ],
    "spec.trafficPolicy.connectionPool.http.http2KeepAlive": ["interval and timeout are required"],
    "spec.trafficPolicy.connectionPool.tcp.connectTimeout": [duration],
    "spec.trafficPolicy.loadBalancer.consistentHash.httpCookie": ["Needs a name; names of attributes are unique"],
    "spec.trafficPolicy.loadBalancer.consistentHash.httpCookie.attributes": ["Names are unique"],
    "spec.trafficPolicy.loadBalancer.consistentHash.maglev": ["tableSize is a prime number, at most 5000010"],
    "spec.trafficPolicy.loadBalancer.consistentHash.ringHash": ["minimumRingSize is at most 8388608"],
    "spec.trafficPolicy.loadBalancer.localityLbSetting": [
      "Failover needs outlierDetection. Weights of a locality make 100",
    ],
    "spec.trafficPolicy.loadBalancer.localityLbSetting.distribute": [
      "from does not overlap with an earlier one, * stands at the end of a place; weights make 100",
    ],
    "spec.trafficPolicy.loadBalancer.warmup": [
      "duration is required, aggression is above 0, minimumPercent at most 100",
    ],
    "spec.trafficPolicy.loadBalancer.zoneAwareLbSetting": [
      "Not beside localityLbSetting. Failover is between different regions, without * and zones",
    ],
    "spec.trafficPolicy.outlierDetection": [
      "Percentages are 0 to 100. consecutiveLocalOriginFailures needs splitExternalLocalOriginErrors",
    ],
    "spec.trafficPolicy.outlierDetection.interval": [duration],
    "spec.trafficPolicy.tls": [
      "MUTUAL needs clientCertificate and privateKey, or credentialName. sni has at most 255 bytes",
    ],
    "spec.trafficPolicy.tunnel": [
      "protocol is CONNECT or POST; needs targetHost, a name or an address, and targetPort",
    ],
    "spec.workloadSelector": [labels],
  },
  EnvoyFilter: {
    "spec.configPatches": [
      "Needs applyTo and patch.operation, and a value unless it is REMOVE. Types are those of Envoy's v3 API",
    ],
    "spec.configPatches.match": [
      "Has what applyTo has: cluster for CLUSTER, listener for LISTENER, FILTER_CHAIN, NETWORK_FILTER and HTTP_FILTER, routeConfiguration for routes",
    ],
    "spec.configPatches.match.listener.filterChain.filter": [
      "Needs a name; subFilter is for HTTP_FILTER, within envoy.filters.network.http_connection_manager",
    ],
    "spec.configPatches.match.proxy": [re2],
    "spec.configPatches.patch": ["Needs an operation, and a value unless it is REMOVE"],
  },
  Gateway: {
    "spec.servers": ["Names of ports are unique"],
    "spec.servers.hosts": ["HOST or NAMESPACE/HOST; a wildcard is a whole label: *.example.com"],
    "spec.servers.port": [
      "Needs a name, which is unique, a number and a protocol: HTTP, HTTPS, HTTP2, GRPC, GRPC-WEB, TLS, TCP, MONGO, MYSQL, REDIS",
    ],
    "spec.servers.tls": [
      "Required for HTTPS and TLS. One of serverCertificate with privateKey, credentialName, credentialNames, tlsCertificates",
    ],
  },
  InferencePool: {
    "spec.endpointPickerRef": ["A Service, with a port"],
    "spec.targetPorts": ["Numbers are unique"],
  },
  Ingress: {
    spec: ["Needs rules or a defaultBackend"],
    "spec.rules.host": ["A DNS name in lower case, or *.NAME, which matches any number of labels"],
    "spec.rules.http.paths.backend": ["A Service: other resources are not followed"],
    "spec.rules.http.paths.backend.service.port": ["A name or a number"],
    "spec.rules.http.paths.path": [
      "Begins with /, without //, /./ and /../. Without type Exact or Prefix, .* or /* at the end stands for more",
    ],
    "spec.tls": ["Hosts are DNS names. The Secret is read from the namespace of the ingress gateway"],
  },
  KubernetesGateway: {
    "spec.infrastructure.parametersRef": ["A ConfigMap"],
    "spec.listeners": [
      "Names, and combinations of port, protocol and hostname, are unique. One family of protocols on a port",
    ],
    "spec.listeners.hostname": ["Not with protocol TCP and UDP"],
    "spec.listeners.protocol": ["HTTP, HTTPS, TCP and TLS are served; HBONE by waypoints and east-west gateways"],
    "spec.listeners.tls": [
      "For HTTPS, which terminates, and TLS. Terminate needs certificateRefs, two Secrets at most, or options",
    ],
  },
  ListenerSet: {
    "spec.listeners": [
      "Names, and combinations of port, protocol and hostname, are unique. One family of protocols on a port",
    ],
    "spec.listeners.tls": [
      "For HTTPS, which terminates, and TLS. Terminate needs certificateRefs, two Secrets at most, or options",
    ],
  },
  PeerAuthentication: {
    "spec.portLevelMtls": ["Needs a selector: ports are those of workloads"],
  },
  ProxyConfig: {
    "spec.concurrency": ["Not negative; 0 is one for each processor"],
    "spec.selector": [labels],
  },
  RequestAuthentication: {
    "spec.jwtRules": ["Each needs issuer or jwksUri; jwks is a JSON set of public keys"],
    "spec.jwtRules.fromHeaders": ["Needs a name"],
    "spec.jwtRules.outputClaimToHeaders": ["Needs a claim, and a header whose name is one of HTTP"],
  },
  ServiceEntry: {
    "spec.addresses": ["Ranges are for resolution NONE and STATIC"],
    "spec.endpoints": [
      "Not beside workloadSelector, nor with resolution NONE or DYNAMIC_DNS; STATIC needs addresses. A socket path has at most 107 bytes",
    ],
    "spec.exportTo": [exportTo, "~ stands for no namespace"],
    "spec.hosts": [wildcard, "Not * alone; several hosts can share ports of HTTP and TLS only"],
    "spec.location": ["Not MESH_INTERNAL with resolution DYNAMIC_DNS behind a waypoint"],
    "spec.ports": ["Names and numbers are unique"],
    "spec.subjectAltNames": [notEmpty],
  },
  Sidecar: {
    spec: ["Needs one of egress, ingress, outboundTrafficPolicy, inboundConnectionPool"],
    "spec.egress": ["A listener without a port is for all other ports and stands last"],
    "spec.egress.hosts": ["NAMESPACE/HOST; the namespace may be ., *, ~ or ~NAMESPACE"],
    "spec.egress.port": ["Numbers are unique; protocols HTTP, HTTPS, HTTP2, GRPC, TLS, TCP, MONGO, MYSQL, REDIS"],
    "spec.ingress": ["Needs a port"],
    "spec.ingress.defaultEndpoint": ["127.0.0.1:PORT, 0.0.0.0:PORT, [::1]:PORT, [::]:PORT or unix:///PATH"],
    "spec.ingress.tls": ["For protocols with TLS, with certificates of files: credentialName is not supported"],
    "spec.outboundTrafficPolicy.egressProxy": ["With mode ALLOW_ANY; needs host and port"],
  },
  Telemetry: {
    "spec.accessLogging.filter.expression": ["An expression of CEL; has() takes a field"],
    "spec.accessLogging.providers": ["Each has a name"],
    "spec.metrics.overrides.match": ["customMetric is not empty"],
    "spec.metrics.overrides.tagOverrides": ["value is required for UPSERT, and not allowed for REMOVE"],
    "spec.tracing": ["Only the first member and its first provider have an effect"],
    "spec.tracing.customTags": ["Names of headers and variables are not empty"],
    "spec.tracing.customTags.header": ["Needs a name"],
  },
  TrafficExtension: {
    spec: ["Needs either wasm or lua"],
    "spec.lua": ["inlineCode has 1 to 65536 bytes"],
    "spec.wasm": ["url is required"],
  },
  VirtualService: {
    spec: ["Needs http, tls or tcp. Without hosts it is a delegate, which has http alone"],
    "spec.exportTo": [exportTo],
    "spec.gateways": ["NAME, NAMESPACE/NAME or mesh"],
    "spec.hosts": [wildcard, "* is for gateways only; none makes a delegate"],
    "spec.http": [
      "Each needs one of route, redirect, directResponse and delegate; one without match takes everything and stands last",
    ],
    "spec.http.corsPolicy": ["Methods of HTTP; maxAge in whole seconds"],
    "spec.http.corsPolicy.allowOrigins": [notEmpty],
    "spec.http.directResponse": ["status is 200 to 599"],
    "spec.http.fault.abort": ["httpStatus is 200 to 599, grpcStatus a name such as NOT_FOUND"],
    "spec.http.fault.delay": [share],
    "spec.http.headers": [headers],
    "spec.http.headers.request": [headers],
    "spec.http.headers.response": [headers],
    "spec.http.match": [re2],
    "spec.http.match.headers": [re2],
    "spec.http.match.method": [notEmpty, re2],
    "spec.http.match.uri": [notEmpty, re2],
    "spec.http.mirrors.percentage": ["0 to 100"],
    "spec.http.redirect": ["redirectCode is 301, 302, 303, 307 or 308; prefixRewrite needs matches by prefix"],
    "spec.http.retries.retryOn": ["Causes that Envoy supports, such as 5xx,reset,503"],
    "spec.http.rewrite": ["uri excludes uriRegexRewrite"],
    "spec.http.route": ["Weights are shares of their sum; one of several must be above 0"],
    "spec.http.route.destination": ["host is a name, not *; subset a label of a DNS name"],
    "spec.http.route.destination.port": [port],
    "spec.http.timeout": [duration],
    "spec.tcp": ["Needs hosts"],
    "spec.tcp.match": ["destinationSubnets are addresses or ranges in CIDR form"],
    "spec.tls": ["sniHosts are among the hosts, or covered by one"],
    "spec.tls.match": ["sniHosts are among the hosts, or covered by one"],
  },
  WasmPlugin: {
    "spec.match.ports": [port],
    "spec.pluginName": ["At most 256 characters"],
    "spec.sha256": ["64 digits 0-9a-f"],
    "spec.url": ["Schemes file, http, https and oci, which is meant where there is none"],
    "spec.vmConfig.env": ["Names are unique; value is not set where it is the host's"],
  },
  WorkloadEntry: {
    "spec.address": ["An IP address, a host name or unix:///PATH; with network it may be empty"],
    "spec.labels": ["Names and values as labels of Kubernetes"],
    "spec.ports": ["Names of ports are labels of DNS names", port],
  },
  HTTPRoute: routeNotes,
  GRPCRoute: {
    ...routeNotes,
    "spec.rules.matches.method": [re2],
  },
  WorkloadGroup: {
    "spec.metadata": ["Labels and annotations are those of Kubernetes"],
    "spec.probe": ["One of httpGet, tcpSocket and exec"],
    "spec.probe.exec": ["Needs a command"],
    "spec.probe.httpGet": ["scheme is HTTP or HTTPS, port 1 to 65535"],
    "spec.probe.httpGet.httpHeaders": ["Names are those of HTTP headers"],
    "spec.template": ["Required"],
  },
  XBackendTrafficPolicy: {
    "spec.retryConstraint.budget": ["interval is 1s to 1h"],
    "spec.retryConstraint.minRetryRate": ["count is how many retries may run at a time; interval has no effect"],
    "spec.targetRefs": ["Services and ServiceEntries, each once"],
  },
};

/** By kind and field, without indexes: `VirtualService.spec.http`. Kinds by their unambiguous names. */
export const fieldNotes: ReadonlyMap<string, readonly string[]> = new Map(
  Object.entries(notes).flatMap(([kind, fields]) =>
    Object.entries(fields).map(([field, texts]) => [`${kind}.${field}`, texts] as const),
  ),
);

/** True where a rule about a field is described there, or one level above. @param path with indexes, as validation reports it */
export function isDescribed(kind: string, path: string): boolean {
  const field = path.replaceAll(/\[[^[\]]*\]/g, "");
  const above = field.slice(0, field.lastIndexOf("."));
  return [field, above].some((one) => fieldNotes.has(`${kind}.${one}`));
}
