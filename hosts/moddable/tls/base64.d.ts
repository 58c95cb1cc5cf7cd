/** Of ES2026, which XS has; the SDK's typings end with ES2025. */

interface Uint8ArrayConstructor {
	/** @throws SyntaxError */
	fromBase64(text: string): Uint8Array<ArrayBuffer>;
}
