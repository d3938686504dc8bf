/** k8s/components/cluster-signer and external-signer: exactly the rights that asking one signer takes, for those who ask. */
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

export interface SignerComponent {
  readonly directory: string;
  /** The setting that names the signer. */
  readonly setting: string;
  readonly signerPattern: RegExp;
  /** Services that ask the signer. */
  readonly askers: readonly string[];
}

export const workloadSigner: SignerComponent = {
  directory: "k8s/components/external-signer",
  setting: "K8S_SIGNER",
  signerPattern: /^[^/]+\/[^/]+$/,
  askers: ["ca"],
};

export function servingSigner(askers: readonly string[]): SignerComponent {
  const directory = "k8s/components/cluster-signer";
  return { directory, setting: "PILOT_CERT_PROVIDER", signerPattern: /^k8s\.io\/[^/]+\/[^/]+$/, askers };
}

/** As packages/auth/src/cluster/certificate-request.ts uses them. */
const needed = {
  certificatesigningrequests: ["create", "get", "delete"],
  "certificatesigningrequests/approval": ["update"],
  signers: ["approve"],
};

export function checkSigner(read: Read, component: SignerComponent, check: Check): void {
  const { directory, setting, signerPattern, askers } = component;
  const objects = readObjects(read, directory);
  const role = objects.find(({ kind }) => kind === "ClusterRole");
  const { rules = [] } = (role ?? {}) as Rights;
  const given = Object.fromEntries(rules.flatMap(({ resources, verbs }) => resources.map((name) => [name, verbs])));
  check(isDeepStrictEqual(given, needed), `${directory}: the rights are ${JSON.stringify(given)}`);
  const { subjects = [] } = (objects.find(({ kind }) => kind === "ClusterRoleBinding") ?? {}) as Rights;
  const accounts = subjects.map(({ name }) => name).sort();
  const expected = askers.map((service) => `flotilla-${service}`).sort();
  check(isDeepStrictEqual(accounts, expected), `${directory}: the rights are for ${accounts.join(", ")}`);
  const provider = objects.find(({ kind }) => kind === "ConfigMap")?.data?.[setting] ?? "";
  check(signerPattern.test(provider), `${directory}: ${provider} names no signer`);
  const { replacements } = parse(read(`${directory}/kustomization.yaml`)) as Kustomization;
  const filled = replacements.find(({ source }) => source.fieldPath === `data.${setting}`)?.targets[0];
  const index = rules.findIndex(({ resources }) => resources.includes("signers"));
  const isFilled =
    filled?.select.name === role?.metadata.name && filled?.fieldPaths[0] === `rules.${index}.resourceNames.0`;
  check(isFilled, `${directory}: the signer's name does not get into the rights`);
}
