/** Finds comments that start with a fragment. A comment is a noun phrase or starts with a verb. */

import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";

const isCode = /\.([cm]?[jt]sx?|c|h|css|grit)$/;
const fragment =
	/(?:\/\*\*?|\/\/)(?:\n\s*\*)?[ \t]+((?:Of|What|Who|Where|Such|As|That|Also|In place|With)\b[^\n]*)/g;

/** @param folders below `root` @returns a line for each fragment: file, line number and text */
export function findFragments(root: string, folders: readonly string[]): readonly string[] {
	return folders.flatMap((folder) =>
		readdirSync(join(root, folder), { recursive: true, encoding: "utf8" })
			.filter((file) => isCode.test(file) && !file.includes("node_modules"))
			.flatMap((file) => {
				const text = readFileSync(join(root, folder, file), "utf8");
				return [...text.matchAll(fragment)].map(({ index, 1: comment }) => {
					const line = text.slice(0, index).split("\n").length;
					return `${folder}/${file}:${line}: comment starts with a fragment: ${comment}`;
				});
			}),
	);
}
