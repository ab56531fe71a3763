/** Waiting in tests: poll with a deadline, never sleep for luck. */
export async function until(what: string, holds: () => boolean, timeoutMs = 10_000): Promise<void> {
  const deadline = performance.now() + timeoutMs
  while (!holds()) {
    if (performance.now() > deadline) throw new Error(`still not so after ${timeoutMs} ms: ${what}`)
    await new Promise((resolve) => {
      setTimeout(resolve, 5)
    })
  }
}
