/** Messages on EnvoyFilters. */
import type { Message } from "./message.ts";

export const envoyFilterMessages = {
  RelativeOperation: {
    code: "IST0151",
    level: "Warning",
    template:
      "a relative operation depends on what other EnvoyFilters did before: set priority, or use ADD or INSERT_FIRST",
    description: "Without a priority the order of EnvoyFilters is that of their age, which differs between clusters.",
  },
  ReplaceMisused: {
    code: "IST0152",
    level: "Error",
    template: "REPLACE has an effect on HTTP_FILTER, NETWORK_FILTER and VIRTUAL_HOST only",
    description: "Use MERGE, or REMOVE and ADD.",
  },
  AddMisused: {
    code: "IST0153",
    level: "Error",
    template: "ADD has no effect on ROUTE_CONFIGURATION and HTTP_ROUTE",
    description:
      "Route configurations cannot be added, and routes are inserted by INSERT_FIRST, INSERT_BEFORE or INSERT_AFTER.",
  },
  RemoveMisused: {
    code: "IST0154",
    level: "Error",
    template: "REMOVE has no effect on ROUTE_CONFIGURATION and HTTP_ROUTE",
    description: "Route configurations and routes cannot be removed.",
  },
  RelativeOperationWithProxyVersion: {
    code: "IST0155",
    level: "Warning",
    template:
      "a relative operation depends on a patch that holds for some versions of proxies: set priority, or use ADD or INSERT_FIRST",
    description: "During an upgrade some proxies lack the filter that the operation refers to.",
  },
} as const satisfies Readonly<Record<string, Message>>;
