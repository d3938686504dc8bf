/** Bounds on what can be taken of NATS, and by values of NATS and Redis and lines of logs. */
import { inFile, type Limit } from "./limit.ts";

export const storeLimits: readonly Limit[] = [
  {
    resource: "streams of NATS that a service writes, with its own credentials",
    bounds: [
      inFile("packages/bus/src/stored-streams.ts", "maxReportBytes", "bytes of reports"),
      inFile("packages/bus/src/stored-streams.ts", "maxLeaseBytes", "bytes of leases"),
    ],
    effect:
      "its writes are refused (10077), others go on; configuration, endpoints and what is kept nowhere else have the disk as their bound",
    tests: [
      ["packages/bus/src/nats-floods.integration.test.ts", "fills its own buckets up to their bound, and no others"],
      ["packages/bus/src/nats-floods.integration.test.ts", "fills its own lease up to its bound"],
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
    tests: [
      [
        "packages/bus/src/nats-floods.integration.test.ts",
        "makes consumers up to a bound, those who read go on, and consumers end with their listener whatever they were asked to be",
      ],
      [
        "packages/bus/src/nats-floods.integration.test.ts",
        "makes consumers of a bucket up to a bound, of which one that ends has room for the next reader",
      ],
    ],
  },
  {
    resource: "a message on NATS",
    bounds: [inFile("packages/servers/src/start-server.ts", "maxPayloadBytes", "bytes")],
    effect: "the server closes the connection",
    tests: [["packages/bus/src/nats-floods.integration.test.ts", "is cut off at a message above the bound"]],
  },
  {
    resource: "values of bus and store that cannot be read",
    bounds: [
      inFile("packages/bus/src/set-aside.ts", "maxPlaces", "are named"),
      inFile("packages/bus/src/envelope.ts", "maxPlainBytes", "bytes unpacked"),
      inFile("packages/model/src/json/shape.ts", "maxDepth", "levels"),
    ],
    effect: "set aside by name, healed by the next good value",
    tests: [
      ["packages/bus/src/set-aside.test.ts", "of many places only the first thousand are kept"],
      ["packages/bus/src/nats-poison.integration.test.ts", "300 MB in 30 kB"],
      ["packages/model/src/json/shape.test.ts", "101 levels"],
    ],
  },
  {
    resource: "log lines without a reader",
    bounds: [inFile("packages/runtime/src/log-writer.ts", "maxWaitingBytes", "bytes wait")],
    effect: "the next are dropped and counted",
    tests: [
      [
        "packages/runtime/src/log-writer.test.ts",
        "drops lines that find no room while no reader takes any, and reports the number afterwards",
      ],
    ],
  },
];
