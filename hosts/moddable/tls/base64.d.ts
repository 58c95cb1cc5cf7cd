/** ES2026 method that XS supports and the SDK's typings lack. */

interface Uint8ArrayConstructor {
	/** @throws SyntaxError */
	fromBase64(text: string): Uint8Array<ArrayBuffer>;
}
