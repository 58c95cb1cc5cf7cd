declare module "*.css";

/** Icon of lucide-static, as loaded by gateway/dashboard/bundle.ts. */
declare module "*.svg" {
	const elements: readonly (readonly [tag: string, attributes: Readonly<Record<string, string>>])[];
	export default elements;
}
