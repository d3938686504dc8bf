/** The settings of the API without Kubernetes. */
import { caSettings } from "@flotilla/auth/serving";
import {
  complianceSetting,
  defaultPorts,
  integer,
  list,
  port,
  type SettingsOf,
  text,
  tlsPortSettings,
} from "@flotilla/runtime";

export const apiSettings = {
  ...complianceSetting,
  ...tlsPortSettings,
  apiPort: port({
    env: "API_PORT",
    default: undefined,
    sentence:
      "Port of the API for meshes without Kubernetes (HTTPS); without it there is none, and objects written over it are not read.",
  }),
  apiHost: text({ env: "API_HOST", default: "127.0.0.1", sentence: "Address of the API." }),
  apiWriters: list({
    env: "API_WRITERS",
    default: ["istio-system/flotilla-admin"],
    sentence: "Service accounts that may read and write over the API, as namespace/name.",
  }),
  apiReaders: list({
    env: "API_READERS",
    default: [],
    sentence: "Service accounts that may read over the API, Secrets excepted.",
  }),
  apiAudience: text({
    env: "API_AUDIENCE",
    default: "flotilla-api",
    sentence: "Audience that tokens for the API name.",
  }),
  apiJwtRule: text({
    env: "API_JWT_RULE",
    default: undefined,
    sentence: "Another issuer whose tokens the API takes, as JSON: issuer, jwksUri or jwksFile.",
  }),
  apiMaxObjects: integer({
    env: "API_MAX_OBJECTS",
    default: 20_000,
    min: 1,
    sentence: "Objects that can be stored over the API.",
  }),
  apiMaxWaiting: integer({
    env: "API_MAX_WAITING",
    default: 200,
    min: 1,
    sentence: "Writes over the API that may wait for their turn; more are refused with 429.",
  }),
  apiMaxWatches: integer({
    env: "API_MAX_WATCHES",
    default: 500,
    min: 1,
    sentence: "Watches over the API at a time; more are refused with 429.",
  }),
  apiCertFile: text({
    env: "API_CERT_FILE",
    default: undefined,
    sentence: "File with the certificate of the API and its chain; with it and API_KEY_FILE, ca is not asked.",
  }),
  apiKeyFile: text({ env: "API_KEY_FILE", default: undefined, sentence: "File with the key of that certificate." }),
  ...caSettings,
  caAddress: text({
    env: "CA_ADDRESS",
    default: `127.0.0.1:${defaultPorts.ca.grpc}`,
    sentence: "host:port of ca, which issues the certificate of the API.",
  }),
  namespace: text({ env: "POD_NAMESPACE", default: "istio-system", sentence: "Namespace of the control plane." }),
} as const;

export type ApiSettings = SettingsOf<typeof apiSettings>;
