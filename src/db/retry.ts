/**
 * The failures after which the same statement may be sent again (D1 documentation, Debug D1 and Retry queries). None of them tells
 * whether a write took effect.
 */
const TRANSIENT =
  /Network connection lost|storage caused object to be reset|reset because its code was updated|Cannot resolve D1 DB due to transient issue/;

export const MAX_RETRIES = 2;
/** Milliseconds before the first retry, doubled for each further one. Half of the delay is random, so that callers spread out. */
export const BACKOFF_MILLISECONDS = 50;

/** Runs `attempt`, and repeats it after each transient failure of D1, up to a limit. `attempt` has to be safe to repeat. */
export async function retryTransient<T>(attempt: () => Promise<T>, retries = MAX_RETRIES): Promise<T> {
  try {
    return await attempt();
  } catch (error) {
    if (retries === 0 || !(error instanceof Error) || !TRANSIENT.test(error.message)) throw error;
    const backoff = BACKOFF_MILLISECONDS * 2 ** (MAX_RETRIES - retries);
    await scheduler.wait(backoff * (0.5 + Math.random() / 2));
    return retryTransient(attempt, retries - 1);
  }
}
