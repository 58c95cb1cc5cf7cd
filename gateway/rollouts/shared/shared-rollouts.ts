/**
 * Rollouts in a cluster. One gateway drives all of them: it holds the lease and has claimed the stored
 * rollouts. The others display them and store user commands.
 */

import { setTimeout } from "node:timers/promises";
import { Rollouts, type RolloutsOptions } from "../rollouts.js";
import { RolloutStore } from "../store.js";
import { Lease, leaseBucket } from "./lease.js";
import { RolloutOffers, type RolloutOffersOptions } from "./rollout-offers.js";

export interface SharedRolloutsOptions
	extends Omit<RolloutsOptions, "store" | "offers" | "isDriver">,
		Omit<RolloutOffersOptions, "store" | "isDriver" | "updates" | "devices"> {
	/** Open store from before this gateway joined the cluster. Its rollouts are moved to the shared log. */
	readonly earlier: RolloutStore;
}

const retryMs = 1_000;

export class SharedRollouts extends Rollouts {
	readonly #options: SharedRolloutsOptions;
	readonly #store: RolloutStore;
	readonly #offers: RolloutOffers;
	#lease: Lease | undefined;
	#hasClaimed = false;
	/** Number of lost leases. */
	#term = 0;
	readonly #ends: (() => void)[] = [];
	#joining: Promise<void> | undefined;
	#isClosed = false;

	constructor(options: SharedRolloutsOptions) {
		const isDriver = () => this.isDriver;
		const store = new RolloutStore({
			gatewayId: options.id,
			onStale: () => {
				if (this.#hasClaimed) this.#lease?.stepDown();
			},
			onProblem: (problem) => options.log.error({ problem }, "rollouts"),
		});
		const offers = new RolloutOffers({ ...options, store, isDriver });
		super({ ...options, store, offers, isDriver });
		this.#options = options;
		this.#store = store;
		this.#offers = offers;
	}

	get isDriver(): boolean {
		return this.#hasClaimed && this.#lease?.isHeld === true;
	}

	/**
	 * Starts, after this gateway has learned the devices of the others, which a driver needs. There are no
	 * rollouts until the bus is connected.
	 */
	override open(): void {
		const { bus } = this.#options;
		super.open();
		this.#ends.push(
			bus.onStatus(() => this.#join()),
			this.#offers.serve(),
		);
		this.#join();
	}

	override async close(): Promise<void> {
		this.#isClosed = true;
		for (const end of this.#ends) end();
		await this.#joining;
		await super.close();
		await this.#lease?.close();
	}

	override async replaceDevice(from: string, by: string): Promise<void> {
		if (!this.#lease) throw new Error("rollouts are not loaded yet");
		return super.replaceDevice(from, by);
	}

	/** Opens the log once the bus is connected. */
	#join(): void {
		const { bus, log } = this.#options;
		if (this.#lease || this.#joining || this.#isClosed || !bus.isConnected) return;
		this.#joining = this.#openLog()
			.catch((error: unknown) => {
				log.error({ err: error }, "rollouts: joining failed, retrying");
				void setTimeout(retryMs, undefined, { ref: false }).then(() => this.#join());
			})
			.finally(() => {
				this.#joining = undefined;
			});
	}

	async #openLog(): Promise<void> {
		const { bus, id: gatewayId, monotonic } = this.#options;
		await this.#store.open(await bus.log("gw-rollout-log"));
		await this.#moveEarlier();
		const bucket = await bus.bucket("gw-lease", leaseBucket);
		const onChange = (isHeld: boolean) => void (isHeld ? this.#takeOver() : this.#stepDown());
		if (this.#isClosed) return;
		this.#lease = new Lease({ bucket, holder: gatewayId, monotonic, onChange });
		this.#lease.open();
	}

	async #moveEarlier(): Promise<void> {
		const { earlier, log } = this.#options;
		for (const rollout of earlier.list()) {
			const { id } = rollout;
			if (await this.#store.create(rollout)) await earlier.remove(id);
			else log.error({ rollout: id }, "rollout: not moved to the cluster, as its id exists there");
		}
	}

	async #takeOver(): Promise<void> {
		const { log } = this.#options;
		const lease = this.#lease;
		const term = this.#term;
		if (!(await this.#store.claim())) return lease?.stepDown();
		await this.takeOver(() => {
			this.#hasClaimed = term === this.#term && !this.#isClosed;
			return this.#hasClaimed;
		});
		if (this.#hasClaimed) log.info("rollouts: this gateway drives now");
	}

	#stepDown(): void {
		this.#term += 1;
		if (this.#hasClaimed) this.#options.log.info("rollouts: this gateway no longer drives");
		this.#hasClaimed = false;
	}
}
