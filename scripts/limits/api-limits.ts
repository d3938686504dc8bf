/** Bounds on what a writer of objects can take: over the API, in a directory, or by a URI that an object names. */
import { inFile, type Limit } from "./limit.ts";

const asSet = "services/config-controller/src/bounds-by-settings.test.ts";
const ofApi = (setting: string) => ({ service: "config-controller", setting });

export const apiLimits: readonly Limit[] = [
  {
    resource: "the API on 15028",
    bounds: [ofApi("API_MAX_OBJECTS"), ofApi("API_MAX_WAITING")],
    effect: "429 or 413",
    tests: [
      [
        "services/config-controller/src/store/durable/durable-store.test.ts",
        "refuse what is too large, too much and too many at a time, and change nothing then",
      ],
      [asSet, "the object beyond it is refused, others change, and there is room when one has gone"],
      [asSet, "of writes that come together those beyond it are refused with 429"],
    ],
  },
  {
    resource: "watches over the API",
    bounds: [ofApi("API_MAX_WATCHES")],
    effect: "429",
    tests: [
      [
        "services/config-controller/src/api/router.test.ts",
        "beyond the bound is refused, and taken once another has ended",
      ],
      [asSet, "the watch beyond it is refused with 429, and taken when another has ended"],
    ],
  },
  {
    resource: "connections to the API on 15028",
    bounds: [
      inFile("services/config-controller/src/api/https-server.ts", "maxConnectionsOfAddress", "of an address"),
      inFile("services/config-controller/src/api/https-server.ts", "maxConnections", "in all"),
    ],
    effect: "the oldest one that waits for no answer, of the address with the most, is closed for the next",
    tests: [
      [
        "services/config-controller/src/api/https-server.test.ts",
        "that are silent keep no caller out, and cost none its answer",
      ],
      [
        "services/config-controller/src/api/https-server.test.ts",
        "silent connections of one address are 1,000 at most, and callers are answered beside them",
      ],
    ],
  },
  {
    resource: "labels and annotations of an object over the API",
    bounds: [
      inFile("services/config-controller/src/api/metadata.ts", "maxNames", "labels, and as many annotations"),
      inFile("services/config-controller/src/api/metadata.ts", "maxAnnotationBytes", "bytes of annotations"),
    ],
    effect: "422 with the number and the bound",
    tests: [
      ["services/config-controller/src/api/metadata.test.ts", "more than a thousand labels"],
      ["services/config-controller/src/api/metadata.test.ts", "annotations that are too large"],
      ["services/config-controller/src/api/hostile-bodies.test.ts", "100,000 labels"],
    ],
  },
  {
    resource: "a watch over the API that is not read",
    bounds: [inFile("services/config-controller/src/api/https-server.ts", "defaultTakeWithinMs", "ms")],
    effect: "the connection is closed; the reader goes on with the version that it had",
    tests: [
      [
        "services/config-controller/src/api/https-server.test.ts",
        "that have no end are cut off from a reader that takes nothing, and little waits for it until then",
      ],
    ],
  },
  {
    resource: "a JSON patch over the API",
    bounds: [
      inFile("services/config-controller/src/api/patches.ts", "maxOperations", "operations"),
      inFile("services/config-controller/src/api/patches.ts", "maxCopiedBytes", "bytes copied"),
    ],
    effect: "400 for too many operations; 422 that names the operation that copies too much",
    tests: [
      [
        "services/config-controller/src/api/patches.test.ts",
        "a JSON patch that doubles the document again and again is refused",
      ],
    ],
  },
  {
    resource: "an object that is validated (15017, 15028, directories, the API server, configSources)",
    bounds: [
      inFile("packages/validation/src/aside/validation-thread.ts", "maxInlineLength", "bytes on the main thread"),
      inFile("packages/validation/src/aside/validation-thread.ts", "maxWaitingLength", "bytes wait for the thread"),
      inFile("packages/validation/src/aside/validation-thread.ts", "defaultTimeLimitMs", "ms in the thread"),
    ],
    effect:
      "larger ones are validated in a thread, others are answered meanwhile; beyond the bounds refused with the reason",
    tests: [
      [
        "services/config-controller/src/watch/mcp/mcp-source.test.ts",
        "is validated in a thread where an object is large, and the main thread goes on",
      ],
      [
        "packages/validation/src/aside/validation-thread.test.ts",
        "refuses an object while 64 MiB of others wait, and takes it once they are done",
      ],
      [
        "packages/validation/src/aside/validation-thread.test.ts",
        "leaves the main thread free: timers run while 20,000 routes are validated",
      ],
      [
        "packages/validation/src/aside/validation-thread.test.ts",
        "refuses what takes too long, and validates the next object",
      ],
    ],
  },
  {
    resource: "problems that are reported of one object",
    bounds: [inFile("packages/validation/src/aside/validation-thread.ts", "maxReported", "problems")],
    effect: "errors first; the rest is counted",
    tests: [
      [
        "packages/validation/src/aside/validation-thread.test.ts",
        "are listed up to a thousand, errors first, and the rest is counted",
      ],
    ],
  },
  {
    resource: "a regular expression of a user",
    bounds: [
      inFile("packages/validation/src/semantic/shared/text-match.ts", "maxExpressionLength", "characters"),
      inFile("services/xds-server/src/snapshot/proxy-pattern.ts", "maxExpressionLength", "characters of proxyVersion"),
    ],
    effect: "the object is refused, or the expression matches nothing; RE2 is linear",
    tests: [
      [
        "services/xds-server/src/generate/select/patching.test.ts",
        "that are wrong leave the resource as it was, and are found with their place",
      ],
      ["packages/validation/src/semantic/virtual-service.test.ts", "expressions are short"],
    ],
  },
  {
    resource: "keys of issuers by URI",
    bounds: [inFile("services/config-controller/src/issuer-keys/guarded-fetch.ts", "usualMaxBytes", "bytes")],
    effect: "the keys that are there stay",
    tests: [
      [
        "services/config-controller/src/issuer-keys/guarded-fetch.test.ts",
        "that is too large, ends early, or is none is refused",
      ],
    ],
  },
];
