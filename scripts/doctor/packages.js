/** Loads tsx like `--import tsx`, with a hint if it is not installed. JavaScript, since it runs before tsx. */

try {
	await import("tsx");
} catch {
	console.error("Packages not installed. Run npm ci in the project folder.");
	process.exit(1);
}
