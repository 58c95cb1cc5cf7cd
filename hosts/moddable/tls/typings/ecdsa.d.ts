/** modules/crypt/etc/ecdsa. */

declare module "ecdsa" {
	export default class ECDSA {
		constructor(key: object | undefined, curve: object);
		/** @param isDer whether the signature is in DER */
		verify(digest: ArrayBuffer, signature: Uint8Array, isDer: boolean): boolean;
	}
}
