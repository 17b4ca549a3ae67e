/** Seeds that once failed, and what each found. Every change runs them. A change of the world may lead a seed elsewhere. */
export const KEPT_SEEDS: { seed: number; steps: number; hasWebhooks?: boolean; found: string }[] = [
  {
    seed: 23,
    steps: 900,
    found: "a second cancellation with If-Match and If-None-Match is a 204, and the model said 412",
  },
  {
    seed: 200_146,
    steps: 250,
    found: "a shipment with If-Match: * may be repeated, and the checker of round trips forbade it",
  },
  {
    seed: 300_286,
    steps: 900,
    found: "an older backup over a newer one began the feed below events that clients had seen",
  },
  {
    seed: 110_000_249,
    steps: 4_500,
    found: "a long backup had events that the hourly job had removed meanwhile, and failed",
  },
  {
    seed: 3,
    steps: 700,
    found: "a second Time Travel brings events back, and the checker of the feed missed the request that left them",
  },
  {
    seed: 3_000,
    steps: 1_000,
    hasWebhooks: true,
    found: "an event waited for a day because an earlier address of its webhook had asked for a pause",
  },
];
