/** Ring of a virtual device, in hexadecimal RGB. */

import type { VirtualDevice } from "../../hosts/virtual/node/virtual-device.js";

type Shown = Pick<VirtualDevice, "board">;

export const ringOf = ({ board }: Shown): string => Buffer.from(board.pixels).toString("hex");
/** Pixels in order, for example `ff0000`. */
export const pixelsOf = (device: Shown): string[] => ringOf(device).match(/.{6}/g) ?? [];
export const allPixels = (color: string) => color.repeat(12);
/** Whole rings at the default brightness. */
export const red = allPixels("2f0000");
export const orange = allPixels("2f1200");
export const dark = allPixels("000000");
