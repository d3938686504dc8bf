/** Bounds on what a client of xDS or of ca can take. */
import { inFile, type Limit } from "./limit.ts";

const badClients = "services/xds-server/src/serve/bad-clients.test.ts";
const xdsAsSet = "services/xds-server/src/bounds-by-settings.test.ts";
const caAsSet = "services/ca/src/bounds-by-settings.test.ts";
const ofXds = (setting: string) => ({ service: "xds-server", setting });
const ofCa = (setting: string) => ({ service: "ca", setting });

export const xdsLimits: readonly Limit[] = [
  {
    resource: "new streams of xDS a second",
    bounds: [ofXds("PILOT_MAX_REQUESTS_PER_SECOND")],
    effect: "RESOURCE_EXHAUSTED; callers without a proof have a budget of their own",
    tests: [
      [badClients, "one that opens 5,000 streams is served at the pace of the limit, and delays no other client"],
    ],
  },
  {
    resource: "streams of one connection",
    bounds: [ofXds("ISTIO_GPRC_MAXSTREAMS")],
    effect: "more are refused by HTTP/2; resets in a row close the connection",
    tests: [
      [
        "services/xds-server/src/serve/http2-floods.test.ts",
        "streams of one connection beyond the bound are refused, those within it and others go on",
      ],
      [xdsAsSet, "streams of a connection beyond it are refused, those within it go on"],
      ["services/xds-server/src/serve/http2-floods.test.ts", "floods of HTTP/2 on 15012"],
    ],
  },
  {
    resource: "silent connections on 15012, 15013, 15017, 15028 and 15029",
    bounds: [
      inFile("packages/http/src/paced-listener.ts", "maxSilentPerAddress", "of an address"),
      inFile("packages/http/src/paced-listener.ts", "maxSilent", "in all"),
    ],
    effect: "the oldest silent one is closed for the next",
    tests: [
      [
        "packages/http/src/paced-listener.test.ts",
        "closes the oldest silent one of an address for its next, and leaves other addresses alone",
      ],
      [
        "packages/http/src/paced-listener.test.ts",
        "closes the oldest silent one of all for the next where too many are",
      ],
    ],
  },
  {
    resource: "connections to 15010, 15012 and 15013 without a request",
    bounds: [
      inFile("packages/raw-grpc/src/idle-connections.ts", "maxIdlePerAddress", "of an address"),
      inFile("packages/raw-grpc/src/idle-connections.ts", "maxIdle", "in all"),
    ],
    effect: "the oldest of the address is closed for the next, in all the oldest of the address with the most",
    tests: [
      [
        "services/xds-server/src/serve/hostile-sessions.test.ts",
        "of one address are 2,048 at most: the oldest are closed, and streams of that address go on",
      ],
      [
        "services/xds-server/src/serve/hostile-sessions.test.ts",
        "keep no connection: 2,048 of an address stay, and streams of that address go on",
      ],
      ["services/ca/src/idle-connections.test.ts", "connections without a request are 2,048 of an address at most"],
      [
        "packages/raw-grpc/src/idle-connections.test.ts",
        "beyond those in all close the oldest of the address with the most",
      ],
      ["packages/raw-grpc/src/idle-connections.test.ts", "are 8,192 in all without bounds of its own"],
    ],
  },
  {
    resource: "bytes of messages over gRPC that are not whole",
    bounds: [
      inFile("packages/raw-grpc/src/partial-messages.ts", "maxPartialBytesOfAddress", "of an address"),
      inFile("packages/raw-grpc/src/partial-messages.ts", "maxPartialBytes", "in all"),
    ],
    effect:
      "RESOURCE_EXHAUSTED for the call that goes over it, in all for the newest of the address that holds the most",
    tests: [
      [
        "packages/raw-grpc/src/partial-messages.test.ts",
        "holds 64 MiB of one address at most, without bounds of its own",
      ],
      [
        "packages/raw-grpc/src/partial-messages.test.ts",
        "beyond the bytes in all end the newest call of the address that holds the most",
      ],
      ["packages/raw-grpc/src/partial-messages.test.ts", "hold 256 MiB in all"],
    ],
  },
  {
    resource: "a request for a certificate on 15013",
    bounds: [
      inFile("services/ca/src/app/port.ts", "maxMessageBytes", "bytes"),
      inFile("services/ca/src/app/port.ts", "maxStreamsPerConnection", "at a time on one connection"),
    ],
    effect: "RESOURCE_EXHAUSTED, the bytes are not read; more calls are refused by HTTP/2",
    tests: [
      ["services/ca/src/refusals.test.ts", "a message of more than 64 kB is not read"],
      [
        "services/ca/src/http2-floods.test.ts",
        "a connection may have eight calls at a time, as packages/raw-grpc enforces",
      ],
    ],
  },
  {
    resource: "log lines for rejections of a proxy",
    bounds: [
      inFile("services/xds-server/src/serve/rejection-log.ts", "maxLines", "lines at once"),
      inFile("services/xds-server/src/serve/rejection-log.ts", "intervalMs", "ms for each further one"),
    ],
    effect: "the rest is counted, in a metric and in the next line",
    tests: [
      [
        "services/xds-server/src/serve/rejection-log.test.ts",
        "rejections get ten lines at once, then one in ten seconds with the number of those without",
      ],
      [
        "services/xds-server/src/serve/hostile-sessions.test.ts",
        "rejecting every one of many answers gets ten lines in the log and one more in ten seconds",
      ],
      [
        "services/xds-server/src/serve/hostile-sessions.test.ts",
        "rejecting one answer on each of many streams gets ten lines in the log and one more in ten seconds",
      ],
    ],
  },
  {
    resource: "log lines for callers that are refused (15010, 15012, 15013, 15017)",
    bounds: [
      inFile("packages/runtime/src/line-budgets.ts", "maxRefusedLines", "lines of an address at once"),
      inFile("packages/runtime/src/line-budgets.ts", "refusedIntervalMs", "ms for each further one"),
      inFile("packages/runtime/src/line-budgets.ts", "maxKeys", "addresses have their own, all others share one"),
    ],
    effect: "the rest is counted, in a metric and in the next line",
    tests: [
      [
        "services/xds-server/src/serve/hostile-sessions.test.ts",
        "opening streams that are refused gets fifty lines in the log and one more each second",
      ],
      [
        "services/ca/src/refusals.test.ts",
        "callers that are refused get fifty lines at once and one more each second, by the host they come from",
      ],
      [
        "packages/runtime/src/line-budgets.test.ts",
        "are shared beyond a thousand callers, until budgets are full again",
      ],
    ],
  },
  {
    resource: "bytes before a TLS handshake",
    bounds: [inFile("packages/http/src/hello-wait.ts", "maxBytes", "bytes")],
    effect: "a connection that begins with anything else is closed",
    tests: [["packages/http/src/hello-wait.test.ts", "a record longer than any"]],
  },
  {
    resource: "one request over xDS",
    bounds: [ofXds("ISTIO_GPRC_MAXRECVMSGSIZE")],
    effect: "RESOURCE_EXHAUSTED, the bytes are not read",
    tests: [
      [badClients, "a request above the limit ends its stream only"],
      ["packages/raw-grpc/src/server.test.ts", "refuses a message by its announced size, before it is there"],
    ],
  },
  {
    resource: "a compressed message",
    bounds: [
      inFile("packages/raw-grpc/src/frame.ts", "freeInflatedBytes", "bytes"),
      inFile("packages/raw-grpc/src/frame.ts", "maxInflation", "times its own length beyond that"),
    ],
    effect: "RESOURCE_EXHAUSTED, the stream ends",
    tests: [
      [
        "services/xds-server/src/serve/hostile-sessions.test.ts",
        "sending messages that inflate a thousandfold is cut off",
      ],
    ],
  },
  {
    resource: "node metadata",
    bounds: [inFile("services/xds-server/src/serve/decode-request.ts", "maxMetadataLength", "characters")],
    effect: "the stream is refused by name",
    tests: [[badClients, "metadata of a node over the bound is refused by name"]],
  },
  {
    resource: "names that a stream subscribes to",
    bounds: [ofXds("XDS_MAX_NAMES_PER_STREAM")],
    effect: "RESOURCE_EXHAUSTED before the request is taken in",
    tests: [
      [badClients, "end their stream only"],
      [xdsAsSet, "as many names are answered, one more ends the stream"],
    ],
  },
  {
    resource: "text of a rejection, and names that are looked for in it",
    bounds: [
      inFile("packages/xds/src/plan.ts", "maxTextLength", "characters"),
      inFile("packages/xds/src/plan.ts", "maxNames", "names"),
    ],
    effect: "the rest is cut, or all resources count as named",
    tests: [
      ["packages/xds/src/plan.test.ts", "falls on all resources where none or too many could be named"],
      ["packages/xds/src/plan.test.ts", "looks for names in the first 16,384 characters of a text"],
    ],
  },
  {
    resource: "labels of metrics by a stated version",
    bounds: [inFile("services/xds-server/src/serve/stream-metrics.ts", "maxVersions", "versions")],
    effect: "counted as `other`; a label leaves with its last stream",
    tests: [
      [
        "services/xds-server/src/serve/version-labels.test.ts",
        "are a hundred at most: the next version counts as other, until one has left",
      ],
      [
        "services/xds-server/src/serve/version-labels.test.ts",
        "leave with their last stream, also those that were counted as other",
      ],
    ],
  },
  {
    resource: "answers that are not read",
    bounds: [ofXds("PILOT_XDS_SEND_TIMEOUT")],
    effect: "one message waits, then the client is closed",
    tests: [[badClients, "one that does not read holds one message and is closed in the end; others get every change"]],
  },
  {
    resource: "debug questions over xDS that wait",
    bounds: [inFile("services/xds-server/src/serve/debug-answers.ts", "maxOpenQuestions", "questions")],
    effect: "the stream is closed",
    tests: [[badClients, "one that asks more than it waits for is closed, one that reads gets every answer"]],
  },
  {
    resource: "requests for certificates that wait",
    bounds: [ofCa("CA_MAX_PENDING_PER_IDENTITY"), ofCa("CA_MAX_PENDING")],
    effect: "RESOURCE_EXHAUSTED; identities take turns",
    tests: [
      ["services/ca/src/refusals.test.ts", "of one identity is cut off, and others get theirs"],
      [
        "services/ca/src/sign/fair-queue.test.ts",
        "a full line is refused, other lines are not, and the whole is bounded",
      ],
      [caAsSet, "of requests of many identities those beyond it are refused, and the next are answered"],
    ],
  },
  {
    resource: "requests for certificates that xds-server keeps while ca is away",
    bounds: [inFile("services/xds-server/src/app/ca-passthrough.ts", "maxHeld", "requests")],
    effect: "UNAVAILABLE",
    tests: [
      [
        "services/xds-server/src/app/ca-passthrough.test.ts",
        "are kept up to a thousand at a time, the next fails at once",
      ],
    ],
  },
  {
    resource: "questions about tokens to the API server at a time",
    bounds: [ofXds("MAX_TOKEN_REVIEWS"), ofCa("MAX_TOKEN_REVIEWS")],
    effect: "the next one waits",
    tests: [
      [
        "packages/auth/src/cluster/token-reviewers.test.ts",
        "are as many at a time as may be, in order, also after one has failed",
      ],
      [caAsSet, "the API server is asked about as many tokens at a time, the next one after an answer"],
    ],
  },
];
