/** In place of the SDK's typing, which does not know that bytes may come in a view (modules/crypt/digest). */

declare module "crypt" {
	export class Digest {
		constructor(algorithm: "MD5" | "SHA1" | "SHA224" | "SHA256" | "SHA384" | "SHA512");
		write(data: string | ArrayBuffer | Uint8Array): void;
		close(): ArrayBuffer;
	}
}
