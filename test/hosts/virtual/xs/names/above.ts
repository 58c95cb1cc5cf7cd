export const above = "above";
