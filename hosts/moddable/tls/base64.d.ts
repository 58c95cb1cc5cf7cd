/** XS has this of ES2026 already; the SDK's typings end with ES2025. */

interface Uint8ArrayConstructor {
	/** Throws a SyntaxError where the text is not base64. */
	fromBase64(text: string): Uint8Array<ArrayBuffer>;
}
