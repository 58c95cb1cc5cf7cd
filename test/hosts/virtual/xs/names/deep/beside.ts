export const beside = "beside";
