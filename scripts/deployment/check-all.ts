/** Every check of the deployment files. */
import { settings as ca } from "../../services/ca/src/settings.ts";
import { settingsTables } from "../settings-tables.ts";
import { checkCompose, checkComposeImages, checkComposeSecrets } from "./compose.ts";
import { checkComposeObservability } from "./compose-observability.ts";
import { type Read, readCompose } from "./files.ts";
import { checkKubernetes } from "./kubernetes.ts";
import { checkReplicated } from "./replicated.ts";
import { checkSigner, servingSigner, workloadSigner } from "./signer.ts";
import { checkComposeTransport, checkKubernetesTransport } from "./transport.ts";

export interface Outcome {
  readonly checked: number;
  readonly problems: readonly string[];
}

export function checkAll(read: Read): Outcome {
  const problems: string[] = [];
  let checked = 0;
  const check = (isSo: boolean, problem: string) => {
    checked++;
    if (!isSo) problems.push(problem);
  };
  const environmentOf = (service: string): ReadonlySet<string> =>
    new Set(Object.values(settingsTables[service] ?? {}).map(({ env }) => env));
  const known = new Set(Object.keys(settingsTables).flatMap((service) => [...environmentOf(service)]));
  const deployed = Object.keys(settingsTables);
  const readersOf = (setting: string) => deployed.filter((service) => environmentOf(service).has(setting));
  const transport = { read, check, serverAccounts: ca.serverAccounts.default, readersOf };
  checkCompose(readCompose(read), known, check);
  const { version } = JSON.parse(read("package.json")) as { readonly version: string };
  checkComposeSecrets(readCompose(read), check);
  checkComposeImages(readCompose(read), version, read("Dockerfile"), check);
  checkComposeTransport(readCompose(read), transport);
  checkComposeObservability(readCompose(read), read, check);
  checkKubernetes(read, known, check);
  checkKubernetesTransport(transport);
  checkReplicated(read, check);
  checkSigner(read, servingSigner(readersOf("PILOT_CERT_PROVIDER")), check);
  checkSigner(read, workloadSigner, check);
  return { checked, problems };
}
