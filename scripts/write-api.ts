/** Writes docs/api.md from the routes that services register and the kinds that are served; `--check` only compares. */
import { defaultPorts } from "@flotilla/runtime";
import { verbs } from "../services/config-controller/src/api/discovery.ts";
import { ownPaths } from "../services/config-controller/src/api/router.ts";
import { configSchemas } from "../services/config-controller/src/store/config-schemas.ts";
import { ofEveryService, ofServices } from "./api/page-texts.ts";
import { ownRequests, proxyPages, servedPages } from "./api/served-pages.ts";
import { writeOrCheck } from "./generated-file.ts";

const served = servedPages();
const own = await ownRequests();
const debugRequests = new Set(served.flatMap(({ service, request }) => [request, `${service} ${request}`]));
const stale = [
  ...Object.keys(ofEveryService).filter((request) => !own.includes(request)),
  ...Object.keys(ofServices).filter((request) => !debugRequests.has(request)),
];
if (stale.length > 0)
  throw new Error(`scripts/api/page-texts.ts has sentences for pages that are not served: ${stale}`);
writeOrCheck({ file: "docs/api.md", text: page(), from: "the routes of the services", command: "pnpm api-page" });

function page(): string {
  return `# API and pages

Written by \`pnpm api-page\` from the routes that services register and the kinds that they serve. Objects and debug pages take a token of the audience \`flotilla-api\`
as \`authorization: Bearer TOKEN\` (\`flotilla token\`, \`kubectl create token\`); debug pages answer callers of their own host without one ([who may do what](security/model.md)).

## Objects

config-controller serves them as a Kubernetes API does, over HTTPS on port ${defaultPorts.configController.api}, where API_PORT is set; \`flotilla apply\`, kubectl and client
libraries speak to it. COLLECTION is \`/apis/GROUP/VERSION/namespaces/NAMESPACE/PLURAL\` (\`/api/v1/…\` for kinds without a group; all namespaces without
\`namespaces/NAMESPACE\`), OBJECT is \`COLLECTION/NAME\`; \`OBJECT/status\` takes GET, PUT and PATCH. Errors are Kubernetes' Status objects.

${table(["verb", "request", "query"], verbs.map(requestOf))}

${table(
  ["request", "what"],
  [
    [
      `\`POST ${ownPaths.apply}\``,
      "applies all objects of the body in one transaction: ?namespace=, fieldManager=, force=, dryRun=",
    ],
    [`\`POST ${ownPaths.delete}\``, "deletes all objects of the body in one transaction: ?namespace=, dryRun="],
    [
      `\`GET ${ownPaths.inForce}KIND\``,
      "the objects in force, from whatever source, with where each comes from: ?namespace=, labelSelector=, fieldSelector=",
    ],
  ],
)}

${table(["kind", "group", "versions", "plural", "of a namespace"], configSchemas.map(kindRow))}

## Pages of every service

On its health port, for everybody.

${table(["request", "what"], own.map(ownRow))}

## Pages of xds-server

At \`/debug/NAME\` on its ports 8080 and ${defaultPorts.xdsServer.health}; many are istiod's.

${table(["page", "what", "callers"], proxyPages().map(proxyPageRow))}

## Other debug pages

${table(["service", "request", "what"], served.map(servedRow))}

console's other endpoints are in \`packages/console/src/contract/endpoints.ts\`, admission requests go to \`/inject\` and \`/validate\` of webhook, introspection pages are
in [operations.md](operations.md), xDS and certificates in [security/ports.md](security/ports.md).
`;
}

type Verb = (typeof verbs)[number];

function requestOf(verb: Verb): readonly string[] {
  const selecting = "labelSelector, fieldSelector";
  const requests: Readonly<Record<Verb, readonly [request: string, query: string]>> = {
    create: ["`POST COLLECTION`", "dryRun"],
    delete: [`\`DELETE OBJECT\`, \`DELETE COLLECTION\``, `dryRun; of a collection ${selecting}`],
    get: ["`GET OBJECT`", ""],
    list: ["`GET COLLECTION`", selecting],
    patch: ["`PATCH OBJECT` (merge patch, JSON patch, server-side apply)", "dryRun, fieldManager, force"],
    update: ["`PUT OBJECT`", "dryRun"],
    watch: [
      "`GET COLLECTION?watch=true`",
      `${selecting}, resourceVersion, timeoutSeconds, allowWatchBookmarks, sendInitialEvents`,
    ],
  };
  return [verb, ...requests[verb]];
}

function kindRow({ kind, group, versions, plural, namespaced }: (typeof configSchemas)[number]): readonly string[] {
  return [kind, group, versions.join(", "), plural, namespaced ? "yes" : "no"];
}

function ownRow(request: string): readonly string[] {
  return [`\`${request}\``, textOf(ofEveryService[request], request)];
}

function proxyPageRow({ path, help, scope, isUnsafe }: ReturnType<typeof proxyPages>[number]): readonly string[] {
  const unsafe = isUnsafe === true ? " (with UNSAFE_ENABLE_ADMIN_ENDPOINTS)" : "";
  const callers = scope === "mesh" ? "access to the whole mesh" : "access to a namespace, for its part";
  return [`\`${path}\``, `${help}${unsafe}`, callers];
}

function servedRow({ service, request }: ReturnType<typeof servedPages>[number]): readonly string[] {
  const named = `${service} ${request}`;
  return [service, `\`${request}\``, textOf(ofServices[named] ?? ofServices[request], named)];
}

function textOf(text: string | undefined, request: string): string {
  if (text === undefined) throw new Error(`scripts/api/page-texts.ts has no sentence for ${request}`);
  return text;
}

function table(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const line = (cells: readonly string[]) => `| ${cells.map((cell) => cell.replaceAll("|", "\\|")).join(" | ")} |`;
  return [line(heads), `|${"---|".repeat(heads.length)}`, ...rows.map(line)].join("\n");
}
