/** Messages on names that lead nowhere, on schemas, and on what is no longer supported. */
import type { Message } from "./message.ts";

export const referenceMessages = {
  InternalError: {
    code: "IST0001",
    level: "Error",
    template: "analyzer {analyzer} failed: {reason}",
    description:
      "A defect of the analysis itself: the other analyzers are not concerned. Please report it with the object.",
  },
  Deprecated: {
    code: "IST0002",
    level: "Warning",
    template: "{what} is deprecated: {instead}",
    description: "The setting works today, or is ignored already, and will be removed. Use its replacement.",
  },
  ReferencedResourceNotFound: {
    code: "IST0101",
    level: "Error",
    template: "{what} {name} does not exist{suggestion}",
    description:
      "An object names something that is not there: a gateway, a host, a port, a subset, a Secret, a namespace, or workloads with the labels of a selector. Traffic that depends on it fails.",
  },
  SchemaValidationError: {
    code: "IST0106",
    level: "Error",
    template: "{reason}",
    description:
      "The object does not fit the schema of its kind, or its fields contradict each other: the webhook refuses it.",
  },
  SchemaWarning: {
    code: "IST0133",
    level: "Warning",
    template: "{reason}",
    description: "The object is accepted, and probably not what is meant.",
  },
  GatewayApiVersionBelowMinimum: {
    code: "IST0176",
    level: "Warning",
    template:
      "{definition} is of version {version} of the Gateway API, and at least {minimum} is needed for its objects to be used",
    description:
      "Definitions of the Gateway API that are older than the version in which a kind became stable. Install newer ones.",
  },
  NegativeConditionStatus: {
    code: "IST0171",
    level: "Warning",
    template: "condition {type} is negative ({reason}): {message}",
    description:
      "A controller reports in the object's status that it could not put the object into force, wholly or in part.",
  },
} as const satisfies Readonly<Record<string, Message>>;
