/** The note of what was injected, which a later injection and `status` commands read. */
import { names } from "../annotations.ts";
import { annotate, type Pod, type Texts } from "../pod.ts";

export function noteStatus(pod: Pod, template: Pod, revision: string, injectedAnnotations: Texts): Pod {
  const { containers, initContainers, volumes, imagePullSecrets } = template.spec;
  const namesOf = (list: readonly { readonly name: string }[] | undefined): readonly string[] | null =>
    list === undefined || list.length === 0 ? null : list.map(({ name }) => name);
  const status = {
    initContainers: namesOf(initContainers),
    containers: namesOf(containers),
    volumes: namesOf(volumes),
    imagePullSecrets: namesOf(imagePullSecrets),
    revision,
  };
  return annotate(pod, { [names.status]: JSON.stringify(status), ...injectedAnnotations });
}
