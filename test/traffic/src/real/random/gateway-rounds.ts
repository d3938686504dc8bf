/** Random Gateways and VirtualServices that are bound to them, and who asks for what: few hosts, so that they meet. */
import { fc } from "@flotilla/testkit";
import { type SplitRequest, splitRequest, splitRoutes, sums } from "./split-rounds.ts";

/** Of the listeners that a round may have. */
export type PortName = "one" | "two" | "secure";

export interface RandomServer {
  readonly port: PortName;
  readonly hosts: readonly string[];
  /** Plain requests are sent to HTTPS. */
  readonly redirects: boolean;
}

export interface RandomVirtualService {
  readonly hosts: readonly string[];
  /** Places of Gateways of the round; one that is not there, and `mesh`. */
  readonly gateways: readonly (number | "other" | "mesh")[];
  readonly http: readonly object[];
}

export interface GatewayRequest extends SplitRequest {
  readonly port: PortName;
  readonly host: string;
}

export interface GatewayRound {
  /** Of the weights of every route. */
  readonly sum: number;
  /** The servers of each. */
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
  // As objects read from YAML: with the usual prototype.
  .map((value) => JSON.parse(JSON.stringify(value)) as GatewayRound);
