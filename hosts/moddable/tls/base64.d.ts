/** ES2026, which XS has and the SDK's typings lack. */

interface Uint8ArrayConstructor {
	/** @throws SyntaxError */
	fromBase64(text: string): Uint8Array<ArrayBuffer>;
}
