/** Bounds on what a client of the webhook, of the console, or of the pages of any service can take. */
import { inFile, type Limit } from "./limit.ts";

const podShape = "packages/injection/src/pod-shape.ts";
const ofConsole = (setting: string) => ({ service: "console", setting });

export const httpLimits: readonly Limit[] = [
  {
    resource: "a review on 15017",
    bounds: [inFile("services/webhook/src/serve/https-server.ts", "maxBodyBytes", "bytes")],
    effect: "413; the connection goes on",
    tests: [["services/webhook/src/main.test.ts", "answers on a connection whose last body was too large"]],
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
    tests: [
      ["packages/http/src/held-bodies.test.ts", "in all cost the address that holds the most its newest one"],
      [
        "packages/http/src/held-bodies.test.ts",
        "of one address are refused to it, at once and while the rest is sent, and others are answered",
      ],
      [
        "packages/runtime/src/page-server.test.ts",
        "hold 16 MiB of bodies of one address that are being sent: the next is answered 503",
      ],
      [
        "services/webhook/src/serve/https-server.test.ts",
        "refuses bodies beyond 64 MiB of one address that are being sent, and takes others again",
      ],
      [
        "services/config-controller/src/api/https-server.test.ts",
        "bodies beyond 64 MiB of one address that are being sent are refused, and room comes back",
      ],
    ],
  },
  {
    resource: "turns of the event loop that bodies take",
    bounds: [
      inFile("packages/http/src/body-pace.ts", "bytesPerTurn", "bytes of all bodies in a turn"),
      inFile("packages/http/src/body-pace.ts", "resumedPerTurn", "waiting bodies are read on in a turn"),
      inFile("packages/http/src/body-pace.ts", "droppedEveryMs", "ms between pieces that are dropped"),
    ],
    effect: "the next bodies wait for a later turn; new connections are accepted meanwhile",
    tests: [
      ["packages/http/src/body-pace.test.ts", "are read a little in each turn"],
      [
        "test/integration/src/floods-at-once.integration.test.ts",
        "leave another workload its certificates, changes and reviews, and the processes their memory",
      ],
    ],
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
    tests: [["packages/injection/src/inject.test.ts", "with the field and the bound"]],
  },
  {
    resource: "connections to pages (15014, 8080, 15024 to 15027)",
    bounds: [
      inFile("packages/runtime/src/page-server.ts", "maxPageConnectionsOfAddress", "of an address"),
      inFile("packages/runtime/src/page-server.ts", "maxPageConnections", "in all"),
    ],
    effect: "the oldest idle one of the address with the most is closed for the next",
    tests: [
      [
        "packages/runtime/src/page-server.test.ts",
        "keep 256 silent connections of one address, and answer beside them",
      ],
      ["packages/http/src/connection-bound.test.ts", "of one address close its oldest, and the next is answered"],
      ["packages/http/src/connection-bound.test.ts", "in all close one of the address that has the most"],
    ],
  },
  {
    resource: "headers and bodies of pages (15014, 8080, 15024 to 15027)",
    bounds: [
      inFile("packages/http/src/http-server.ts", "maxHeaderBytes", "bytes of headers"),
      inFile("packages/runtime/src/page-server.ts", "maxBodyBytes", "bytes"),
      inFile("packages/http/src/read-body.ts", "maxDroppedBytes", "bytes are dropped"),
    ],
    effect: "431 for headers; 413 for bodies, and a caller that goes on is cut off",
    tests: [
      ["packages/http/src/body-pace.test.ts", "that no handler reads are cut off where they do not end"],
      ["packages/runtime/src/page-server.test.ts", "take bodies of 4 MiB, and answer 413 to a larger one"],
      ["packages/http/src/http-server.test.ts", "cuts off a caller that sends on after its body was refused"],
      ["packages/http/src/http-server.test.ts", "answers 431 to headers of more than 16 KiB, and 200 to less"],
    ],
  },
  {
    resource: "answers that are not read (pages of every service, 9876, 15028)",
    bounds: [
      inFile("packages/runtime/src/page-server.ts", "maxAnswerBytesOfAddress", "bytes of an address on pages"),
      inFile("packages/runtime/src/page-server.ts", "maxAnswerBytes", "in all"),
      inFile("services/config-controller/src/api/https-server.ts", "maxAnswerBytesOfAddress", "of an address on 15028"),
      inFile("services/config-controller/src/api/https-server.ts", "maxAnswerBytes", "in all"),
      inFile("packages/http/src/held-answers.ts", "defaultTakeWithinMs", "ms in which nothing is taken"),
    ],
    effect:
      "503 to an address that holds some, without a page being made (answers of 64 KiB or less are not counted); in all, another address takes its room from the oldest answers of the one that holds the most; a stalled one ends with its connection",
    tests: [
      [
        "packages/http/src/held-answers.test.ts",
        "of one address are bounded: the next is answered 503 without a page, others get theirs, and room comes back",
      ],
      ["packages/http/src/held-answers.test.ts", "in all cost the address that holds the most its oldest one"],
      ["packages/http/src/held-answers.test.ts", "end with their connection when nothing is taken for a while"],
    ],
  },
  {
    resource: "pages that are asked for at the same time (pages of every service, 9876)",
    bounds: [
      inFile("packages/http/src/request-queue.ts", "maxWaitingOfAddress", "requests of an address wait"),
      inFile("packages/http/src/request-queue.ts", "maxWaiting", "in all"),
    ],
    effect:
      "one is made at a time, round robin over addresses; /ready, /healthz, /version and /metrics do not wait; more are answered 503",
    tests: [
      ["packages/http/src/request-queue.test.ts", "start when the one before has ended, round robin over addresses"],
      ["packages/http/src/request-queue.test.ts", "leave the event loop free for as long as each took"],
      ["packages/http/src/request-queue.test.ts", "of one address wait up to 256, the next is refused, others are not"],
      ["packages/http/src/request-queue.test.ts", "of all addresses wait up to 1,024"],
      ["packages/runtime/src/page-server.test.ts", "do not keep probes waiting"],
    ],
  },
  {
    resource: "connections to 15017",
    bounds: [
      inFile("services/webhook/src/serve/https-server.ts", "maxConnectionsOfAddress", "of an address"),
      inFile("services/webhook/src/serve/https-server.ts", "maxConnections", "in all"),
    ],
    effect: "as on 15028",
    tests: [
      ["services/webhook/src/main.test.ts", "keeps 1,024 silent connections of one address, and answers beside them"],
      ["packages/http/src/connection-bound.test.ts", "of one address close its oldest, and the next is answered"],
      ["packages/http/src/connection-bound.test.ts", "in all close one of the address that has the most"],
    ],
  },
  {
    resource: "sessions of the console",
    bounds: [ofConsole("CONSOLE_MAX_SESSIONS")],
    effect: "429 for the next; others go on",
    tests: [
      [
        "services/console/src/serve/console-limits.test.ts",
        "refuses a session beyond the bound with 429, and takes one again when another has ended",
      ],
      [
        "services/console/src/bounds-by-settings.test.ts",
        "the session beyond it is refused with 429, and taken when another has ended",
      ],
    ],
  },
  {
    resource: "streams of events of the console",
    bounds: [ofConsole("CONSOLE_MAX_STREAMS")],
    effect: "429 for the next; others go on",
    tests: [
      [
        "services/console/src/serve/console-limits.test.ts",
        "refuses a stream of events beyond the bound with 429, and opens one when another was closed",
      ],
      [
        "services/console/src/bounds-by-settings.test.ts",
        "the stream of events beyond it is refused with 429, and opened when another has ended",
      ],
    ],
  },
  {
    resource: "events of the console that are not read",
    bounds: [inFile("services/console/src/events/event-streams.ts", "maxBufferedBytes", "bytes of a stream")],
    effect: "the next are left out, and the reader is sent `resync` when it reads again",
    tests: [
      [
        "services/console/src/serve/console-limits.test.ts",
        "holds little for a reader of events that takes nothing, which is sent `resync` when it reads again",
      ],
    ],
  },
  {
    resource: "bodies of the console on 15029",
    bounds: [
      inFile("services/console/src/serve/console-server.ts", "maxBodyBytes", "bytes"),
      inFile("services/console/src/serve/console-server.ts", "maxSignInBytes", "bytes before the caller has signed in"),
    ],
    effect: "413; others are answered",
    tests: [
      [
        "services/console/src/serve/console-limits.test.ts",
        "answers 413 to a body over 4 MiB, and to one of a caller that has not signed in over 16 KiB",
      ],
    ],
  },
  {
    resource: "bodies of the console that are being sent or answered",
    bounds: [
      inFile("services/console/src/serve/console-server.ts", "maxHeldBytesOfAddress", "bytes of an address"),
      inFile("services/console/src/serve/console-server.ts", "maxHeldBytes", "in all"),
    ],
    effect: "429, as on pages",
    tests: [
      [
        "services/console/src/serve/console-limits.test.ts",
        "refuses bodies beyond 32 MiB of one address that are being sent, and answers when they have gone",
      ],
      ["packages/http/src/held-bodies.test.ts", "in all cost the address that holds the most its newest one"],
    ],
  },
  {
    resource: "connections to the console on 15029",
    bounds: [
      inFile("services/console/src/serve/console-server.ts", "maxConnectionsOfAddress", "of an address"),
      inFile("services/console/src/serve/console-server.ts", "maxConnections", "in all"),
    ],
    effect: "as on 15028",
    tests: [
      [
        "services/console/src/serve/console-limits.test.ts",
        "keeps 500 silent connections of one address, and answers beside them",
      ],
      ["packages/http/src/connection-bound.test.ts", "of one address close its oldest, and the next is answered"],
      ["packages/http/src/connection-bound.test.ts", "in all close one of the address that has the most"],
    ],
  },
  {
    resource: "YAML in the console",
    bounds: [inFile("services/console/src/answers/yaml-objects.ts", "maxLength", "characters")],
    effect: "413 before it is read",
    tests: [
      ["services/console/src/answers/yaml-objects.test.ts", "a text that is too long is refused before it is read"],
    ],
  },
  {
    resource: "an answer of a service to the console",
    bounds: [ofConsole("CONSOLE_UPSTREAM_TIMEOUT")],
    effect: "the service is named as away, and the rest is answered",
    tests: [
      [
        "services/console/src/upstream/services.test.ts",
        "that does not answer in time is away for the request, which says so",
      ],
    ],
  },
  {
    resource: "statistics of an Envoy in the console",
    bounds: [
      inFile("services/console/src/stats/proxy-stats.ts", "defaultMaxBytes", "bytes"),
      inFile("services/console/src/stats/proxy-stats.ts", "defaultMaxAtOnce", "proxies at a time"),
      ofConsole("CONSOLE_UPSTREAM_TIMEOUT"),
    ],
    effect: "413, 429 and 503 for the request; redirects are not followed",
    tests: [
      ["services/console/src/stats/proxy-stats.test.ts", "more than the bound"],
      ["services/console/src/stats/proxy-stats.test.ts", "are read of a bounded number of proxies at a time"],
      ["services/console/src/stats/proxy-stats.test.ts", "nothing in time"],
    ],
  },
];
