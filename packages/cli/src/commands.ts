/** The table of commands: each definition with the code that is loaded for it. */
import { discovery } from "./definitions/discovery.ts";
import * as identity from "./definitions/identity.ts";
import * as insight from "./definitions/insight.ts";
import * as local from "./definitions/local.ts";
import * as migration from "./definitions/migration.ts";
import * as objects from "./definitions/objects.ts";
import * as offline from "./definitions/offline.ts";
import * as proxies from "./definitions/proxies.ts";
import * as proxy from "./definitions/proxy.ts";
import * as support from "./definitions/support.ts";
import * as tags from "./definitions/tags.ts";
import { version } from "./definitions/version.ts";
import { type Command, command } from "./parse/definition.ts";

/** Words that only group commands. */
export const groups: Readonly<Record<string, string>> = {
  ca: "replace the root certificate while the mesh runs",
  tag: "names of revisions that namespaces are labelled with, for upgrades",
  proxy: "bring an Envoy or pilot-agent of one's own into the mesh",
};

/** In the order of the help. */
export const commands: readonly Command[] = [
  command(local.up, async () => (await import("./commands/up.ts")).up),
  command(local.serve, async () => (await import("./commands/serve.ts")).serve),
  command(discovery, async () => (await import("./commands/discovery.ts")).discovery),
  command(local.demo, async () => (await import("./commands/demo.ts")).demo),
  command(insight.consoleCommand, async () => (await import("./commands/console.ts")).consoleCommand),
  command(insight.status, async () => (await import("./commands/status.ts")).status),
  command(proxies.proxyStatus, async () => (await import("./commands/proxy-status.ts")).proxyStatus),
  command(proxies.proxyConfig, async () => (await import("./commands/proxy-config.ts")).proxyConfig),
  command(insight.wait, async () => (await import("./commands/wait.ts")).wait),
  command(insight.history, async () => (await import("./commands/history.ts")).history),
  command(insight.explain, async () => (await import("./commands/explain.ts")).explain),
  command(insight.check, async () => (await import("./commands/check.ts")).check),
  command(support.logs, async () => (await import("./commands/logs.ts")).logs),
  command(support.top, async () => (await import("./commands/top.ts")).top),
  command(support.bugReport, async () => (await import("./commands/bug-report.ts")).bugReport),
  command(insight.request, async () => (await import("./commands/request.ts")).request),
  command(migration.compare, async () => (await import("./commands/compare.ts")).compare),
  command(objects.apply, async () => (await import("./commands/apply.ts")).apply),
  command(objects.get, async () => (await import("./commands/get.ts")).get),
  command(objects.deleteObjects, async () => (await import("./commands/delete.ts")).deleteObjects),
  command(objects.diff, async () => (await import("./commands/diff.ts")).diff),
  command(offline.validate, async () => (await import("./commands/validate.ts")).validate),
  command(offline.analyze, async () => (await import("./commands/analyze.ts")).analyze),
  command(offline.inject, async () => (await import("./commands/inject.ts")).inject),
  command(offline.schema, async () => (await import("./commands/schema.ts")).schema),
  command(tags.tagSet, async () => (await import("./commands/tag.ts")).tagSet),
  command(tags.tagList, async () => (await import("./commands/tag.ts")).tagList),
  command(tags.tagRemove, async () => (await import("./commands/tag.ts")).tagRemove),
  command(proxy.proxyBootstrap, async () => (await import("./commands/proxy-bootstrap.ts")).proxyBootstrap),
  command(proxy.proxyRun, async () => (await import("./commands/proxy-run.ts")).proxyRun),
  command(identity.caStatus, async () => (await import("./commands/ca.ts")).caStatus),
  command(identity.caRotate, async () => (await import("./commands/ca.ts")).caRotate),
  command(identity.caAbort, async () => (await import("./commands/ca.ts")).caAbort),
  command(identity.certificate, async () => (await import("./commands/certificate.ts")).certificate),
  command(identity.token, async () => (await import("./commands/token.ts")).token),
  command(identity.keepTokens, async () => (await import("./commands/keep-tokens.ts")).keepTokens),
  command(support.completion, async () => (await import("./commands/completion.ts")).completion),
  command(support.man, async () => (await import("./commands/man.ts")).man),
  command(version, async () => (await import("./commands/version.ts")).version),
];
