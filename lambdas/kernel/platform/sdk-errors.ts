/**
 * Returns whether the SDK had begun an attempt when the error was thrown. Before the first attempt, the SDK validates
 * and serializes the input and gets credentials. An error in this phase means that nothing was sent and that the same
 * call would fail again (AWS SDK for JavaScript, `retryMiddleware`: an error of an attempt has `$metadata`).
 */
export function isAfterAttempt(error: unknown): boolean {
  return typeof error === 'object' && error !== null && '$metadata' in error && error.$metadata !== undefined;
}
