/**
 * Services that one extension provides to others under a typed key. Neither side imports the other, so the rest works without an
 * extension that was deleted.
 */

/** The key of a service. */
export class Service<T> {
	readonly #provided = new WeakMap<Services, T>();

	/** @returns for `Extension.services` */
	provide(service: T): Provision {
		return (services) => void this.#provided.set(services, service);
	}

	/** @returns undefined if no extension provides it */
	of(services: Services): T | undefined {
		return this.#provided.get(services);
	}
}

export type Provision = (services: Services) => void;

/** The services of one gateway. */
export class Services {
	/** @returns undefined if no extension provides it */
	get<T>(service: Service<T>): T | undefined {
		return service.of(this);
	}
}
