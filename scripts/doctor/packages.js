/** Loads tsx, as `--import tsx` does, and says what to do where it is not installed: doctor is what people run then. JavaScript, since it runs before tsx. */

try {
	await import("tsx");
} catch {
	console.error("The packages of this project are not installed. In its folder: npm ci");
	process.exit(1);
}
