/** Selects the debug pages that are served, and their callers. */
import { flag, list, pageWriterSetting, text } from "@flotilla/runtime";

export const debugSettings = {
  ...pageWriterSetting,
  debugAuth: flag({
    env: "ENABLE_DEBUG_ENDPOINT_AUTH",
    default: true,
    sentence: "Debug pages ask callers of other hosts, and streams, for a proven identity.",
  }),
  debugNamespaces: list({
    env: "DEBUG_ENDPOINT_AUTH_ALLOWED_NAMESPACES",
    default: [],
    sentence: "Namespaces whose callers see every debug page, as those of the root namespace do.",
  }),
  debugOnHttp: flag({
    env: "ENABLE_DEBUG_ON_HTTP",
    default: true,
    sentence: "Debug pages stand on HTTP_PORT too.",
  }),
  debugUrl: text({
    env: "DEBUG_URL",
    default: undefined,
    sentence:
      "http://host:port at which callers reach the debug pages of this replica: other replicas redirect questions about its proxies there.",
  }),
  unsafePages: flag({
    env: "UNSAFE_ENABLE_ADMIN_ENDPOINTS",
    default: false,
    sentence: "Debug pages that take effect, such as force_disconnect, are served.",
  }),
} as const;
