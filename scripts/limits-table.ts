/** Every resource that a client can take, with where its bound stands and the test that reaches it. */

export type Bound =
  | { readonly service: string; readonly setting: string }
  /** A constant of the file, by its name. */
  | { readonly file: string; readonly constant: string; readonly unit: string };

export interface Limit {
  readonly resource: string;
  readonly bounds: readonly Bound[];
  /** Effect of reaching the bound. */
  readonly effect: string;
  readonly test: readonly [file: string, title: string];
}

const ofXds = (setting: string): Bound => ({ service: "xds-server", setting });
const ofCa = (setting: string): Bound => ({ service: "ca", setting });
const ofApi = (setting: string): Bound => ({ service: "config-controller", setting });
const inFile = (file: string, constant: string, unit: string): Bound => ({ file, constant, unit });
const badClients = "services/xds-server/src/serve/bad-clients.test.ts";
const podShape = "packages/injection/src/pod-shape.ts";

export const clientLimits: readonly Limit[] = [
  {
    resource: "new streams of xDS a second",
    bounds: [ofXds("PILOT_MAX_REQUESTS_PER_SECOND")],
    effect: "RESOURCE_EXHAUSTED; callers without a proof have a budget of their own",
    test: [badClients, "one that opens 5,000 streams is served what the pace allows, and delays nobody"],
  },
  {
    resource: "streams of one connection",
    bounds: [ofXds("ISTIO_GPRC_MAXSTREAMS")],
    effect: "more are refused by HTTP/2; resets in a row close the connection",
    test: ["services/xds-server/src/serve/http2-floods.test.ts", "floods of HTTP/2 on 15012"],
  },
  {
    resource: "silent connections on 15012 and 15013",
    bounds: [
      inFile("packages/auth/src/serving/grpc-tls.ts", "maxSilentPerAddress", "of an address"),
      inFile("packages/auth/src/serving/grpc-tls.ts", "maxSilent", "in all"),
    ],
    effect: "the oldest silent one is closed for the next",
    test: [
      "packages/auth/src/serving/paced-listener.test.ts",
      "closes the oldest silent one of an address for its next, and leaves other addresses alone",
    ],
  },
  {
    resource: "bytes before a TLS handshake",
    bounds: [inFile("packages/auth/src/serving/hello-wait.ts", "maxBytes", "bytes")],
    effect: "a connection that begins with anything else is closed",
    test: ["packages/auth/src/serving/hello-wait.test.ts", "a record longer than any"],
  },
  {
    resource: "one request over xDS",
    bounds: [ofXds("ISTIO_GPRC_MAXRECVMSGSIZE")],
    effect: "RESOURCE_EXHAUSTED, the bytes are not read",
    test: [badClients, "a request above the limit ends its stream only"],
  },
  {
    resource: "a compressed message",
    bounds: [
      inFile("packages/raw-grpc/src/frame.ts", "freeInflatedBytes", "bytes"),
      inFile("packages/raw-grpc/src/frame.ts", "maxInflation", "times its own length beyond that"),
    ],
    effect: "RESOURCE_EXHAUSTED, the stream ends",
    test: [
      "services/xds-server/src/serve/hostile-sessions.test.ts",
      "sending messages that inflate a thousandfold is cut off",
    ],
  },
  {
    resource: "node metadata",
    bounds: [inFile("services/xds-server/src/serve/decode-request.ts", "maxMetadataLength", "characters")],
    effect: "the stream is refused by name",
    test: [badClients, "metadata of a node over the bound is refused by name"],
  },
  {
    resource: "names that a stream subscribes to",
    bounds: [ofXds("XDS_MAX_NAMES_PER_STREAM")],
    effect: "RESOURCE_EXHAUSTED before the request is taken in",
    test: [badClients, "end their stream only"],
  },
  {
    resource: "text of a rejection, and names that are looked for in it",
    bounds: [
      inFile("packages/xds/src/plan.ts", "maxTextLength", "characters"),
      inFile("packages/xds/src/plan.ts", "maxNames", "names"),
    ],
    effect: "the rest is cut, or all resources count as named",
    test: ["packages/xds/src/plan.test.ts", "falls on all resources where none or too many could be named"],
  },
  {
    resource: "labels of metrics by a stated version",
    bounds: [inFile("services/xds-server/src/serve/stream-metrics.ts", "maxVersions", "versions")],
    effect: "counted as `other`; a label leaves with its last stream",
    test: [badClients, "versions that clients state become a bounded number of labels, and leave with their streams"],
  },
  {
    resource: "answers that are not read",
    bounds: [ofXds("PILOT_XDS_SEND_TIMEOUT")],
    effect: "one message waits, then the client is closed",
    test: [badClients, "one that does not read holds one message and is closed in the end; others get every change"],
  },
  {
    resource: "debug questions over xDS that wait",
    bounds: [inFile("services/xds-server/src/serve/debug-answers.ts", "maxOpenQuestions", "questions")],
    effect: "the stream is closed",
    test: [badClients, "one that asks more than it waits for is closed, one that reads gets every answer"],
  },
  {
    resource: "requests for certificates that wait",
    bounds: [ofCa("CA_MAX_PENDING_PER_IDENTITY"), ofCa("CA_MAX_PENDING")],
    effect: "RESOURCE_EXHAUSTED; identities take turns",
    test: ["services/ca/src/refusals.test.ts", "of one identity is cut off, and others get theirs"],
  },
  {
    resource: "requests for certificates that xds-server keeps while ca is away",
    bounds: [inFile("services/xds-server/src/app/ca-passthrough.ts", "maxHeld", "requests")],
    effect: "UNAVAILABLE",
    test: [
      "services/xds-server/src/app/ca-passthrough.test.ts",
      "fail in the end, by a status that says when to come again",
    ],
  },
  {
    resource: "questions about tokens to the API server at a time",
    bounds: [ofXds("MAX_TOKEN_REVIEWS"), ofCa("MAX_TOKEN_REVIEWS")],
    effect: "the next one waits",
    test: [
      "packages/auth/src/cluster/token-reviewers.test.ts",
      "are as many at a time as may be, in order, also after one has failed",
    ],
  },
  {
    resource: "a review on 15017",
    bounds: [inFile("services/webhook/src/serve/https-server.ts", "maxBodyBytes", "bytes")],
    effect: "413; the connection goes on",
    test: ["services/webhook/src/main.test.ts", "answers on a connection whose last body was too large"],
  },
  {
    resource: "bytes of bodies that are being sent or answered",
    bounds: [
      inFile("services/webhook/src/serve/https-server.ts", "maxHeldBytesOfAddress", "bytes of an address on 15017"),
      inFile("services/webhook/src/serve/https-server.ts", "maxHeldBytes", "in all"),
      inFile("services/config-controller/src/api/https-server.ts", "maxHeldBytesOfAddress", "of an address on 15028"),
      inFile("services/config-controller/src/api/https-server.ts", "maxHeldBytes", "in all"),
      inFile("packages/runtime/src/page-server.ts", "maxHeldBytesOfAddress", "of an address on pages"),
      inFile("packages/runtime/src/page-server.ts", "maxHeldBytes", "in all"),
    ],
    effect:
      "503, on 15028 429: to the address that is over its bound, or the newest body of the address that holds the most",
    test: ["packages/http/src/held-bodies.test.ts", "in all cost the address that holds the most its newest one"],
  },
  {
    resource: "a pod that is injected",
    bounds: [
      inFile(podShape, "maxContainers", "containers"),
      inFile(podShape, "maxVolumes", "volumes"),
      inFile(podShape, "maxEnvironment", "variables"),
      inFile(podShape, "maxAnnotationBytes", "bytes of annotations"),
    ],
    effect: "refused with the field and the bound",
    test: ["packages/injection/src/inject.test.ts", "with the field and the bound"],
  },
  {
    resource: "connections to pages (15014, 8080, 15024 to 15027)",
    bounds: [
      inFile("packages/runtime/src/page-server.ts", "maxPageConnectionsOfAddress", "of an address"),
      inFile("packages/runtime/src/page-server.ts", "maxPageConnections", "in all"),
    ],
    effect: "the oldest idle one of the address with the most is closed for the next",
    test: ["packages/http/src/connection-bound.test.ts", "of one address close its oldest, and the next is answered"],
  },
  {
    resource: "headers and bodies of pages (15014, 8080, 15024 to 15027)",
    bounds: [
      inFile("packages/http/src/http-server.ts", "maxHeaderBytes", "bytes of headers"),
      inFile("packages/runtime/src/page-server.ts", "maxBodyBytes", "bytes"),
      inFile("packages/http/src/read-body.ts", "maxDroppedBytes", "bytes are dropped"),
    ],
    effect: "413, a caller that goes on is cut off",
    test: ["packages/http/src/http-server.test.ts", "reads bodies up to a bound, and answers those that are larger"],
  },
  {
    resource: "the API on 15028",
    bounds: [ofApi("API_MAX_OBJECTS"), ofApi("API_MAX_WAITING")],
    effect: "429 or 413",
    test: [
      "services/config-controller/src/store/durable/durable-store.test.ts",
      "refuse what is too large, too much and too many at a time, and change nothing then",
    ],
  },
  {
    resource: "watches over the API",
    bounds: [ofApi("API_MAX_WATCHES")],
    effect: "429",
    test: [
      "services/config-controller/src/api/router.test.ts",
      "beyond the bound is refused, and taken once another has ended",
    ],
  },
  {
    resource: "connections to the API on 15028",
    bounds: [
      inFile("services/config-controller/src/api/https-server.ts", "maxConnectionsOfAddress", "of an address"),
      inFile("services/config-controller/src/api/https-server.ts", "maxConnections", "in all"),
    ],
    effect: "the oldest one that waits for no answer, of the address with the most, is closed for the next",
    test: [
      "services/config-controller/src/api/https-server.test.ts",
      "that are silent keep nobody out, and cost no caller its answer",
    ],
  },
  {
    resource: "labels and annotations of an object over the API",
    bounds: [
      inFile("services/config-controller/src/api/metadata.ts", "maxNames", "labels, and as many annotations"),
      inFile("services/config-controller/src/api/metadata.ts", "maxAnnotationBytes", "bytes of annotations"),
    ],
    effect: "422 with the number and the bound",
    test: [
      "services/config-controller/src/api/hostile-bodies.test.ts",
      "leave nothing of what they tried in another namespace or under another name",
    ],
  },
  {
    resource: "a watch over the API that is not read",
    bounds: [inFile("services/config-controller/src/api/https-server.ts", "defaultTakeWithinMs", "ms")],
    effect: "the connection is closed; the reader goes on with the version that it had",
    test: [
      "services/config-controller/src/api/https-server.test.ts",
      "that have no end are cut off from a reader that takes nothing, and little waits for it until then",
    ],
  },
  {
    resource: "connections to 15017",
    bounds: [
      inFile("services/webhook/src/serve/https-server.ts", "maxConnectionsOfAddress", "of an address"),
      inFile("services/webhook/src/serve/https-server.ts", "maxConnections", "in all"),
    ],
    effect: "as on 15028",
    test: ["packages/http/src/connection-bound.test.ts", "of one address close its oldest, and the next is answered"],
  },
  {
    resource: "a JSON patch over the API",
    bounds: [
      inFile("services/config-controller/src/api/patches.ts", "maxOperations", "operations"),
      inFile("services/config-controller/src/api/patches.ts", "maxCopiedBytes", "bytes copied"),
    ],
    effect: "422 that names the operation",
    test: [
      "services/config-controller/src/api/patches.test.ts",
      "a JSON patch that doubles the document again and again is refused",
    ],
  },
  {
    resource: "an object that is validated (15017, 15028, directories, the API server)",
    bounds: [
      inFile("packages/validation/src/aside/validation-thread.ts", "maxInlineLength", "bytes on the main thread"),
      inFile("packages/validation/src/aside/validation-thread.ts", "maxWaitingLength", "bytes wait for the thread"),
      inFile("packages/validation/src/aside/validation-thread.ts", "defaultTimeLimitMs", "ms in the thread"),
    ],
    effect:
      "larger ones are validated in a thread, others are answered meanwhile; beyond the bounds refused with the reason",
    test: [
      "packages/validation/src/aside/validation-thread.test.ts",
      "refuses an object while 64 MiB of others wait, and takes it once they are done",
    ],
  },
  {
    resource: "problems that are reported of one object",
    bounds: [inFile("packages/validation/src/aside/validation-thread.ts", "maxReported", "problems")],
    effect: "errors first; the rest is counted",
    test: [
      "packages/validation/src/aside/validation-thread.test.ts",
      "are listed up to a thousand, errors first, and the rest is counted",
    ],
  },
  {
    resource: "a regular expression of a user",
    bounds: [
      inFile("packages/validation/src/semantic/shared/text-match.ts", "maxExpressionLength", "characters"),
      inFile("services/xds-server/src/snapshot/proxy-pattern.ts", "maxExpressionLength", "characters of proxyVersion"),
    ],
    effect: "the object is refused, or the expression matches nothing; RE2 is linear",
    test: [
      "services/xds-server/src/generate/select/patching.test.ts",
      "that are wrong leave the resource as it was, and are found with their place",
    ],
  },
  {
    resource: "keys of issuers by URI",
    bounds: [inFile("services/config-controller/src/issuer-keys/guarded-fetch.ts", "usualMaxBytes", "bytes")],
    effect: "the keys that are there stay",
    test: [
      "services/config-controller/src/issuer-keys/guarded-fetch.test.ts",
      "that is too large, ends early, or is none is refused",
    ],
  },
  {
    resource: "streams of NATS that a service writes, with its own credentials",
    bounds: [
      inFile("packages/bus/src/stored-streams.ts", "maxReportBytes", "bytes of reports"),
      inFile("packages/bus/src/stored-streams.ts", "maxLeaseBytes", "bytes of leases"),
    ],
    effect:
      "its writes are refused (10077), others go on; configuration, endpoints and what is kept nowhere else have the disk as their bound",
    test: [
      "packages/bus/src/nats-floods.integration.test.ts",
      "fills its own buckets up to their bound, and no others",
    ],
  },
  {
    resource: "consumers on NATS",
    bounds: [
      inFile("packages/bus/src/stored-streams.ts", "maxStreamConsumers", "of the one stream"),
      inFile("packages/bus/src/stored-streams.ts", "maxBucketConsumers", "of a bucket"),
      inFile("packages/bus/src/stored-streams.ts", "maxIdleConsumerMs", "ms without a listener"),
    ],
    effect: "new readers wait (10026), those who read go on",
    test: [
      "packages/bus/src/nats-floods.integration.test.ts",
      "makes consumers up to a bound, those who read go on, and consumers end with their listener whatever they were asked to be",
    ],
  },
  {
    resource: "a message on NATS",
    bounds: [inFile("packages/servers/src/start-server.ts", "maxPayloadBytes", "bytes")],
    effect: "the server closes the connection",
    test: ["packages/bus/src/nats-floods.integration.test.ts", "is cut off at a message above the bound"],
  },
  {
    resource: "values of bus and store that cannot be read",
    bounds: [
      inFile("packages/bus/src/set-aside.ts", "maxPlaces", "are named"),
      inFile("packages/bus/src/envelope.ts", "maxPlainBytes", "bytes unpacked"),
      inFile("packages/model/src/json/shape.ts", "maxDepth", "levels"),
    ],
    effect: "set aside by name, healed by the next good value",
    test: ["packages/bus/src/set-aside.test.ts", "of many places only the first thousand are kept"],
  },
  {
    resource: "log lines that nobody takes",
    bounds: [inFile("packages/runtime/src/log-writer.ts", "maxBatchBytes", "bytes a write")],
    effect: "4 MiB wait, the next are dropped and counted",
    test: [
      "packages/runtime/src/log-writer.test.ts",
      "drops what finds no room while nobody takes anything, and reports the number afterwards",
    ],
  },
];
