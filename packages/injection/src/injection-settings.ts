/** Settings of what templates make of pods and Gateways, the same for every service that renders them. */
import { complianceSetting, duration, text } from "@flotilla/runtime";

export const injectionSettings = {
  proxyImage: text({
    env: "PROXY_IMAGE",
    default: undefined,
    sentence: "Image of injected proxies, as hub/name:tag; that of the injection values if not set.",
  }),
  rootConfigMap: text({
    env: "PILOT_CA_CERT_CONFIGMAP",
    default: undefined,
    sentence: "ConfigMap from where injected pods mount the roots; that of the injection values if not set.",
  }),
  injectionConfigFile: text({
    env: "INJECTION_CONFIG_FILE",
    default: undefined,
    sentence:
      "File with templates, policy and selectors (key `config` of ConfigMap istio-sidecar-injector). Without files, in a cluster, the ConfigMap itself is followed where it exists: istio-sidecar-injector, or istio-sidecar-injector-REVISION.",
  }),
  injectionValuesFile: text({
    env: "INJECTION_VALUES_FILE",
    default: undefined,
    sentence: "File with the values that templates use (key `values` of ConfigMap istio-sidecar-injector).",
  }),
  filePollMs: duration({
    env: "FILE_POLL_INTERVAL",
    default: 1000,
    min: 20,
    sentence: "Poll interval of files of configuration and certificates.",
  }),
  platform: text({ env: "PLATFORM", default: "", sentence: "Platform the mesh runs on: openshift, gcp, or none." }),
  ...complianceSetting,
} as const;
