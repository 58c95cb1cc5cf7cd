/** Maximum number of devices in a `subscribe` message: more than the rows of a large screen. */
export const maxSubscribedDevices = 200;
