import Timer from "timer";

export const culprit = Timer.set(() => {});
