/**
 * Selects the mesh's objects of kinds that several controllers share: Ingresses by their class, Gateways by theirs, routes by their
 * parents. Objects of others are never refused and get no warnings.
 */
import {
  builtInClasses,
  defaultClassSettings,
  type IngressSettings,
  isServedIngress,
  type ServedClass,
  servedClass,
} from "@flotilla/gateway-api";
import { type ConfigChange, isObject, type KubeObject, ownValue } from "@flotilla/model";
import type { ServedIngress, ServedKinds } from "@flotilla/validation";

interface ParentRef {
  readonly kind?: string;
  readonly namespace?: string;
  readonly name?: string;
}

/** The one field of a kind that is kept, by what reads it. */
const keptFields: ReadonlyMap<string, string> = new Map([
  ["GatewayClass", "controllerName"],
  ["IngressClass", "controller"],
  ["KubernetesGateway", "gatewayClassName"],
  ["ListenerSet", "parentRef"],
]);
const groups: ReadonlySet<string> = new Set([
  ...["gateway.networking.k8s.io", "gateway.networking.x-k8s.io", "inference.networking.k8s.io", "networking.k8s.io"],
]);
const classAnnotation = "kubernetes.io/ingress.class";

export class ServedObjects implements ServedKinds {
  readonly #kept = new Map<string, unknown>();
  readonly #settings: () => IngressSettings;
  readonly #classes = builtInClasses(defaultClassSettings);

  /** @param settings of the MeshConfig */
  constructor(settings: () => IngressSettings) {
    this.#settings = settings;
  }

  readonly note = ({ op, key: { kind, namespace, name }, ...change }: ConfigChange): void => {
    const field = keptFields.get(kind);
    if (field === undefined) return;
    const spec = op === "put" && "value" in change ? change.value.spec : undefined;
    if (isObject(spec)) this.#kept.set(keyOf(kind, namespace, name), ownValue(spec, field));
    else this.#kept.delete(keyOf(kind, namespace, name));
  };

  readonly gatewayRole = (className: string): ServedClass["role"] | undefined =>
    servedClass(className, { classes: this.#classes, controllerOf: (name) => this.#textOf("GatewayClass", "", name) })
      ?.role;

  readonly isServedIngress = ({ annotation, className: ingressClassName }: ServedIngress): boolean =>
    isServedIngress(
      { annotations: annotation === undefined ? {} : { [classAnnotation]: annotation }, ingressClassName },
      (name) => this.#textOf("IngressClass", "", name),
      this.#settings(),
    );

  /** False for objects of shared kinds that belong to other controllers, or to none that is known. */
  readonly concerns = ({ apiVersion, metadata, ...object }: KubeObject): boolean => {
    const spec = object["spec"];
    if (!groups.has(apiVersion.slice(0, apiVersion.indexOf("/"))) || !isObject(spec)) return true;
    const parents: unknown = spec["parentRefs"];
    if (!Array.isArray(parents)) return true;
    return parents.some((parent) => isObject(parent) && this.#isServedParent(parent, metadata.namespace ?? ""));
  };

  #isServedParent({ kind = "Gateway", namespace, name = "" }: ParentRef, home: string): boolean {
    if (kind === "Service" || kind === "ServiceEntry") return true;
    if (kind === "ListenerSet") {
      const parent = this.#kept.get(keyOf(kind, namespace ?? home, name));
      return isObject(parent) && this.#isServedParent({ ...parent, kind: "Gateway" }, namespace ?? home);
    }
    const className = this.#textOf("KubernetesGateway", namespace ?? home, name);
    return kind === "Gateway" && className !== undefined && this.gatewayRole(className) !== undefined;
  }

  #textOf(kind: string, namespace: string, name: string): string | undefined {
    const value = this.#kept.get(keyOf(kind, namespace, name));
    return typeof value === "string" ? value : undefined;
  }
}

function keyOf(kind: string, namespace: string, name: string): string {
  return `${kind}/${namespace}/${name}`;
}
