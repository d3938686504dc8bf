import assert from "node:assert/strict";
import { mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { execCredentials } from "./exec-credentials.ts";
import { clusterAround, clusterOf, loadKubeConfig, parseKubeConfig } from "./kube-config.ts";

const directory = await mkdtemp(join(tmpdir(), "kube-config-"));
after(() => rm(directory, { recursive: true, force: true }));
const apiVersion = "client.authentication.k8s.io/v1";

const kubeconfig = (user: unknown, cluster: object = {}) =>
  JSON.stringify({
    "current-context": "x",
    contexts: [{ name: "x", context: { cluster: "c", user: "u" } }],
    clusters: [{ name: "c", cluster: { server: "https://c", ...cluster } }],
    users: [{ name: "u", user }],
  });

/** Counts its runs in a file and prints the shell's expansion of `status`. */
function program(status: string, runs = join(directory, `runs-${Math.random()}`)) {
  const print = `{"kind": "ExecCredential", "apiVersion": "${apiVersion}", "status": ${status}}`;
  const script = `echo run >> ${runs}; printf '%s' '${print}' | sed "s/SECRET/$SECRET/; s|SERVER|$1|"`;
  const count = async () => (await readFile(runs, "utf8")).trim().split("\n").length;
  return {
    exec: { command: "/bin/sh", args: ["-c", script, "x", "arg"], env: [{ name: "SECRET", value: "s" }], apiVersion },
    count,
  };
}

test("a program gives a token, with its arguments and environment, once until it is refused", async () => {
  const { exec, count } = program('{"token": "SECRET-SERVER"}');
  const config = parseKubeConfig(kubeconfig({ exec }), "east", new Set(["exec"]));
  const [one, two] = await Promise.all([config.credentials(), config.credentials()]);
  assert.equal(one.token, "s-arg");
  assert.equal(two.token, "s-arg");
  assert.equal(await count(), 1);
  config.onRefused?.();
  await config.credentials();
  assert.equal(await count(), 2);
});

test("credentials of a program are fetched again before they expire", async () => {
  const { exec, count } = program('{"token": "t", "expirationTimestamp": "1970-01-01T00:01:00Z"}');
  let now = 0;
  const credentials = execCredentials({ ...exec, cluster: undefined }, "east", () => now);
  await credentials.get();
  now = 49_000;
  await credentials.get();
  assert.equal(await count(), 1);
  now = 51_000;
  await credentials.get();
  assert.equal(await count(), 2);
});

test("a program is passed the cluster when it asks for it", async () => {
  const print = `printf '{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":"%s"}}' "$(printf %s "$KUBERNETES_EXEC_INFO" | grep -o 'https://c')"`;
  const exec = { command: "sh", args: ["-c", print], apiVersion, provideClusterInfo: true };
  assert.equal((await parseKubeConfig(kubeconfig({ exec }), "e", new Set(["exec"])).credentials()).token, "https://c");
});

const broken = [
  { name: "fails", args: ["-c", "echo no login >&2; exit 3"], says: /the program \/bin\/sh failed: no login/ },
  { name: "prints no JSON", args: ["-c", "echo hello"], says: /printed no JSON/ },
  {
    name: "prints another kind",
    args: ["-c", "echo '{}'"],
    says: /not client.authentication.k8s.io\/v1\/ExecCredential/,
  },
  {
    name: "prints nothing to use",
    args: ["-c", `echo '{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{}}'`],
    says: /neither a token nor a certificate/,
  },
];
for (const { name, args, says } of broken) {
  test(`a program that ${name} is named, and asked again`, async () => {
    const exec = { command: "/bin/sh", args, apiVersion };
    const { credentials } = parseKubeConfig(kubeconfig({ exec }), "east", new Set(["exec"]));
    await assert.rejects(credentials(), says);
    await assert.rejects(credentials(), says);
  });
}

test("files are read where they are allowed by name, and only those", async () => {
  const file = join(directory, "token");
  await writeFile(file, "from a file\n");
  const allowed = new Set(["tokenFile"]);
  const { credentials } = parseKubeConfig(kubeconfig({ tokenFile: file }), "east", allowed);
  assert.equal((await credentials()).token, "from a file");
  const withKey = kubeconfig({ tokenFile: file, "client-key": file });
  assert.throws(() => parseKubeConfig(withKey, "east", allowed), /client-key names a file.* has clientKey/);
  const withCa = kubeconfig({ token: "t" }, { "certificate-authority": file });
  assert.throws(() => parseKubeConfig(withCa, "east", allowed), /certificate-authority names a file, which is refused/);
});

test("auth providers that clients no longer have are refused even where they are allowed", () => {
  const content = kubeconfig({ "auth-provider": { name: "gcp" } });
  assert.throws(() => parseKubeConfig(content, "east", new Set(["gcp"])), /auth-provider gcp is not supported/);
});

test("our own kubeconfig may run a program that lies beside it", async () => {
  const script = join(directory, "login.sh");
  const print = `{"kind":"ExecCredential","apiVersion":"${apiVersion}","status":{"token":"beside"}}`;
  await writeFile(script, `#!/bin/sh\necho '${print}'\n`, { mode: 0o755 });
  const file = join(directory, "config");
  await writeFile(file, kubeconfig({ exec: { command: "./login.sh", apiVersion } }));
  const config = await loadKubeConfig({ KUBECONFIG: file });
  assert.equal((await config?.credentials())?.token, "beside");
});

test("the cluster around a process is that of its environment, whatever a kubeconfig names", async () => {
  const file = join(directory, "elsewhere");
  await writeFile(file, kubeconfig({ token: "t" }));
  const settings = { kubeconfig: file, kubeHost: "10.0.0.1", kubePort: "6443" };
  assert.equal((await clusterAround(settings))?.server, "https://10.0.0.1:6443");
  assert.notEqual((await clusterOf(settings))?.server, "https://10.0.0.1:6443");
  assert.equal(await clusterAround({ ...settings, kubeHost: undefined }), undefined);
});
