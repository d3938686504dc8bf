/** docs/security/ports.md as questions and answers: for each port who is answered, and how others are refused. */
import { defaultPorts } from "@flotilla/runtime";
import type { Who } from "./callers.ts";
import { certificate, https, page, type Question, stream } from "./questions.ts";

export interface ListedPort {
  readonly port: number;
  readonly asks: readonly {
    readonly who: Who;
    /** `elsewhere`: from an address that is not the own host's. */
    readonly from?: "elsewhere";
    readonly question: Question;
    readonly answer: string;
  }[];
}

type Ask = ListedPort["asks"][number];
const { xdsServer, configController, serviceController, ca, webhook, console } = defaultPorts;

const ask = (who: Who, question: Question, answer: string): Ask => ({ who, question, answer });
const askFromElsewhere = (who: Who, question: Question, answer: string): Ask => ({
  ...ask(who, question, answer),
  from: "elsewhere",
});

const certificates: readonly Ask[] = [
  ask("nobody", certificate("tls"), "UNAUTHENTICATED"),
  ask("a token of another issuer", certificate("tls"), "UNAUTHENTICATED"),
  ask("a workload's token for the API", certificate("tls"), "UNAUTHENTICATED"),
  ask("a certificate of another root", certificate("tls"), "UNAVAILABLE"),
  ask("a workload's token", certificate("tls"), "proven"),
  ask("a workload's certificate", certificate("tls"), "proven"),
];

/** Of every service. */
const openPages: readonly Ask[] = ["/ready", "/healthz", "/metrics"].map((path) =>
  askFromElsewhere("nobody", page(path), "200"),
);

/** Pages of the whole mesh: the own host, and the control plane's tokens. */
function guarded(path: string, refusal = "403"): readonly Ask[] {
  return [
    ask("nobody", page(path), "200"),
    askFromElsewhere("nobody", page(path), refusal),
    askFromElsewhere("a token of another issuer", page(path), "401"),
    askFromElsewhere("a workload's token", page(path), "403"),
    ask("a token of another issuer", page(path), "401"),
    ask("a workload's token", page(path), "403"),
    ask("a token for the API", page(path), "200"),
    askFromElsewhere("a token of the control plane", page(path), "200"),
  ];
}

const xdsPages: readonly Ask[] = [
  ...openPages,
  ...guarded("/debug/mesh", "401"),
  askFromElsewhere("nobody", page("/debug/syncz"), "401"),
  // The data of its own namespace.
  askFromElsewhere("a workload's token", page("/debug/syncz"), "200"),
];

export const listedPorts: readonly ListedPort[] = [
  {
    port: xdsServer.xds,
    asks: [
      ask("nobody", stream("plain"), "resources"),
      ask("nobody", stream("plain", "istio-system", "api"), "PERMISSION_DENIED"),
      ask("nobody", certificate("plain"), "UNAUTHENTICATED"),
      ask("a workload's token", certificate("plain"), "UNAUTHENTICATED"),
    ],
  },
  {
    port: xdsServer.xdsTls,
    asks: [
      ask("nobody", stream("tls"), "UNAUTHENTICATED"),
      ask("a token of another issuer", stream("tls"), "UNAUTHENTICATED"),
      ask("a certificate of another root", stream("tls"), "UNAVAILABLE"),
      ask("a workload's token", stream("tls"), "resources"),
      ask("a workload's certificate", stream("tls"), "resources"),
      ask("a workload's token", stream("tls", "bank"), "PERMISSION_DENIED"),
      ask("a workload's certificate", stream("tls", "bank"), "PERMISSION_DENIED"),
      ask("a workload's token", stream("tls", "shop", "api"), "PERMISSION_DENIED"),
      ask("a token of the control plane", stream("tls", "istio-system", "api"), "resources"),
      ...certificates,
    ],
  },
  { port: xdsServer.http, asks: xdsPages },
  { port: xdsServer.health, asks: xdsPages },
  { port: ca.grpc, asks: certificates },
  {
    port: ca.health,
    asks: [
      ...openPages,
      ...guarded("/debug/caz"),
      ...guarded("/debug/rotation"),
      askFromElsewhere("a token of the control plane", page("/debug/rotation?action=abort", "POST"), "403"),
    ],
  },
  { port: configController.health, asks: [...openPages, ...guarded("/debug/configz"), ...guarded("/debug/api")] },
  { port: serviceController.health, asks: [...openPages, ...guarded("/debug/registryz")] },
  {
    port: configController.api,
    asks: [
      ask("nobody", https("GET", "/api/v1/namespaces"), "401"),
      ask("a workload's token", https("GET", "/api/v1/namespaces"), "401"),
      ask("a workload's token for the API", https("GET", "/api/v1/namespaces"), "403"),
      ask("a token for the API", https("GET", "/api/v1/namespaces"), "200"),
    ],
  },
  {
    port: webhook.https,
    asks: [
      ask("nobody", https("GET", "/ready"), "200"),
      // All callers that reach the port are answered, and are given nothing that they did not send: here, the reason why this is no review.
      ask("nobody", https("POST", "/inject", "{}"), "200"),
    ],
  },
  { port: webhook.health, asks: [...openPages, ...guarded("/debug/settings")] },
  {
    port: console.page,
    asks: ["/api/v1/overview", "/api/v1/objects", "/api/v1/events"].flatMap((path) => [
      ask("nobody", page(path), "401"),
      // Only a session counts, which a token is exchanged for.
      ask("a token for the API", page(path), "401"),
    ]),
  },
  { port: console.health, asks: [...openPages, ...guarded("/debug/settings")] },
];
