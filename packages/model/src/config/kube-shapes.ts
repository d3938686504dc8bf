/** Types of the fields that are read of Kubernetes objects. */

/** Integers are of 32 bits, as in Kubernetes. */
export type PlainShape = "text" | "integer" | "flag" | "integer or text";
export type KubeShape = PlainShape | { readonly list: KubeShape } | { readonly map: KubeShape } | Fields;
interface Fields {
  readonly fields: Readonly<Record<string, KubeShape>>;
}

const texts: KubeShape = { list: "text" };
const textMap: KubeShape = { map: "text" };
const targetRef: KubeShape = { fields: { kind: "text", name: "text", namespace: "text" } };
const selector: KubeShape = {
  fields: {
    matchLabels: textMap,
    matchExpressions: { list: { fields: { key: "text", operator: "text", values: texts } } },
  },
};
const containers: KubeShape = {
  list: { fields: { ports: { list: { fields: { name: "text", containerPort: "integer", protocol: "text" } } } } },
};
const ports: KubeShape = { list: { fields: { name: "text", port: "integer", protocol: "text" } } };
const endpointsAddresses: KubeShape = { list: { fields: { ip: "text", nodeName: "text", targetRef } } };
const conditions: KubeShape = { list: { fields: { type: "text", status: "text" } } };

const workload: KubeShape = {
  fields: {
    address: "text",
    ports: { map: "integer" },
    labels: textMap,
    network: "text",
    locality: "text",
    weight: "integer",
    serviceAccount: "text",
  },
};

/** By group and kind. A status is not looked at where no schema holds for it: its readers take what they can. */
export const kubeShapes: Readonly<Record<string, Fields>> = {
  "/Service": {
    fields: {
      spec: {
        fields: {
          type: "text",
          clusterIP: "text",
          clusterIPs: texts,
          ipFamilies: texts,
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
                port: "integer",
                targetPort: "integer or text",
                nodePort: "integer",
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
          listeners: {
            list: {
              fields: {
                port: "integer",
                protocol: "text",
                tls: { fields: { mode: "text", options: textMap } },
                allowedRoutes: { fields: { namespaces: { fields: { from: "text", selector } } } },
              },
            },
          },
        },
      },
    },
  },
  "networking.istio.io/WorkloadEntry": { fields: { spec: workload } },
  "networking.istio.io/WorkloadGroup": {
    fields: {
      spec: { fields: { metadata: { fields: { labels: textMap, annotations: textMap } }, template: workload } },
    },
  },
  "networking.istio.io/ServiceEntry": {
    fields: {
      spec: {
        fields: {
          hosts: texts,
          addresses: texts,
          ports: { list: { fields: { number: "integer", name: "text", protocol: "text", targetPort: "integer" } } },
          location: "text",
          resolution: "text",
          endpoints: { list: workload },
          workloadSelector: { fields: { labels: textMap } },
          exportTo: texts,
          subjectAltNames: texts,
        },
      },
    },
  },
  "/Endpoints": {
    fields: {
      subsets: { list: { fields: { addresses: endpointsAddresses, notReadyAddresses: endpointsAddresses, ports } } },
    },
  },
  "/Pod": {
    fields: {
      spec: {
        fields: {
          nodeName: "text",
          serviceAccountName: "text",
          hostname: "text",
          subdomain: "text",
          hostNetwork: "flag",
          containers,
          initContainers: containers,
        },
      },
      status: { fields: { phase: "text", podIP: "text", podIPs: { list: { fields: { ip: "text" } } }, conditions } },
    },
  },
  "/Node": {
    fields: { status: { fields: { addresses: { list: { fields: { type: "text", address: "text" } } } } } },
  },
};

/** Of every kind. */
export const metadataShape: KubeShape = {
  fields: {
    labels: textMap,
    annotations: textMap,
    generateName: "text",
    ownerReferences: { list: { fields: { kind: "text", name: "text", controller: "flag" } } },
  },
};
