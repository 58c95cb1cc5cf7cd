/** Replacement for the SDK's typing, which lacks close() (modules/network/sntp). */

declare module "sntp" {
	export default class SNTP {
		/** No answer. The query is closed unless the callback returns another host. */
		static readonly error: -1;
		/** The value is in seconds since 1970; the query is closed. */
		static readonly time: 1;
		static readonly retry: 2;

		constructor(
			options: { host: string },
			onMessage: (message: -1 | 1 | 2, value?: number) => string | undefined,
		);
		close(): void;
	}
}
