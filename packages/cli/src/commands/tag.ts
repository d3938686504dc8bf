/** `flotilla tag set|list|remove`: the MutatingWebhookConfigurations that are revision tags. */
import { type KubeApi, type KubeObject, listAll } from "@flotilla/kube-api";
import { openUsersCluster } from "../api/cluster-objects.ts";
import type {
  tagList as listDefinition,
  tagRemove as removeDefinition,
  tagSet as setDefinition,
} from "../definitions/tags.ts";
import { CliError } from "../errors.ts";
import { columns, formatOf, render } from "../output.ts";
import type { Run } from "../parse/definition.ts";
import { isOfRevision, labels, namespacesOf, type TagConfiguration, tagConfiguration } from "../tag/revision-tag.ts";
import { giveRight, takeRight } from "../tag/webhook-right.ts";

const path = "/apis/admissionregistration.k8s.io/v1/mutatingwebhookconfigurations";

export const tagSet: Run<typeof setDefinition> = async ({ operands: { tag }, options, env, terminal }) => {
  const { revision, overwrite, kubeconfig } = options;
  if (revision === undefined) throw new CliError("CLI_USAGE", "tag set needs --revision REVISION");
  if (!/^[a-z0-9]([-a-z0-9]{0,55}[a-z0-9])?$/.test(tag))
    throw new CliError("CLI_USAGE", `${tag} is no name of a tag: lower case letters, digits and dashes`);
  using api = await openUsersCluster(kubeconfig, env);
  const all = await configurations(api);
  const base = all.find((one) => isOfRevision(one, revision));
  if (base === undefined) throw new CliError("CLI_REFUSED", `no webhook injects for the revision ${revision}`);
  if (tag !== "default" && all.some((one) => isOfRevision(one, tag)))
    throw new CliError("CLI_REFUSED", `${tag} is a revision, and cannot be a tag`);
  const present = tagsOf(all).get(tag);
  const leadsTo = present?.metadata.labels?.[labels.revision];
  if (present !== undefined && leadsTo !== revision && !overwrite)
    throw new CliError("CLI_REFUSED", `${tag} leads to ${leadsTo}: use --overwrite to change it`);
  const withoutRight = await giveRight(api, tag, base);
  if (withoutRight !== undefined)
    terminal.warn(`flotilla: the webhook cannot write a new root into this tag later: ${withoutRight}`);
  const next = tagConfiguration(base, { tag, revision });
  if (present === undefined) await api.create(path, next);
  else await replace(api, present, next);
  terminal.print(`${tag} leads to ${revision}; label namespaces with ${namespaceLabel(tag)}`);
  return 0;
};

export const tagList: Run<typeof listDefinition> = async ({ options, env, terminal }) => {
  using api = await openUsersCluster(options.kubeconfig, env);
  const namespaces = await allNamespaces(api);
  const tags = [...tagsOf(await configurations(api))]
    .sort(([a], [b]) => (a < b ? -1 : 1))
    .map(([tag, { metadata }]) => ({
      ...{ tag, revision: metadata.labels?.[labels.revision] ?? "" },
      namespaces: namespacesOf(tag, namespaces),
    }));
  terminal.print(render(formatOf(options), tags, describeTags));
  return 0;
};

function describeTags(
  tags: readonly { readonly tag: string; readonly revision: string; readonly namespaces: readonly string[] }[],
): string {
  if (tags.length === 0) return "there are no tags";
  const rows = tags.map(({ tag, revision, namespaces }) => [tag, revision, namespaces.join(",")]);
  return columns([["TAG", "REVISION", "NAMESPACES"], ...rows]);
}

export const tagRemove: Run<typeof removeDefinition> = async ({ operands: { tag }, options, env, terminal }) => {
  using api = await openUsersCluster(options.kubeconfig, env);
  const present = tagsOf(await configurations(api)).get(tag);
  if (present === undefined) throw new CliError("CLI_ABSENT", `there is no tag ${tag}`);
  const using = namespacesOf(tag, await allNamespaces(api));
  if (using.length > 0 && !options.whileUsed)
    throw new CliError(
      "CLI_REFUSED",
      `${tag} is used by ${using.join(", ")}: use --while-used to remove it all the same`,
    );
  await api.delete(`${path}/${present.metadata.name}`);
  await takeRight(api, tag);
  terminal.print(`${tag} removed`);
  return 0;
};

/** The version that was read: somebody who changed it meanwhile is not overwritten. @throws KubeError KUBE_CONFLICT */
async function replace(api: KubeApi, present: TagConfiguration, next: TagConfiguration): Promise<void> {
  const { name, resourceVersion } = present.metadata;
  await api.replace(`${path}/${name}`, { ...next, metadata: { ...next.metadata, name, resourceVersion } });
}

async function configurations(api: KubeApi): Promise<readonly TagConfiguration[]> {
  return (await listAll<TagConfiguration>(api, path)).objects;
}

async function allNamespaces(api: KubeApi): Promise<readonly KubeObject[]> {
  return (await listAll(api, "/api/v1/namespaces")).objects;
}

function tagsOf(all: readonly TagConfiguration[]): ReadonlyMap<string, TagConfiguration> {
  const tagged = all.map((one) => [one.metadata.labels?.[labels.tag], one] as const);
  return new Map(tagged.filter((entry): entry is [string, TagConfiguration] => entry[0] !== undefined));
}

function namespaceLabel(tag: string): string {
  return tag === "default" ? "istio-injection=enabled" : `${labels.revision}=${tag}`;
}
