/** A sentence for each page that services register without one. */
export const ofEveryService: Readonly<Record<string, string>> = {
  "GET /": "name and version of the service, and the paths of its pages",
  "GET /ready": "200 when it serves, else 503; the conditions that hold, with their reasons",
  "GET /healthz": "200 while the process runs",
  "GET /version": "versions of the service and of Node, since when it runs",
  "GET /metrics": "metrics in Prometheus' text form ([metrics.md](metrics.md))",
};

/** For callers who may see a page: of the own host, or with a token. */
export const ofServices: Readonly<Record<string, string>> = {
  "GET /debug/caller": "the account of the caller's token, and whether it may write",
  "GET /debug/settings": "the settings and log levels in effect",
  "PUT /debug/levels": "changes a log level, for accounts of PAGE_WRITERS",
  "xds-server GET /debug": "what each page shows, as text",
  "config-controller GET /debug/api": "the URL of the API, and the service account that its certificate names",
  "config-controller GET /debug/problems": "objects that are refused, with field and reason; objects that are ignored",
  "config-controller GET /debug/configz": "the objects in force, without Secrets",
  "config-controller GET /debug/objects": "status of each object: problems, and how far it has come on proxies",
  "config-controller GET /debug/object_rows":
    "objects as a list: ?search=&kind=&namespace=&state=&sort=&offset=&limit=",
  "config-controller GET /debug/object": "one object with its status: ?kind=&namespace=&name=",
  "config-controller GET /debug/rejections": "what proxies reject, by cause and object",
  "config-controller GET /debug/recent": "the latest changes and how far each has come",
  "config-controller GET /debug/history": "the generations of the configuration, or those of one object",
  "config-controller GET /debug/generations": "the generations as a list",
  "config-controller GET /debug/generation": "one generation: who changed what, and its arrival at proxies",
  "config-controller GET /debug/diff": "the difference of an object between two generations",
  "service-controller GET /debug/registryz": "services by shard",
  "service-controller GET /debug/endpointz": "endpoints by service and shard: ?host=; clusters that are away",
  "service-controller GET /debug/instancesz": "the endpoints that come of an object: ?object=Pod/namespace/name",
  "service-controller GET /debug/clusterz": "clusters that are read, with their state, and since when one is away",
  "service-controller GET /debug/mcsz": "services that clusters export and import",
  "service-controller GET /debug/digestz": "a digest of each shard, and when it was compared with a fresh list",
  "service-controller GET /debug/problems": "objects that are refused or cannot be used in full",
  "ca GET /debug/caz": "the certificate that is signed with, the roots, the requests that wait",
  "ca GET /debug/endings": "certificates that end first",
  "ca GET /debug/rotation": "phase of a rotation of the root, and what it waits for",
  "ca POST /debug/rotation": "?action=rotate or abort, from ca's own host",
  "webhook GET /debug/inject": "the templates in use",
};
