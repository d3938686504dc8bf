/** Layer rules of docs/architecture/overview.md. Each message says what to use instead. */
const pure = "^(packages/model|packages/gateway-api|packages/incremental|packages/registry|packages/validation/src|packages/xds/src/(?!client))";

const generate = "services/xds-server/src/generate";

/** @type {import('dependency-cruiser').IConfiguration} */
module.exports = {
  forbidden: [
    {
      name: "no-cycle",
      comment: "Two modules that need each other are one module, or need a third that both import.",
      severity: "error",
      from: {},
      to: { circular: true },
    },
    {
      name: "services-apart",
      comment: "Services talk over the bus. Share code through a package, wire services together in packages/cli or a test.",
      severity: "error",
      from: { path: "^services/([^/]+)/" },
      to: { path: "^services/", pathNot: "^services/$1/" },
    },
    {
      name: "packages-below-services",
      comment: "A package must not know a service; only packages/cli starts them.",
      severity: "error",
      from: { path: "^packages/", pathNot: "^packages/cli/" },
      to: { path: "^services/" },
    },
    {
      name: "nats-in-bus",
      comment: "Only packages/bus speaks NATS: use its Bus interface.",
      severity: "error",
      from: { pathNot: "^packages/bus/" },
      to: { path: "node_modules/(nats|@nats-io)/" },
    },
    {
      name: "redis-in-state",
      comment: "Only packages/state speaks Redis: use its store interfaces.",
      severity: "error",
      from: { pathNot: "^packages/state/" },
      to: { path: "node_modules/ioredis/" },
    },
    {
      name: "kubernetes-in-kube-api",
      comment: "Only packages/kube-api knows the Kubernetes client: use its KubeApi and KubeConfig.",
      severity: "error",
      from: { pathNot: "^packages/kube-api/" },
      to: { path: "node_modules/@kubernetes/client-node/" },
    },
    {
      name: "pure-packages",
      comment: "This package is pure: take data, time and randomness as parameters.",
      severity: "error",
      from: { path: pure, pathNot: "\\.(test|fixture)\\.ts$" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "http-below-runtime",
      comment: "packages/http stands below packages/runtime: it needs node:* only; take loggers and errors as callbacks.",
      severity: "error",
      from: { path: "^packages/http/", pathNot: "\\.test\\.ts$" },
      to: { path: "^(packages/(?!http/)|services/)" },
    },
    {
      name: "http-servers-in-one-package",
      comment: "Ports of services are served by packages/http: use createHttpServer and its limits. A client is named here.",
      severity: "error",
      from: { path: "^services/[^/]+/src/", pathNot: "(\\.(test|fixture)|issuer-keys/guarded-fetch)\\.ts$" },
      to: { path: "^(node:)?https?$", dependencyTypesNot: ["type-only"] },
    },
    {
      name: "gateway-api-on-model",
      comment: "packages/gateway-api turns objects into messages: it needs packages/model and packages/proto only.",
      severity: "error",
      from: { path: "^packages/gateway-api/", pathNot: "\\.test\\.ts$" },
      to: { pathNot: "^packages/(gateway-api|model|proto)/" },
    },
    {
      name: "pure-core",
      comment: "snapshot/ and generate/ are pure; hashing is the one exception (generate/encode/content-hash.ts).",
      severity: "error",
      from: { path: "^services/xds-server/src/(snapshot|generate)/", pathNot: "(\\.test\\.ts|content-hash\\.ts|snapshot/persist.*\\.ts)$" },
      to: { dependencyTypes: ["core"] },
    },
    {
      name: "stages-in-order",
      comment: "A stage of xds-server knows earlier stages only; declare the type of what you need of a later one.",
      severity: "error",
      from: { path: "^services/xds-server/src/(snapshot|generate)/" },
      to: { path: "^services/xds-server/src/(ingest|push|serve|debug)/" },
    },
    {
      name: "snapshot-before-generate",
      comment: "generate/ reads snapshot/, never the reverse.",
      severity: "error",
      from: { path: "^services/xds-server/src/snapshot/" },
      to: { path: "^services/xds-server/src/generate/" },
    },
    {
      name: "envoy-is-plain",
      comment: "generate/envoy makes messages of plain inputs: pass the data in, leave reading a View to generate/select or a proxy type.",
      severity: "error",
      from: { path: `^${generate}/envoy/`, pathNot: "\\.test\\.ts$" },
      to: { path: "^services/xds-server/src/", pathNot: `^${generate}/envoy/` },
    },
    {
      name: "patch-is-plain",
      comment: "generate/patch changes messages: which patches hold for whom is for generate/select to find.",
      severity: "error",
      from: { path: `^${generate}/patch/`, pathNot: "\\.test\\.ts$" },
      to: { path: "^services/xds-server/src/", pathNot: `^${generate}/patch/` },
    },
    {
      name: "select-below-proxy-types",
      comment: "generate/select is shared by proxy types and knows none: pass what differs as a parameter.",
      severity: "error",
      from: { path: `^${generate}/select/`, pathNot: "\\.test\\.ts$" },
      to: { path: `^${generate}/`, pathNot: `^${generate}/(select|envoy|encode|patch)/` },
    },
    {
      name: "encode-alone",
      comment: "generate/encode turns any message into shared bytes: it knows views, not what is generated.",
      severity: "error",
      from: { path: `^${generate}/encode/`, pathNot: "\\.test\\.ts$" },
      to: { path: `^${generate}/`, pathNot: `^${generate}/encode/` },
    },
    {
      name: "proxy-types-apart",
      comment: "One proxy type must not know another: what they share belongs in generate/select or generate/envoy.",
      severity: "error",
      from: { path: `^${generate}/(?!envoy|select|encode|patch)([^/]+)/`, pathNot: "\\.test\\.ts$" },
      to: { path: `^${generate}/`, pathNot: `^${generate}/(envoy|select|encode|patch|$1)/` },
    },
    {
      name: "test-only",
      comment: "testkit is for tests.",
      severity: "error",
      from: { pathNot: "(/testing/|^test/|\\.test\\.ts$|^packages/testkit/)" },
      to: { path: "^packages/testkit/" },
    },
  ],
  options: {
    doNotFollow: { path: "node_modules" },
    exclude: { path: "(^|/)src/gen/" },
    tsPreCompilationDeps: true,
    enhancedResolveOptions: { exportsFields: ["exports"], conditionNames: ["import", "node", "default"], extensions: [".ts", ".js", ".mjs", ".cjs", ".json"] },
  },
};
