/** Commands for revision tags: names of revisions that namespaces are labelled with. */
import { define } from "../parse/definition.ts";
import { flag, required, text } from "../parse/option-kinds.ts";
import { connection, output } from "./option-groups.ts";

const group = "Revisions:";
const { kubeconfig } = connection;
const tag = required("TAG", "name of the tag, such as prod; `default` is for namespaces with istio-injection=enabled");

export const tagSet = define({
  name: "tag set",
  progress: "writing the tag",
  group,
  summary: "lead the namespaces of a tag to a revision, at first or from now on",
  details:
    "Namespaces with istio.io/rev=TAG are injected by that revision. Pods that run stay as they are until they are made again. The tag is a MutatingWebhookConfiguration as istioctl makes it, so that istioctl and Flotilla see the same tags. Flotilla's webhook gets the right to keep the root in it, by a ClusterRole flotilla-revision-tag-TAG.",
  operands: { tag },
  options: {
    revision: text("--revision <REVISION>", "revision whose webhook injects (required)"),
    overwrite: flag("--overwrite", "change a tag that leads to another revision"),
    kubeconfig,
  },
  examples: [["tag set prod --revision flotilla --overwrite", "upgrade the namespaces of prod"]],
  exitCodes: { 3: "there is no such revision, or the tag leads to another one" },
});

export const tagList = define({
  name: "tag list",
  progress: "reading the tags",
  group,
  summary: "list tags, their revisions and the namespaces that use them",
  operands: {},
  options: { ...output, kubeconfig },
  examples: [["tag list", "all tags of the cluster"]],
});

export const tagRemove = define({
  name: "tag remove",
  progress: "removing the tag",
  group,
  summary: "remove a tag that no namespace uses",
  operands: { tag },
  options: {
    whileUsed: flag("--while-used", "remove it although namespaces use it, whose new pods are not injected then"),
    kubeconfig,
  },
  examples: [["tag remove prod", "remove a tag"]],
  exitCodes: { 1: "there is no such tag", 3: "namespaces use it" },
});
