/**
 * The roll-outs of several gateways. One drives all of them: it holds the lease, and has claimed what is stored. The
 * others show what is stored, and forward to it what a person asks for.
 */

import { setTimeout } from "node:timers/promises";
import type { Rollout } from "../../api/rollout.js";
import { BusError } from "../../bus.js";
import { HttpProblem, type HttpRefusal } from "../../problem.js";
import type { RolloutCommand } from "../commands.js";
import { Rollouts, type RolloutsOptions } from "../rollouts.js";
import { RolloutStore } from "../store.js";
import { Lease, leaseBucket } from "./lease.js";
import { RolloutOffers, type RolloutOffersOptions } from "./rollout-offers.js";

export interface SharedRolloutsOptions
	extends Omit<RolloutsOptions, "store" | "offers" | "isDriver">,
		Omit<RolloutOffersOptions, "store" | "isDriver" | "updates" | "devices"> {
	/** Of the time before this gateway joined others, open: what it has is moved to the log. */
	readonly earlier: RolloutStore;
}

/** What a person asks of the driver. */
interface Request {
	readonly method: "put" | "remove" | RolloutCommand;
	readonly id: string;
	/** That the person has seen. */
	readonly revision?: number | undefined;
	/** A plan. */
	readonly asked?: unknown;
}

interface Done {
	readonly isNew: boolean;
	/** The roll-out's latest entry in the log. */
	readonly entry: number;
}
type Answer = Done | { readonly problem: HttpRefusal };

const subject = "gw.rollouts";
/** A plan may have to be stored for 10,000 devices. */
const requestMs = 15_000;
const retryMs = 1_000;

export class SharedRollouts extends Rollouts {
	readonly #options: SharedRolloutsOptions;
	readonly #store: RolloutStore;
	readonly #offers: RolloutOffers;
	#lease: Lease | undefined;
	#hasClaimed = false;
	/** Counts the ends of the lease. */
	#term = 0;
	readonly #ends: (() => void)[] = [];
	#stopServing = () => {};
	#joining: Promise<void> | undefined;
	#isClosed = false;

	constructor(options: SharedRolloutsOptions) {
		const isDriver = () => this.isDriver;
		const store = new RolloutStore({
			gatewayId: options.id,
			isDriver,
			onStale: () => {
				if (this.#hasClaimed) this.#lease?.stepDown();
			},
			onProblem: (problem) => options.log.error({ problem }, "roll-outs"),
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
	 * Begins, once this gateway knows the devices of the others: a driver must. Without the bus there are no roll-outs
	 * until it is reached.
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
		this.#stopServing();
		await super.close();
		await this.#lease?.close();
	}

	/** @throws {HttpProblem} also 503 */
	override async put(id: string, asked: unknown) {
		const { isNew } = await this.#ask({ method: "put", id, asked });
		return { rollout: this.find(id), isNew };
	}

	/** @throws {HttpProblem} also 503 */
	override async execute(id: string, method: RolloutCommand, revision: number | undefined): Promise<Rollout> {
		await this.#ask({ method, id, revision });
		return this.find(id);
	}

	/** @throws {HttpProblem} also 503 */
	override async remove(id: string): Promise<void> {
		await this.#ask({ method: "remove", id });
	}

	async #ask(request: Request): Promise<Done> {
		const { bus } = this.#options;
		if (this.isDriver) return this.#perform(request);
		let answer: Answer;
		try {
			answer = JSON.parse(await bus.request(subject, JSON.stringify(request), requestMs));
		} catch (error) {
			if (error instanceof BusError) throw unavailable(error.problem);
			throw error;
		}
		if ("problem" in answer) {
			const { status, detail, headers } = answer.problem;
			throw new HttpProblem(status, detail, headers);
		}
		await this.#store.reached(request.id, answer.entry);
		return answer;
	}

	/** As the driver. @throws {HttpProblem} */
	async #perform({ method, id, revision, asked }: Request): Promise<Done> {
		let isNew = false;
		if (!this.isDriver) throw unavailable("timeout");
		try {
			if (method === "put") ({ isNew } = await super.put(id, asked));
			else if (method === "remove") await super.remove(id);
			else await super.execute(id, method, revision);
		} catch (error) {
			// Not written: another gateway may drive by now.
			if (error instanceof HttpProblem && error.refusal.status === 507) throw unavailable("timeout");
			throw error;
		}
		return { isNew, entry: this.#store.revisionOf(id) };
	}

	async #answer(text: string): Promise<string> {
		try {
			return JSON.stringify(await this.#perform(JSON.parse(text)));
		} catch (error) {
			if (error instanceof HttpProblem) return JSON.stringify({ problem: error.refusal });
			this.#options.log.error({ err: error }, "roll-outs: request failed");
			throw error;
		}
	}

	/** Opens the log once the bus is reached. */
	#join(): void {
		const { bus, log } = this.#options;
		if (this.#lease || this.#joining || this.#isClosed || !bus.isConnected) return;
		this.#joining = this.#openLog()
			.catch((error: unknown) => {
				log.error({ err: error }, "roll-outs: not yet joined");
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
			else log.error({ rollout: id }, "roll-out: stays on this gateway's disk, as another has its id");
		}
	}

	async #takeOver(): Promise<void> {
		const { bus, log } = this.#options;
		const lease = this.#lease;
		const term = this.#term;
		if (!(await this.#store.claim())) return lease?.stepDown();
		await this.takeOver(() => {
			this.#hasClaimed = term === this.#term && !this.#isClosed;
			return this.#hasClaimed;
		});
		if (!this.#hasClaimed) return;
		this.#stopServing = bus.serve(subject, (text) => this.#answer(text));
		log.info("roll-outs: driven by this gateway");
	}

	#stepDown(): void {
		this.#term += 1;
		this.#stopServing();
		if (this.#hasClaimed) this.#options.log.info("roll-outs: no longer driven by this gateway");
		this.#hasClaimed = false;
	}
}

function unavailable(problem: BusError["problem"]): HttpProblem {
	const why = {
		away: "This gateway cannot reach NATS, where roll-outs are kept",
		noResponders: "No gateway drives the roll-outs at the moment; one will within 15 s",
		timeout: "The gateway that drives the roll-outs has not answered",
	}[problem];
	return new HttpProblem(503, `${why}; try again.`, { "Retry-After": "5" });
}
