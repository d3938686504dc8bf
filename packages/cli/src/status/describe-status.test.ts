/** The text of `flotilla status`, as people read it. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import type { Status } from "./collect-status.ts";
import { describeStatus } from "./describe-status.ts";

const nothing: Status = {
  services: [],
  proxies: [],
  objects: undefined,
  problems: [],
  ignored: [],
  findings: [],
  refusals: 0,
};
const type = (name: string) => `type.googleapis.com/envoy.config.${name}`;
const section = (more: Partial<Status>, place: number, format: "table" | "wide" = "table") =>
  describeStatus({ ...nothing, ...more }, format).split("\n\n")[place];

describe("the text of a status", () => {
  it("of nothing has a heading and no empty sections", () => {
    assert.equal(describeStatus(nothing, "table"), "SERVICE   STATE   PID   RESTARTS   DETAIL\n\n0 proxies");
  });

  it("knows no proxies where no xds-server answers", () => {
    assert.equal(section({ proxies: undefined }, 1), "proxies unknown: no xds-server answers");
    assert.match(section({ proxies: [{ proxy: "web.shop" }] }, 1) ?? "", /^1 proxy\n/);
  });

  it("shows a file that both controllers refuse once", () => {
    const problem = { file: "a.yaml", line: 3, reason: "no YAML" };
    const own = { service: "service-controller", object: "Service/shop/s", reason: "no port" };
    const problems = [...["config-controller", "service-controller"].map((service) => ({ ...problem, service })), own];
    assert.equal(section({ problems }, 2), "1 refused by config-controller\n  a.yaml:3 no YAML");
    assert.equal(section({ problems }, 3), "1 refused by service-controller\n  Service/shop/s no port");
  });

  it("services: a process that is not known is a dash, 0 restarts are not", () => {
    const services = [
      { name: "ca", state: "ready", detail: "", url: "http://a", pid: 7, restarts: 0 },
      { name: "xds-server", state: "restarting", detail: "waiting", url: "http://b" },
    ] as const;
    assert.equal(
      section({ services }, 0),
      [
        "SERVICE      STATE        PID   RESTARTS   DETAIL",
        "ca           ready        7     0",
        "xds-server   restarting   -     -          waiting",
      ].join("\n"),
    );
    assert.match(
      section({ services }, 0, "wide") ?? "",
      /^SERVICE .* PAGES +DETAIL\n.*http:\/\/a\n.*http:\/\/b +waiting$/,
    );
  });

  it("proxies: each type by what was sent, acknowledged or refused", () => {
    const resources = {
      [type("cluster.v3.Cluster")]: { sent: "n1", acked: "n1" },
      [type("listener.v3.Listener")]: { sent: "n2", acked: "n1" },
      [type("route.v3.RouteConfiguration")]: { sent: "n2", acked: "n1", lastError: "no\n  such cluster" },
      [type("endpoint.v3.ClusterLoadAssignment")]: {},
    };
    assert.equal(
      section({ proxies: [{ proxy: "a.shop", resources }, { proxy: "b.shop" }] }, 1),
      [
        "2 proxies",
        "  PROXY    CDS      LDS    RDS                         EDS",
        "  a.shop   synced   sent   rejected: no such cluster   -",
        "  b.shop   -        -      -                           -",
      ].join("\n"),
    );
  });

  it("objects: those that are not in effect everywhere, and how many are", () => {
    const objects = [{ object: "Gateway/shop/g", state: "refused", problems: [], warnings: [] }] as const;
    assert.equal(
      section({ objects: { generation: 9, total: 4, objects } }, 2),
      "4 objects, generation 9: 3 in effect on every proxy that they concern\n  Gateway/shop/g  refused",
    );
  });

  it("problems stand by the service that has them, with their place as far as it is known", () => {
    const problems = [
      { service: "config-controller", object: "Gateway/shop/g", file: "a.yaml", line: 3, field: "spec", reason: "bad" },
      { service: "service-controller", file: "b.yaml", line: 0, reason: "unreadable" },
      { service: "config-controller", object: "Sidecar/shop/s", reason: "bad" },
    ];
    const text = describeStatus({ ...nothing, problems }, "table")
      .split("\n\n")
      .slice(2);
    assert.deepEqual(text, [
      "2 refused by config-controller\n  a.yaml:3 Gateway/shop/g spec bad\n  Sidecar/shop/s bad",
      "1 refused by service-controller\n  b.yaml unreadable",
    ]);
  });

  it("foreign kinds and conflicts come last", () => {
    const ignored = [{ source: "files", apiVersion: "apps/v1", kind: "Deployment", count: 2 }];
    const findings = [{ object: "Gateway/shop/g", message: "80 is taken" }];
    const text = describeStatus({ ...nothing, ignored, findings }, "table")
      .split("\n\n")
      .slice(2);
    assert.deepEqual(text, [
      "files: 2 Deployment (apps/v1) ignored: not configuration of the mesh",
      "1 conflicts and errors in the configuration of proxies\n  Gateway/shop/g  80 is taken",
    ]);
  });
});
