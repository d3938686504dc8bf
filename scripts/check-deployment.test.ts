/** The checks of the deployment files find what is wrong, and kustomize makes of k8s/ what they expect. */
import assert from "node:assert/strict";
import { execFileSync, spawnSync } from "node:child_process";
import { mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join, relative } from "node:path";
import { describe, it } from "node:test";
import { checkAll } from "./deployment/check-all.ts";
import { readProject, root } from "./deployment/files.ts";

const cases: readonly {
  readonly name: string;
  readonly file: string;
  readonly change: readonly [string, string];
  readonly problem: RegExp;
}[] = [
  {
    name: "a bus without TLS",
    file: "k8s/base/config.yaml",
    change: ["tls://", "nats://"],
    problem: /BUS_URL does not begin with tls:/,
  },
  {
    name: "a bus with certificates that are not renewed",
    file: "docker-compose.yml",
    change: [":4222?certificates=/tmp/client", ":4222?certificates=/tmp/other"],
    problem: /BUS_URL shows other certificates/,
  },
  {
    name: "a server certificate for another name than its clients expect",
    file: "k8s/base/redis.yaml",
    change: ["--name=flotilla-redis.$(POD_NAMESPACE).svc", "--name=redis.$(POD_NAMESPACE).svc"],
    problem: /the certificate of redis is not for flotilla-redis/,
  },
  {
    name: "a NATS that does not know one of our services",
    file: "k8s/base/nats.conf",
    change: ["flotilla-webhook.", "flotilla-other."],
    problem: /flotilla-webhook\.istio-system\.svc is no user/,
  },
  {
    name: "a NATS that is reloaded by a file it does not write",
    file: "k8s/base/nats.yaml",
    change: ["--reload-pid-file=/certificates/nats.pid", "--reload-pid-file=/run/nats.pid"],
    problem: /--reload-pid-file is not pid_file/,
  },
  {
    name: "a NATS whose processes are its own",
    file: "k8s/base/nats.yaml",
    change: ["shareProcessNamespace: true", "shareProcessNamespace: false"],
    problem: /cannot be reloaded by a signal/,
  },
  {
    name: "a NetworkPolicy that keeps a service out",
    file: "k8s/base/network-policies.yaml",
    change: ["- flotilla-webhook", "- flotilla-webhooks"],
    problem: /keeps flotilla-webhook out/,
  },
  {
    name: "a network of Redis that others share",
    file: "docker-compose.yml",
    change: ["backbone: {internal: true}", "backbone: {}"],
    problem: /redis is on backbone, which is not internal/,
  },
  {
    name: "a container with the key of the token issuer",
    file: "docker-compose.yml",
    change: ['- "webhook:/var/lib/flotilla/webhook"', '- "issuer:/var/lib/flotilla/webhook"'],
    problem: /webhook sees the volume issuer/,
  },
  {
    name: "a container with another's token",
    file: "docker-compose.yml",
    change: ["token-webhook:/var/run/secrets/tokens:ro", "token-xds-server:/var/run/secrets/tokens:ro"],
    problem: /webhook mounts the tokens token-xds-server/,
  },
  {
    name: "a service that may write what all see",
    file: "docker-compose.yml",
    change: ["state:/var/lib/flotilla:ro", "state:/var/lib/flotilla"],
    problem: /may write what all see/,
  },
  {
    name: "a path of configuration that the engine may make",
    file: "docker-compose.yml",
    change: ["create_host_path: false", "create_host_path: true"],
    problem: /a mistyped \.\/samples\/compose of config-controller becomes an empty directory/,
  },
  {
    name: "a NATS that does not read its renewed certificate",
    file: "docker-compose.yml",
    change: ["./compose/nats.sh:", "./compose/other.sh:"],
    problem: /NATS does not read a renewed certificate/,
  },
  {
    name: "a renewal without a health check",
    file: "docker-compose.yml",
    change: ['"until", "/tmp/renew-by"]', '"file", "/tmp/renew-by"]'],
    problem: /a certificate of nats that is not renewed makes nothing unhealthy/,
  },
  {
    name: "a Prometheus that asks a service at another port than it shows its metrics at",
    file: "compose/observability/prometheus.yaml",
    change: ["port: 15026", "port: 15013"],
    problem: /ca is scraped at port 15013, and shows its metrics at 15026/,
  },
  {
    name: "a Prometheus that everybody on the network sees",
    file: "docker-compose.yml",
    change: ["127.0.0.1:${FLOTILLA_PROMETHEUS_PORT", "0.0.0.0:${FLOTILLA_PROMETHEUS_PORT"],
    problem: /is published beyond this host/,
  },
  {
    name: "a Grafana that is started without being asked for",
    file: "docker-compose.yml",
    change: ["grafana:12.1.1\n    profiles: [observability]", "grafana:12.1.1"],
    problem: /grafana is not of the profile observability/,
  },
  {
    name: "a Grafana that looks for its Prometheus elsewhere",
    file: "compose/observability/grafana-datasource.yaml",
    change: ["http://prometheus:9090", "http://localhost:9090"],
    problem: /http:\/\/localhost:9090 is no Prometheus of Compose/,
  },
  {
    name: "a Grafana without the dashboard",
    file: "compose/observability/grafana-dashboards.yaml",
    change: ["/var/lib/dashboards", "/var/lib/other"],
    problem: /\/var\/lib\/other does not have the dashboard/,
  },
  {
    name: "an image without its version",
    file: "docker-compose.yml",
    change: ["redis:7.4.6-alpine", "redis:7-alpine"],
    problem: /the image redis:7-alpine of redis has no full version/,
  },
  {
    name: "a health check that needs a shell",
    file: "docker-compose.yml",
    change: ['["CMD", "node", "packages/cli/bin/check.js", "page", "15026"]', '["CMD-SHELL", "ready 15026"]'],
    problem: /the health check of ca is not run by node/,
  },
  {
    name: "a health check that is not in the image",
    file: "docker-compose.yml",
    change: ['packages/cli/bin/check.js", "page", "15026"', 'packages/cli/bin/ready.js", "page", "15026"'],
    problem: /the health check of ca runs packages\/cli\/bin\/ready\.js, which the image does not have/,
  },
  {
    name: "a shell that stays in the image",
    file: "Dockerfile",
    change: ["COPY --from=base /image /", "COPY --from=base / /"],
    problem: /Dockerfile: the image is more than Node and its libraries/,
  },
  {
    name: "a shell beside Node in the image",
    file: "Dockerfile",
    change: ["/image/usr/local/bin /usr/local/bin/node", "/image/usr/local/bin /usr/local/bin/node /bin/dash"],
    problem: /Dockerfile: the image has the program \/bin\/dash/,
  },
  {
    name: "a program that the image does not have",
    file: "docker-compose.yml",
    change: ["services/ca/bin/main.js", "services/cb/bin/main.js"],
    problem: /ca runs services\/cb\/bin\/main\.ts, which the image does not have/,
  },
  {
    name: "a service without a place for its certificate",
    file: "k8s/base/webhook.yaml",
    change: ["- {name: work, emptyDir: {}}", "- {name: work, secret: {secretName: a}}"],
    problem: /webhook\.yaml: .* is no place of the pod's own/,
  },
  {
    name: "a setting that no service knows",
    file: "k8s/base/config.yaml",
    change: ["WORK_DIR:", "WORKDIR:"],
    problem: /WORKDIR is read by no service/,
  },
  {
    name: "a pod of an account that is not there",
    file: "k8s/base/redis.yaml",
    change: ["serviceAccountName: flotilla-redis", "serviceAccountName: redis"],
    problem: /runs as redis, which is no ServiceAccount/,
  },
  {
    name: "an image of another version",
    file: "k8s/base/kustomization.yaml",
    change: ["newTag: ", "newTag: 9."],
    problem: /the image is flotilla:9\./,
  },
  {
    name: "a probe that gives a slow node one second",
    file: "k8s/base/webhook.yaml",
    change: ["            timeoutSeconds: 10\n", ""],
    problem: /the livenessProbe of webhook does not wait 5 seconds/,
  },
  {
    name: "a pod that names the user whose traffic no sidecar captures",
    file: "k8s/base/webhook.yaml",
    change: ["        runAsNonRoot: true\n", "        runAsNonRoot: true\n        runAsUser: 1337\n"],
    problem: /flotilla-webhook names the proxy's user/,
  },
  {
    name: "a workload that a drained node may lose altogether",
    file: "k8s/base/disruption-budgets.yaml",
    change: ["app.kubernetes.io/name: flotilla-ca", "app.kubernetes.io/name: flotilla-cas"],
    problem: /no PodDisruptionBudget selects flotilla-ca/,
  },
  {
    name: "a NetworkPolicy of no pod",
    file: "k8s/base/network-policies.yaml",
    change: [
      "podSelector: {matchLabels: {app.kubernetes.io/name: flotilla-webhook}}",
      "podSelector: {matchLabels: {app: flotilla-webhook, role: none}}",
    ],
    problem: /no NetworkPolicy selects flotilla-webhook/,
  },
  {
    name: "fewer addresses than servers",
    file: "k8s/components/replicated-servers/nats.yaml",
    change: ["replicas: 3", "replicas: 5"],
    problem: /BUS_URL names .*flotilla-nats-2.*, the servers are .*flotilla-nats-4/,
  },
  {
    name: "a stranger whom replicated servers let in",
    file: "k8s/components/replicated-servers/nats.conf",
    change: ["flotilla-webhook.istio-system", "web.shop"],
    problem: /differs from k8s\/base\/nats\.conf in authorization/,
  },
  {
    name: "more rights than asking a signer for workloads takes",
    file: "k8s/components/external-signer/rights.yaml",
    change: ["verbs: [approve]", "verbs: [approve, sign]"],
    problem: /the rights are .*sign/,
  },
  {
    name: "more rights than asking a signer takes",
    file: "k8s/components/cluster-signer/rights.yaml",
    change: ["verbs: [create, get, delete]", "verbs: [create, get, list, delete]"],
    problem: /the rights are .*list/,
  },
];

describe("the checks of the deployment files", () => {
  it("find nothing in what is shipped", () => {
    assert.deepEqual(checkAll(readProject).problems, []);
  });

  for (const { name, file, change, problem } of cases) {
    it(`find ${name}`, () => {
      const [before, after] = change;
      assert.ok(readProject(file).includes(before), `${file} has no ${before}`);
      const { problems } = checkAll((path) =>
        path === file ? readProject(path).replace(before, after) : readProject(path),
      );
      assert.match(problems.join("\n"), problem);
    });
  }
});

const kubectl = spawnSync("kubectl", ["kustomize", "--help"]).status === 0;

describe("kustomize", { skip: !kubectl && "no kubectl on PATH: k8s/ is checked by its files alone" }, () => {
  it("fills signers into their rights, gives the image its version, and mounts the servers' configuration", () => {
    const directory = mkdtempSync(join(realpathSync(tmpdir()), "flotilla-kustomize-"));
    const at = (path: string) => relative(directory, join(root, path));
    const overlay = {
      resources: [at("k8s/base")],
      components: ["cluster-signer", "external-signer"].map((name) => at(`k8s/components/${name}`)),
    };
    try {
      writeFileSync(join(directory, "kustomization.yaml"), JSON.stringify(overlay));
      const text = execFileSync("kubectl", ["kustomize", directory], { encoding: "utf8" });
      assert.match(text, /PILOT_CERT_PROVIDER: k8s\.io\/example\.com\/serving/);
      for (const name of ["serving", "workloads"])
        assert.match(text, new RegExp(`resourceNames:\\n {2}- example\\.com/${name}`));
      assert.doesNotMatch(text, /image: flotilla\n/);
      for (const server of ["nats", "redis"]) {
        const [name] = new RegExp(`name: flotilla-${server}-\\w+`).exec(text) ?? [];
        assert.equal(text.split(`${name}\n`).length, 3, `made once and mounted once: ${name}`);
      }
    } finally {
      rmSync(directory, { recursive: true });
    }
  });
});
