/** The types of those fields of Kubernetes objects from which services and endpoints are made. An API server checks them; a file does not. */
import { ownValue } from "../json/own-value.ts";
import { apiGroup, type KubeObject } from "./kube-object.ts";

/** A field whose type is not the one that Kubernetes documents. */
export interface KubeFinding {
  readonly field: string;
  readonly reason: string;
}

type Shape =
  | "text"
  | "number"
  | "flag"
  | "number or text"
  | { readonly list: Shape }
  | { readonly map: Shape }
  | Fields;
interface Fields {
  readonly fields: Readonly<Record<string, Shape>>;
}

const texts: Shape = { list: "text" };
const textMap: Shape = { map: "text" };
const targetRef: Shape = { fields: { kind: "text", name: "text", namespace: "text" } };
const ports: Shape = { list: { fields: { name: "text", port: "number", protocol: "text" } } };
const endpointsAddresses: Shape = { list: { fields: { ip: "text", nodeName: "text", targetRef } } };
const conditions: Shape = { list: { fields: { type: "text", status: "text" } } };

const shapes: Readonly<Record<string, Fields>> = {
  "/Service": {
    fields: {
      spec: {
        fields: {
          type: "text",
          clusterIP: "text",
          clusterIPs: texts,
          selector: textMap,
          externalName: "text",
          externalIPs: texts,
          externalTrafficPolicy: "text",
          internalTrafficPolicy: "text",
          publishNotReadyAddresses: "flag",
          trafficDistribution: "text",
          ports: {
            list: {
              fields: {
                name: "text",
                port: "number",
                targetPort: "number or text",
                nodePort: "number",
                protocol: "text",
                appProtocol: "text",
              },
            },
          },
        },
      },
      status: {
        fields: { loadBalancer: { fields: { ingress: { list: { fields: { ip: "text", hostname: "text" } } } } } },
      },
    },
  },
  "discovery.k8s.io/EndpointSlice": {
    fields: {
      addressType: "text",
      ports,
      endpoints: {
        list: {
          fields: {
            addresses: texts,
            nodeName: "text",
            targetRef,
            conditions: { fields: { ready: "flag", serving: "flag", terminating: "flag" } },
          },
        },
      },
    },
  },
  "multicluster.x-k8s.io/ServiceImport": { fields: { spec: { fields: { ips: texts } } } },
  "gateway.networking.k8s.io/Gateway": {
    fields: {
      spec: {
        fields: {
          gatewayClassName: "text",
          addresses: { list: { fields: { type: "text", value: "text" } } },
          listeners: { list: { fields: { port: "number", tls: { fields: { options: textMap } } } } },
        },
      },
    },
  },
  "networking.istio.io/WorkloadEntry": {
    fields: {
      spec: {
        fields: {
          address: "text",
          ports: { map: "number" },
          labels: textMap,
          network: "text",
          locality: "text",
          weight: "number",
          serviceAccount: "text",
        },
      },
      status: { fields: { conditions } },
    },
  },
  "/Endpoints": {
    fields: {
      subsets: { list: { fields: { addresses: endpointsAddresses, notReadyAddresses: endpointsAddresses, ports } } },
    },
  },
  "/Pod": {
    fields: {
      spec: { fields: { nodeName: "text", serviceAccountName: "text", hostname: "text", subdomain: "text" } },
      status: { fields: { phase: "text", podIP: "text", podIPs: { list: { fields: { ip: "text" } } }, conditions } },
    },
  },
  "/Node": {
    fields: { status: { fields: { addresses: { list: { fields: { type: "text", address: "text" } } } } } },
  },
};

/** Findings refuse the object; fields that are not read are not looked at. */
export function checkKubeObject(object: KubeObject): readonly KubeFinding[] {
  const shape = ownValue(shapes, `${apiGroup(object.apiVersion)}/${object.kind}`);
  const findings: KubeFinding[] = [];
  if (shape !== undefined) check(object, shape, { path: [], findings });
  return findings;
}

/** The place in an object, as the names and indexes that lead to it: a text is made of it only for a finding. */
interface Place {
  readonly path: (string | number)[];
  readonly findings: KubeFinding[];
}

function check(value: unknown, shape: Shape, at: Place): void {
  if (value === null || value === undefined) return;
  if (typeof shape === "string") {
    if (!isOf(shape, value)) refuse(at, shape);
  } else if ("list" in shape) {
    if (!Array.isArray(value)) refuse(at, "list");
    else for (const [index, item] of value.entries()) checkPart(item, shape.list, at, index);
  } else if (typeof value !== "object" || Array.isArray(value)) refuse(at, "object");
  else if ("map" in shape) for (const [name, item] of Object.entries(value)) checkPart(item, shape.map, at, name);
  else {
    const record = value as Readonly<Record<string, unknown>>;
    for (const name in shape.fields) {
      const field = shape.fields[name];
      if (field !== undefined) checkPart(ownValue(record, name), field, at, name);
    }
  }
}

function checkPart(value: unknown, shape: Shape, at: Place, name: string | number): void {
  at.path.push(name);
  check(value, shape, at);
  at.path.pop();
}

function refuse({ path, findings }: Place, expected: string): void {
  const field = path.map((part) => (typeof part === "number" ? `[${part}]` : `.${part}`)).join("");
  findings.push({ field: field.startsWith(".") ? field.slice(1) : field, reason: `is no ${expected}` });
}

function isOf(shape: "text" | "number" | "flag" | "number or text", value: unknown): boolean {
  const type = typeof value;
  if (shape === "flag") return type === "boolean";
  return (shape.includes("text") && type === "string") || (shape.includes("number") && type === "number");
}
