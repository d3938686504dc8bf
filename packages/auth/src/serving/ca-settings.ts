/** The settings by which a service of ours finds ca and keeps a certificate for its connections to NATS and Redis. */
import { join } from "node:path";
import { type SettingsOf, text } from "@flotilla/runtime";

/** The setting of services that keep their certificate in files for their connections. */
export const clientCertificateSettings = {
  clientCertificateDir: text({
    env: "CLIENT_CERTIFICATE_DIR",
    default: undefined,
    sentence:
      "Directory in which this service keeps a certificate of ca for its connections to NATS and Redis; BUS_URL and STORE_URL name it as ?certificates=DIRECTORY.",
  }),
} as const;

/** Serving certificates that ca does not issue. */
export const keyPairSettings = {
  certProvider: text({
    env: "PILOT_CERT_PROVIDER",
    default: "istiod",
    sentence: "Signer of the serving certificate: istiod (ca), or k8s.io/DOMAIN/NAME of a signer of the cluster.",
  }),
  tlsCertFile: text({
    env: "TLS_CERT_FILE",
    default: undefined,
    sentence: "File with the serving certificate and its chain; with it and TLS_KEY_FILE, none is requested.",
  }),
  tlsKeyFile: text({
    env: "TLS_KEY_FILE",
    default: undefined,
    sentence: "File with the key of the serving certificate.",
  }),
} as const;

/** Values of `keyPairSettings`. */
export type KeyPairSettings = SettingsOf<typeof keyPairSettings>;

/** Services that serve with a certificate of ca have a `caAddress` of their own, which names its purpose. */
export const caSettings = {
  workDir: text({
    env: "WORK_DIR",
    default: ".flotilla",
    sentence: "Directory of the local token issuer and of the root.",
  }),
  caAddress: text({ env: "CA_ADDRESS", default: undefined, sentence: "host:port of ca." }),
  caServerName: text({
    env: "CA_SERVER_NAME",
    default: "flotilla-ca.istio-system.svc",
    sentence: "Name in ca's certificate.",
  }),
  caRootFile: text({
    env: "CA_ROOT_FILE",
    default: undefined,
    sentence: "File with the root that ca's certificate leads to; WORK_DIR/root-cert.pem if not set.",
  }),
  tokenFile: text({
    env: "TOKEN_FILE",
    default: undefined,
    sentence: "File with this service's own token for ca; if not set, the local issuer in WORK_DIR makes one.",
  }),
} as const;

/** Values of `caSettings`. */
export type CaSettings = SettingsOf<typeof caSettings>;
/** Values of `caSettings` and `clientCertificateSettings`. */
export type ClientCertificateSettings = CaSettings & SettingsOf<typeof clientCertificateSettings>;

/** The file with what ca's certificate leads to. */
export function caRootFileOf({ caRootFile, workDir }: Pick<CaSettings, "caRootFile" | "workDir">): string {
  return caRootFile ?? join(workDir, "root-cert.pem");
}
