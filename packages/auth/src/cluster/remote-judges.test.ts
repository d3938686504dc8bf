import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { KubeApi, KubeConfig, RemoteClusters } from "@flotilla/kube-api";
import { RemoteJudges } from "./remote-judges.ts";

/** Names of clusters with their credentials; `undefined` stands for a kubeconfig that cannot be used. */
function named(all: Readonly<Record<string, string | undefined>>): RemoteClusters {
  const clusters = Object.entries(all).map(([cluster, server]) => {
    const config: KubeConfig | undefined = server ? { server, credentials: async () => ({}) } : undefined;
    return [cluster, { cluster, secret: "Secret/n/s", kubeconfig: server ?? "broken", config }] as const;
  });
  return { clusters: new Map(clusters), problems: [] };
}

function setUp() {
  const closed: string[] = [];
  const changes: string[] = [];
  const open = ({ server }: KubeConfig) =>
    ({
      server,
      create: async () => ({ status: { authenticated: true, user: { username: server } } }),
      [Symbol.dispose]: () => void closed.push(server),
    }) as unknown as KubeApi;
  const judges = new RemoteJudges({ maxReviews: 1, open });
  judges.onChange((cluster, api) => void changes.push(`${cluster} ${api?.server}`));
  const ask = async (cluster: string) => (await judges.reviewerOf(cluster)?.("token", []))?.user?.username;
  return { judges, ask, changes, closed };
}

describe("judges of other clusters", () => {
  it("come with their Secret and go with it", async () => {
    const { judges, ask, changes } = setUp();
    using _ = judges;
    assert.equal(await ask("east"), undefined);
    judges.apply(named({ east: "a", west: "b" }));
    assert.deepEqual([await ask("east"), await ask("west")], ["a", "b"]);
    judges.apply(named({ west: "b" }));
    assert.deepEqual([await ask("east"), await ask("west")], [undefined, "b"]);
    assert.deepEqual(changes, ["east a", "west b", "east undefined"]);
  });

  it("are announced to a listener that comes later", async () => {
    const { judges } = setUp();
    using _ = judges;
    judges.apply(named({ east: "a" }));
    const changes: string[] = [];
    judges.onChange((cluster, api) => void changes.push(`${cluster} ${api?.server}`));
    assert.deepEqual(changes, ["east a"]);
  });

  it("new credentials are used at once, the old connection ends later", async () => {
    const { judges, ask, closed } = setUp();
    judges.apply(named({ east: "a" }));
    judges.apply(named({ east: "a2" }));
    assert.equal(await ask("east"), "a2");
    assert.deepEqual(closed, []);
    judges[Symbol.dispose]();
    assert.deepEqual(closed.sort(), ["a", "a2"]);
  });

  it("a kubeconfig that cannot be used leaves the judge there was", async () => {
    const { judges, ask } = setUp();
    using _ = judges;
    judges.apply(named({ east: "a", west: undefined }));
    judges.apply(named({ east: undefined }));
    assert.deepEqual([await ask("east"), await ask("west")], ["a", undefined]);
  });
});
