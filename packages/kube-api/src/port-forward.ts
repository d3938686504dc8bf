/** Ports of this host that lead to ports of pods, as `kubectl port-forward` makes them, by the context of a kubeconfig. */
import { once } from "node:events";
import { type AddressInfo, createServer, type Socket } from "node:net";
import { KubeError } from "./errors.ts";

/** The pods to forward to, by namespace and label selector. */
export interface PodTarget {
  readonly namespace: string;
  readonly labels: string;
  /** Port of the pod for each value of `app.kubernetes.io/name`; other pods are left out. */
  readonly ports: Readonly<Record<string, number>>;
}

/** One pod and the local port that leads to it. */
export interface ForwardedPod {
  readonly app: string;
  readonly pod: string;
  /** On 127.0.0.1. */
  readonly port: number;
}

/** Local ports that lead to pods; disposing of it closes them. */
export interface ForwardedPods extends AsyncDisposable {
  readonly pods: readonly ForwardedPod[];
}

/** Undefined file: KUBECONFIG, or that of the user. @throws KubeError KUBE_CONFIG, KUBE_AWAY */
export async function forwardPods(
  { file, context }: { readonly file: string | undefined; readonly context: string },
  { namespace, labels, ports }: PodTarget,
): Promise<ForwardedPods> {
  const { CoreV1Api, KubeConfig, PortForward } = await import("@kubernetes/client-node");
  const config = new KubeConfig();
  if (file === undefined) config.loadFromDefault();
  else config.loadFromFile(file);
  // Without any kubeconfig the client makes up a context of this name.
  const known = config.getContexts().flatMap(({ name }) => (name === "loaded-context" ? [] : [name]));
  if (!known.includes(context)) {
    const others = known.length === 0 ? "it has none" : `it has ${known.join(", ")}`;
    const text = `${file ?? "the kubeconfig"} has no context ${JSON.stringify(context)}: ${others}`;
    throw new KubeError("KUBE_CONFIG", text);
  }
  config.setCurrentContext(context);
  const listed = await config
    .makeApiClient(CoreV1Api)
    .listNamespacedPod({ namespace, labelSelector: labels })
    .catch((cause: Error) => {
      throw new KubeError("KUBE_AWAY", `pods of ${namespace} cannot be listed: ${cause.message}`, { cause });
    });
  const running = listed.items.flatMap(({ metadata, status }) => {
    const app = metadata?.labels?.["app.kubernetes.io/name"] ?? "";
    const [pod, target] = [metadata?.name, Object.hasOwn(ports, app) ? ports[app] : undefined];
    return pod === undefined || target === undefined || status?.phase !== "Running" ? [] : [{ app, pod, target }];
  });
  const forward = new PortForward(config);
  const owned = new AsyncDisposableStack();
  try {
    const pods: ForwardedPod[] = [];
    for (const { app, pod, target } of running) {
      const connect = (socket: Socket) => forward.portForward(namespace, pod, [target], socket, null, socket);
      pods.push({ app, pod, port: await listen(connect, owned) });
    }
    return { pods, [Symbol.asyncDispose]: () => owned.disposeAsync() };
  } catch (error) {
    await owned.disposeAsync();
    throw error;
  }
}

async function listen(connect: (socket: Socket) => Promise<unknown>, owned: AsyncDisposableStack): Promise<number> {
  const sockets = new Set<Socket>();
  const server = createServer((socket) => {
    sockets.add(socket);
    socket.once("close", () => sockets.delete(socket));
    // The caller of the port sees a closed connection, and reports it.
    socket.on("error", () => socket.destroy());
    connect(socket).catch(() => socket.destroy());
  }).listen(0, "127.0.0.1");
  await once(server, "listening");
  owned.defer(async () => {
    for (const socket of sockets) socket.destroy();
    server.close();
  });
  return (server.address() as AddressInfo).port;
}
