/** Random Gateways, VirtualServices bound to them, and requests; from few hosts, so that they overlap. */
import { fc } from "@flotilla/testkit";
import { type SplitRequest, splitRequest, splitRoutes, sums } from "./split-rounds.ts";

/** Names of the listeners that a round may have. */
export type PortName = "one" | "two" | "secure";

export interface RandomServer {
  readonly port: PortName;
  readonly hosts: readonly string[];
  /** Plain requests are redirected to HTTPS. */
  readonly redirects: boolean;
}

export interface RandomVirtualService {
  readonly hosts: readonly string[];
  /** Indexes of Gateways of the round, `other` for one that does not exist, or `mesh`. */
  readonly gateways: readonly (number | "other" | "mesh")[];
  readonly http: readonly object[];
}

export interface GatewayRequest extends SplitRequest {
  readonly port: PortName;
  readonly host: string;
}

export interface GatewayRound {
  /** Sum of the weights of every route. */
  readonly sum: number;
  /** Servers of each Gateway. */
  readonly gateways: readonly (readonly RandomServer[])[];
  readonly services: readonly RandomVirtualService[];
  readonly requests: readonly GatewayRequest[];
}

const asked = ["a.example", "b.example", "c.b.example", "a.test", "A.Example"] as const;
const some = <Value>(values: fc.Arbitrary<Value>, maxLength: number) =>
  fc.uniqueArray(values, { minLength: 1, maxLength, selector: String });

const serverHost = fc.constantFrom(
  ...["a.example", "b.example", "*.example", "*.example", "*.b.example", "*.test", "*", "*", "*"],
  ...["shop/a.example", "./*.example", "*/b.example", "other/*", "other/a.example"],
);
const port = fc.constantFrom<PortName>("one", "one", "one", "two", "secure", "secure");
const server: fc.Arbitrary<RandomServer> = fc.record({
  port,
  hosts: some(serverHost, 2),
  redirects: fc.integer({ min: 0, max: 5 }).map((drawn) => drawn === 0),
});

const host = fc.constantFrom(
  ...[
    "a.example",
    "a.example",
    "b.example",
    "*.example",
    "*.example",
    "c.b.example",
    "*.b.example",
    "a.test",
    "*",
    "*",
  ],
);

function service(sum: number): fc.Arbitrary<RandomVirtualService> {
  return fc.record({
    hosts: some(host, 2),
    gateways: some(fc.constantFrom<number | "other" | "mesh">(0, 0, 0, 0, 1, 1, "other", "mesh"), 3),
    http: splitRoutes(sum),
  });
}

const request: fc.Arbitrary<GatewayRequest> = fc
  .record({ split: splitRequest, port, host: fc.constantFrom(...asked) })
  .map(({ split, ...rest }) => ({ ...split, ...rest }));

export const gatewayRound: fc.Arbitrary<GatewayRound> = sums
  .chain((sum) =>
    fc.record({
      sum: fc.constant(sum),
      gateways: fc.array(fc.array(server, { minLength: 1, maxLength: 3 }), { minLength: 1, maxLength: 2 }),
      services: fc.array(service(sum), { minLength: 2, maxLength: 4 }),
      requests: fc.array(request, { minLength: 4, maxLength: 4 }),
    }),
  )
  // Gives objects the usual prototype, as those read from YAML have it.
  .map((value) => JSON.parse(JSON.stringify(value)) as GatewayRound);
