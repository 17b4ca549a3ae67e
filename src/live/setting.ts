/** Objects that hold the listeners of an environment, at most. */
const MAX_OBJECTS = 100;

/** `LIVE_OBJECTS`: how many objects hold the listeners. 0 for anything but a whole number from 1 to 100. */
export function parseLiveObjects(setting: unknown): number {
  const objects = /^\d{1,3}$/.test(String(setting)) ? Number(setting) : 0;
  return objects <= MAX_OBJECTS ? objects : 0;
}
