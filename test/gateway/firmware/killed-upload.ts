/**
 * Replaces the upload in the folder `directory` and kills itself with SIGKILL at the n-th step on disk:
 * `killed-upload.ts <directory> <n> <image file>`. Exits normally if there is no n-th step.
 */

import { createHash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { uploadsIn } from "../../support/firmware-server.js";
import { countingDisk } from "./counting-disk.js";

const [directory = "", last = "0", path = ""] = process.argv.slice(2);
const image = await readFile(path);
const disk = countingDisk((number) => {
	if (number === Number(last)) process.kill(process.pid, "SIGKILL");
});
const store = uploadsIn(directory, { disk, onProblem: console.error });
await store.open();
const draft = await store.begin();
await draft.write(image.subarray(0, 40_000));
await draft.write(image.subarray(40_000));
const sha256 = createHash("sha256").update(image).digest("hex");
await draft.commit({ filename: "new.bin", version: "1.5.0", sha256 });
