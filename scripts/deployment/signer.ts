/** k8s/components/cluster-signer: exactly the rights that asking one signer takes, for those who ask. */
import { isDeepStrictEqual } from "node:util";
import { parse } from "yaml";
import { type Check, type Read, readObjects } from "./files.ts";

interface Rights {
  readonly rules?: readonly { readonly resources: readonly string[]; readonly verbs: readonly string[] }[];
  readonly subjects?: readonly { readonly name: string }[];
}
interface Kustomization {
  readonly replacements: readonly {
    readonly source: { readonly name: string; readonly fieldPath: string };
    readonly targets: readonly { readonly select: { readonly name: string }; readonly fieldPaths: readonly string[] }[];
  }[];
}

const directory = "k8s/components/cluster-signer";
/** As packages/auth/src/cluster/certificate-request.ts uses them. */
const needed = {
  certificatesigningrequests: ["create", "get", "delete"],
  "certificatesigningrequests/approval": ["update"],
  signers: ["approve"],
};

/** `askers`: the services that read PILOT_CERT_PROVIDER. */
export function checkSigner(read: Read, askers: readonly string[], check: Check): void {
  const objects = readObjects(read, directory);
  const role = objects.find(({ kind }) => kind === "ClusterRole");
  const { rules = [] } = (role ?? {}) as Rights;
  const given = Object.fromEntries(rules.flatMap(({ resources, verbs }) => resources.map((name) => [name, verbs])));
  check(isDeepStrictEqual(given, needed), `${directory}: the rights are ${JSON.stringify(given)}`);
  const { subjects = [] } = (objects.find(({ kind }) => kind === "ClusterRoleBinding") ?? {}) as Rights;
  const accounts = subjects.map(({ name }) => name).sort();
  const expected = askers.map((service) => `flotilla-${service}`).sort();
  check(isDeepStrictEqual(accounts, expected), `${directory}: the rights are for ${accounts.join(", ")}`);
  const provider = objects.find(({ kind }) => kind === "ConfigMap")?.data?.["PILOT_CERT_PROVIDER"] ?? "";
  check(/^k8s\.io\/[^/]+\/[^/]+$/.test(provider), `${directory}: ${provider} names no signer`);
  const { replacements } = parse(read(`${directory}/kustomization.yaml`)) as Kustomization;
  const filled = replacements.find(({ source }) => source.fieldPath === "data.PILOT_CERT_PROVIDER")?.targets[0];
  const index = rules.findIndex(({ resources }) => resources.includes("signers"));
  const isFilled =
    filled?.select.name === role?.metadata.name && filled?.fieldPaths[0] === `rules.${index}.resourceNames.0`;
  check(isFilled, `${directory}: the signer's name does not get into the rights`);
}
