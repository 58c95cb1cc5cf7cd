export const below = "below";
