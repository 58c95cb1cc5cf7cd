/**
 * Devices and entities that Home Assistant stores across restarts: homeassistant/helpers/device_registry.py and
 * helpers/entity_registry.py.
 */

import assert from "node:assert/strict";
import type { Component } from "./schemas.js";

export interface RegisteredDevice {
	/** Name in the latest discovery. */
	name: string;
	model: unknown;
	/** Name given by the user, shown instead of `name`. */
	nameByUser?: string;
	area: string | undefined;
}

interface RegisteredEntity {
	readonly entityId: string;
	readonly device: string;
}

/** Removed entries keep the user's choices for their return. */
export class Registry {
	readonly #devices = new Map<string, RegisteredDevice>();
	readonly #deletedDevices = new Map<string, RegisteredDevice>();
	/** Entities by platform and unique id. */
	readonly #entities = new Map<string, RegisteredEntity>();
	readonly #deletedEntities = new Map<string, RegisteredEntity>();

	/** @param identifier of its discovery */
	device(identifier: string): RegisteredDevice {
		return this.#devices.get(identifier) ?? assert.fail(`no device ${identifier}`);
	}

	/** @param device identifier */
	entityIds(device: string): readonly string[] {
		return [...this.#entities.values()]
			.filter((entity) => entity.device === device)
			.map(({ entityId }) => entityId);
	}

	/** DeviceRegistry.async_get_or_create: the suggested area applies only if it creates the device. */
	takeDevice(info: Component): void {
		const identifier = identifierOf(info);
		const { name, model, suggested_area: area } = info;
		const deleted = this.#deletedDevices.get(identifier);
		this.#deletedDevices.delete(identifier);
		const created = deleted ?? { area: area === undefined ? undefined : String(area) };
		const device = Object.assign(this.#devices.get(identifier) ?? created, { name: String(name), model });
		this.#devices.set(identifier, device);
	}

	/**
	 * EntityRegistry.async_get_or_create: an entity id is derived from the names at the time of its creation, and
	 * stays.
	 * @param info of its device, which is known @returns its entity id
	 */
	takeEntity(info: Component, config: Component): string {
		const key = keyOf(config);
		const known = this.#entities.get(key) ?? this.#deletedEntities.get(key);
		this.#deletedEntities.delete(key);
		const device = identifierOf(info);
		const { name, nameByUser } = this.device(device);
		const entityId = known?.entityId ?? this.#newEntityId(`${nameByUser ?? name} ${config.name}`, config);
		this.#entities.set(key, { entityId, device });
		return entityId;
	}

	/** mqtt/entity.py, cleanup_device_registry: a device without entities is removed. */
	removeEntity(config: Component): void {
		const key = keyOf(config);
		const entity = this.#entities.get(key) ?? assert.fail(`no entity ${key}`);
		this.#entities.delete(key);
		this.#deletedEntities.set(key, entity);
		if (this.entityIds(entity.device).length > 0) return;
		this.#deletedDevices.set(entity.device, this.device(entity.device));
		this.#devices.delete(entity.device);
	}

	#newEntityId(name: string, { platform }: Component): string {
		const taken = new Set([...this.#entities.values()].map(({ entityId }) => entityId));
		const wanted = `${platform}.${name.toLowerCase().replaceAll(/[^a-z0-9]+/g, "_")}`;
		let entityId = wanted;
		for (let count = 2; taken.has(entityId); count++) entityId = `${wanted}_${count}`;
		return entityId;
	}
}

export function identifierOf({ identifiers }: Component): string {
	const [first]: readonly unknown[] = Array.isArray(identifiers) ? identifiers : [];
	return String(first);
}

function keyOf({ platform, unique_id: id }: Component): string {
	return `${platform} ${id}`;
}
