/** The SDK's module (modules/crypt/etc/transform) has no typings. */

declare module "transform" {
	const Transform: {
		/** The first certificate in the text. Throws where there is none. */
		pemToDER(pem: string): ArrayBuffer;
	};
	export default Transform;
}
