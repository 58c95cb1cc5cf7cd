/** Valid module that imports an invalid one. */

import { culprit } from "./culprit.js";

export default function main() {
	trace(String(culprit));
}
