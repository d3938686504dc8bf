/** The image of a checkout, in the cluster: by CLUSTER_IMAGES, or by the commands of docs/install/kubernetes.md. */
import { runSection } from "./install-page.ts";
import { run } from "./process.ts";

/** @throws ProcessError */
export async function provideImage(checkout: string, image: string): Promise<void> {
  const command = process.env["CLUSTER_IMAGES"];
  if (command !== undefined) await run("bash", ["-c", `${command} "$@"`, command, checkout, image], { cwd: checkout });
  else await runSection("Kubernetes/The image", checkout);
}
