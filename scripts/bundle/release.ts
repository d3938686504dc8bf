/** The bundle of a release: all programs of the image, with the page of the console, which is built first. */
import { buildReleasedPage } from "../../packages/console/src/built-page.ts";
import { bundle } from "./bundle.ts";
import { imagePrograms } from "./image-programs.ts";

export async function bundleRelease(outDirectory: string): Promise<void> {
  await buildReleasedPage();
  await bundle({ entries: imagePrograms, outDirectory });
}
