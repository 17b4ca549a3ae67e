// What a listener is told when it cannot listen.

export const NO_LIVE_FEED = "There is no live feed here. Read /events again and again.";
export const TOO_FAR =
  "The place of this cursor is too far back, or not in the feed any more. Connect with cursor=latest, and list again with the bookmark of the first page.";
export const TOO_MANY = "Too many listeners of this API key or customer.";
export const FULL = "There are too many listeners. Try again later.";
