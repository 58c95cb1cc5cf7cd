import Channel from "virtual/channel";

export const culprit = new Channel("early", {}, () => {});
