/** docker-compose.yml as a user meets it: from a fresh clone to `down -v`. The steps share one project and run in order. */
import assert from "node:assert/strict";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { connect, type Socket } from "node:net";
import { join } from "node:path";
import { after, before, describe, it } from "node:test";
import { delay, until } from "@flotilla/runtime";
import { parse } from "yaml";
import { containerSeconds, engineDifference, engineSeconds } from "./cpu.ts";
import { crash, isReady } from "./crash.ts";
import { commandsOf } from "./documented.ts";
import { figure, seconds, timed } from "./figures.ts";
import { checkImageContents } from "./image-contents.ts";
import { provideImage, provideImages } from "./images.ts";
import { request, startLoad } from "./load.ts";
import { checkObservability } from "./observability.ts";
import { Project } from "./project.ts";

const imageBytes = 250e6;
const idleMs = 60_000;
const oneShot = "setup";

interface ComposeFile {
  readonly services: Readonly<Record<string, ComposeService>>;
}
interface ComposeService {
  readonly image: string;
  readonly build?: { readonly args: Labels };
  readonly profiles?: readonly string[];
}
type Labels = Readonly<Record<string, string>>;

describe("Docker Compose", () => {
  let project: Project;
  let services: readonly string[] = [];
  /** Images of the profile `observability` that are there, by service. */
  let watchers: Readonly<Record<string, boolean>> = {};

  const allHealthy = async (): Promise<boolean> =>
    (await project.containers()).every(({ service, running, health, exitCode }) =>
      service === oneShot ? exitCode === 0 && !running : running && health === "healthy",
    );
  const answers = async (): Promise<boolean> => {
    const reply = await request().catch(() => undefined);
    return reply?.status === 200;
  };

  before(async () => {
    project = new Project();
    // Of a run that was killed.
    await project.compose(["down", "-v", "--remove-orphans", "--timeout", "5"]);
    const file = parse(readFileSync(join(project.directory, "docker-compose.yml"), "utf8"), {
      merge: true,
    }) as ComposeFile;
    const [always, onRequest] = [false, true].map((isOnRequest) =>
      Object.entries(file.services).filter(([, { profiles }]) => (profiles !== undefined) === isOnRequest),
    );
    services = (always ?? []).map(([name]) => name).filter((name) => name !== oneShot);
    watchers = Object.fromEntries((onRequest ?? []).map(([name, { image }]) => [name, provideImage(image)]));
    const named = (always ?? []).flatMap(([, { image, build }]) =>
      build === undefined ? [image] : Object.values(build.args),
    );
    const images = named.map((image) => image.replace(/^\$\{\w+:-(.*)\}$/, "$1"));
    provideImages([...new Set(images)].filter((image) => !image.startsWith("flotilla:")));
  });
  after(() => project[Symbol.asyncDispose]());

  it("builds one image, once, of at most 250 MB", async () => {
    await timed("build of the image", () => project.compose(["build"]));
    const [size] = (await project.command("docker", ["image", "inspect", "-f", "{{.Size}}", "flotilla:0.1.0"])).split(
      "\n",
    );
    figure("image", `${Math.round(Number(size) / 1e6)} MB`);
    assert.ok(Number(size) <= imageBytes, `the image has ${size} bytes`);
  });

  it("has no shell in the image, nor any program but Node and the command line", async () => {
    const script = 'fs.globSync("/{bin,sbin,usr/bin,usr/sbin,usr/local/bin,usr/local/sbin}/*").sort().join()';
    const inImage = await project.command("docker", ["run", "--rm", "flotilla:0.1.0", "-p", script]);
    assert.equal(inImage.trim(), "/usr/local/bin/flotilla,/usr/local/bin/node");
    await assert.rejects(
      project.command("docker", ["run", "--rm", "--entrypoint", "sh", "flotilla:0.1.0", "-c", "true"]),
    );
  });

  it("has licences and SBOMs of the bundle, of Node and of Debian's libraries in the image", () =>
    checkImageContents(project));

  it("a first `up` makes everything healthy, and the sample answers through two Envoys", async () => {
    const begin = performance.now();
    const up = project.compose(["up", "-d", "--wait"]);
    await until(answers, { withinMs: 300_000, everyMs: 250, what: "an answer of the sample" });
    figure("first `up` to the first answer of the sample", seconds(performance.now() - begin));
    await up;
    figure("first `up --wait`", seconds(performance.now() - begin));
    assert.ok(await allHealthy());
    const { body, headers } = await request();
    assert.match(body, /"workload":"reviews".*URI=spiffe:\/\/cluster\.local\/ns\/shop\/sa\/web/);
    assert.equal(headers["x-mesh"], "flotilla");
  });

  it("no container runs as root, and the first logs have no stack traces", async () => {
    for (const { service, user } of await project.containers()) assert.match(user, /^[1-9]/, service);
    const logs = await project.compose(["logs", "--no-color"]);
    const alarming = logs.split("\n").filter((line) => /"stack":|"level":"(error|fatal)"|UnhandledPromise/.test(line));
    assert.deepEqual(alarming, []);
  });

  it("every command of docs/install/docker-compose.md works", { timeout: 900_000 }, async () => {
    const commands = commandsOf(join(project.directory, "docs/install/docker-compose.md"));
    assert.ok(commands.length >= 5);
    for (const command of commands) await project.command("bash", ["-euo", "pipefail", "-c", command]);
  });

  it("`flotilla status` shows every service from within a container", async () => {
    const text = await project.exec("issuer", "flotilla", "status");
    for (const service of ["ca", "config-controller", "service-controller", "xds-server", "webhook"])
      assert.match(text, new RegExp(`${service} .*ready`));
    assert.match(text, /2 proxies/);
    assert.match(text, /generation \d+/);
  });

  it("`flotilla logs --compose` shows the lines of every service, and those of one", async () => {
    const all = await project.flotilla("logs", "--compose", "--tail", "100000");
    for (const service of ["ca", "config-controller", "service-controller", "xds-server", "webhook"])
      assert.match(all, new RegExp(`INFO +${service}-\\d+ +\\S`));
    const ofOne = (await project.flotilla("logs", "--compose", "-o", "json", "ca")).trim().split("\n");
    const services = ofOne
      .filter((line) => line.startsWith("{"))
      .map((line) => (JSON.parse(line) as { readonly service?: string }).service);
    assert.deepEqual([...new Set(services)], ["ca"]);
  });

  it(
    "the profile `observability`: Prometheus scrapes every service, evaluates every alert, answers every panel",
    {
      timeout: 300_000,
    },
    () => checkObservability(project, watchers),
  );

  it("the directory of configuration is followed while it runs", async () => {
    const routes = join(project.directory, "samples/compose/routes.yaml");
    writeFileSync(routes, readFileSync(routes, "utf8").replace("x-mesh: flotilla", "x-mesh: followed"));
    const isFollowed = async () => (await request()).headers["x-mesh"] === "followed";
    await timed("a changed file in effect", () =>
      until(isFollowed, { withinMs: 20_000, everyMs: 20, what: "the new header" }),
    );
  });

  it("a mistyped FLOTILLA_CONFIG is an error, and an empty directory takes nothing out of force", async () => {
    const mistyped = { FLOTILLA_CONFIG: "./samples/mistyped" };
    await assert.rejects(project.compose(["up", "-d"], mistyped), /samples\/mistyped|does not exist/);
    assert.ok(!readdirSync(join(project.directory, "samples")).includes("mistyped"));
    mkdirSync(join(project.directory, "samples/empty"));
    await project.compose(["up", "-d", "--no-deps", "config-controller"], { FLOTILLA_CONFIG: "./samples/empty" });
    const isShown = async () =>
      /has become empty/.test(await project.exec("issuer", "flotilla", "status").catch(String));
    await until(isShown, { withinMs: 60_000, everyMs: 1_000, what: "the condition in status" });
    await using load = startLoad();
    await delay(3_000);
    assert.deepEqual(load.failures(), []);
    await project.compose(["up", "-d", "--wait"]);
  });

  it("three replicas of xds-server share the connections of the one address", async () => {
    await timed("`up --scale xds-server=3`", () =>
      project.compose(["up", "-d", "--no-recreate", "--scale", "xds-server=3"]),
    );
    const hosts = async () => {
      const text = await project.exec(
        "xds",
        "bash",
        "-c",
        "exec 3<>/dev/tcp/127.0.0.1/15000; printf 'GET /clusters HTTP/1.1\\r\\nHost: localhost\\r\\nConnection: close\\r\\n\\r\\n' >&3; cat <&3",
      );
      return [...text.matchAll(/^plaintext::([\d.]+):15010::(cx_active|health_flags)::(.*)$/gm)].map(
        ([, host, name, value]) => ({ host, name, value: value?.trim() }),
      );
    };
    const isSpread = async () =>
      (await hosts()).filter(({ name, value }) => name === "health_flags" && value === "healthy").length === 3;
    await timed("three replicas known to be healthy", () =>
      until(isSpread, { withinMs: 60_000, everyMs: 500, what: "three healthy hosts" }),
    );
    const sockets: Socket[] = [];
    try {
      // Of connections that come in one moment the balancer counts none yet, and spreads them by chance.
      for (let i = 0; i < 12; i++) {
        sockets.push(connect(15010, "127.0.0.1"));
        await delay(100);
      }
      const counts = async () =>
        (await hosts()).filter(({ name }) => name === "cx_active").map(({ value }) => Number(value));
      const isBalanced = async () => (await counts()).filter((count) => count >= 2).length === 3;
      await until(isBalanced, { withinMs: 20_000, everyMs: 500, what: "connections at each replica" }).finally(
        async () => figure("12 connections over three replicas", (await counts()).join(", ")),
      );
    } finally {
      for (const socket of sockets) socket.destroy();
    }
    // Settings that .env or the environment names stay with a plain `up`.
    await project.compose(["up", "-d"], { XDS_SERVER_REPLICAS: "2" });
    assert.equal((await project.containersOf("xds-server")).length, 2);
    await project.compose(["up", "-d"]);
    assert.equal((await project.containersOf("xds-server")).length, 1);
  });

  it("every container that is killed is ready again, and requests go on", { timeout: 900_000 }, async () => {
    for (const service of services) {
      // Of one replica each, the proxies' and the workload's own are part of the path.
      const isOnPath = ["web", "reviews", "reviews-app"].includes(service);
      await using load = startLoad();
      const begin = performance.now();
      await crash(project, service);
      await until(() => isReady(project, service), { withinMs: 120_000, everyMs: 250, what: `${service} ready again` });
      await until(answers, { withinMs: 60_000, everyMs: 100, what: `an answer after ${service} was killed` });
      const [failed, sent] = [load.failures().length, load.sent()];
      figure(
        `kill -9 of ${service}`,
        `ready after ${seconds(performance.now() - begin)}, ${failed} of ${sent} requests failed`,
      );
      if (!isOnPath) assert.deepEqual(load.failures(), [], service);
    }
  });

  it("NATS' certificate is renewed after three crashes in a row and a restart", { timeout: 600_000 }, async () => {
    for (let i = 0; i < 3; i++) await crash(project, "nats");
    await project.compose(["restart", "nats"]);
    await until(() => isReady(project, "nats"), { withinMs: 120_000, everyMs: 500, what: "NATS" });
    const presented = async () =>
      (await project.compose(["logs", "--no-color", "nats-certificate"])).split("server presents its certificate")
        .length;
    const before = await presented();
    // Holders of a certificate obtain another when the roots change.
    await project.exec("ca", "node", "-e", 'fs.appendFileSync("/var/lib/flotilla/root-cert.pem", "\\n")');
    const isPresented = async () => (await presented()) > before;
    await timed("renewed certificate presented by NATS", () =>
      until(isPresented, { withinMs: 60_000, everyMs: 500, what: "the renewed certificate" }),
    );
  });

  it("a renewal that fails makes its container unhealthy", async () => {
    await project.exec("nats-certificate", "node", "-e", 'fs.writeFileSync("/tmp/renew-by", "0")');
    const isUnhealthy = async () => (await project.containersOf("nats-certificate"))[0]?.health === "unhealthy";
    await until(isUnhealthy, { withinMs: 240_000, everyMs: 1_000, what: "unhealthy" });
    await project.compose(["restart", "nats-certificate"]);
  });

  it("idle, its CPU time is measured", { timeout: 300_000 }, async () => {
    await until(allHealthy, { withinMs: 120_000, everyMs: 1_000, what: "everything healthy" });
    const ids = (await project.containers()).filter(({ running }) => running).map(({ id }) => id);
    const [containers, engine] = [containerSeconds(ids), engineSeconds()];
    await delay(idleMs);
    const perSecond = (taken: number) => `${((taken / idleMs) * 1e6).toFixed(0)} ms/s`;
    const containersNow = containerSeconds(ids);
    if (containers !== undefined && containersNow !== undefined)
      figure("CPU of idle containers, health checks with them", perSecond(containersNow - containers));
    figure("CPU of the engine meanwhile", perSecond(engineDifference(engine, engineSeconds())));
  });

  it("`restart`, and `down` with `up`, keep roots and what was applied; `down -v` keeps nothing", {
    timeout: 900_000,
  }, async () => {
    const root = async () =>
      (await project.exec("ca", "node", "-p", 'fs.readFileSync("/var/lib/flotilla/root-cert.pem", "utf8")')).trim();
    const applied = () =>
      project.exec("issuer", "flotilla", "get", "destinationrule", "reviews", "-n", "shop", "-o", "name");
    const kept = [await root(), await applied()];
    const isKept = async () =>
      [await root().catch(String), await applied().catch(String)].every((value, i) => value === kept[i]);
    await timed("`restart` of everything to the next answer", async () => {
      await project.compose(["restart"]);
      await until(answers, { withinMs: 120_000, everyMs: 250, what: "an answer after `restart`" });
    });
    await until(isKept, { withinMs: 120_000, everyMs: 1_000, what: "what `restart` must keep" });
    await project.compose(["down"]);
    await timed("second `up` to the next answer", async () => {
      await project.compose(["up", "-d"]);
      await until(answers, { withinMs: 120_000, everyMs: 250, what: "an answer after `down` and `up`" });
    });
    await until(isKept, { withinMs: 120_000, everyMs: 1_000, what: "what `down` and `up` must keep" });
    // With the volumes of what was started on request.
    await project.compose(["--profile", "observability", "down", "-v"]);
    const filter = `label=com.docker.compose.project=${project.name}`;
    assert.equal(await project.command("docker", ["volume", "ls", "-q", "--filter", filter]), "");
    assert.deepEqual(await project.containers(), []);
  });
});
