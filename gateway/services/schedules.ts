/** Service of the schedules. */

import { Service } from "./service.js";

/**
 * Returns the titles of the schedules that still play a sound, by the sound's id; none for a sound of ended schedules
 * only. Resolves once the schedules are loaded.
 */
export const scheduledSounds = new Service<() => Promise<ReadonlyMap<string, readonly string[]>>>();
