/** The locks of duties that one process of a mesh has at a time, named as istiod names its own. */
export const duties = {
  /** The ConfigMap of the roots in every namespace. */
  namespaces: "istio-namespace-controller-election",
  /** Addresses of gateways in the status of Ingresses. */
  ingressStatus: "istio-leader",
  /** Conditions in the status of configuration objects. */
  objectStatus: "istio-status-leader",
  gatewayStatus: "istio-gateway-status-leader",
  /** Deployments and Services of Gateways, and the GatewayClasses. */
  gatewayDeployment: "istio-gateway-deployment",
  /** Addresses given to ServiceEntries without one. */
  addresses: "istio-ip-autoallocate",
  /** WorkloadEntries of registered machines: istiod has no lock for them, each replica writes its own. */
  workloadEntries: "flotilla-workload-entries",
  /** The CustomResourceDefinitions of the kinds that are read; istiod has no such duty. */
  definitions: "flotilla-kind-definitions",
  /** The root in caBundle of the webhook configurations that lead to the webhook; each istiod writes its own. */
  webhookConfigurations: "flotilla-webhook-configurations",
  trustBundle: "istio-clustertrustbundle-controller-election",
  serviceExports: "istio-serviceexport-controller-election",
} as const;
