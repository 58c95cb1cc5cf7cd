/** In place of the SDK's typing, which lacks close() (modules/network/sntp). */

declare module "sntp" {
	export default class SNTP {
		/** No answer; the query is closed unless another host is returned. */
		static readonly error: -1;
		/** The value: seconds since 1970. The query is closed. */
		static readonly time: 1;
		static readonly retry: 2;

		constructor(
			options: { host: string },
			onMessage: (message: -1 | 1 | 2, value?: number) => string | undefined,
		);
		close(): void;
	}
}
