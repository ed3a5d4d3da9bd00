/**
 * Returns whether the SDK had begun an attempt when the error was thrown. Before the first attempt, the SDK validates
 * and serializes the input and gets credentials. After an error in this phase, nothing was sent, and the same call
 * would fail again (AWS SDK for JavaScript, `retryMiddleware`: an error of an attempt has `$metadata`).
 */
export function isAfterAttempt(error: unknown): boolean {
  return typeof error === 'object' && error !== null && '$metadata' in error && error.$metadata !== undefined;
}
