/** Classes of Gateways: which there are by settings, and which one serves a Gateway. */
import assert from "node:assert/strict";
import { describe, it } from "node:test";
import { builtInClasses, defaultClassSettings, rulesOfController, servedClass } from "./gateway-classes.ts";

const classes = builtInClasses(defaultClassSettings);

describe("the classes that are built in", () => {
  it("are four, as an istiod has them", () =>
    assert.deepEqual(
      [...classes].map(([name, { controller, template, serviceType }]) => [name, controller, template, serviceType]),
      [
        ["istio", "istio.io/gateway-controller", "kube-gateway", "LoadBalancer"],
        ["istio-remote", "istio.io/unmanaged-gateway", undefined, "LoadBalancer"],
        ["istio-waypoint", "istio.io/mesh-controller", "waypoint", "ClusterIP"],
        ["istio-east-west", "istio.io/eastwest-controller", "waypoint", "LoadBalancer"],
      ],
    ));
  it("label what is deployed for their Gateways", () =>
    assert.deepEqual(
      [...classes.values()].map(({ managedLabel }) => managedLabel),
      [
        "istio.io-gateway-controller",
        "istio.io-unmanaged-gateway",
        "istio.io-mesh-controller",
        "istio.io-eastwest-controller",
      ],
    ));

  const names = (settings: object) => [...builtInClasses({ ...defaultClassSettings, ...settings }).keys()].join(" ");
  for (const [settings, want] of [
    [{ multiNetwork: false }, "istio istio-waypoint istio-east-west"],
    [{ waypoints: false }, "istio istio-remote istio-east-west"],
    [{ ambientMultiNetwork: false }, "istio istio-remote istio-waypoint"],
    [{ defaultClass: "edge" }, "edge istio-remote istio-waypoint istio-east-west"],
  ] as const)
    it(`with ${JSON.stringify(settings)} are ${want}`, () => assert.equal(names(settings), want));

  it("take UDPRoutes and ListenerSets at the mesh's gateways alone", () => {
    const all = [...builtInClasses({ ...defaultClassSettings, udpRoutes: true }).values()];
    assert.deepEqual(
      all.map(({ udpRoutes }) => udpRoutes),
      [true, false, false, false],
    );
    assert.deepEqual(
      all.map(({ listenerSets }) => listenerSets),
      [true, false, false, false],
    );
    assert.deepEqual(
      all.map(({ routes }) => routes),
      [true, false, true, true],
    );
  });
  it("name another controller where the setting has one", () => {
    const own = builtInClasses({ ...defaultClassSettings, defaultController: "corp.io/a/b" });
    assert.equal(own.get("istio")?.managedLabel, "corp.io-a-b");
    assert.equal(rulesOfController(own, "corp.io/a/b"), own.get("istio"));
    assert.equal(rulesOfController(own, "istio.io/gateway-controller"), undefined);
  });
});

describe("the class of a Gateway", () => {
  const controllers: Readonly<Record<string, string>> = { mine: "istio.io/mesh-controller", istio: "corp.io/c" };
  const of = (name: string, known: boolean) =>
    servedClass(name, { classes, controllerOf: (one) => (known ? controllers[one] : undefined) });
  it("is the built-in one where no GatewayClass of the name is there", () => {
    for (const [name, role] of Object.entries({
      istio: "ingress",
      "istio-remote": "remote",
      "istio-waypoint": "waypoint",
      "istio-east-west": "east-west",
    }))
      assert.deepEqual([of(name, false)?.role, of(name, false)?.name], [role, name]);
    assert.equal(of("nginx", false), undefined);
  });
  it("is that of the GatewayClass's controller first", () => {
    assert.deepEqual([of("mine", true)?.role, of("mine", true)?.name], ["waypoint", "mine"]);
    assert.equal(of("istio", true), undefined);
  });
});
