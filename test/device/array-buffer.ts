/** XS's `ArrayBuffer.fromString` in Node. */

declare global {
	interface ArrayBufferConstructor {
		/** Encodes UTF-8. */
		fromString(text: string): ArrayBuffer;
	}
}

ArrayBuffer.fromString = (text) => Uint8Array.from(Buffer.from(text)).buffer;
