/**
 * Services that an extension provides to others under a typed key. Extensions do not import each other, so each can be deleted.
 */

/** Key of a service. */
export class Service<T> {
	readonly #provided = new WeakMap<Services, T>();

	/** @returns entry for `Extension.services` */
	provide(service: T): Provision {
		return (services) => void this.#provided.set(services, service);
	}

	/** @returns undefined if no extension provides it */
	of(services: Services): T | undefined {
		return this.#provided.get(services);
	}
}

export type Provision = (services: Services) => void;

/** Services of a gateway. */
export class Services {
	/** @returns undefined if no extension provides it */
	get<T>(service: Service<T>): T | undefined {
		return service.of(this);
	}
}
