/** Days and times of day, for schedules, quiet hours and rollouts. */

import { list, oneOf, pattern } from "../../device/protocol/schema.js";

export const days = ["mon", "tue", "wed", "thu", "fri", "sat", "sun"] as const;
export const someDays = list(oneOf(...days), days.length, 1);
/** Local time of day. */
export const timeOfDay = pattern(5, "^([01]\\d|2[0-3]):[0-5]\\d$", "a time of day such as 22:00,");
