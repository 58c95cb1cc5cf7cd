/** In place of peripherals/ambient-light: one that lets a number into each report that is not whole. */
export class AmbientLight {
	readonly level = 4e-310;
}
