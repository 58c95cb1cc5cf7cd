/** Innocent: the module it imports is not. */

import { culprit } from "./culprit.js";

export default function main() {
	trace(String(culprit));
}
