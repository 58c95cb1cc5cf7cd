/** Devices that one message `subscribe` may name: more than the rows that fit on a large screen. */
export const subscribedDevicesAtMost = 200;
