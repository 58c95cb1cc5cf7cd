/** modules/crypt/ssl/ssl_constants. */

declare module "ssl/constants" {
	export const AES: number;
	export const ECDHE_RSA: number;
	export const GCM: number;
	export const SHA256: number;
}
