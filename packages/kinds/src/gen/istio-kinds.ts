// Written by bin/gen.ts from crds/istio.yaml: change that and run `pnpm gen`.
import type { Kind } from "../kind.ts";

export const istioKinds: readonly Kind[] = [
  {"name":"TrafficExtension","kind":"TrafficExtension","plural":"trafficextensions","shortNames":[],"group":"extensions.istio.io","versions":["v1alpha1"],"storageVersion":"v1alpha1","namespaced":true,"message":"istio.extensions.v1alpha1.TrafficExtension"},
  {"name":"WasmPlugin","kind":"WasmPlugin","plural":"wasmplugins","shortNames":[],"group":"extensions.istio.io","versions":["v1alpha1"],"storageVersion":"v1alpha1","namespaced":true,"message":"istio.extensions.v1alpha1.WasmPlugin"},
  {"name":"DestinationRule","kind":"DestinationRule","plural":"destinationrules","shortNames":["dr"],"group":"networking.istio.io","versions":["v1","v1alpha3","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.networking.v1alpha3.DestinationRule"},
  {"name":"EnvoyFilter","kind":"EnvoyFilter","plural":"envoyfilters","shortNames":[],"group":"networking.istio.io","versions":["v1alpha3"],"storageVersion":"v1alpha3","namespaced":true,"message":"istio.networking.v1alpha3.EnvoyFilter"},
  {"name":"Gateway","kind":"Gateway","plural":"gateways","shortNames":["gw"],"group":"networking.istio.io","versions":["v1","v1alpha3","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.networking.v1alpha3.Gateway"},
  {"name":"ProxyConfig","kind":"ProxyConfig","plural":"proxyconfigs","shortNames":[],"group":"networking.istio.io","versions":["v1beta1"],"storageVersion":"v1beta1","namespaced":true,"message":"istio.networking.v1beta1.ProxyConfig"},
  {"name":"ServiceEntry","kind":"ServiceEntry","plural":"serviceentries","shortNames":["se"],"group":"networking.istio.io","versions":["v1","v1alpha3","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.networking.v1alpha3.ServiceEntry"},
  {"name":"Sidecar","kind":"Sidecar","plural":"sidecars","shortNames":[],"group":"networking.istio.io","versions":["v1","v1alpha3","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.networking.v1alpha3.Sidecar"},
  {"name":"VirtualService","kind":"VirtualService","plural":"virtualservices","shortNames":["vs"],"group":"networking.istio.io","versions":["v1","v1alpha3","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.networking.v1alpha3.VirtualService"},
  {"name":"WorkloadEntry","kind":"WorkloadEntry","plural":"workloadentries","shortNames":["we"],"group":"networking.istio.io","versions":["v1","v1alpha3","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.networking.v1alpha3.WorkloadEntry"},
  {"name":"WorkloadGroup","kind":"WorkloadGroup","plural":"workloadgroups","shortNames":["wg"],"group":"networking.istio.io","versions":["v1","v1alpha3","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.networking.v1alpha3.WorkloadGroup"},
  {"name":"AuthorizationPolicy","kind":"AuthorizationPolicy","plural":"authorizationpolicies","shortNames":["ap"],"group":"security.istio.io","versions":["v1","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.security.v1beta1.AuthorizationPolicy"},
  {"name":"PeerAuthentication","kind":"PeerAuthentication","plural":"peerauthentications","shortNames":["pa"],"group":"security.istio.io","versions":["v1","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.security.v1beta1.PeerAuthentication"},
  {"name":"RequestAuthentication","kind":"RequestAuthentication","plural":"requestauthentications","shortNames":["ra"],"group":"security.istio.io","versions":["v1","v1beta1"],"storageVersion":"v1","namespaced":true,"message":"istio.security.v1beta1.RequestAuthentication"},
  {"name":"Telemetry","kind":"Telemetry","plural":"telemetries","shortNames":["telemetry"],"group":"telemetry.istio.io","versions":["v1","v1alpha1"],"storageVersion":"v1alpha1","namespaced":true,"message":"istio.telemetry.v1alpha1.Telemetry"},
];
