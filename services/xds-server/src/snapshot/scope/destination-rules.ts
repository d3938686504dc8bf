/**
 * The DestinationRule of a service, as a namespace sees it: its own rule, else an exported one of the service's
 * namespace, else one of the root namespace. Rules of one namespace for one host are merged.
 */
import { type Config, compareByAge, hostCovers, type TextOf, textCodec } from "@flotilla/model";
import type { DestinationRule } from "@flotilla/proto/networking/v1alpha3/destination_rule_pb";
import type { RowIndex } from "../row-index.ts";
import { query, type View } from "../view.ts";
import { type MergedRule, mergeRules } from "./merged-rules.ts";
import { backendTlsRulesByHost, mayHaveRule, type RuledHostRow, rowOfRule, ruledHostRow } from "./ruled-hosts.ts";
import { completeNames } from "./services.ts";

/** Rules by namespace and host as they are written. */
export const destinationRulesByHost: RowIndex<DestinationRule> = {
  name: "destination-rules-by-host",
  kind: "DestinationRule",
  keysOf: ({ key, spec }) => [rowOfRule(key.namespace, spec.host)],
};

/** The reader's namespace: the rule's own, any other, or the root namespace for the rules it keeps for itself. */
type Audience = "own" | "others" | "root-only";

/** The rule that limits connections to the workload as a part of the service; those that select callers do not apply. */
export function inboundRuleOf(
  view: View,
  service: { readonly hostname: string; readonly namespace: string },
): Config<DestinationRule> | undefined {
  return everyonesRule(rulesFor(view, service));
}

/** The rule that holds for a service's clusters in the proxy. One that selects the workload counts more than others. */
export function destinationRuleOf(
  view: View,
  service: { readonly hostname: string; readonly namespace: string },
): Config<DestinationRule> | undefined {
  const { namespace } = view.proxy;
  const rules = rulesFor(view, service);
  const selective = rules.filter(
    ({ config: { key, spec } }) => spec.workloadSelector !== undefined && key.namespace === namespace,
  );
  const selecting = view.proxy.firstSelecting(
    selective,
    ({ config }) => config.spec.workloadSelector?.matchLabels ?? {},
  );
  return selecting?.config ?? everyonesRule(rules);
}

function everyonesRule(rules: readonly MergedRule[]): Config<DestinationRule> | undefined {
  return rules.findLast(({ config }) => config.spec.workloadSelector === undefined)?.config;
}

function rulesFor(
  view: View,
  service: { readonly hostname: string; readonly namespace: string },
): readonly MergedRule[] {
  if (!mayHaveRule(view, service.hostname)) return [];
  const { namespace: home, hostname } = service;
  return view.read(destinationRulesFor, ruleRequest.write({ namespace: view.proxy.namespace, home, hostname }));
}

/** The reader's namespace, and that of the host (empty: any). */
export const ruleRequest = textCodec("RuleRequest", "|", ["namespace", "home", "hostname"]);

/** The rules that may hold, which differ in the workloads they select. */
export const destinationRulesFor = query<readonly MergedRule[], TextOf<typeof ruleRequest>>(
  "destination-rules-for",
  (view, request) => {
    const { namespace, home, hostname } = ruleRequest.read(request);
    const { rootNamespace } = view.mesh;
    // Rules of the root namespace are meant for everybody: a service's own come first even for proxies there.
    const audience = namespace === rootNamespace ? "root-only" : "own";
    const own = view.read(rulesOfHost, audienceText.write({ namespace, audience, hostname }));
    if (own.length > 0) return own;
    for (const from of home === "" ? [rootNamespace] : [home, rootNamespace]) {
      const exported = view
        .read(rulesOfHost, audienceText.write({ namespace: from, audience: "others", hostname }))
        .filter(({ config }) => isExportedTo(view, config, namespace));
      if (exported.length > 0) return exported;
    }
    return [];
  },
);

const audienceText = textCodec("RuleAudience", "|", ["namespace", "audience", "hostname"]);

/** The namespace's rules for the most specific host, merged. */
const rulesOfHost = query<readonly MergedRule[], TextOf<typeof audienceText>>(
  "destination-rules-of-host",
  (view, argument) => {
    const { namespace, audience, hostname } = audienceText.read(argument);
    const isMeant = (config: Config<DestinationRule>) => audiencesOf(view, config).includes(audience as Audience);
    const exact = exactRules(view, namespace, hostname).filter(isMeant);
    if (exact.length > 0) return mergeRules(view, exact);
    const wildcards = rulesOfRow(view, ruledHostRow.write({ namespace, host: "*" })).filter(isMeant);
    const covering = wildcards.map(({ spec }) => spec.host).filter((host) => hostCovers(host, hostname));
    const [longest] = covering.sort((a, b) => b.length - a.length);
    return mergeRules(
      view,
      wildcards.filter(({ spec }) => spec.host === longest),
    );
  },
  (a, b) => a?.length === b.length && a.every((rule, i) => sameSources(rule, b[i])),
);

function sameSources(a: MergedRule, b: MergedRule | undefined): boolean {
  return a.sources.length === b?.sources.length && a.sources.every((source, i) => source === b.sources[i]);
}

/** Rules of backend policies come first, as in istiod: the merged rule has their name. */
function rulesOfRow(view: View, row: RuledHostRow): readonly Config<DestinationRule>[] {
  return [...view.read(backendTlsRulesByHost, row), ...view.row(destinationRulesByHost, row)];
}

/** A rule may name the host in full or, in the host's own namespace, by its short name. */
function exactRules(view: View, namespace: string, hostname: string): readonly Config<DestinationRule>[] {
  const inFull = rulesOfRow(view, ruledHostRow.write({ namespace, host: hostname }));
  const [short = ""] = hostname.split(".", 1);
  if (short === hostname || completeNames(view, namespace).host(short) !== hostname) return inFull;
  return [...inFull, ...view.row(destinationRulesByHost, ruledHostRow.write({ namespace, host: short }))].sort(
    compareByAge,
  );
}

/** A rule for selected workloads stays in its namespace, whatever its exportTo. */
function audiencesOf(view: View, { key, spec }: Config<DestinationRule>): readonly Audience[] {
  const exportTo = spec.workloadSelector === undefined ? spec.exportTo : ["."];
  const isOwn = (to: string) => to === "." || to === key.namespace;
  const isForOwn = exportTo.length === 0 || exportTo.some((to) => to === "*" || isOwn(to));
  const isPrivate =
    exportTo.length === 0
      ? view.mesh.defaultDestinationRuleExportTo.includes(".")
      : exportTo.every(isOwn) && exportTo.length === 1;
  return [...(isForOwn ? ["own" as const] : []), isPrivate ? "root-only" : "others"];
}

function isExportedTo(view: View, { spec }: Config<DestinationRule>, namespace: string): boolean {
  const exportTo = spec.exportTo.length === 0 ? view.mesh.defaultDestinationRuleExportTo : spec.exportTo;
  return exportTo.length === 0 || exportTo.includes("*") || exportTo.includes(namespace);
}
